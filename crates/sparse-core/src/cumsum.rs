//! Running sums within segments.

use crate::element::Ids;
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
    let job = Job { values, block, order: order.map(I::list), ptr: I::list(ptr), reverse };
    if !out.is_empty() {
        job.run(out);
    }
}

struct Job<'a, T> {
    values: &'a [T],
    block: usize,
    order: Option<Ids<'a>>,
    ptr: Ids<'a>,
    reverse: bool,
}

impl<T: Element> Job<'_, T> {
    fn run(&self, out: &mut [T]) {
        let block = self.block;
        let chunks = Chunks { rows: out.len() / block };
        self.ptr.check_covers(chunks.rows);
        let carries = self.carries(chunks);
        for_pieces(&chunks.pieces(block), out, &|range| chunks.rows_of(range).len() * block, &|range, mut piece| {
            for chunk in range {
                let (rows, sum) =
                    (chunks.rows_of(&(chunk..chunk + 1)), &mut carries[chunk * block..][..block].to_vec());
                let (head, tail) = piece.split_at_mut(rows.len() * block);
                self.sum(rows, sum, Some(head));
                piece = tail;
            }
        });
    }

    /// What is summed of a segment before each chunk that it reaches into.
    fn carries(&self, chunks: Chunks) -> Vec<T::Acc> {
        let (block, count) = (self.block, chunks.count());
        // Of each chunk, the sum since its last start of a segment.
        let mut sums = vec![T::ACC_ZERO; count * block];
        if count > 1 {
            for_pieces(&chunks.pieces(block), &mut sums, &|range| range.len() * block, &|range, piece| {
                for (chunk, sum) in range.zip(piece.chunks_exact_mut(block)) {
                    self.sum(chunks.rows_of(&(chunk..chunk + 1)), sum, None);
                }
            });
        }
        let mut carry = vec![T::ACC_ZERO; block];
        for k in 0..count {
            let chunk = if self.reverse { count - 1 - k } else { k };
            let fresh = starts(self.ptr, chunks.rows_of(&(chunk..chunk + 1)), self.reverse);
            for (carry, sum) in carry.iter_mut().zip(&mut sums[chunk * block..][..block]) {
                let before = *carry;
                *carry = if fresh { *sum } else { T::add(before, *sum) };
                *sum = before;
            }
        }
        sums
    }

    /// Sums the rows in the direction of the sums, with `sum` as what was summed before, and writes each running sum.
    fn sum(&self, rows: Range<usize>, sum: &mut [T::Acc], mut out: Option<&mut [T]>) {
        let block = self.block;
        let last = if self.reverse { rows.end - 1 } else { rows.start };
        // The segment of the row at hand; empty ones are passed over.
        let mut segment = self.ptr.below(last + 1) - 1;
        for step in 0..rows.len() {
            let k = if self.reverse { rows.end - 1 - step } else { rows.start + step };
            let first = if self.reverse {
                while self.ptr.at(segment) > k {
                    segment -= 1;
                }
                self.ptr.at(segment + 1) - 1
            } else {
                while self.ptr.at(segment + 1) <= k {
                    segment += 1;
                }
                self.ptr.at(segment)
            };
            if k == first {
                sum.fill(T::ACC_ZERO);
            }
            let row = self.order.map_or(k, |order| order.at(k));
            for (sum, x) in sum.iter_mut().zip(&self.values[row * block..][..block]) {
                *sum = T::add(*sum, x.widen());
            }
            if let Some(out) = &mut out {
                for (slot, &sum) in out[(k - rows.start) * block..][..block].iter_mut().zip(&*sum) {
                    *slot = T::narrow(sum);
                }
            }
        }
    }
}

/// All rows, cut into chunks of [`CHUNK`].
#[derive(Clone, Copy)]
struct Chunks {
    rows: usize,
}

impl Chunks {
    fn count(self) -> usize {
        self.rows.div_ceil(CHUNK)
    }

    /// The rows of some chunks.
    fn rows_of(self, chunks: &Range<usize>) -> Range<usize> {
        chunks.start * CHUNK..self.rows.min(chunks.end * CHUNK)
    }

    /// Pieces of chunks for the threads.
    fn pieces(self, block: usize) -> Vec<Range<usize>> {
        even(self.count(), CHUNK * block)
    }
}

/// Whether a segment starts among the rows, in the direction of the sums.
fn starts(ptr: Ids<'_>, rows: Range<usize>, reverse: bool) -> bool {
    let (low, high) = if reverse { (rows.start + 1, rows.end) } else { (rows.start, rows.end - 1) };
    let next = ptr.below(low);
    next < ptr.len() && ptr.at(next) <= high
}
