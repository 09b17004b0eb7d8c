//! Patterns made of two, and where the elements of one stand in another.

use super::layout::Pattern;
use crate::base::kind::{Kind, associate_like, is_tracked};
use crate::base::lazy::Lazy;
use crate::kernel::{self, Arrays};
use crate::rows::RowMap;
use burn::tensor::{DType, Tensor};
use sparse_burn::{BinaryOp, MergeRule, is_gpu};
use std::sync::Arc;

/// A pattern made of two, and the index maps from either. (A pass that needs no maps makes none.)
type Merged<P> = (P, Arc<Lazy<[RowMap; 2]>>);

/// A merge with another pattern.
#[derive(PartialEq, Eq)]
struct With(MergeRule, u64);

#[derive(PartialEq, Eq)]
struct In(u64);

/// The union or intersection of two coalesced patterns of one shape. Kept with `a`.
pub(crate) fn merged<P: Pattern>(rule: MergeRule, a: &P, b: &P) -> (P, [RowMap; 2]) {
    let (pattern, maps): Merged<P> = a.memo().get(With(rule, b.memo().id()), || {
        let (left, right) = common_dtype(a, b);
        let (arrays, map_a, map_b) = kernel::merge(rule, &left, &right);
        let maps = [RowMap::new(map_a, a.nnz()), RowMap::new(map_b, b.nnz())];
        (P::from_arrays(arrays, a.shape(), true), Arc::new(maps.into()))
    });
    let maps = maps.get(|| [locate(&pattern, a), locate(&pattern, b)]).clone();
    (pattern, maps)
}

/// An operand of [`union_zip`]: a coalesced pattern, its values and the fill's row.
pub(crate) type Operand<'a, P, K> = (&'a P, &'a Tensor<2, K>, &'a Tensor<2, K>);

/// The union of two patterns and an operation on it in one pass, where that pays: for compressed rows of single values it
/// takes half the time of a merge that leaves index maps and a zip that reads them. Not where a gradient will ask for
/// the maps, nor where they are at hand; and not on GPUs, where every merge waits for the device to say how large it is
/// and the kept maps make that once. The pattern is kept as [`merged`] does.
pub(crate) fn union_zip<P: Pattern, K: Kind>(
    op: BinaryOp,
    (a, values_a, fill_a): Operand<'_, P, K>,
    (b, values_b, fill_b): Operand<'_, P, K>,
) -> Option<(P, Tensor<2, K>)> {
    let fits = P::UNION_ZIP && values_a.dims()[1] == 1 && !a.is_same(b) && !is_gpu(&values_a.device());
    if !fits || [values_a, fill_a, values_b, fill_b].into_iter().any(is_tracked) {
        return None;
    }
    let key = With(MergeRule::Union, b.memo().id());
    let known: Option<Merged<P>> = a.memo().find(&key);
    if known.as_ref().is_some_and(|(_, maps)| maps.known().is_some()) {
        return None;
    }
    let (left, right) = common_dtype(a, b);
    let (arrays, values) = kernel::union_zip(op, [&left, &right], [values_a, values_b], [fill_a, fill_b]);
    let (pattern, _) = match known {
        Some(known) => known,
        None => a.memo().keep(key, (P::from_arrays(arrays, a.shape(), true), Arc::default())),
    };
    Some((pattern, associate_like(values, &[values_a, values_b])))
}

/// For every element of `a`, where it stands in `b`. Kept with `a`.
pub(crate) fn located<P: Pattern>(a: &P, b: &P) -> RowMap {
    a.memo().get(In(b.memo().id()), || locate(a, b))
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
    (kernel::cast_arrays(a.arrays(), dtype), kernel::cast_arrays(b.arrays(), dtype))
}
