//! Coordinates dim by dim.

use super::{CooPattern, Pattern, index_dtype, index_tensor, select::along};
use burn::tensor::{Int, Tensor};

/// Coordinates along each dim.
pub(crate) fn lines(coordinates: &Tensor<2, Int>) -> Vec<Tensor<1, Int>> {
    (0..coordinates.dims()[0]).map(|dim| along(coordinates, dim)).collect()
}

/// The coordinates `[dims, nnz]` that have these lines, in the index dtype of `shape`; `like` is any index tensor of
/// the device.
pub(crate) fn of_lines<const R: usize>(
    lines: Vec<Tensor<1, Int>>,
    shape: &[usize],
    nnz: usize,
    like: &Tensor<R, Int>,
) -> Tensor<2, Int> {
    let dtype = index_dtype(shape, nnz);
    if nnz == 0 || lines.is_empty() {
        return Tensor::zeros([shape.len(), nnz], (&like.device(), dtype));
    }
    let lines = lines.into_iter().map(|line| index_tensor(line, dtype).reshape([1, nnz as i64])).collect();
    Tensor::cat(lines, 0)
}

/// The pattern of lines that are in order already (or, for coordinates that may stay as they are, not coalesced).
pub(crate) fn from_lines<P: Pattern, const R: usize>(
    lines: Vec<Tensor<1, Int>>,
    shape: &[usize],
    nnz: usize,
    coalesced: bool,
    like: &Tensor<R, Int>,
) -> P {
    P::from_coo(CooPattern::new_unchecked(of_lines(lines, shape, nnz, like), shape, coalesced))
}

/// `0 .. length`, in the dtype and on the device of `like`.
pub(crate) fn count_up<const R: usize>(length: usize, like: &Tensor<R, Int>) -> Tensor<1, Int> {
    if length == 0 {
        return Tensor::zeros([0], (&like.device(), like.dtype()));
    }
    Tensor::arange(0..length as i64, (&like.device(), like.dtype()))
}
