//! The compressed-row pattern.

use super::{CooPattern, check_fits};
use crate::alloc::zeroed;
use crate::{Index, Result, Transposed, expand_ptr, transpose_csr, validate_csr};
use std::sync::{Arc, OnceLock};

/// Rows and columns of the specified elements of a matrix, or of a batch of them stacked: the pattern of
/// `[batch, rows, cols]` is kept as that of `[batch * rows, cols]`. Columns ascend strictly in each row.
///
/// Immutable; a clone shares everything. What is derived from it is computed on first need and kept.
#[derive(Debug, Clone)]
pub struct CsrPattern<I>(Arc<Inner<I>>);

#[derive(Debug)]
struct Inner<I> {
    batch: usize,
    rows: usize,
    cols: usize,
    row_ptr: Vec<I>,
    col_idx: Vec<I>,
    row_ids: OnceLock<Vec<I>>,
    transpose: OnceLock<Transposed<I>>,
}

impl<I: Index> CsrPattern<I> {
    /// A pattern of `batch` matrices `rows x cols`, checked whole. `row_ptr` has `batch * rows + 1` entries
    /// ([`join_row_ptr`](crate::join_row_ptr) makes them from one array a batch).
    ///
    /// # Errors
    ///
    /// [`Overflow`](crate::SparseError::Overflow) when a dimension, `batch * rows` or the number of elements does not
    /// fit `I`, and those of [`validate_csr`].
    pub fn new(
        op: &'static str,
        batch: usize,
        rows: usize,
        cols: usize,
        row_ptr: Vec<I>,
        col_idx: Vec<I>,
    ) -> Result<Self> {
        check_fits::<I>(op, "the number of rows", rows as u128)?;
        check_fits::<I>(op, "the number of rows of all batches", batch as u128 * rows as u128)?;
        check_fits::<I>(op, "the number of columns", cols as u128)?;
        check_fits::<I>(op, "the number of stored elements", col_idx.len() as u128)?;
        validate_csr(op, batch * rows, cols, &row_ptr, &col_idx)?;
        Ok(Self::new_unchecked(batch, rows, cols, row_ptr, col_idx))
    }

    /// A pattern that is known to satisfy what [`new`](Self::new) checks. Otherwise kernels panic or give wrong
    /// results, never undefined behaviour.
    pub fn new_unchecked(batch: usize, rows: usize, cols: usize, row_ptr: Vec<I>, col_idx: Vec<I>) -> Self {
        let (row_ids, transpose) = (OnceLock::new(), OnceLock::new());
        Self(Arc::new(Inner { batch, rows, cols, row_ptr, col_idx, row_ids, transpose }))
    }

    /// Number of matrices.
    pub fn batch(&self) -> usize {
        self.0.batch
    }

    /// Rows of one matrix.
    pub fn rows(&self) -> usize {
        self.0.rows
    }

    /// Rows of all matrices: `batch * rows`.
    pub fn stacked_rows(&self) -> usize {
        self.0.batch * self.0.rows
    }

    /// Columns.
    pub fn cols(&self) -> usize {
        self.0.cols
    }

    /// Number of stored elements of all matrices.
    pub fn nnz(&self) -> usize {
        self.0.col_idx.len()
    }

    /// Where each row starts, and the end: `batch * rows + 1` entries.
    pub fn row_ptr(&self) -> &[I] {
        &self.0.row_ptr
    }

    /// Column of every element.
    pub fn col_idx(&self) -> &[I] {
        &self.0.col_idx
    }

    /// Whether two patterns are one and the same object.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Row (of the stacked matrix) of every element. Computed once.
    pub fn row_ids(&self) -> &[I] {
        self.0.row_ids.get_or_init(|| expand_ptr(&self.0.row_ptr))
    }

    /// The compressed columns of the stacked matrix `[batch * rows, cols]`. Computed once.
    pub fn transpose(&self) -> &Transposed<I> {
        self.0
            .transpose
            .get_or_init(|| transpose_csr(self.stacked_rows(), self.0.cols, &self.0.row_ptr, &self.0.col_idx))
    }

    /// The coordinates over `[rows, cols]`; a batch of matrices gives those of the stacked one, `[batch * rows, cols]`.
    /// Coalesced, with the elements in the same order. O(nnz).
    pub fn to_coo(&self) -> CooPattern<I> {
        let indices = [self.row_ids(), self.col_idx()].concat();
        CooPattern::new_coalesced_unchecked(vec![self.stacked_rows(), self.0.cols], indices, self.nnz())
    }

    /// The coordinates over `[batch, rows, cols]`. Coalesced, with the elements in the same order. O(nnz).
    pub fn to_coo_batched(&self) -> CooPattern<I> {
        let (nnz, rows, ids) = (self.nnz(), self.0.rows, self.row_ids());
        let mut indices = zeroed(2 * nnz);
        let (batches, inner) = indices.split_at_mut(nnz);
        for ((batch, row), id) in batches.iter_mut().zip(inner).zip(ids) {
            *batch = I::from_usize(id.to_usize() / rows);
            *row = I::from_usize(id.to_usize() % rows);
        }
        indices.extend_from_slice(self.col_idx());
        CooPattern::new_coalesced_unchecked(vec![self.0.batch, rows, self.0.cols], indices, nnz)
    }
}

/// Equal sizes and elements.
impl<I: Index> PartialEq for CsrPattern<I> {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.0, &other.0);
        self.same(other)
            || ((a.batch, a.rows, a.cols) == (b.batch, b.rows, b.cols)
                && a.row_ptr == b.row_ptr
                && a.col_idx == b.col_idx)
    }
}

impl<I: Index> Eq for CsrPattern<I> {}
