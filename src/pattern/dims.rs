//! Coordinates dim by dim.

use super::{CooPattern, CsrPattern, Pattern, index_dtype, index_tensor, select::along};
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
        return Tensor::empty([shape.len(), nnz], (&like.device(), dtype));
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

/// A pattern of `shape` with nothing stored, on the device of `like`.
pub(crate) fn nothing<P: Pattern>(like: &P, shape: &[usize]) -> P {
    from_lines(vec![], shape, 0, true, like.coordinates())
}

/// The coordinates of `pattern` with a sparse dim of size 1 more, at `axis`: no element moves.
pub(crate) fn unsqueezed<P: Pattern>(pattern: &P, axis: usize) -> P {
    let mut shape = pattern.shape().to_vec();
    shape.insert(axis, 1);
    if P::LAYOUT == CsrPattern::LAYOUT && axis < 2 {
        // A batch of one matrix, or of matrices of one row: the rows are the same.
        return P::from_arrays(pattern.arrays(), &shape, true);
    }
    let coordinates = pattern.coordinates();
    let mut lines = lines(coordinates);
    lines.insert(axis, Tensor::zeros([pattern.nnz()], (&coordinates.device(), coordinates.dtype())));
    from_lines(lines, &shape, pattern.nnz(), pattern.is_coalesced(), coordinates)
}

/// `0 .. length`, in the dtype and on the device of `like`.
pub(crate) fn count_up<const R: usize>(length: usize, like: &Tensor<R, Int>) -> Tensor<1, Int> {
    if length == 0 {
        return Tensor::empty([0], (&like.device(), like.dtype()));
    }
    Tensor::arange(0..length as i64, (&like.device(), like.dtype()))
}
