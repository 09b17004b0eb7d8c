//! Patterns joined along a sparse dim.

use super::{Pattern, joined, keep_joined};
use crate::kernel::{self, Arrays};
use crate::rows::RowMap;
use crate::tensor::Kind;
use burn::tensor::Tensor;
use sparse_burn::ConcatAxis;

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
    (parts.iter().map(|part| part.arrays().cast(dtype)).collect(), how)
}

fn is_coalesced(how: &ConcatAxis) -> bool {
    !matches!(how, ConcatAxis::Coo { merge: false, .. })
}
