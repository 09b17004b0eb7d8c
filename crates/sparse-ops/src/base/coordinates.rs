//! Coordinates `[dims, nnz]`: reading single dims, and making them from single dims.

use super::exact::Exact;
use super::index::{index_dtype, index_tensor};
use burn::tensor::{Int, Tensor};

/// Coordinates along one dim as a row `[1, nnz]`.
pub(crate) fn row(coordinates: &Tensor<2, Int>, dim: usize) -> Tensor<2, Int> {
    let nnz = coordinates.dims()[1];
    if nnz == 0 {
        return Tensor::empty([1, 0], (&coordinates.device(), coordinates.dtype()));
    }
    coordinates.clone().narrow(0, dim, 1)
}

/// Coordinates along one dim.
pub fn along(coordinates: &Tensor<2, Int>, dim: usize) -> Tensor<1, Int> {
    let nnz = coordinates.dims()[1];
    row(coordinates, dim).reshape(Exact([nnz]))
}

/// Coordinates along each dim.
pub(crate) fn by_dim(coordinates: &Tensor<2, Int>) -> Vec<Tensor<1, Int>> {
    (0..coordinates.dims()[0]).map(|dim| along(coordinates, dim)).collect()
}

/// Joins the coordinates along each dim to `[dims, nnz]`, in the index dtype of `shape`. `like` is any index tensor of
/// the device.
pub(crate) fn join_dims<const R: usize>(
    dims: Vec<Tensor<1, Int>>,
    shape: &[usize],
    nnz: usize,
    like: &Tensor<R, Int>,
) -> Tensor<2, Int> {
    let dtype = index_dtype(shape, nnz);
    if nnz == 0 || dims.is_empty() {
        return Tensor::empty([shape.len(), nnz], (&like.device(), dtype));
    }
    let rows = dims.into_iter().map(|ids| index_tensor(ids, dtype).reshape([1, nnz as i64])).collect();
    Tensor::cat(rows, 0)
}

/// Columns of a matrix of coordinates.
pub(crate) fn columns(coordinates: &Tensor<2, Int>, positions: &Tensor<1, Int>) -> Tensor<2, Int> {
    if positions.dims()[0] == 0 {
        return Tensor::empty([coordinates.dims()[0], 0], (&coordinates.device(), coordinates.dtype()));
    }
    coordinates.clone().select(1, positions.clone())
}

/// The coordinates, dim by dim, of row-major positions in `shape`.
pub(crate) fn unravel(flat: Tensor<1, Int>, shape: &[usize]) -> Vec<Tensor<1, Int>> {
    let mut rest = flat;
    let mut dims: Vec<Tensor<1, Int>> = Vec::with_capacity(shape.len());
    for &size in shape.iter().skip(1).rev() {
        let above = rest.clone().div_scalar(size as i64);
        dims.push(rest - above.clone().mul_scalar(size as i64));
        rest = above;
    }
    if !shape.is_empty() {
        dims.push(rest);
    }
    dims.reverse();
    dims
}
