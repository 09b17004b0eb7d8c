//! Sparse matrices of `faer`.

use super::matrix::{HostMatrix, try_from_matrix};
use super::read::{Lines, by_columns, by_rows, indices};
use crate::base::kind::Kind;
use crate::pattern::layout::Pattern;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Device, Element};
use faer::Index;
use faer::sparse::{SparseColMat, SparseColMatRef, SparseRowMat, SparseRowMatRef};
use faer::sparse::{SymbolicSparseColMat, SymbolicSparseRowMat};
use sparse_core::{Result, SparseError};

// Lines may be unsorted, repeat an index, and leave gaps between them: `triplet_iter` skips the gaps.
macro_rules! host_matrix {
    ($([$($lifetime:lifetime)?] $matrix:ty;)*) => {$(
        impl<$($lifetime,)? I: Index, N: Element> HostMatrix for $matrix {
            type Value = N;

            fn dims(&self) -> [usize; 2] {
                [self.nrows(), self.ncols()]
            }

            fn entries(&self) -> impl Iterator<Item = (usize, usize, N)> {
                self.as_ref().triplet_iter().map(|entry| (entry.row, entry.col, *entry.val))
            }
        }

        try_from_matrix!([$($lifetime,)? I: Index, N: Element] $matrix);
    )*};
}

host_matrix! {
    [] SparseColMat<I, N>;
    [] SparseRowMat<I, N>;
    ['a] SparseColMatRef<'a, I, N>;
    ['a] SparseRowMatRef<'a, I, N>;
}

/// The largest index of a matrix of faer.
fn limit<I: Index>() -> usize {
    usize::MAX.checked_shr(usize::BITS - I::BITS + 1).expect("an index type of at most the width of usize")
}

/// Compressed columns. Duplicates are summed.
///
/// # Errors
///
/// `fill_mismatch` and `undefined_fill` for a fill other than zero; `dtype_mismatch` if `N` does not hold every number
/// of the dtype; `overflow` if the index type does not hold the sizes; `shape_mismatch` for dense dims;
/// `would_densify` for more than [the limit](crate::Limits) of columns that are almost all empty.
impl<I: Index, N: Element, P: Pattern, K: Kind> TryFrom<&SparseTensor<P, 2, K>> for SparseColMat<I, N> {
    type Error = SparseError;

    fn try_from(tensor: &SparseTensor<P, 2, K>) -> Result<Self> {
        const OP: &str = "faer::SparseColMat::try_from";
        let [rows, cols] = tensor.dims();
        let Lines { ptr, idx, values } = by_columns(OP, tensor)?;
        let narrow = |numbers| indices(OP, numbers, &[rows, cols], limit::<I>(), I::truncate);
        let pattern = SymbolicSparseColMat::new_checked(rows, cols, narrow(ptr)?, None, narrow(idx)?);
        Ok(Self::new(pattern, values))
    }
}

/// Compressed rows. Duplicates are summed.
///
/// # Errors
///
/// As for `SparseColMat`, with rows in place of columns.
impl<I: Index, N: Element, P: Pattern, K: Kind> TryFrom<&SparseTensor<P, 2, K>> for SparseRowMat<I, N> {
    type Error = SparseError;

    fn try_from(tensor: &SparseTensor<P, 2, K>) -> Result<Self> {
        const OP: &str = "faer::SparseRowMat::try_from";
        let [rows, cols] = tensor.dims();
        let Lines { ptr, idx, values } = by_rows(OP, tensor)?;
        let narrow = |numbers| indices(OP, numbers, &[rows, cols], limit::<I>(), I::truncate);
        let pattern = SymbolicSparseRowMat::new_checked(rows, cols, narrow(ptr)?, None, narrow(idx)?);
        Ok(Self::new(pattern, values))
    }
}
