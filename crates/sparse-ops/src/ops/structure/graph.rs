//! Matrices as graphs: self loops and degrees.

use crate::base::exact::Exact;
use crate::base::kind::{Kind, Numeric, as_float, from_float};
use crate::base::limits::check_dim;
use crate::kernel;
use crate::ops::elementwise::broadcast::read_rows;
use crate::ops::elementwise::scalar::{ScalarArg, one_number};
use crate::ops::structure::stack::check_matrix;
use crate::pattern::diagonal::{off_diagonal, with_diagonal};
use crate::pattern::layout::Pattern;
use crate::pattern::maps::axis_map;
use crate::rows::{RowMap, move_rows};
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::Tensor;
use sparse_autograd::{Erased, record};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, K: Numeric> SparseTensor<P, 2, K> {
    /// `A + value * I` for an adjacency `A` `[N, N]`. Missing self loops are stored, and those that `A` has gain
    /// `value`.
    ///
    /// A missing self loop starts at the fill, or at 0 if the fill is `Undefined`. The fill stays. `value` is a number
    /// or a tensor `[1]`. Duplicates are summed first. Backward: `A` gets the gradient, a tensor `value` its sum over
    /// the diagonal, and a tracked fill its sum over the missing loops. Cost: `O(nnz + N)`; the pattern is kept with
    /// that of `A`. (PyG's `add_self_loops`, but a loop that `A` already has stays one edge.)
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [0.0, 2.0]], &Device::flex()));
    /// let b = a.add_self_loops(1.0);
    /// assert_eq!(b.values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 1.0, 3.0]);
    /// assert_eq!(b.remove_self_loops().nnz(), 1);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if this is not a square matrix of two sparse dims, or a tensor `value` is not `[1]`;
    /// `dtype_mismatch`, `device_mismatch`; `would_densify` for more than [the limit](crate::Limits) of loops of
    /// a matrix that is almost empty.
    #[or_panic]
    pub fn try_add_self_loops(&self, value: impl Into<ScalarArg<K>>) -> Result<Self> {
        const OP: &str = "add_self_loops";
        check_square(OP, self)?;
        let value = match value.into() {
            ScalarArg::Host(value) => Fill::<K>::scalar(value).row(1, self.dtype(), &self.device()),
            ScalarArg::Tensor(value) => one_number(OP, &self.values, value)?,
        };
        let own = self.coalesce();
        check_dim(OP, own.dims()[0], own.pattern.memo().held())?;
        let (pattern, [map, on]) = with_diagonal(&own.pattern);
        if pattern.nnz() == 0 {
            return Ok(own);
        }
        let zero = Tensor::zeros([1, 1], (&self.device().inner(), self.dtype()));
        let values = move_rows(own.values.clone(), own.fill_row(), &map) + move_rows(value, zero, &on);
        Ok(Self::from_parts(pattern, values, vec![], own.fill))
    }

    /// The sum of each row of a matrix `[M, N]`: `out[i] = sum_j self[i, j]`, `[M]`. These are the degrees of an
    /// adjacency: out-degrees if rows are the senders, in-degrees if rows receive.
    ///
    /// This is `sum_dim(1)` as an ordinary vector. Unspecified elements count with the fill. With an `Undefined` fill
    /// only stored elements count, and a row without any has the sum 0. `a.div_dense(a.sum_dim(1).to_dense())`
    /// normalises rows.
    ///
    /// Backward: each element gets the gradient of its sum, and the fill gets that of the unspecified elements. Cost:
    /// one pass over the values, by segments that are kept with the pattern, without atomics. (PyG's weighted
    /// `degree`.)
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [3.0, 2.0]], &Device::flex()));
    /// assert_eq!(a.row_sums().into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 5.0]);
    /// assert_eq!(a.col_sums().into_data().iter::<f32>().collect::<Vec<_>>(), [3.0, 3.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` for a hybrid tensor; `would_densify` for more than [the limit](crate::Limits) of rows
    /// that are almost all empty.
    #[or_panic]
    pub fn try_row_sums(&self) -> Result<Tensor<1, K>> {
        self.sums_at("row_sums", 0)
    }

    /// The sum of each column of a matrix `[M, N]`: `out[j] = sum_i self[i, j]`, `[N]`. These are the in-degrees of an
    /// adjacency. See [`row_sums`](Self::row_sums).
    ///
    /// # Errors
    ///
    /// As [`try_row_sums`](Self::try_row_sums).
    #[or_panic]
    pub fn try_col_sums(&self) -> Result<Tensor<1, K>> {
        self.sums_at("col_sums", 1)
    }

    /// One sum for each index of `dim`.
    fn sums_at(&self, op: &'static str, dim: usize) -> Result<Tensor<1, K>> {
        check_matrix(op, self)?;
        let size = self.dims()[dim];
        check_dim(op, size, self.pattern.memo().held())?;
        let sums = if self.fill.is_undefined() || self.fill.is_zero() {
            sum_by(self.values.clone(), &axis_map(&self.pattern, dim), size)
        } else {
            self.try_sum_dim(1 - dim)?.try_to_dense()?
        };
        Ok(sums.reshape(Exact([size])))
    }
}

impl<P: Pattern, K: Kind> SparseTensor<P, 2, K> {
    /// The adjacency `[N, N]` without its stored self loops. They are unspecified afterwards and read as the fill,
    /// which is kept.
    ///
    /// Backward: kept elements get their gradients. Cost: `O(nnz)`. The new pattern is kept with this one. Finding it
    /// reads its number of elements from the device, so a loop reads only in its first step. (PyG's
    /// `remove_self_loops`.)
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if this is not a square matrix of two sparse dims.
    #[or_panic]
    pub fn try_remove_self_loops(&self) -> Result<Self> {
        check_square("remove_self_loops", self)?;
        if self.nnz() == 0 {
            return Ok(self.clone());
        }
        let (pattern, map) = off_diagonal(&self.pattern);
        Ok(Self::from_parts(pattern, read_rows(self.values.clone(), &map), vec![], self.fill.clone()))
    }
}

/// Checks that a matrix without dense dims is square.
///
/// # Errors
///
/// `shape_mismatch`.
pub fn check_square<P: Pattern, K: Kind>(op: &'static str, matrix: &SparseTensor<P, 2, K>) -> Result<()> {
    check_matrix(op, matrix)?;
    let [rows, cols] = matrix.dims();
    if rows == cols {
        return Ok(());
    }
    let rule = "an adjacency must be square, got {left:1} rows and {right:1} columns";
    Err(SparseError::shape_mismatch(op, rule, [rows], [cols]))
}

/// Rows `[size, 1]`: each is the sum of the values that read it through `map`. This is the transpose of a move, by the
/// segments that the map keeps for its backward pass. Its own backward pass is a move.
fn sum_by<K: Numeric>(values: Tensor<2, K>, map: &RowMap, size: usize) -> Tensor<2, K> {
    let (order, ptr) = map.groups();
    // The last group is for missing rows, of which there are none.
    let out = kernel::segment_sum(&values, Some(order), ptr.clone().narrow(0, 0, size + 1));
    let Some(parent) = as_float(&values) else { return out };
    let out = as_float(&out).expect("the kind of the values");
    from_float(record(out, [Erased::from(parent)], map.clone(), |map, grad, _| {
        let zero = Tensor::zeros([1, 1], (&grad.device(), grad.dtype()));
        [Some(kernel::move_rows(&grad, &zero, map.map()).into())]
    }))
}
