//! Selections of stored elements, and the index maps that they give.

use super::layout::Pattern;
use crate::base::coordinates::columns;
use crate::base::index::{count_up, index_dtype, index_tensor, read};
use crate::kernel;
use crate::rows::RowMap;
use burn::tensor::{Bool, DType, FloatDType, Int, Tensor};
use sparse_burn::index_dtype_for;
use sparse_burn::replay::is_dropped;
use sparse_core::narrow_limit;

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
    /// Where the positions of each range start in the list of all, then their number.
    pub(crate) ptr: Tensor<1, Int>,
    /// For every position of all ranges: the range that it belongs to (ascending).
    pub(crate) owner: Tensor<1, Int>,
    /// For every position of all ranges: the position.
    pub(crate) at: Tensor<1, Int>,
}

/// See [`Expansion`]. `starts` and `counts` are `[n]`, of one dtype that holds the total. Reads the total from the
/// device, unless it is known.
pub(crate) fn expand(starts: &Tensor<1, Int>, counts: &Tensor<1, Int>, total: Option<usize>) -> Expansion {
    let (ranges, dtype, device) = (counts.dims()[0], counts.dtype(), counts.device());
    let ptr = kernel::scan(counts);
    let total = total.unwrap_or_else(|| read(ptr.clone().narrow(0, ranges, 1)));
    if total == 0 {
        let none = Tensor::empty([0], (&device, dtype));
        return Expansion { ptr, owner: none.clone(), at: none };
    }
    let owner = kernel::expand_ptr(&ptr, total);
    let first = starts.clone() - ptr.clone().narrow(0, 0, ranges);
    let at = count_up(total, &owner) + first.select(0, owner.clone());
    Expansion { ptr, owner, at }
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
    let (indices, order) = ordered(&index_tensor(coordinates, index_dtype(shape, nnz)), shape);
    (P::from_coordinates(indices, shape, true), order)
}

/// Distinct coordinates `[dims, n]` in lexicographic order, and that order.
pub(crate) fn ordered(coordinates: &Tensor<2, Int>, shape: &[usize]) -> (Tensor<2, Int>, Tensor<1, Int>) {
    let (indices, order, _) = kernel::coalesce(coordinates, shape);
    // A run that is dropped reads zero for the number of them, but as all are distinct it is known.
    let indices = if is_dropped() { coordinates.clone() } else { indices };
    (indices, order)
}

/// Where the groups `ids` start, and how many each holds.
pub(crate) fn lengths(ptr: &Tensor<1, Int>, ids: &Tensor<1, Int>) -> (Tensor<1, Int>, Tensor<1, Int>) {
    let ptr = index_tensor(ptr.clone(), ids.dtype());
    let starts = ptr.clone().select(0, ids.clone());
    let counts = ptr.select(0, ids.clone().add_scalar(1)) - starts.clone();
    (starts, counts)
}

/// The index dtype of an [`Expansion`]: it holds `position`, the number of ranges, and the sum of `counts`, which is at
/// most `most`.
pub(crate) fn total_dtype(counts: &Tensor<1, Int>, position: usize, most: u128) -> DType {
    // A few elements may be those at the end of many.
    if index_dtype_for(position.max(counts.dims()[0])) == DType::I64 {
        return DType::I64;
    }
    if most <= narrow_limit() as u128 {
        return index_dtype_for(most as usize);
    }
    // A sum of that many floats is off by at most half: enough to tell, and any device has it.
    if counts.dtype() == DType::I32 && counts.dims()[0] <= 1 << 24 {
        let sum = sparse_burn::read_data(counts.clone().float().cast(FloatDType::F32).sum_dim(0)).convert::<f64>();
        if sum.iter::<f64>().next().is_some_and(|sum| sum < narrow_limit() as f64 / 2.0) {
            return DType::I32;
        }
    }
    DType::I64
}
