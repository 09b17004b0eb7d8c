//! Patterns from coordinates that are given dim by dim.

use super::layout::Pattern;
use crate::base::coordinates::{by_dim, join_dims};
use burn::tensor::{Int, Tensor};

/// The pattern of coordinates that are given dim by dim. With `coalesced` they must be distinct and in order.
pub(crate) fn from_dims<P: Pattern, const R: usize>(
    dims: Vec<Tensor<1, Int>>,
    shape: &[usize],
    nnz: usize,
    coalesced: bool,
    like: &Tensor<R, Int>,
) -> P {
    P::from_coordinates(join_dims(dims, shape, nnz, like), shape, coalesced)
}

/// A pattern of `shape` with nothing stored, on the device of `like`.
pub(crate) fn empty_pattern<P: Pattern>(like: &P, shape: &[usize]) -> P {
    from_dims(vec![], shape, 0, true, &Tensor::<1, Int>::empty([0], (&like.device(), like.index_dtype())))
}

/// The pattern with one more sparse dim, of size 1, at `axis`. No element moves.
pub(crate) fn unsqueezed<P: Pattern>(pattern: &P, axis: usize) -> P {
    if let Some(same) = pattern.unsqueezed(axis) {
        return same;
    }
    let mut shape = pattern.shape().to_vec();
    shape.insert(axis, 1);
    let coordinates = pattern.coordinates();
    let mut dims = by_dim(coordinates);
    dims.insert(axis, Tensor::zeros([pattern.nnz()], (&coordinates.device(), coordinates.dtype())));
    from_dims(dims, &shape, pattern.nnz(), pattern.is_coalesced(), coordinates)
}
