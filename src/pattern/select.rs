//! Selections of stored elements: the index maps that structural operations are made of.

use super::{CooPattern, Pattern, index_dtype, index_tensor};
use crate::kernel;
use crate::rows::RowMap;
use crate::tensor::Exact;
use burn::tensor::{Bool, DType, Int, Tensor};

/// Positions that `keep` marks, ascending. Reads one number: how many there are.
pub(crate) fn kept(keep: Tensor<1, Bool>, dtype: DType) -> Tensor<1, Int> {
    let length = keep.dims()[0];
    if length == 0 {
        return Tensor::empty([0], (&keep.device(), dtype));
    }
    let (order, ptr) = kernel::group_by(&index_tensor(keep.bool_not().int(), dtype), 2);
    let count = read(ptr.narrow(0, 1, 1));
    if count == 0 { Tensor::empty([0], (&order.device(), dtype)) } else { order.narrow(0, 0, count) }
}

/// Things taken several times each: thing `k` stands for the positions `starts[k] .. starts[k] + counts[k]`.
pub(crate) struct Expansion {
    /// For every position taken: which thing it belongs to (ascending).
    pub(crate) owner: Tensor<1, Int>,
    /// For every position taken: the position.
    pub(crate) at: Tensor<1, Int>,
}

/// See [`Expansion`]. `starts` and `counts` are `[n]`, of one dtype that holds the total. Reads one number: the total.
pub(crate) fn expand(starts: &Tensor<1, Int>, counts: &Tensor<1, Int>) -> Expansion {
    let (things, dtype, device) = (counts.dims()[0], counts.dtype(), counts.device());
    let ptr = kernel::scan(counts);
    let total = read(ptr.clone().narrow(0, things, 1));
    if total == 0 {
        let none = Tensor::empty([0], (&device, dtype));
        return Expansion { owner: none.clone(), at: none };
    }
    let owner = kernel::expand_ptr(&ptr, total);
    let first = starts.clone() - ptr.clone().narrow(0, 0, things);
    let at = Tensor::<1, Int>::arange(0..total as i64, (&device, dtype)) + first.select(0, owner.clone());
    Expansion { owner, at }
}

/// One number of the device.
pub(crate) fn read(number: Tensor<1, Int>) -> usize {
    sparse_burn::read_data(number).convert::<i64>().iter::<i64>().next().expect("one number") as usize
}

/// The stored elements at `positions` (ascending, each at most once) of a pattern: a coalesced one stays coalesced.
pub(crate) fn subset<P: Pattern>(pattern: &P, positions: &Tensor<1, Int>) -> (P, RowMap) {
    let map = RowMap::new(positions.clone(), pattern.nnz());
    let coordinates = columns(pattern.coordinates(), positions);
    (P::from_coo(CooPattern::new_unchecked(coordinates, pattern.shape(), pattern.is_coalesced())), map)
}

/// Columns of a matrix of coordinates.
pub(crate) fn columns(coordinates: &Tensor<2, Int>, positions: &Tensor<1, Int>) -> Tensor<2, Int> {
    if positions.dims()[0] == 0 {
        return Tensor::empty([coordinates.dims()[0], 0], (&coordinates.device(), coordinates.dtype()));
    }
    coordinates.clone().select(1, positions.clone())
}

/// The pattern of coordinates `[dims, n]` that are distinct but stand in any order, and where its elements stand in them.
pub(crate) fn sorted<P: Pattern>(coordinates: Tensor<2, Int>, shape: &[usize]) -> (P, Tensor<1, Int>) {
    let nnz = coordinates.dims()[1];
    let coordinates = index_tensor(coordinates, index_dtype(shape, nnz));
    let (indices, order, _) = kernel::coalesce(&coordinates, shape);
    (P::from_coo(CooPattern::new_unchecked(indices, shape, true)), order)
}

/// Coordinates along one dim as a line `[1, nnz]`.
pub(crate) fn line(coordinates: &Tensor<2, Int>, dim: usize) -> Tensor<2, Int> {
    let nnz = coordinates.dims()[1];
    if nnz == 0 {
        return Tensor::empty([1, 0], (&coordinates.device(), coordinates.dtype()));
    }
    coordinates.clone().narrow(0, dim, 1)
}

/// Coordinates along one dim.
pub(crate) fn along(coordinates: &Tensor<2, Int>, dim: usize) -> Tensor<1, Int> {
    let nnz = coordinates.dims()[1];
    line(coordinates, dim).reshape(Exact([nnz]))
}
