//! Indices of either type, for kernels that are compiled once for both.

use crate::element::{IdList, Index};
use crate::par::by_elements;
use core::ops::Range;

impl IdList<'_> {
    /// Number of indices.
    #[inline(always)]
    pub fn len(self) -> usize {
        match self {
            Self::I32(list) => list.len(),
            Self::I64(list) => list.len(),
        }
    }

    /// Index `k`; a negative one becomes a value beyond any length.
    #[inline(always)]
    pub fn at(self, k: usize) -> usize {
        match self {
            Self::I32(list) => list[k].to_usize(),
            Self::I64(list) => list[k].to_usize(),
        }
    }

    /// Index `k`, or a value beyond any length where the list ends before.
    #[inline(always)]
    pub(crate) fn peek(self, k: usize) -> usize {
        if k < self.len() { self.at(k) } else { usize::MAX }
    }

    /// Row pointers: the elements of row `row`.
    #[inline(always)]
    pub(crate) fn span(self, row: usize) -> Range<usize> {
        let span = self.at(row)..self.at(row + 1);
        if span.start > span.end {
            descending(span);
        }
        span
    }

    /// Row pointers: the elements of some rows.
    pub(crate) fn spans(self, rows: &Range<usize>) -> Range<usize> {
        let span = self.at(rows.start)..self.at(rows.end);
        if span.start > span.end {
            descending(span);
        }
        span
    }

    /// Row pointers: the number of rows.
    pub(crate) fn rows(self) -> usize {
        self.len().saturating_sub(1)
    }

    /// Row pointers: how many are below `k`.
    pub(crate) fn below(self, k: usize) -> usize {
        match self {
            Self::I32(ptr) => ptr.partition_point(|at| at.to_usize() < k),
            Self::I64(ptr) => ptr.partition_point(|at| at.to_usize() < k),
        }
    }

    /// Row pointers: panics unless they are those of all of `elements`.
    pub(crate) fn check_covers(self, elements: usize) {
        let ascends = match self {
            Self::I32(ptr) => ptr.is_sorted(),
            Self::I64(ptr) => ptr.is_sorted(),
        };
        let all = ascends && self.peek(0) == 0 && self.peek(self.rows()) == elements;
        assert!(all, "segments must be all {elements} rows");
    }

    /// Row pointers: rows cut by their elements, see [`by_elements`].
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
