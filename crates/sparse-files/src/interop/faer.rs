//! Sparse matrices of `faer`.

use super::from_sparse::FromSparse;
use super::matrix::HostMatrix;
use super::read::{Lines, by_columns, by_rows, indices};
use burn::tensor::Element;
use faer::Index;
use faer::sparse::{SparseColMat, SparseColMatRef, SparseRowMat, SparseRowMatRef};
use faer::sparse::{SymbolicSparseColMat, SymbolicSparseRowMat};
use sparse_ops::pattern::Pattern;
use sparse_ops::{Kind, Result, SparseTensor};

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
/// `would_densify` for more than [the limit](sparse_ops::Limits) of columns that are almost all empty.
impl<I: Index, N: Element> FromSparse for SparseColMat<I, N> {
    fn from_sparse<P: Pattern, K: Kind>(tensor: &SparseTensor<P, 2, K>) -> Result<Self> {
        const OP: &str = "faer::SparseColMat::from_sparse";
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
impl<I: Index, N: Element> FromSparse for SparseRowMat<I, N> {
    fn from_sparse<P: Pattern, K: Kind>(tensor: &SparseTensor<P, 2, K>) -> Result<Self> {
        const OP: &str = "faer::SparseRowMat::from_sparse";
        let [rows, cols] = tensor.dims();
        let Lines { ptr, idx, values } = by_rows(OP, tensor)?;
        let narrow = |numbers| indices(OP, numbers, &[rows, cols], limit::<I>(), I::truncate);
        let pattern = SymbolicSparseRowMat::new_checked(rows, cols, narrow(ptr)?, None, narrow(idx)?);
        Ok(Self::new(pattern, values))
    }
}
