//! Matrices of `sprs`.

use super::from_sparse::FromSparse;
use super::matrix::HostMatrix;
use super::read::{Lines, by_rows, indices, triplets};
use burn::tensor::Element;
use sparse_ops::pattern::Pattern;
use sparse_ops::{Kind, Result, SparseTensor};
use sprs::{CsMatBase, CsMatI, SpIndex, TriMatBase, TriMatI};
use std::ops::Deref;

/// Both storages, matrices and views. Entries come by rows, or by columns for compressed columns.
impl<N, I, Ptr, Ptrs, Indices, Data> HostMatrix for CsMatBase<N, I, Ptrs, Indices, Data, Ptr>
where
    N: Element,
    I: SpIndex,
    Ptr: SpIndex,
    Ptrs: Deref<Target = [Ptr]>,
    Indices: Deref<Target = [I]>,
    Data: Deref<Target = [N]>,
{
    type Value = N;

    fn dims(&self) -> [usize; 2] {
        [self.rows(), self.cols()]
    }

    fn entries(&self) -> impl Iterator<Item = (usize, usize, N)> {
        let by_rows = self.is_csr();
        (0..self.outer_dims()).flat_map(move |line| {
            let stored = self.indptr().outer_inds_sz(line);
            self.indices()[stored.clone()].iter().zip(&self.data()[stored]).map(move |(index, &value)| {
                let index = index.index();
                if by_rows { (line, index, value) } else { (index, line, value) }
            })
        })
    }
}

/// Triplets, in the order in which they were added.
impl<N, I, Indices, Data> HostMatrix for TriMatBase<Indices, Data>
where
    N: Element,
    I: SpIndex + 'static,
    Indices: Deref<Target = [I]>,
    Data: Deref<Target = [N]>,
{
    type Value = N;

    fn dims(&self) -> [usize; 2] {
        [self.rows(), self.cols()]
    }

    fn entries(&self) -> impl Iterator<Item = (usize, usize, N)> {
        let at = self.row_inds().iter().zip(self.col_inds());
        at.zip(self.data()).map(|((row, col), &value)| (row.index(), col.index(), value))
    }
}

/// Compressed rows. Duplicates are summed.
///
/// # Errors
///
/// `fill_mismatch` and `undefined_fill` for a fill other than zero; `dtype_mismatch` if `N` does not hold every number
/// of the dtype; `overflow` if an index type does not hold the sizes; `shape_mismatch` for dense dims; `would_densify`
/// for more than [the limit](sparse_ops::Limits) of rows that are almost all empty.
impl<N, I, Ptr> FromSparse for CsMatI<N, I, Ptr>
where
    N: Element,
    I: SpIndex,
    Ptr: SpIndex,
{
    fn from_sparse<P: Pattern, K: Kind>(tensor: &SparseTensor<P, 2, K>) -> Result<Self> {
        const OP: &str = "sprs::CsMat::from_sparse";
        let [rows, cols] = tensor.dims();
        let Lines { ptr, idx, values } = by_rows(OP, tensor)?;
        let ptr = indices(OP, ptr, &[], Ptr::max_value().index(), Ptr::from_usize)?;
        let idx = indices(OP, idx, &[rows, cols], I::max_value().index(), I::from_usize)?;
        Ok(Self::new((rows, cols), ptr, idx, values))
    }
}

/// The stored elements in storage order, with duplicates.
///
/// # Errors
///
/// As for `CsMat`, without `would_densify`.
impl<N, I> FromSparse for TriMatI<N, I>
where
    N: Element,
    I: SpIndex,
{
    fn from_sparse<P: Pattern, K: Kind>(tensor: &SparseTensor<P, 2, K>) -> Result<Self> {
        const OP: &str = "sprs::TriMat::from_sparse";
        let [rows, cols] = tensor.dims();
        let (row_ids, col_ids, values) = triplets(OP, tensor)?;
        let narrow = |ids| indices(OP, ids, &[rows, cols], I::max_value().index(), I::from_usize);
        Ok(Self::from_triplets((rows, cols), narrow(row_ids)?, narrow(col_ids)?, values))
    }
}
