//! Patterns joined along a sparse dim, along a new one, or along the diagonal.

use super::dims::unsqueezed;
use super::layout::Pattern;
use crate::base::empty::cat_rows;
use crate::base::index::{index_dtype, index_tensor, ints};
use crate::base::kind::{Kind, associate_like, is_tracked};
use crate::base::lazy::Lazy;
use crate::base::sizes::offsets;
use crate::kernel::{self, Arrays};
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

/// The patterns that are joined, by their ids.
#[derive(PartialEq, Eq)]
struct Joined(How, Vec<u64>);

impl Joined {
    fn new<P: Pattern>(how: How, parts: &[P]) -> Self {
        Self(how, parts.iter().map(|part| part.memo().id()).collect())
    }
}

/// Where the rows of a joined pattern come from in the concatenation of the parts' (`None`: they stay). A pass that needs
/// no map makes none.
type Map = Arc<Lazy<Option<RowMap>>>;

/// The pattern of several, and where its rows come from. Kept with the first.
fn joined<P: Pattern>(how: How, parts: &[P], make: impl FnOnce() -> (P, Option<RowMap>)) -> (P, Option<RowMap>) {
    let (memo, key) = (parts[0].memo(), Joined::new(how, parts));
    let known: Option<(P, Map)> = memo.find(&key);
    if let Some((pattern, map)) = &known
        && let Some(map) = map.known()
    {
        return (pattern.clone(), map.clone());
    }
    let (pattern, map) = make();
    // A pattern that is known already keeps its identity, and what was made of it.
    let (pattern, kept) = known.unwrap_or_else(|| memo.keep(key, (pattern, Map::default())));
    (pattern, kept.get(|| map).clone())
}

/// Several tensors along a sparse axis: the pattern, and the value rows. `fill` is a row of the parts' fill.
///
/// An index map exists for gradients. Where no values are tracked they are moved with the pattern, in one pass.
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
    let coalesced = is_coalesced(&how);
    let (arrays, rows) = kernel::concat(&arrays, values, how);
    let (memo, key) = (parts[0].memo(), Joined::new(How::Along(axis), parts));
    let known: Option<(P, Map)> = memo.find(&key);
    let (pattern, _) =
        known.unwrap_or_else(|| memo.keep(key, (P::from_arrays(arrays, shape, coalesced), Map::default())));
    (pattern, associate_like(rows, values))
}

/// The pattern of several along an axis, and where its rows come from in the concatenation of theirs (`None`: they stay).
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
    (parts.iter().map(|part| kernel::cast_arrays(part.arrays(), dtype)).collect(), how)
}

fn is_coalesced(how: &ConcatAxis) -> bool {
    !matches!(how, ConcatAxis::Coo { merge: false, .. })
}

/// The pattern of several along a new sparse axis, and where its rows come from in the concatenation of theirs.
pub(crate) fn stack<P: Pattern>(parts: &[P], axis: usize, shape: &[usize]) -> (P, Option<RowMap>) {
    joined(How::NewAxis(axis), parts, || {
        let parts: Vec<P> = parts.iter().map(|part| unsqueezed(part, axis)).collect();
        match &parts[..] {
            [one] => (one.clone(), None),
            parts => concat_patterns(parts, axis, shape),
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
        (P::from_coordinates(coordinates, shape, coalesced), None)
    };
    joined(How::Diagonal, parts, make).0
}
