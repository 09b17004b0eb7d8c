//! How the cells of an array are shared among threads in a scatter.

use super::layout::Layout;
use super::target::{Target, TargetIndex};
use super::walk::Walk;
use crate::element::Ids;
use crate::par;
use crate::random::Stream;
use core::ops::Range;

/// With fewer values than this, one thread does the work.
pub(super) const GRAIN: usize = 16 * 1024;

/// A range of rows and columns of one slab.
pub(super) struct Part {
    pub(super) slab: usize,
    columns: Range<usize>,
    rows: Range<usize>,
}

impl Part {
    /// The number of cells.
    pub(super) fn cells(&self) -> usize {
        self.columns.len() * self.rows.len()
    }

    /// The walk through the values of some steps of its slab.
    pub(super) fn walk(&self, target: &Target<'_>, steps: Range<usize>) -> Walk {
        let &Target { len, inner, count, .. } = target;
        let (columns, rows) = (self.columns.clone(), self.rows.clone());
        let row = self.slab * count + steps.start;
        Walk { len, inner, row, k: steps.start, count: steps.len(), columns, rows, base: 0 }
    }
}

/// The tasks, which cover the cells in the order of `layout`, and the number of cells of each task. A task is a list of
/// contiguous parts.
///
/// All values of a cell are handled by one task, so the result does not depend on the number of threads. The slabs of
/// `outer` and the blocks of columns are independent. If there are too few of them, each task gets a range of
/// destinations: it reads the whole index and skips the values that belong to other tasks.
pub(super) fn tasks(target: &Target<'_>, layout: &Layout) -> (Vec<Vec<Part>>, Vec<usize>) {
    let tasks = split(target, layout);
    let lens = par::lens(&tasks, |parts| parts.iter().map(Part::cells).sum());
    (tasks, lens)
}

fn split(target: &Target<'_>, layout: &Layout) -> Vec<Vec<Part>> {
    let &Target { outer, len, inner, count, index } = target;
    let slab = count * inner;
    let threads = if outer * slab < GRAIN { 1 } else { par::threads() };
    let blocks = |slab: usize| layout.blocks().map(move |columns| Part { slab, columns, rows: 0..len });
    if threads == 1 || outer >= 2 * threads || !layout.is_plain() {
        // Consecutive slabs are joined until they are worth a task. A slab that is large enough by itself is split into
        // its blocks.
        let join = if threads == 1 { outer } else { (GRAIN / slab).clamp(1, outer.div_ceil(threads)) };
        if join == 1 {
            return (0..outer).flat_map(blocks).map(|part| vec![part]).collect();
        }
        let starts = (0..outer).step_by(join);
        return starts.map(|first| (first..outer.min(first + join)).flat_map(blocks).collect()).collect();
    }
    // Ranges of destinations. There is only one per thread, because each is a pass over the index and the values.
    let parts = threads.div_ceil(outer);
    let rows = match index {
        TargetIndex::Full(_) => par::ranges(len, parts.min(len)),
        TargetIndex::Axis(index) | TargetIndex::Grouped { index, .. } => balanced(index, len, parts),
    };
    let slabs =
        (0..outer).flat_map(|slab| rows.iter().map(move |rows| Part { slab, columns: 0..inner, rows: rows.clone() }));
    slabs.map(|part| vec![part]).collect()
}

/// Splits the destinations into ranges with about equal numbers of values, in time that does not depend on the number
/// of destinations. A sample of a long index is enough.
fn balanced(index: Ids<'_>, len: usize, parts: usize) -> Vec<Range<usize>> {
    const SAMPLE: usize = 1 << 14;
    let position = |k| match index.get(k) {
        j if j < 0 => j.wrapping_add(len as i64) as usize,
        j => j as usize,
    };
    let (step, stream) = (index.len().div_ceil(SAMPLE).max(1), Stream::new(0));
    // Anywhere in its stretch: the index may repeat with the period of the stretches.
    let place = |s: usize| (s * step + (stream.at(s as u64) % step as u64) as usize).min(index.len() - 1);
    let mut at: Vec<usize> = (0..index.len().div_ceil(step)).map(|s| position(place(s))).collect();
    at.sort_unstable();
    let (mut ranges, mut start) = (Vec::with_capacity(parts), 0);
    for part in 1..parts {
        let end = at[part * at.len() / parts];
        if end > start {
            ranges.push(start..end);
            start = end;
        }
    }
    ranges.push(start..len);
    ranges
}

#[cfg(test)]
mod tests {
    use super::{Ids, balanced};

    #[test]
    fn few_values_are_shared_equally() {
        let index: Vec<i64> = (0..99).map(|k| (k * 7919) % 1_000_000).collect();
        for parts in 1..=8 {
            let ranges = balanced(Ids::I64(&index), 1_000_000, parts);
            assert_eq!((ranges.len(), ranges[0].start, ranges[parts - 1].end), (parts, 0, 1_000_000));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            for range in ranges {
                let values = index.iter().filter(|&&j| range.contains(&(j as usize))).count();
                assert!(values.abs_diff(99 / parts) <= 1, "{values} of 99 in one of {parts} parts");
            }
        }
    }

    #[test]
    fn many_values_are_shared_by_a_sample() {
        let index: Vec<i32> = (0..100_000u32).map(|k| (k.wrapping_mul(0x9E37_79B9) >> 20) as i32 - 4096).collect();
        let ranges = balanced(Ids::I32(&index), 4096, 4);
        assert_eq!((ranges.len(), ranges[0].start, ranges[3].end), (4, 0, 4096));
        for range in ranges {
            let values = index.iter().filter(|&&j| range.contains(&((j + 4096) as usize))).count();
            assert!(values.abs_diff(25_000) < 1000, "{values} of 100,000 in one of 4 parts");
        }
    }

    #[test]
    fn an_index_that_repeats_is_shared() {
        for period in [64, 100] {
            let index: Vec<i32> = (0..1 << 20).map(|k| k % period).collect();
            let ranges = balanced(Ids::I32(&index), period as usize, 2);
            assert_eq!(ranges.len(), 2);
            assert!(ranges[0].end.abs_diff(period as usize / 2) <= 3, "{ranges:?}");
        }
    }

    #[test]
    fn a_destination_stays_whole() {
        assert_eq!(balanced(Ids::I32(&[5, 5, 5, 5]), 100, 4), [0..5, 5..100]);
        assert_eq!(balanced(Ids::I32(&[0, 0, -1]), 100, 2), std::slice::from_ref(&(0..100)));
    }
}
