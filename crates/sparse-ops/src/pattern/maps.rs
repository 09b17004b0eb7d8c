//! Index maps from other tensors to the stored elements.

use super::layout::Pattern;
use crate::base::coordinates::along;
use crate::base::index::index_tensor;
use crate::rows::RowMap;
use burn::tensor::{DType, Int, Tensor};

#[derive(PartialEq, Eq)]
struct Axis(usize);

#[derive(PartialEq, Eq)]
struct Dense;

/// The map that reads a vector along `axis` at every stored element.
pub(crate) fn axis_map<P: Pattern>(pattern: &P, axis: usize) -> RowMap {
    pattern.memo().get(Axis(axis), || RowMap::new(along(pattern.coordinates(), axis), pattern.shape()[axis]))
}

/// The map that reads a dense tensor (its sparse dims flattened) at every stored element.
pub(crate) fn from_dense_map<P: Pattern>(pattern: &P) -> RowMap {
    pattern.memo().get(Dense, || {
        let rows: usize = pattern.shape().iter().product();
        let dtype = sparse_burn::index_dtype_for(rows.max(pattern.nnz()));
        RowMap::new(flat_index(pattern, 0..pattern.shape().len(), dtype), rows)
    })
}

/// The row-major position of every stored element among some of the sparse dims.
pub(crate) fn flat_index<P: Pattern>(
    pattern: &P,
    dims: impl IntoIterator<Item = usize>,
    dtype: DType,
) -> Tensor<1, Int> {
    let nnz = pattern.nnz();
    let mut at = Tensor::<1, Int>::zeros([nnz], (&pattern.device(), dtype));
    if nnz == 0 {
        return at;
    }
    let coordinates = index_tensor(pattern.coordinates().clone(), dtype);
    for dim in dims {
        at = at.mul_scalar(pattern.shape()[dim] as i64) + along(&coordinates, dim);
    }
    at
}
