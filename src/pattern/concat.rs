//! Patterns joined along a sparse dim, along a new one, or along the diagonal.

use super::dims::unsqueezed;
use super::{CooPattern, Pattern, index_dtype, index_tensor, joined, keep_joined, offsets};
use crate::kernel::{self, Arrays};
use crate::rows::RowMap;
use crate::tensor::{Kind, ints};
use burn::tensor::Tensor;
use sparse_burn::ConcatAxis;

/// Keys of what is kept for patterns that are joined in other ways than along an axis of theirs.
const NEW_AXIS: usize = usize::MAX / 2;
const DIAGONAL: usize = usize::MAX;

/// The pattern of several, and where its rows come from in the concatenation of theirs (`None`: they stay).
pub(crate) fn concat<P: Pattern>(parts: &[P], axis: usize, shape: &[usize]) -> (P, Option<RowMap>) {
    joined(parts, axis, || {
        let (arrays, how) = arrays(parts, axis, shape);
        let coalesced = is_coalesced(&how);
        let (arrays, map) = kernel::concat_patterns(&arrays, how);
        (P::from_arrays(arrays, shape, coalesced), map.map(RowMap::permutation))
    })
}

/// The pattern of several and their values, in one pass that leaves no index map.
pub(crate) fn concat_at_once<P: Pattern, K: Kind>(
    parts: &[P],
    values: &[&Tensor<2, K>],
    axis: usize,
    shape: &[usize],
) -> (P, Tensor<2, K>) {
    let (arrays, how) = arrays(parts, axis, shape);
    let coalesced = is_coalesced(&how);
    let (arrays, values) = kernel::concat(&arrays, values, how);
    (keep_joined(parts, axis, P::from_arrays(arrays, shape, coalesced)), values)
}

fn arrays<P: Pattern>(parts: &[P], axis: usize, shape: &[usize]) -> (Vec<Arrays>, ConcatAxis) {
    let (how, dtype) = P::concat_axis(parts, axis, shape);
    (parts.iter().map(|part| kernel::cast_arrays(part.arrays(), dtype)).collect(), how)
}

fn is_coalesced(how: &ConcatAxis) -> bool {
    !matches!(how, ConcatAxis::Coo { merge: false, .. })
}

/// The pattern of several along a new sparse axis, and where its rows come from in the concatenation of theirs.
pub(crate) fn stack<P: Pattern>(parts: &[P], axis: usize, shape: &[usize]) -> (P, Option<RowMap>) {
    joined(parts, NEW_AXIS + axis, || {
        let parts: Vec<P> = parts.iter().map(|part| unsqueezed(part, axis)).collect();
        match &parts[..] {
            [one] => (one.clone(), None),
            parts => concat(parts, axis, shape),
        }
    })
}

/// The block-diagonal matrix of several, whose rows stand part by part.
pub(crate) fn block_diag<P: Pattern>(parts: &[P], shape: &[usize]) -> P {
    let make = || {
        let nnz = parts.iter().map(Pattern::nnz).sum();
        let (dtype, device) = (index_dtype(shape, nnz), parts[0].device());
        let coordinates = if nnz == 0 {
            Tensor::empty([2, 0], (&device, dtype))
        } else {
            let own = parts.iter().filter(|part| part.nnz() > 0);
            let own = own.map(|part| index_tensor(part.coordinates().clone(), dtype)).collect();
            // Where each part's elements end, and where its rows and columns start: one table, read at every element.
            let ends = std::iter::once(0).chain(parts.iter().scan(0, |end, part| {
                *end += part.nnz() as i64;
                Some(*end)
            }));
            let starts = |dim: usize| offsets(parts.iter().map(|part| part.shape()[dim])).into_iter();
            let starts: Vec<i64> = starts(0).chain(starts(1)).map(|start| start as i64).collect();
            let ptr = index_tensor(ints(ends.collect(), [parts.len() + 1], &device), dtype);
            let starts = index_tensor(ints(starts, [2, parts.len()], &device), dtype);
            Tensor::cat(own, 1) + starts.select(1, kernel::expand_ptr(&ptr, nnz))
        };
        let coalesced = parts.iter().all(Pattern::is_coalesced);
        (P::from_coo(CooPattern::new_unchecked(coordinates, shape, coalesced)), None)
    };
    joined(parts, DIAGONAL, make).0
}
