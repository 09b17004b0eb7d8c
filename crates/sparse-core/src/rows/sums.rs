//! Sums of rows of values within segments.

use super::contiguous::contiguous_sums;
use crate::element::Ids;
use crate::epilogue::Epilogue;
use crate::reduce::reduce_rows;
use crate::reducer::{Extreme, Reducer, Sum};
use crate::source::Source;
use crate::{Element, Index};

/// Sums rows of values per segment: `out[s, :] = sum of values[order[k], :]` (or `values[k, :]` without an order) over
/// `k` in `ptr[s]..ptr[s + 1]`.
///
/// `values` is row-major `[n, block]`, `out` is `[ptr.len() - 1, block]`. Every element of `out` is overwritten; an
/// empty segment gives 0. Sums are accumulated in [`Element::Acc`] in the order of the segment; those of floats in a
/// segment of more than 64 rows in blocks of that many, whose sums are added in pairs. Single values without an order
/// are accumulated in 16 interleaved sums, in blocks of 1024. So the bits do not depend on the number of threads.
/// Parallel, with work split by elements; O(order.len() * block).
///
/// # Panics
///
/// When lengths disagree, `ptr` descends or an index is out of range.
pub fn segment_sum<T: Element, I: Index>(values: &[T], block: usize, order: Option<&[I]>, ptr: &[I], out: &mut [T]) {
    let (order, ptr) = (order.map(I::list), I::list(ptr));
    if block == 1 && order.is_none() {
        assert_eq!(out.len(), ptr.rows(), "segment_sum: out must hold a block for every segment");
        return contiguous_sums(values, ptr, out);
    }
    segment_reduce(Sum::Elements, "segment_sum", values, block, order, ptr, out);
}

/// Whether any value of a segment is 1, for Bool stored as integers 0 and 1. Arguments are as for [`segment_sum`]; an
/// empty segment gives 0.
///
/// # Panics
///
/// When lengths disagree, `ptr` descends or an index is out of range.
pub fn segment_any<T: Element, I: Index>(values: &[T], block: usize, order: Option<&[I]>, ptr: &[I], out: &mut [T]) {
    let largest = Extreme::largest::<T>();
    segment_reduce(largest, "segment_any", values, block, order.map(I::list), I::list(ptr), out);
}

fn segment_reduce<T: Element, R: Reducer<T>>(
    reducer: R,
    op: &str,
    values: &[T],
    block: usize,
    order: Option<Ids<'_>>,
    ptr: Ids<'_>,
    out: &mut [T],
) {
    assert_eq!(out.len(), ptr.rows() * block, "{op}: out must hold a block for every segment");
    if block > 0 {
        reduce_rows(reducer, (), ptr, order, Source::new(values, block, op), Epilogue::default(), out);
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use crate::dynamic::slices::{AnyElement, AnyIndex, ElementVec, Elements, Ids, with_elements, with_ids};
    use crate::memory::unwritten;

    /// See [`segment_sum`](crate::segment_sum()): `[ptr.len() - 1, block]`.
    pub fn segment_sum(values: Elements<'_>, block: usize, order: Option<Ids<'_>>, ptr: Ids<'_>) -> ElementVec {
        with_ids!(ptr, I => with_elements!(values, T => {
            let mut out = unwritten::<T>((ptr.len() - 1) * block);
            super::segment_sum::<T, I>(T::elements(values), block, order.map(I::ids), I::ids(ptr), &mut out);
            T::element_vec(out)
        }))
    }

    /// Whether any element of a segment is nonzero, for Bool stored as `u8` or `i32`; see
    /// [`segment_any`](crate::segment_any()).
    pub fn segment_any(values: Elements<'_>, block: usize, order: Option<Ids<'_>>, ptr: Ids<'_>) -> ElementVec {
        macro_rules! run {
            ($T:ty) => {
                with_ids!(ptr, I => {
                    let mut out = unwritten::<$T>((ptr.len() - 1) * block);
                    let (values, order) = (<$T>::elements(values), order.map(I::ids));
                    super::segment_any::<$T, I>(values, block, order, I::ids(ptr), &mut out);
                    <$T>::element_vec(out)
                })
            };
        }
        match values {
            Elements::U8(_) => run!(u8),
            Elements::I32(_) => run!(i32),
            other => panic!("segment_any: Bool must be stored as u8 or i32, got {other:?}"),
        }
    }
}
