//! Groups of segments, which are computed together.

use crate::element::{Float, Ids};
use crate::par::for_pieces;
use crate::simd::on_two;
use pulp::{Simd, WithSimd};

/// Segments of a group, at most.
const SEGMENTS: usize = 256;

/// Computes a group from its elements in two lists: `f(lists, ends of the segments, out, memory)`.
type OfGroup<'a, T, M> = dyn Fn([&[T]; 2], &[usize], &mut [T], &mut M) + Sync + 'a;

/// Calls `f` with groups of segments: as many as have at most `group` elements, or a single longer one.
pub(super) fn each_group<T: Float, M>(
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
