//! Patterns made of two others, and where the elements of one are in another.

use super::layout::Pattern;
use crate::base::empty::constant;
use crate::base::index::index_tensor;
use crate::base::kind::{Numeric, is_tracked};
use crate::base::lazy::Lazy;
use crate::kernel::{self, Arrays};
use crate::policy;
use crate::rows::{self, RowMap};
use burn::tensor::{DType, Tensor};
use sparse_burn::{BinaryOp, MergeRule};
use std::sync::Arc;

/// A pattern made of two, and the index maps from both. The maps are computed when they are needed.
type Merged<P> = (P, Arc<Lazy<[RowMap; 2]>>);

/// Key of a merge with another pattern.
#[derive(PartialEq, Eq)]
struct Merge(MergeRule, u64);

/// Key of the positions in another pattern.
#[derive(PartialEq, Eq)]
struct Located(u64);

/// The union or intersection of two coalesced patterns of one shape, and the index maps from both. Kept with `a`.
pub(crate) fn merged<P: Pattern>(rule: MergeRule, a: &P, b: &P) -> (P, [RowMap; 2]) {
    let (pattern, maps) = a.memo().get(Merge(rule, b.memo().id()), || merge_with_maps(rule, a, b));
    let maps = index_maps(rule, &maps, a, b);
    (pattern, maps)
}

fn merge_with_maps<P: Pattern>(rule: MergeRule, a: &P, b: &P) -> Merged<P> {
    let (pattern, maps) = merge(rule, a, b);
    (pattern, Arc::new(maps.into()))
}

fn merge<P: Pattern>(rule: MergeRule, a: &P, b: &P) -> (P, [RowMap; 2]) {
    let (left, right) = common_dtype(a, b);
    let (arrays, map_a, map_b) = kernel::merge(rule, &left, &right);
    let maps = [RowMap::new(map_a, a.nnz()), RowMap::new(map_b, b.nnz())];
    (P::from_arrays(arrays, a.shape(), true), maps)
}

/// The index maps of a merged pattern. [`union_zip`] keeps patterns without them. Another merge makes both in less time
/// than a search for the elements of each operand.
fn index_maps<P: Pattern>(rule: MergeRule, maps: &Lazy<[RowMap; 2]>, a: &P, b: &P) -> [RowMap; 2] {
    maps.get(|| merge(rule, a, b).1).clone()
}

/// The pattern of a result, and the index map from each operand (`None`: its rows stay in place).
type Meeting<P> = (P, [Option<RowMap>; 2]);

/// The pattern of an element-wise operation on two coalesced patterns, each given with whether its fill is `Undefined`.
/// It is the union of the patterns. If one fill is `Undefined`, it is the pattern of that operand; if both are, the
/// intersection.
pub(crate) fn meet<P: Pattern>(a: (&P, bool), b: (&P, bool)) -> Meeting<P> {
    let both = |rule| {
        let (pattern, maps) = merged(rule, a.0, b.0);
        (pattern, maps.map(Some))
    };
    match (a.1, b.1) {
        _ if a.0.is_same(b.0) => (a.0.clone(), [None, None]),
        (false, false) => both(MergeRule::Union),
        (true, true) => both(MergeRule::Intersection),
        (true, false) => (a.0.clone(), [None, Some(located(a.0, b.0))]),
        (false, true) => (b.0.clone(), [Some(located(b.0, a.0)), None]),
    }
}

/// An operand of [`zip`].
pub(crate) struct Operand<'a, P, K: Numeric> {
    /// Coalesced.
    pub(crate) pattern: &'a P,
    pub(crate) values: &'a Tensor<2, K>,
    /// The fill as a row.
    pub(crate) fill: Tensor<2, K>,
    /// Whether the fill is `Undefined`.
    pub(crate) undefined: bool,
}

/// `op`, element by element: the pattern of the result, as [`meet`] says, and its values.
pub(crate) fn zip<P: Pattern, K: Numeric>(
    op: BinaryOp,
    a: Operand<'_, P, K>,
    b: Operand<'_, P, K>,
) -> (P, Tensor<2, K>) {
    let tracked = [a.values, &a.fill, b.values, &b.fill].into_iter().any(is_tracked);
    let union = !a.undefined && !b.undefined && !a.pattern.is_same(b.pattern);
    let (pattern, [map_a, map_b]) = if union && !tracked {
        match union_zip(op, &a, &b) {
            (pattern, Ok(values)) => return (pattern, constant(values, &[a.values, b.values])),
            (pattern, Err(maps)) => (pattern, maps.map(Some)),
        }
    } else {
        meet((a.pattern, a.undefined), (b.pattern, b.undefined))
    };
    (pattern, rows::zip::zip(op, (a.values, a.fill, map_a), (b.values, b.fill, map_b)))
}

/// The union of two patterns, with the values of the result if a kernel makes both in one pass, else with the index
/// maps. The pattern is kept as by [`merged`]. One pass needs no maps, but merges. So where the pattern is known, maps
/// are made that later calls read in a third of the time.
fn union_zip<P: Pattern, K: Numeric>(
    op: BinaryOp,
    a: &Operand<'_, P, K>,
    b: &Operand<'_, P, K>,
) -> (P, Result<Tensor<2, K>, [RowMap; 2]>) {
    let one_pass = || {
        let (left, right) = common_dtype(a.pattern, b.pattern);
        policy::union_zip(op, [&left, &right], [a.values, b.values], [&a.fill, &b.fill])
    };
    let key = Merge(MergeRule::Union, b.pattern.memo().id());
    let ((pattern, maps), values) = a.pattern.memo().get_with(key, || match one_pass() {
        Some((arrays, values)) => ((P::from_arrays(arrays, a.pattern.shape(), true), Arc::default()), Some(values)),
        None => (merge_with_maps(MergeRule::Union, a.pattern, b.pattern), None),
    });
    match values.flatten() {
        Some(values) => (pattern, Ok(values)),
        None => {
            let maps = index_maps(MergeRule::Union, &maps, a.pattern, b.pattern);
            (pattern, Err(maps))
        }
    }
}

/// For every element of `a`, its position in `b`. Kept with `a`.
pub(crate) fn located<P: Pattern>(a: &P, b: &P) -> RowMap {
    a.memo().get(Located(b.memo().id()), || locate(a, b))
}

fn locate<P: Pattern>(a: &P, b: &P) -> RowMap {
    let (left, right) = common_dtype(a, b);
    RowMap::new(kernel::locate(&left, &right), b.nnz())
}

/// Both patterns' arrays in one index dtype.
fn common_dtype<P: Pattern>(a: &P, b: &P) -> (Arrays, Arrays) {
    // A union may have as many elements as both.
    let fits = sparse_burn::index_dtype_for(a.nnz().saturating_add(b.nnz())) == DType::I32;
    let narrow = fits && a.index_dtype() == DType::I32 && b.index_dtype() == DType::I32;
    let dtype = if narrow { DType::I32 } else { DType::I64 };
    (cast_arrays(a.arrays(), dtype), cast_arrays(b.arrays(), dtype))
}

/// The arrays of a pattern in another index dtype.
pub(super) fn cast_arrays(arrays: Arrays, dtype: DType) -> Arrays {
    match arrays {
        Arrays::Coo(indices) => Arrays::Coo(index_tensor(indices, dtype)),
        Arrays::Csr(ptr, col) => Arrays::Csr(index_tensor(ptr, dtype), index_tensor(col, dtype)),
    }
}
