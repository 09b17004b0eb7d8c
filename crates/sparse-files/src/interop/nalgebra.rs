//! Matrices of `nalgebra-sparse`.

use super::from_sparse::FromSparse;
use super::matrix::HostMatrix;
use super::read::{Lines, by_columns, by_rows, triplets};
use burn::tensor::Element;
use nalgebra_sparse::{CooMatrix, CscMatrix, CsrMatrix};
use sparse_ops::pattern::Pattern;
use sparse_ops::{Kind, Result, SparseTensor};

macro_rules! host_matrix {
    ($($matrix:ident)*) => {$(
        impl<N: Element> HostMatrix for $matrix<N> {
            type Value = N;

            fn dims(&self) -> [usize; 2] {
                [self.nrows(), self.ncols()]
            }

            fn entries(&self) -> impl Iterator<Item = (usize, usize, N)> {
                self.triplet_iter().map(|(row, col, &value)| (row, col, value))
            }
        }

    )*};
}

host_matrix!(CooMatrix CsrMatrix CscMatrix);

/// Compressed rows. Duplicates are summed.
///
/// # Errors
///
/// `fill_mismatch` and `undefined_fill` for a fill other than zero; `dtype_mismatch` if `N` does not hold every number
/// of the dtype; `shape_mismatch` for dense dims; `would_densify` for more than [the limit](sparse_ops::Limits) of
/// rows that are almost all empty.
impl<N: Element> FromSparse for CsrMatrix<N> {
    fn from_sparse<P: Pattern, K: Kind>(tensor: &SparseTensor<P, 2, K>) -> Result<Self> {
        let Lines { ptr, idx, values } = by_rows("nalgebra_sparse::CsrMatrix::from_sparse", tensor)?;
        let [rows, cols] = tensor.dims();
        Ok(Self::try_from_csr_data(rows, cols, ptr, idx, values).expect("compressed rows"))
    }
}

/// Compressed columns. Duplicates are summed.
///
/// # Errors
///
/// As for `CsrMatrix`, with columns in place of rows.
impl<N: Element> FromSparse for CscMatrix<N> {
    fn from_sparse<P: Pattern, K: Kind>(tensor: &SparseTensor<P, 2, K>) -> Result<Self> {
        let Lines { ptr, idx, values } = by_columns("nalgebra_sparse::CscMatrix::from_sparse", tensor)?;
        let [rows, cols] = tensor.dims();
        Ok(Self::try_from_csc_data(rows, cols, ptr, idx, values).expect("compressed columns"))
    }
}

/// The stored elements in storage order, with duplicates.
///
/// # Errors
///
/// As for `CsrMatrix`, without `would_densify`.
impl<N: Element> FromSparse for CooMatrix<N> {
    fn from_sparse<P: Pattern, K: Kind>(tensor: &SparseTensor<P, 2, K>) -> Result<Self> {
        let (row_ids, col_ids, values) = triplets("nalgebra_sparse::CooMatrix::from_sparse", tensor)?;
        let [rows, cols] = tensor.dims();
        Ok(Self::try_from_triplets(rows, cols, row_ids, col_ids, values).expect("coordinates inside the shape"))
    }
}
