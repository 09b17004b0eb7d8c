//! The gradient of a table in the rows that were read.

use burn::tensor::{Gradients, Int, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{index_dtype_for, index_tensor, read_all, same_device, same_elements, signed, write_rows};
use sparse_ops::ops::{IndexPlan, Reduce, try_unique};
use sparse_ops::{Result, SparseError};

/// The rows of a [`RowTable`](super::RowTable) that a step read. They hold the gradient after its backward pass.
#[derive(Clone, Debug)]
pub struct ReadRows {
    pub(super) ids: Tensor<1, Int>,
    pub(super) rows: Tensor<2>,
    pub(super) size: usize,
}

impl ReadRows {
    /// The distinct ids that were read, ascending `[U]`.
    pub fn ids(&self) -> Tensor<1, Int> {
        self.ids.clone()
    }

    /// The rows of the ids `[U, d_model]`, a leaf of the tape. A penalty on these rows alone is written with them.
    pub fn rows(&self) -> Tensor<2> {
        self.rows.clone()
    }

    /// The gradient of the table. `None` if its weight does not require a gradient, or the loss does not depend on it.
    pub fn grad(&self, grads: &Gradients) -> Option<RowSparseGrad> {
        if !self.rows.is_require_grad() {
            return None;
        }
        let rows = self.rows.grad(grads)?;
        Some(RowSparseGrad { ids: self.ids.clone(), rows, size: self.size })
    }
}

/// The gradient of a table `[size, d]` that is zero but in some rows: row `k` of `rows` `[U, d]` belongs to row
/// `ids[k]`. Ids are distinct and ascend.
#[derive(Clone, Debug)]
pub struct RowSparseGrad {
    pub(super) ids: Tensor<1, Int>,
    pub(super) rows: Tensor<2>,
    pub(super) size: usize,
}

impl RowSparseGrad {
    /// A gradient from ids `[N]`, in any order, and their rows `[N, d]`. Rows of equal ids are summed.
    ///
    /// # Errors
    ///
    /// `length_mismatch`; `index_out_of_range` for an id outside `[0, size)`; `device_mismatch`, `unsupported_dtype`.
    pub fn new(ids: Tensor<1, Int>, rows: Tensor<2>, size: usize) -> Result<Self> {
        const OP: &str = "RowSparseGrad::new";
        let ([expected], [got, width]) = (ids.dims(), rows.dims());
        if expected != got {
            return Err(SparseError::length_mismatch(OP, "rows", expected, got));
        }
        same_device(OP, &ids.device(), &rows.device())?;
        let (ids, plan) = distinct(OP, ids, size)?;
        // A gradient is a number, not a part of a graph.
        let rows = rows.inner();
        let zeros = Tensor::zeros([ids.dims()[0], width], (&rows.device(), rows.dtype()));
        let rows = plan.try_put(zeros, 0, rows, Reduce::Add, true)?;
        Ok(Self { ids, rows, size })
    }

    /// A gradient of distinct ascending ids below `size`, of the dtype of such ids, and their rows. Nothing is checked:
    /// with other ids an optimizer steps other rows. [`new`](Self::new) takes ids in any order.
    pub fn of_distinct(ids: Tensor<1, Int>, rows: Tensor<2>, size: usize) -> Self {
        Self { ids, rows, size }
    }

    /// The ids `[U]`, ascending.
    pub fn ids(&self) -> Tensor<1, Int> {
        self.ids.clone()
    }

    /// The rows `[U, d]` of the ids.
    pub fn rows(&self) -> Tensor<2> {
        self.rows.clone()
    }

    /// Number of rows of the table.
    pub fn table_rows(&self) -> usize {
        self.size
    }

    /// The sum of gradients of one table: of several reads in a step, or of several steps.
    ///
    /// # Errors
    ///
    /// `empty_input` if there are none; `shape_mismatch` if they are of different tables; `dtype_mismatch`,
    /// `device_mismatch`.
    #[or_panic]
    pub fn try_sum(grads: Vec<Self>) -> Result<Self> {
        const OP: &str = "RowSparseGrad::sum";
        let Some(first) = grads.first() else {
            return Err(SparseError::empty_input(OP, "the list of gradients must not be empty, got none"));
        };
        let shape = |grad: &Self| vec![grad.size, grad.rows.dims()[1]];
        for grad in &grads {
            if shape(grad) != shape(first) {
                let rule = "gradients must be of one table, got tables {left} and {right}";
                return Err(SparseError::shape_mismatch(OP, rule, shape(first), shape(grad)));
            }
            same_elements(OP, &first.rows, &grad.rows)?;
        }
        if grads.len() == 1 {
            return Ok(grads.into_iter().next().expect("one gradient"));
        }
        let size = first.size;
        let (ids, rows) = grads.into_iter().map(|grad| (grad.ids, grad.rows)).unzip();
        Self::new(Tensor::cat(ids, 0), Tensor::cat(rows, 0), size)
    }

    /// The gradient with other rows: scaled, clipped, averaged, with a decay of the rows that were read. The result of
    /// `f` is taken off the tape.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch` or `device_mismatch` if `f` does not keep the shape, the dtype or the device.
    #[or_panic]
    pub fn try_map(mut self, f: impl FnOnce(Tensor<2>) -> Tensor<2>) -> Result<Self> {
        const OP: &str = "RowSparseGrad::map";
        let before = self.rows.clone();
        self.rows = f(self.rows).inner();
        if self.rows.dims() != before.dims() {
            let rule = "the function must keep the shape {left} of the rows, got {right}";
            return Err(SparseError::shape_mismatch(OP, rule, before.dims(), self.rows.dims()));
        }
        same_elements(OP, &before, &self.rows)?;
        Ok(self)
    }

    /// The gradient as a dense tensor `[size, d]`.
    pub fn to_dense(&self) -> Tensor<2> {
        let zeros = Tensor::zeros([self.size, self.rows.dims()[1]], (&self.rows.device(), self.rows.dtype()));
        write_rows(zeros, &self.ids, self.rows.clone())
    }
}

/// The distinct ids of a table of `size` rows, and the plan of their places. Ids of one table have one dtype.
pub(super) fn distinct(op: &'static str, ids: Tensor<1, Int>, size: usize) -> Result<(Tensor<1, Int>, IndexPlan)> {
    let (distinct, plan) = try_unique(ids.clone())?;
    let [count] = distinct.dims();
    if count > 0 {
        let ends = signed(distinct.clone());
        let ends = read_all(Tensor::cat(vec![ends.clone().narrow(0, 0, 1), ends.narrow(0, count - 1, 1)], 0));
        let wrong = |index: &i64| usize::try_from(*index).map_or(true, |index| index >= size);
        if ends.iter().any(wrong) {
            let all = read_all(signed(ids));
            let position = all.iter().position(wrong).expect("an end is one of the ids");
            return Err(SparseError::index_out_of_range(op, 0, size, all[position], position));
        }
    }
    Ok((index_tensor(distinct, index_dtype_for(size)), plan))
}

/// The rows of a table at distinct ids.
pub(super) fn rows_at(table: Tensor<2>, ids: &Tensor<1, Int>) -> Result<Tensor<2>> {
    same_device("RowTable", &table.device(), &ids.device())?;
    if ids.dims()[0] == 0 {
        return Ok(Tensor::zeros([0, table.dims()[1]], (&table.device(), table.dtype())));
    }
    Ok(table.select(0, ids.clone()))
}
