//! How the cells of an array are shared among threads while values are scattered into them.

use super::layout::Layout;
use super::target::{Target, TargetIndex};
use super::walk::Walk;
use crate::element::Ids;
use crate::par;
use core::ops::Range;

/// Below this many values one thread does the work.
pub(super) const GRAIN: usize = 16 * 1024;

/// Some rows and columns of one slab.
pub(super) struct Part {
    pub(super) slab: usize,
    columns: Range<usize>,
    rows: Range<usize>,
}

impl Part {
    /// How many cells it has.
    pub(super) fn cells(&self) -> usize {
        self.columns.len() * self.rows.len()
    }

    /// The way through the values of its slab.
    pub(super) fn walk(&self, target: &Target<'_>) -> Walk {
        let &Target { len, inner, count, .. } = target;
        let (columns, rows) = (self.columns.clone(), self.rows.clone());
        Walk { len, inner, row: self.slab * count, k: 0, count, columns, rows, base: 0 }
    }
}

/// The cells in the order of `layout`, as tasks of parts that follow each other, and the number of cells of each task.
///
/// The values of one cell are of one task, so the result does not depend on the number of threads: slabs of `outer` and
/// blocks of columns are independent, and where there are too few of them each task has a range of destinations, reads the
/// whole index and passes over what belongs to others.
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
        // Consecutive slabs are joined until they are worth a task; one alone is shared by its blocks.
        let join = if threads == 1 { outer } else { (GRAIN / slab).clamp(1, outer.div_ceil(threads)) };
        if join == 1 {
            return (0..outer).flat_map(blocks).map(|part| vec![part]).collect();
        }
        let starts = (0..outer).step_by(join);
        return starts.map(|first| (first..outer.min(first + join)).flat_map(blocks).collect()).collect();
    }
    // Ranges of destinations. One a thread: each is a pass over index and values.
    let parts = threads.div_ceil(outer);
    let rows = match index {
        TargetIndex::Full(_) => par::ranges(len, parts.min(len)),
        TargetIndex::Axis(index) | TargetIndex::Grouped { index, .. } => balanced(index, len, parts),
    };
    let slabs =
        (0..outer).flat_map(|slab| rows.iter().map(move |rows| Part { slab, columns: 0..inner, rows: rows.clone() }));
    slabs.map(|part| vec![part]).collect()
}

/// Destinations in ranges of about equal numbers of values.
fn balanced(index: Ids<'_>, len: usize, parts: usize) -> Vec<Range<usize>> {
    let mut hits = vec![0u32; len];
    index.positions(len, |j| hits[j] += 1);
    let total = index.len() as u64;
    let (mut ranges, mut start, mut sum) = (Vec::with_capacity(parts), 0, 0u64);
    for (j, n) in hits.into_iter().enumerate() {
        sum += n as u64;
        if sum * parts as u64 >= total * (ranges.len() as u64 + 1) && ranges.len() + 1 < parts {
            ranges.push(start..j + 1);
            start = j + 1;
        }
    }
    ranges.push(start..len);
    ranges
}
