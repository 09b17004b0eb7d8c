//! Patterns joined along a sparse dim, along a new one, or along the diagonal.

use super::dims::unsqueezed;
use super::layout::Pattern;
use crate::base::empty::{cat_rows, constant};
use crate::base::index::{index_dtype, index_tensor, ints};
use crate::base::kind::{Kind, is_tracked};
use crate::base::lazy::Lazy;
use crate::base::sizes::offsets;
use crate::kernel::{self, Arrays};
use crate::pattern::merge::cast_arrays;
use crate::rows::{RowMap, move_rows};
use burn::tensor::Tensor;
use sparse_burn::ConcatAxis;
use std::sync::Arc;

/// How patterns are joined.
#[derive(PartialEq, Eq)]
enum How {
    Along(usize),
    NewAxis(usize),
    Diagonal,
}

/// Key of a joined pattern: the ids of its parts.
#[derive(PartialEq, Eq)]
struct Joined(How, Vec<u64>);

impl Joined {
    fn new<P: Pattern>(how: How, parts: &[P]) -> Self {
        Self(how, parts.iter().map(|part| part.memo().id()).collect())
    }
}

/// The index map of a joined pattern, from the concatenation of the parts' rows (`None`: they stay in place). It is
/// computed when a gradient needs it.
type Map = Arc<Lazy<Option<RowMap>>>;

/// The pattern of several parts and its index map. The first part keeps them.
fn joined<P: Pattern>(how: How, parts: &[P], make: impl Fn() -> (P, Option<RowMap>)) -> (P, Option<RowMap>) {
    let memo = parts[0].memo();
    let ((pattern, map), made) = memo.get_with(Joined::new(how, parts), || {
        let (pattern, map) = make();
        ((pattern, Map::default()), map)
    });
    // `concat` keeps a pattern without its map.
    let map = map.get(|| made.unwrap_or_else(|| make().1)).clone();
    (pattern, map)
}

/// Joins several tensors along a sparse axis: the pattern, and the rows of values. `fill` is a row of the parts' fill.
///
/// Only gradients need an index map. Without gradients one kernel computes both pattern and values.
pub(crate) fn concat<P: Pattern, K: Kind>(
    parts: &[P],
    values: &[&Tensor<2, K>],
    fill: impl FnOnce() -> Tensor<2, K>,
    axis: usize,
    shape: &[usize],
) -> (P, Tensor<2, K>) {
    if values.iter().any(|values| is_tracked(values)) {
        let (pattern, map) = concat_patterns(parts, axis, shape);
        let rows = cat_rows(values.iter().map(|&values| values.clone()));
        return match map {
            None => (pattern, rows),
            Some(map) => (pattern, move_rows(rows, fill(), &map)),
        };
    }
    let (arrays, how) = arrays(parts, axis, shape);
    let joined = || kernel::concat(&arrays, values, how.clone());
    let key = Joined::new(How::Along(axis), parts);
    let ((pattern, _), rows) = parts[0].memo().get_with(key, || {
        let (arrays, rows) = joined();
        ((P::from_arrays(arrays, shape, is_coalesced(&how)), Map::default()), rows)
    });
    let rows = rows.unwrap_or_else(|| joined().1);
    (pattern, constant(rows, values))
}

/// Joins patterns along an axis: the pattern, and its index map (`None`: rows stay in place).
fn concat_patterns<P: Pattern>(parts: &[P], axis: usize, shape: &[usize]) -> (P, Option<RowMap>) {
    joined(How::Along(axis), parts, || {
        let (arrays, how) = arrays(parts, axis, shape);
        let coalesced = is_coalesced(&how);
        let (arrays, map) = kernel::concat_patterns(&arrays, how);
        (P::from_arrays(arrays, shape, coalesced), map.map(RowMap::permutation))
    })
}

fn arrays<P: Pattern>(parts: &[P], axis: usize, shape: &[usize]) -> (Vec<Arrays>, ConcatAxis) {
    let (how, dtype) = P::concat_axis(parts, axis, shape);
    (parts.iter().map(|part| cast_arrays(part.arrays(), dtype)).collect(), how)
}

fn is_coalesced(how: &ConcatAxis) -> bool {
    !matches!(how, ConcatAxis::Coo { merge: false, .. })
}

/// Stacks patterns along a new sparse axis: the pattern, and its index map as for [`concat_patterns`].
pub(crate) fn stack<P: Pattern>(parts: &[P], axis: usize, shape: &[usize]) -> (P, Option<RowMap>) {
    joined(How::NewAxis(axis), parts, || {
        let parts: Vec<P> = parts.iter().map(|part| unsqueezed(part, axis)).collect();
        match &parts[..] {
            [one] => (one.clone(), None),
            parts => concat_patterns(parts, axis, shape),
        }
    })
}

/// The block-diagonal matrix of several matrices. Rows of values stay in place.
pub(crate) fn block_diag<P: Pattern>(parts: &[P], shape: &[usize]) -> P {
    let make = || {
        let nnz = parts.iter().map(Pattern::nnz).sum();
        let (dtype, device) = (index_dtype(shape, nnz), parts[0].device());
        let coordinates = if nnz == 0 {
            Tensor::empty([2, 0], (&device, dtype))
        } else {
            let own = parts.iter().filter(|part| part.nnz() > 0);
            let own = own.map(|part| index_tensor(part.coordinates().clone(), dtype)).collect();
            // `ends` of each part's elements, and the row and column where its block `starts`.
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
        (P::from_coordinates(coordinates, shape, coalesced), None)
    };
    joined(How::Diagonal, parts, make).0
}
