//! Softmax within segments, one thread for each segment.

mod columns;
mod single;

use crate::Index;
use crate::element::{Float, Ids};
use crate::par::for_pieces;
use crate::simd::on_two;
use pulp::{Simd, WithSimd};

/// `exp(x - m) / sum exp(x - m)` over the rows of each segment, with `m` the largest `x`; or the logarithm of that. A
/// row has `block` elements, and each column is on its own. Segment `s` is the rows `ptr[s]..ptr[s + 1]`; together the
/// segments cover all rows. NaN makes its column of the segment NaN.
///
/// # Panics
///
/// If the segments do not cover all rows.
pub fn segment_softmax<T: Float, I: Index>(values: &[T], block: usize, ptr: &[I], log: bool, out: &mut [T]) {
    let ptr = I::list(ptr);
    if block == 1 {
        each_group([values; 2], block, ptr, out, single::GROUP, single::Memory::new, &|[x, _], ends, out, memory| {
            T::dispatch(single::Softmax { x, ends, log, out, memory });
        });
    } else {
        each_group([values; 2], block, ptr, out, columns::GROUP, columns::Memory::new, &|[x, _], ends, out, memory| {
            columns::softmax(x, ends, block, log, out, memory);
        });
    }
}

/// The gradient of the values of [`segment_softmax`], from its result `y` and the gradient of that.
///
/// # Panics
///
/// If the segments do not cover all rows.
pub fn segment_softmax_backward<T: Float, I: Index>(
    y: &[T],
    grad: &[T],
    block: usize,
    ptr: &[I],
    log: bool,
    out: &mut [T],
) {
    let ptr = I::list(ptr);
    if block == 1 {
        each_group([y, grad], block, ptr, out, single::GROUP, single::Memory::new, &|[y, grad], ends, out, memory| {
            T::dispatch(single::Backward { y, grad, ends, log, out, memory });
        });
    } else {
        each_group([y, grad], block, ptr, out, columns::GROUP, columns::Memory::new, &|lists, ends, out, memory| {
            columns::backward(lists, ends, block, log, out, memory);
        });
    }
}

/// Segments of a group, at most.
const SEGMENTS: usize = 256;

/// Computes a group from its elements in two lists: `f(lists, ends of the segments, out, memory)`.
type OfGroup<'a, T, M> = dyn Fn([&[T]; 2], &[usize], &mut [T], &mut M) + Sync + 'a;

/// Calls `f` with groups of segments: as many as have at most `group` elements, or a single longer one.
fn each_group<T: Float, M>(
    lists: [&[T]; 2],
    block: usize,
    ptr: Ids<'_>,
    out: &mut [T],
    group: usize,
    memory: fn() -> M,
    f: &OfGroup<'_, T, M>,
) {
    if out.is_empty() {
        return;
    }
    for list in lists {
        assert_eq!(list.len(), out.len(), "segment_softmax: the lists must have the same length");
    }
    ptr.check_covers(out.len() / block);
    for_pieces(&ptr.cuts(block), out, &|rows| ptr.spans(rows).len() * block, &|mut rows, mut piece| {
        let mut memory = memory();
        let mut list = [0; SEGMENTS + 1];
        let mut start = ptr.at(rows.start) * block;
        while !rows.is_empty() {
            let ends = &mut list[..=rows.len().min(SEGMENTS)];
            on_two(Ends { ptr, first: rows.start, block, ends });
            let count = ends[1..].partition_point(|&end| end <= group).max(1);
            let (own, rest) = piece.split_at_mut(ends[count]);
            f(lists.map(|list| &list[start..start + own.len()]), &ends[..=count], own, &mut memory);
            start += own.len();
            rows.start += count;
            piece = rest;
        }
    });
}

/// Reads the ends of segments, in elements from the start of the first one.
struct Ends<'a> {
    ptr: Ids<'a>,
    first: usize,
    block: usize,
    ends: &'a mut [usize],
}

impl WithSimd for Ends<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { ptr, first, block, ends } = self;
        ptr.read(first, ends);
        let start = ends[0];
        ends.iter_mut().for_each(|end| *end -= start);
        if block > 1 {
            ends.iter_mut().for_each(|end| *end *= block);
        }
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use crate::dynamic::slices::{AnyElement, AnyIndex, ElementVec, Elements, Ids, with_floats, with_ids};
    use crate::memory::unwritten;

    /// See [`segment_softmax`](crate::segment_softmax()).
    pub fn segment_softmax(values: Elements<'_>, block: usize, ptr: Ids<'_>, log: bool) -> ElementVec {
        with_ids!(ptr, I => with_floats!(values, T => {
            let mut out = unwritten::<T>(values.len());
            super::segment_softmax::<T, I>(T::elements(values), block, I::ids(ptr), log, &mut out);
            T::element_vec(out)
        }))
    }

    /// See [`segment_softmax_backward`](crate::segment_softmax_backward()).
    pub fn segment_softmax_backward(
        y: Elements<'_>,
        grad: Elements<'_>,
        block: usize,
        ptr: Ids<'_>,
        log: bool,
    ) -> ElementVec {
        with_ids!(ptr, I => with_floats!(y, T => {
            let mut out = unwritten::<T>(y.len());
            let (y, grad) = (T::elements(y), T::elements(grad));
            super::segment_softmax_backward::<T, I>(y, grad, block, I::ids(ptr), log, &mut out);
            T::element_vec(out)
        }))
    }
}
