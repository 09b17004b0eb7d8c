//! Running sums within segments.

use crate::element::Ids;
use crate::par::{even, for_pieces};
use crate::sums::{BLOCK, Cascade, minus_zero};
use crate::{Element, Index};
use core::ops::Range;

/// Rows in a chunk. Each chunk is summed by one thread; the sum of the rows before it is computed first, chunk by
/// chunk. The chunks determine how a float sum is rounded, so they do not depend on the number of threads. In a long
/// segment, running sums begin anew with each [`BLOCK`], and the sum of the rows before is added to each.
const CHUNK: usize = 4096;

/// Running sums of rows within segments. Row `k` of `out` is the sum of the rows `order[j]` of `values` (rows `j`
/// without an order). `j` runs from the start of the segment of `k` to `k`, or with `reverse` from `k` to the end of
/// the segment. Segment `s` is `ptr[s]..ptr[s + 1]`; together the segments cover all rows of `out`. A row has `block`
/// elements.
///
/// # Panics
///
/// If the segments do not cover all rows, or `order` contains a row that `values` does not have.
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

    /// For each chunk, the part already summed of the segment that continues into it.
    fn carries(&self, chunks: Chunks) -> Vec<T::Acc> {
        let (block, count) = (self.block, chunks.count());
        // For each chunk, the sum from the last start of a segment in it.
        let mut sums = vec![T::ACC_ZERO; count * block];
        if count > 1 {
            for_pieces(&chunks.pieces(block), &mut sums, &|range| range.len() * block, &|range, piece| {
                for (chunk, sum) in range.zip(piece.chunks_exact_mut(block)) {
                    self.sum(chunks.rows_of(&(chunk..chunk + 1)), sum, None);
                }
            });
        }
        let (mut carry, mut before, mut own) = (vec![T::ACC_ZERO; block], Cascade::new(), vec![T::ACC_ZERO; block]);
        for k in 0..count {
            let chunk = if self.reverse { count - 1 - k } else { k };
            let fresh = starts(self.ptr, chunks.rows_of(&(chunk..chunk + 1)), self.reverse);
            if fresh {
                before = Cascade::new();
            }
            own.copy_from_slice(&sums[chunk * block..][..block]);
            sums[chunk * block..][..block].copy_from_slice(&carry);
            before.push(k, &own, T::add);
            before.total(&mut carry, T::add);
        }
        sums
    }

    /// Sums the rows in the direction of the sums and writes each running sum. `sum` holds the sum of the rows before.
    fn sum(&self, rows: Range<usize>, sum: &mut [T::Acc], mut out: Option<&mut [T]>) {
        let block = self.block;
        let last = if self.reverse { rows.end - 1 } else { rows.start };
        // The segment of the current row. Empty segments are skipped.
        let mut segment = self.ptr.below(last + 1) - 1;
        // In a long segment, the sum of the rows before the current block.
        let mut before = vec![minus_zero::<T>(); block];
        for step in 0..rows.len() {
            let k = if self.reverse { rows.end - 1 - step } else { rows.start + step };
            if self.reverse {
                while self.ptr.at(segment) > k {
                    segment -= 1;
                }
            } else {
                while self.ptr.at(segment + 1) <= k {
                    segment += 1;
                }
            }
            let own = self.ptr.span(segment);
            let first = if self.reverse { own.end - 1 } else { own.start };
            if k == first {
                sum.fill(T::ACC_ZERO);
                before.fill(minus_zero::<T>());
            } else if T::IS_FLOAT && own.len() > BLOCK && step.is_multiple_of(BLOCK) {
                for (before, sum) in before.iter_mut().zip(&mut *sum) {
                    *before = T::add(*before, core::mem::replace(sum, T::ACC_ZERO));
                }
            }
            let row = self.order.map_or(k, |order| order.at(k));
            for (sum, x) in sum.iter_mut().zip(&self.values[row * block..][..block]) {
                *sum = T::add(*sum, x.widen());
            }
            if let Some(out) = &mut out {
                let out = &mut out[(k - rows.start) * block..][..block];
                for (slot, (&before, &sum)) in out.iter_mut().zip(before.iter().zip(&*sum)) {
                    *slot = T::narrow(T::add(before, sum));
                }
            }
        }
        sum.iter_mut().zip(&before).for_each(|(sum, before)| *sum = T::add(*before, *sum));
    }
}

/// All rows, split into chunks of [`CHUNK`].
#[derive(Clone, Copy)]
struct Chunks {
    rows: usize,
}

impl Chunks {
    fn count(self) -> usize {
        self.rows.div_ceil(CHUNK)
    }

    /// The rows of a range of chunks.
    fn rows_of(self, chunks: &Range<usize>) -> Range<usize> {
        chunks.start * CHUNK..self.rows.min(chunks.end * CHUNK)
    }

    /// Ranges of chunks, one for each task.
    fn pieces(self, block: usize) -> Vec<Range<usize>> {
        even(self.count(), CHUNK * block)
    }
}

/// Whether a segment starts in these rows, seen in the direction of the sums.
fn starts(ptr: Ids<'_>, rows: Range<usize>, reverse: bool) -> bool {
    let (low, high) = if reverse { (rows.start + 1, rows.end) } else { (rows.start, rows.end - 1) };
    let next = ptr.below(low);
    next < ptr.len() && ptr.at(next) <= high
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use crate::dynamic::slices::{AnyElement, AnyIndex, ElementVec, Elements, Ids, with_elements, with_ids};
    use crate::memory::unwritten;

    /// See [`segment_cumsum`](crate::segment_cumsum()): one row for each entry of the segments.
    pub fn segment_cumsum(
        values: Elements<'_>,
        block: usize,
        order: Option<Ids<'_>>,
        ptr: Ids<'_>,
        reverse: bool,
    ) -> ElementVec {
        with_ids!(ptr, I => with_elements!(values, T => {
            let mut out = unwritten::<T>(values.len());
            let (values, order) = (T::elements(values), order.map(I::ids));
            super::segment_cumsum::<T, I>(values, block, order, I::ids(ptr), reverse, &mut out);
            T::element_vec(out)
        }))
    }
}
