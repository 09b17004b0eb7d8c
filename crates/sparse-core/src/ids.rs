//! Indices of either type, for kernels that are compiled once for both types.

use crate::element::{Ids, Index};
use crate::par::by_elements;
use core::ops::Range;
use std::borrow::Cow;

impl<'a> Ids<'a> {
    /// A range of the entries.
    pub(crate) fn slice(self, range: Range<usize>) -> Self {
        match self {
            Self::I32(ids) => Self::I32(&ids[range]),
            Self::I64(ids) => Self::I64(&ids[range]),
        }
    }

    /// One entry. Loops should match the type once instead.
    pub(crate) fn get(self, k: usize) -> i64 {
        match self {
            Self::I32(ids) => ids[k].into(),
            Self::I64(ids) => ids[k],
        }
    }

    /// Calls `f` with the position of each entry along an axis of size `len`. Negative entries count from the end.
    pub(crate) fn positions(self, len: usize, f: impl FnMut(usize)) {
        fn each<I: Index>(ids: &[I], len: usize, f: impl FnMut(usize)) {
            let from_end = |j: i64| if j < 0 { j.wrapping_add(len as i64) } else { j };
            ids.iter().map(|id| from_end(id.to_i64()) as usize).for_each(f);
        }
        match self {
            Self::I32(ids) => each(ids, len, f),
            Self::I64(ids) => each(ids, len, f),
        }
    }

    /// The entries as i32. They must fit.
    pub(crate) fn narrow(self) -> Cow<'a, [i32]> {
        match self {
            Self::I32(ids) => Cow::Borrowed(ids),
            Self::I64(ids) => Cow::Owned(ids.iter().map(|&id| id as i32).collect()),
        }
    }

    /// Index `k`. A negative index becomes a value larger than any length.
    #[inline(always)]
    pub fn at(self, k: usize) -> usize {
        match self {
            Self::I32(list) => list[k].to_usize(),
            Self::I64(list) => list[k].to_usize(),
        }
    }

    /// Indices from `k` on, each as [`at`](Self::at) gives it.
    #[inline(always)]
    pub(crate) fn read(self, k: usize, out: &mut [usize]) {
        fn each<I: Index>(ids: &[I], out: &mut [usize]) {
            out.iter_mut().zip(ids).for_each(|(out, id)| *out = id.to_usize());
        }
        match self {
            Self::I32(list) => each(&list[k..k + out.len()], out),
            Self::I64(list) => each(&list[k..k + out.len()], out),
        }
    }

    /// Index `k`, or a value larger than any length if there is no entry `k`.
    #[inline(always)]
    pub(crate) fn peek(self, k: usize) -> usize {
        if k < self.len() { self.at(k) } else { usize::MAX }
    }

    /// For row pointers: the elements of row `row`.
    #[inline(always)]
    pub(crate) fn span(self, row: usize) -> Range<usize> {
        let span = self.at(row)..self.at(row + 1);
        if span.start > span.end {
            descending(span);
        }
        span
    }

    /// For row pointers: the elements of a range of rows.
    pub(crate) fn spans(self, rows: &Range<usize>) -> Range<usize> {
        let span = self.at(rows.start)..self.at(rows.end);
        if span.start > span.end {
            descending(span);
        }
        span
    }

    /// For row pointers: the number of rows.
    pub(crate) fn rows(self) -> usize {
        self.len().saturating_sub(1)
    }

    /// For row pointers: the number of pointers below `k`.
    pub(crate) fn below(self, k: usize) -> usize {
        match self {
            Self::I32(ptr) => ptr.partition_point(|at| at.to_usize() < k),
            Self::I64(ptr) => ptr.partition_point(|at| at.to_usize() < k),
        }
    }

    /// For row pointers: panics unless they ascend from 0 to `elements`.
    pub(crate) fn check_covers(self, elements: usize) {
        let ascends = match self {
            Self::I32(ptr) => ptr.is_sorted(),
            Self::I64(ptr) => ptr.is_sorted(),
        };
        let all = ascends && self.peek(0) == 0 && self.peek(self.rows()) == elements;
        assert!(all, "segments must be all {elements} rows");
    }

    /// For row pointers: ranges of rows with about equal numbers of elements, see [`by_elements`].
    pub(crate) fn cuts(self, weight: usize) -> Vec<Range<usize>> {
        match self {
            Self::I32(ptr) => by_elements(ptr, weight),
            Self::I64(ptr) => by_elements(ptr, weight),
        }
    }
}

#[cold]
#[inline(never)]
fn descending(span: Range<usize>) -> ! {
    panic!("row pointers must not descend, got {} before {}", span.start as isize, span.end as isize)
}
