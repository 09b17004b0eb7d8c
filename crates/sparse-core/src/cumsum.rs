//! Running sums within segments.

use crate::par::{even, for_pieces};
use crate::{Element, Index};
use core::ops::Range;

/// Rows that one thread sums in a row. What comes before them is summed first, chunk by chunk: the cuts decide how a float
/// sum is rounded, so they do not depend on the number of threads.
const CHUNK: usize = 4096;

/// Row `k` of `out` is the sum of rows `order[j]` of `values` (`j` without an order) over `j` from the start of the segment
/// that has `k` to `k` itself, or with `reverse` from `k` to the segment's end. Segment `s` is `ptr[s]..ptr[s + 1]`, and
/// together they are all rows of `out`. Rows are `block` elements.
///
/// # Panics
///
/// If the segments are not all rows, or an order names a row that `values` has not.
pub fn segment_cumsum<T: Element, I: Index>(
    values: &[T],
    block: usize,
    order: Option<&[I]>,
    ptr: &[I],
    reverse: bool,
    out: &mut [T],
) {
    if out.is_empty() {
        return;
    }
    let rows = out.len() / block;
    let end = |end: Option<&I>| end.map(|end| end.to_usize());
    let all = end(ptr.first()) == Some(0) && end(ptr.last()) == Some(rows);
    assert!(all && ptr.is_sorted(), "segments must be all {rows} rows");
    let job = Job { values, block, order, ptr, reverse };
    let chunks: Vec<Range<usize>> = (0..rows).step_by(CHUNK).map(|start| start..rows.min(start + CHUNK)).collect();
    let carries = job.carries(&chunks);
    for_pieces(
        &even(chunks.len(), CHUNK * block),
        out,
        &|range| (chunks[range.end - 1].end - chunks[range.start].start) * block,
        &|range, piece| {
            let first = chunks[range.start].start;
            for chunk in range {
                job.sum(chunks[chunk].clone(), &mut carries[chunk * block..][..block].to_vec(), |k, sum| {
                    let row = &mut piece[(k - first) * block..][..block];
                    row.iter_mut().zip(sum).for_each(|(slot, &sum)| *slot = T::narrow(sum));
                });
            }
        },
    );
}

struct Job<'a, T, I> {
    values: &'a [T],
    block: usize,
    order: Option<&'a [I]>,
    ptr: &'a [I],
    reverse: bool,
}

impl<T: Element, I: Index> Job<'_, T, I> {
    /// What is summed of a segment before each chunk that it reaches into.
    fn carries(&self, chunks: &[Range<usize>]) -> Vec<T::Acc> {
        let block = self.block;
        // Of each chunk, the sum since its last start of a segment.
        let mut sums = vec![T::ACC_ZERO; chunks.len() * block];
        if chunks.len() > 1 {
            for_pieces(&even(chunks.len(), CHUNK * block), &mut sums, &|range| range.len() * block, &|range, piece| {
                range
                    .zip(piece.chunks_exact_mut(block))
                    .for_each(|(c, sum)| self.sum(chunks[c].clone(), sum, |_, _| ()))
            });
        }
        let mut carry = vec![T::ACC_ZERO; block];
        for k in 0..chunks.len() {
            let chunk = if self.reverse { chunks.len() - 1 - k } else { k };
            let fresh = self.starts(&chunks[chunk]);
            for (carry, sum) in carry.iter_mut().zip(&mut sums[chunk * block..][..block]) {
                let before = *carry;
                *carry = if fresh { *sum } else { T::add(before, *sum) };
                *sum = before;
            }
        }
        sums
    }

    /// Whether a segment starts in the chunk, in the direction of the sums.
    fn starts(&self, rows: &Range<usize>) -> bool {
        let (low, high) = if self.reverse { (rows.start + 1, rows.end) } else { (rows.start, rows.end - 1) };
        let next = self.ptr.partition_point(|start| start.to_usize() < low);
        self.ptr.get(next).is_some_and(|start| start.to_usize() <= high)
    }

    /// Sums the rows in the direction of the sums, with `sum` as what was summed before, and shows each running sum.
    fn sum(&self, rows: Range<usize>, sum: &mut [T::Acc], mut show: impl FnMut(usize, &[T::Acc])) {
        let last = if self.reverse { rows.end - 1 } else { rows.start };
        // The segment of the row at hand; empty ones are passed over.
        let mut segment = self.ptr.partition_point(|start| start.to_usize() <= last) - 1;
        let mut step = |k: usize| {
            if self.reverse {
                while self.ptr[segment].to_usize() > k {
                    segment -= 1;
                }
            } else {
                while self.ptr[segment + 1].to_usize() <= k {
                    segment += 1;
                }
            }
            let first = if self.reverse { self.ptr[segment + 1].to_usize() - 1 } else { self.ptr[segment].to_usize() };
            if k == first {
                sum.fill(T::ACC_ZERO);
            }
            let row = self.order.map_or(k, |order| order[k].to_usize());
            for (sum, x) in sum.iter_mut().zip(&self.values[row * self.block..][..self.block]) {
                *sum = T::add(*sum, x.widen());
            }
            show(k, sum);
        };
        if self.reverse { rows.rev().for_each(&mut step) } else { rows.for_each(&mut step) }
    }
}
