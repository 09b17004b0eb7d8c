//! Selections of stored elements, and the index maps that they give.

use super::layout::Pattern;
use crate::base::coordinates::columns;
use crate::base::index::{index_dtype, index_tensor, read};
use crate::kernel;
use crate::rows::RowMap;
use burn::tensor::{Bool, DType, Int, Tensor};

/// The positions where `keep` is true, ascending. Reads their number from the device.
pub(crate) fn kept(keep: Tensor<1, Bool>, dtype: DType) -> Tensor<1, Int> {
    let length = keep.dims()[0];
    if length == 0 {
        return Tensor::empty([0], (&keep.device(), dtype));
    }
    let (order, ptr) = kernel::group_by(index_tensor(keep.bool_not().int(), dtype), 2);
    let count = read(ptr.narrow(0, 1, 1));
    if count == 0 { Tensor::empty([0], (&order.device(), dtype)) } else { order.narrow(0, 0, count) }
}

/// All positions of several ranges, one after the other: range `k` is `starts[k] .. starts[k] + counts[k]`.
pub(crate) struct Expansion {
    /// For every position of all ranges: the range that it belongs to (ascending).
    pub(crate) owner: Tensor<1, Int>,
    /// For every position of all ranges: the position.
    pub(crate) at: Tensor<1, Int>,
}

/// See [`Expansion`]. `starts` and `counts` are `[n]`, of one dtype that holds the total. Reads the total from the
/// device.
pub(crate) fn expand(starts: &Tensor<1, Int>, counts: &Tensor<1, Int>) -> Expansion {
    let (ranges, dtype, device) = (counts.dims()[0], counts.dtype(), counts.device());
    let ptr = kernel::scan(counts);
    let total = read(ptr.clone().narrow(0, ranges, 1));
    if total == 0 {
        let none = Tensor::empty([0], (&device, dtype));
        return Expansion { owner: none.clone(), at: none };
    }
    let owner = kernel::expand_ptr(&ptr, total);
    let first = starts.clone() - ptr.clone().narrow(0, 0, ranges);
    let at = Tensor::<1, Int>::arange(0..total as i64, (&device, dtype)) + first.select(0, owner.clone());
    Expansion { owner, at }
}

/// The stored elements at `positions`, ascending and without repeats. A coalesced pattern stays coalesced.
pub(crate) fn subset<P: Pattern>(pattern: &P, positions: &Tensor<1, Int>) -> (P, RowMap) {
    let map = RowMap::new(positions.clone(), pattern.nnz());
    let coordinates = columns(pattern.coordinates(), positions);
    (P::from_coordinates(coordinates, pattern.shape(), pattern.is_coalesced()), map)
}

/// The pattern of distinct coordinates `[dims, n]` in any order, and the position of each of its elements among them.
pub(crate) fn sorted<P: Pattern>(coordinates: Tensor<2, Int>, shape: &[usize]) -> (P, Tensor<1, Int>) {
    let nnz = coordinates.dims()[1];
    let coordinates = index_tensor(coordinates, index_dtype(shape, nnz));
    let (indices, order, _) = kernel::coalesce(&coordinates, shape);
    (P::from_coordinates(indices, shape, true), order)
}
