//! What operations on dense dims share: blocks of values, and the fill's block, seen along one dim.

use super::to_dense::dense_limit;
use crate::pattern::{Pattern, dims};
use crate::tensor::{Exact, Fill, FillValue, Kind, SparseTensor};
use burn::tensor::Tensor;
use sparse_core::{Result, SparseError};

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// The tensor with `f` applied to every block, stored or fill, as `[n, old size, inner]` along dense dim `dim`, which
    /// has `size` elements after it. `f` moves or repeats elements, so a fill of one number stays what it is.
    pub(crate) fn map_blocks(&self, dim: usize, size: usize, f: impl Fn(Tensor<3, K>) -> Tensor<3, K>) -> Self {
        let mut dense_shape = self.dense_shape.clone();
        dense_shape[dim] = size;
        let block: usize = dense_shape.iter().product();
        let inner: usize = dense_shape[dim + 1..].iter().product();
        let outer: usize = dense_shape[..dim].iter().product();
        let along = |rows: Tensor<2, K>| {
            let count = rows.dims()[0];
            if count * block == 0 {
                return Tensor::empty([count, block], (&rows.device(), rows.dtype()));
            }
            f(rows.reshape(Exact([count * outer, self.dense_shape[dim], inner]))).reshape(Exact([count, block]))
        };
        let fill = match &self.fill {
            Fill::Value(FillValue::Block(own)) if block == 0 || own.row().dims()[1] == self.block() => {
                Fill::block(along(own.row().clone()))
            }
            other => other.clone(),
        };
        Self::from_parts(self.pattern.clone(), along(self.values.clone()), dense_shape, fill)
    }

    /// A pattern of `shape` with nothing stored, and its values.
    pub(crate) fn nothing(&self, shape: &[usize]) -> (P, Tensor<2, K>) {
        let pattern = dims::nothing(&self.pattern, shape);
        (pattern, Tensor::empty([0, self.block()], (&self.device(), self.dtype())))
    }
}

/// Checks that the layout has tensors of this shape (of the sparse dims), where so many numbers are `held` already.
pub(crate) fn check_layout<P: Pattern>(op: &'static str, shape: &[usize], held: usize) -> Result<()> {
    crate::pattern::check_sizes(op, shape)?;
    if P::LAYOUT != "CSR" {
        return Ok(());
    }
    let ([batch, rows, cols], what) = match *shape {
        [rows, cols] => ([1, rows, cols], "a dimension"),
        [batch, rows, cols] => ([batch, rows, cols], "batch * rows and batch * columns"),
        _ => {
            let rule = "CSR must have rank 2 or 3: to_coo has no such limit";
            return Err(SparseError::ShapeMismatch { op, rule, left: shape.to_vec(), right: vec![2, 3] });
        }
    };
    let got = batch as u128 * rows.max(cols) as u128;
    if got > i64::MAX as u128 {
        return Err(SparseError::Overflow { op, what, limit: i64::MAX as u128, got });
    }
    check_rows(op, batch * rows, held)
}

/// Checks that pointers to all rows cost no memory out of proportion: few of them, or of as many numbers as are `held`.
pub(crate) fn check_rows(op: &'static str, rows: usize, held: usize) -> Result<()> {
    let hint = "compressed rows need a pointer for every row, and almost all are empty: coordinates need none";
    check_table(op, rows, rows as u128 + 1, held, hint)
}

/// Checks that a number for every index of a dim of `size` costs no memory out of proportion, as [`check_rows`] does.
pub(super) fn check_line(op: &'static str, size: usize, held: usize) -> Result<()> {
    let hint = "the result has a number for every index along a dim, and almost all are empty";
    check_table(op, size, size as u128, held, hint)
}

/// Checks that `size` entries are few, or few beside the numbers that are `held`.
pub(super) fn check_table(
    op: &'static str,
    size: usize,
    elements: u128,
    held: usize,
    hint: &'static str,
) -> Result<()> {
    let limit = dense_limit();
    if size <= limit || size / 64 <= held {
        return Ok(());
    }
    Err(SparseError::WouldDensify { op, elements, limit: limit as u128, hint })
}

/// Numbers that a pattern keeps, or may have to: of elements, and of rows where they are compressed.
pub(crate) fn held<P: Pattern>(pattern: &P) -> usize {
    let shape = pattern.shape();
    let rows = if P::LAYOUT == "CSR" { shape[..shape.len() - 1].iter().product() } else { 0 };
    pattern.nnz() + rows
}
