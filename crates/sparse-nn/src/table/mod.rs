//! Embedding tables with row-sparse gradients.

pub(crate) mod grad;
pub(crate) mod optim;

use self::grad::{ReadRows, distinct};
use burn::config::Config;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Int, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{associate, index_dtype_for, index_tensor, same_elements};
use sparse_ops::{CsrTensor, Result, SparseError, aligned};

/// Configuration of a [`RowTable`].
#[derive(Config, Debug)]
pub struct RowTableConfig {
    /// Number of rows: of words, users, items or nodes.
    pub rows: usize,
    /// Elements of a row.
    pub d_model: usize,
    /// How the rows are initialised. The default is that of Burn's and PyTorch's `Embedding`.
    #[config(default = "Initializer::Normal{mean:0.0, std:1.0}")]
    pub initializer: Initializer,
}

/// A table `[rows, d_model]` of embeddings whose gradient has only the rows that a step reads.
///
/// Burn's `Embedding` has a dense gradient: a step over a table of 10 million rows writes 10 million rows of gradient,
/// and an optimiser then reads and writes all of them again. Here [`select`](Self::select) and
/// [`matmul`](Self::matmul) read each distinct row once, as a leaf of the tape of its own. After the backward pass
/// [`ReadRows::grad`] gives a [`RowSparseGrad`](super::RowSparseGrad), and a [`RowOptimizer`](super::RowOptimizer)
/// changes those rows in place. So a step costs what the batch reads, whatever the size of the table.
///
/// In a model beside other parameters: Burn's optimiser steps the model, where the table has no gradient and stays; the
/// row optimiser steps the table. The table is saved and loaded with the model.
///
/// Source: the `sparse=True` of PyTorch's `Embedding`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::{RowAdamConfig, RowOptimizer, RowTableConfig};
///
/// let device = Device::flex().autodiff();
/// let mut table = RowTableConfig::new(1_000, 4).init(&device);
/// let mut optimizer = RowAdamConfig::new().init(&table);
/// let (embeddings, read) = table.select(Tensor::from_ints([7, 3, 7], &device));
/// let grads = embeddings.powi_scalar(2).sum().backward();
/// let grad = read.grad(&grads).unwrap();
/// assert_eq!(grad.rows().dims(), [2, 4]); // rows 3 and 7
/// table = optimizer.step(0.01, table, grad);
/// ```
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct RowTable {
    /// `[rows, d_model]`.
    pub weight: Param<Tensor<2>>,
}

impl RowTableConfig {
    /// A table on `device`.
    pub fn init(&self, device: &Device) -> RowTable {
        // In memory that the row optimisers change in place.
        let weight = self.initializer.init([self.rows, self.d_model], device);
        RowTable { weight: weight.init_mapper(aligned) }
    }
}

impl RowTable {
    /// The rows that `ids` `[N]` name: `out[k] = weight[ids[k]]`, `[N, d_model]`, and what was read.
    ///
    /// Backward: a read row gets the sum of the gradients of the places that read it, by segments, with the same bits
    /// on every run. Cost: a radix sort of the ids and the rows read; the table's other rows are not touched. Reads the
    /// number of distinct ids from the device.
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for an id outside `[0, rows)`; `device_mismatch`.
    #[or_panic]
    pub fn try_select(&self, ids: Tensor<1, Int>) -> Result<(Tensor<2>, ReadRows)> {
        const OP: &str = "RowTable::select";
        let (ids, plan) = distinct(OP, ids, self.weight.lazy_shape().dims::<2>()[0])?;
        let read = self.read(OP, ids)?;
        let out = plan.try_select(read.rows.clone(), 0)?;
        Ok((out, read))
    }

    /// The product of a sparse matrix and the table: `out[i] = sum_j batch[i, j] weight[j]`, `batch [M, rows]` to
    /// `[M, d_model]`, and what was read. A row of the batch is a bag of ids with weights.
    ///
    /// Backward: SDDMM for the values of the batch if they are tracked, and a transposed SpMM for the rows read. Cost:
    /// `O(nnz d_model)`; neither the table's other rows nor the empty columns of the batch are touched. Reads the
    /// number of columns that store an element from the device, once for each pattern.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the batch does not have a column for each row of the table; `fill_mismatch` if its fill is
    /// not known to be zero; `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_matmul(&self, batch: &CsrTensor<2>) -> Result<(Tensor<2>, ReadRows)> {
        const OP: &str = "RowTable::matmul";
        let rows = self.weight.lazy_shape().dims::<2>()[0];
        if batch.dims()[1] != rows {
            let rule = "the batch {left} must have a column for each of the {right:1} rows of the table";
            return Err(SparseError::shape_mismatch(OP, rule, batch.dims(), [rows]));
        }
        if !batch.fill().is_zero() {
            return Err(SparseError::wrong_fill(OP, "zero", batch.fill(), "use with_fill"));
        }
        let (ids, compact) = batch.try_compact_columns()?;
        let read = self.read(OP, ids)?;
        let out = compact.try_matmul(read.rows.clone())?;
        Ok((out, read))
    }

    /// The rows of ascending ids, as a leaf of the tape.
    fn read(&self, op: &'static str, ids: Tensor<1, Int>) -> Result<ReadRows> {
        let weight = self.weight.val();
        let [size, _] = weight.dims();
        let ids = index_tensor(ids, index_dtype_for(size));
        let (device, tracked) = (weight.device(), weight.is_require_grad());
        let rows = grad::rows_at(weight.inner(), &ids)?;
        same_elements(op, &rows, &rows)?;
        let rows = associate(rows, &device);
        Ok(ReadRows { ids, rows: if tracked { rows.require_grad() } else { rows }, size })
    }
}

impl ModuleDisplay for RowTable {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        DisplaySettings::new().with_new_line_after_attribute(false).optional()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        let [rows, d_model] = self.weight.lazy_shape().dims();
        content.add("rows", &rows).add("d_model", &d_model).optional()
    }
}
