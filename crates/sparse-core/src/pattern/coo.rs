//! The coordinate pattern.

use super::{CsrPattern, check_fits};
use crate::{Index, Result, Segments, coalesce, compress, validate_coo};
use std::sync::{Arc, OnceLock};

/// Coordinates of the specified elements of a tensor: `indices` is row-major `[shape.len(), nnz]`.
///
/// Immutable; a clone shares everything. Duplicates and any order are legal. What is derived from the indices is
/// computed on first need and kept.
#[derive(Debug, Clone)]
pub struct CooPattern<I>(Arc<Inner<I>>);

#[derive(Debug)]
struct Inner<I> {
    shape: Vec<usize>,
    indices: Vec<I>,
    nnz: usize,
    coalesced: OnceLock<bool>,
    row_ptr: OnceLock<Vec<I>>,
}

impl<I: Index> CooPattern<I> {
    /// A pattern over the sparse dims `shape`, checked whole: one parallel pass.
    ///
    /// `nnz` cannot be told from `indices` when there are no sparse dims, hence the argument.
    ///
    /// # Errors
    ///
    /// [`Overflow`](crate::SparseError::Overflow) when a dimension or `nnz` does not fit `I`,
    /// [`LengthMismatch`](crate::SparseError::LengthMismatch) when `indices` does not hold `shape.len() * nnz` entries,
    /// [`IndexOutOfRange`](crate::SparseError::IndexOutOfRange) for an index outside its dimension.
    pub fn new(op: &'static str, shape: Vec<usize>, indices: Vec<I>, nnz: usize) -> Result<Self> {
        for &size in &shape {
            check_fits::<I>(op, "a dimension", size as u128)?;
        }
        check_fits::<I>(op, "the number of stored elements", nnz as u128)?;
        let coalesced = validate_coo(op, &shape, &indices, nnz)?;
        let pattern = Self::new_unchecked(shape, indices, nnz);
        let _ = pattern.0.coalesced.set(coalesced);
        Ok(pattern)
    }

    /// A pattern that is known to satisfy what [`new`](Self::new) checks. Otherwise kernels panic or give wrong
    /// results, never undefined behaviour.
    pub fn new_unchecked(shape: Vec<usize>, indices: Vec<I>, nnz: usize) -> Self {
        Self(Arc::new(Inner { shape, indices, nnz, coalesced: OnceLock::new(), row_ptr: OnceLock::new() }))
    }

    /// A pattern that is known to be coalesced besides.
    pub fn new_coalesced_unchecked(shape: Vec<usize>, indices: Vec<I>, nnz: usize) -> Self {
        let pattern = Self::new_unchecked(shape, indices, nnz);
        let _ = pattern.0.coalesced.set(true);
        pattern
    }

    /// Sizes of the sparse dims.
    pub fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    /// All indices, row-major `[sparse_dims, nnz]`.
    pub fn indices(&self) -> &[I] {
        &self.0.indices
    }

    /// Indices along sparse dim `d`.
    ///
    /// # Panics
    ///
    /// When there is no such dim.
    pub fn axis(&self, d: usize) -> &[I] {
        assert!(d < self.sparse_dims(), "axis: dim must be below {}, got {d}", self.sparse_dims());
        &self.0.indices[d * self.0.nnz..(d + 1) * self.0.nnz]
    }

    /// Number of stored entries, duplicates included.
    pub fn nnz(&self) -> usize {
        self.0.nnz
    }

    /// Number of sparse dims.
    pub fn sparse_dims(&self) -> usize {
        self.0.shape.len()
    }

    /// Whether two patterns are one and the same object.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether the coordinates ascend strictly in lexicographic order. Computed once.
    pub fn is_coalesced(&self) -> bool {
        *self
            .0
            .coalesced
            .get_or_init(|| validate_coo("is_coalesced", &self.0.shape, &self.0.indices, self.0.nnz).unwrap_or(false))
    }

    /// Row pointers over dim 0 (`shape[0] + 1` entries) of a coalesced pattern of rank 2; `None` for any other.
    /// Computed once.
    pub fn row_ptr(&self) -> Option<&[I]> {
        (self.sparse_dims() == 2 && self.is_coalesced())
            .then(|| &**self.0.row_ptr.get_or_init(|| compress(self.axis(0), self.0.shape[0])))
    }

    /// The coalesced pattern, and for each of its entries the old positions that meet there (ascending). A pattern
    /// that is coalesced gives itself and the identity.
    pub fn coalesce(&self) -> (Self, Segments<I>) {
        let nnz = self.0.nnz;
        if self.is_coalesced() {
            let segments = Segments {
                ptr: crate::par::fill_with(nnz + 1, I::from_usize),
                order: crate::par::fill_with(nnz, I::from_usize),
            };
            return (self.clone(), segments);
        }
        let unique = coalesce(&self.0.shape, &self.0.indices, nnz);
        let m = unique.segments.ptr.len() - 1;
        (Self::new_coalesced_unchecked(self.0.shape.clone(), unique.indices, m), unique.segments)
    }

    /// The CSR pattern of a matrix, and for each of its elements the old positions that meet there.
    ///
    /// # Panics
    ///
    /// When the rank is not 2.
    pub fn to_csr(&self) -> (CsrPattern<I>, Segments<I>) {
        assert_eq!(self.sparse_dims(), 2, "to_csr: the pattern must have 2 sparse dims");
        let (unique, segments) = self.coalesce();
        let [rows, cols] = [self.0.shape[0], self.0.shape[1]];
        let row_ptr = compress(unique.axis(0), rows);
        (CsrPattern::new_unchecked(1, rows, cols, row_ptr, unique.axis(1).to_vec()), segments)
    }
}

/// Equal shape and indices, in the same order.
impl<I: Index> PartialEq for CooPattern<I> {
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
            || (self.0.nnz == other.0.nnz && self.0.shape == other.0.shape && self.0.indices == other.0.indices)
    }
}

impl<I: Index> Eq for CooPattern<I> {}
