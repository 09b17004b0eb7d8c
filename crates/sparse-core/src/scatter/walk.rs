//! The cell of each value.
//!
//! The traversals of scatter and gather that find cells are here and are compiled once. They pass the cells of some
//! values to a [`Visitor`]. Only the visitor's loops over these values are compiled for each element type and each
//! reduction.
//!
//! Rows of whole blocks are passed block by block, other rows in longer stretches.

use super::target::TargetIndex;
use crate::Index;
use crate::element::Ids;
use crate::source::prefetch;
use core::ops::Range;

/// Maximal number of values of a stretch. Their cells are prefetched while the stretch before is visited.
const STRETCH: usize = 128;

/// Maximal number of rows whose cells are found at a time. They are prefetched only among themselves.
const ROWS: usize = 512;

/// How many rows of the index to prefetch ahead. A block uses one or two cache lines of each row. The rows are too far
/// apart for the hardware prefetcher, and the processor itself looks only about 5 rows ahead. The same is true of
/// values and results. Measured on Zen 5, before cells were fetched too: sums of 64 columns and their gradients took
/// 102 to 135 ms and 103 to 105 with 8 rows, 125 to 185 and 122 to 160 with 24, sums 230 ms without.
pub(super) const AHEAD: usize = 8;

/// Columns of a block. Loops over a block are unrolled.
pub(super) const BLOCK: usize = 8;

/// A block's cells are found and prefetched this many blocks before its visit. Without that the processor waits for the
/// cells of some two rows only: on Zen 4 means took 440 ms and extremes 570 to 610, both ways, then 360 and 290.
const FOUND: usize = 4;

/// The cell of a value whose destination is not part of the walk: larger than the length of any slice.
const ELSEWHERE: usize = usize::MAX;

/// The work on values whose cells are known.
pub(super) trait Visitor {
    /// Visits the values of a walk in blocks of [`BLOCK`] columns. The loop over the index is compiled with the
    /// visitor: these are the walks with the most values.
    fn blocks(&mut self, walk: &Walk, ids: Ids<'_>);
    /// Prefetches cells that the next stretch needs.
    fn prefetch(&mut self, cells: &[usize]);
    /// Visits a stretch of values.
    fn values(&mut self, stretch: &Stretch<'_>);
    /// Visits rows of `inner` values from step `k` on. Row `r` belongs to the `inner` cells from `cells[r]` on.
    fn rows(&mut self, cells: &[usize], inner: usize, k: usize);
}

/// Rows of values and the cell of each value.
///
/// Row `r` has `width` values from position `first + r * stride` on. Its value `i` has step `k + r + i * along`.
pub(super) struct Stretch<'a> {
    pub(super) cells: &'a [usize],
    pub(super) first: usize,
    pub(super) width: usize,
    pub(super) stride: usize,
    pub(super) k: usize,
    pub(super) along: usize,
}

/// Prefetches [`BLOCK`] elements. They may lie in two cache lines.
#[inline(always)]
pub(super) fn prefetch_block<T>(data: &[T], at: usize) {
    prefetch(data, at);
    prefetch(data, at + BLOCK - 1);
}

/// A range of steps of one slab, and the columns and destinations in it to visit.
pub(super) struct Walk {
    /// Length of the axis of the array.
    pub(super) len: usize,
    /// Number of values of a step.
    pub(super) inner: usize,
    /// First row of values, counted over all slabs.
    pub(super) row: usize,
    /// The step of that row.
    pub(super) k: usize,
    /// Number of steps.
    pub(super) count: usize,
    /// The columns.
    pub(super) columns: Range<usize>,
    /// The destinations. Values with other destinations are skipped.
    pub(super) rows: Range<usize>,
    /// The cell of the first column and the first destination. Cells are stored row by row.
    pub(super) base: usize,
}

impl Walk {
    /// Runs a visitor over the values. Positions and steps count from the first value of the walk.
    pub(super) fn run(&self, index: TargetIndex<'_>, visitor: &mut dyn Visitor) {
        let (ids, full) = index.ids();
        let (first, width) = if full { (self.row, self.inner) } else { (self.k, 1) };
        let ids = ids.slice(first * width..(first + self.count) * width);
        match (ids, full || self.inner == 1) {
            (ids, true) if self.has_blocks() => visitor.blocks(self, ids),
            (Ids::I32(ids), true) => self.each_value(ids, visitor),
            (Ids::I64(ids), true) => self.each_value(ids, visitor),
            (Ids::I32(ids), false) => self.each_row(ids, visitor),
            (Ids::I64(ids), false) => self.each_row(ids, visitor),
        }
    }

    /// Whether each row of values consists of whole blocks.
    fn has_blocks(&self) -> bool {
        self.columns.len().is_multiple_of(BLOCK) && self.inner > 1
    }

    /// Calls `fetch(state, cells, first)` for each block of [`BLOCK`] values that each have their own index, and
    /// [`FOUND`] blocks later `visit(state, cells, first, k)`: their cells, the position of the first value, its step.
    /// A cell outside the walk is larger than all of its cells. Prefetches the index.
    #[inline(always)]
    pub(super) fn each_block<I: Index, S>(
        &self,
        ids: &[I],
        state: &mut S,
        fetch: impl Fn(&S, &[usize; BLOCK], usize),
        mut visit: impl FnMut(&mut S, &[usize; BLOCK], usize, usize),
    ) {
        let width = self.columns.len();
        let mut found = [([0; BLOCK], 0, 0); FOUND];
        let (mut k, mut column) = (0, 0);
        let blocks = self.count * width / BLOCK;
        for at in 0..blocks + FOUND {
            let slot = &mut found[at % FOUND];
            if at >= FOUND {
                let (cells, first, k) = slot;
                visit(state, cells, *first, *k);
            }
            if at < blocks {
                let first = k * self.inner + self.columns.start + column;
                prefetch_block(ids, first + AHEAD * self.inner);
                let entries: &[I; BLOCK] = ids[first..].first_chunk().expect("an entry for each value");
                let cell = |i| self.destination(entries[i]).wrapping_mul(width).wrapping_add(self.base + column + i);
                *slot = (core::array::from_fn(cell), first, k);
                fetch(state, &slot.0, first);
                column += BLOCK;
                if column == width {
                    (k, column) = (k + 1, 0);
                }
            }
        }
    }

    /// The destination of an index entry, counted from the first one of the walk. That of another destination, or of
    /// an entry that is out of range, is larger than the number of destinations.
    #[inline(always)]
    fn destination<I: Index>(&self, id: I) -> usize {
        let j = id.to_i64();
        let from_end = self.len as i64 & j >> (i64::BITS - 1);
        (j.wrapping_add(from_end) as usize).wrapping_sub(self.rows.start)
    }

    /// Runs over rows of values that share an index.
    fn each_row<I: Index>(&self, ids: &[I], visitor: &mut dyn Visitor) {
        let mut cells = [0; ROWS];
        for (s, ids) in ids.chunks(ROWS).enumerate() {
            let cells = &mut cells[..ids.len()];
            self.find(ids, None, cells);
            visitor.rows(cells, self.inner, s * ROWS);
        }
    }

    /// Runs over values that each have their own index.
    fn each_value<I: Index>(&self, ids: &[I], visitor: &mut dyn Visitor) {
        // A single column is one long row.
        let along = self.inner == 1;
        let (rows, width) = if along { (1, self.count) } else { (self.count, self.columns.len()) };
        let (height, piece) = if width > STRETCH { (1, STRETCH) } else { (STRETCH / width, width) };
        let stretches = (0..rows)
            .step_by(height)
            .flat_map(|r| (0..width).step_by(piece).map(move |c| (r, height.min(rows - r), c, piece.min(width - c))));
        // While one stretch is visited, the next one, whose cells are known, is prefetched. An empty stretch comes
        // last.
        let mut buffers = [[0; STRETCH]; 2];
        let [mut cells, mut next] = buffers.each_mut();
        let mut found = None;
        for (r, n, c, width) in stretches.chain([(0, 0, 0, 0)]) {
            let first = r * self.inner + self.columns.start + c;
            for (row, next) in next[..n * width].chunks_exact_mut(width.max(1)).enumerate() {
                let at = first + row * self.inner;
                let column = (!along).then_some(c);
                self.find(&ids[at..][..width], column, next);
                if !along {
                    prefetch(ids, at + AHEAD * self.inner);
                }
            }
            if !along {
                visitor.prefetch(&next[..n * width]);
            }
            if let Some((r, n, c, width)) = found {
                visitor.values(&Stretch {
                    cells: &cells[..n * width],
                    first: r * self.inner + self.columns.start + c,
                    width,
                    stride: self.inner,
                    k: if along { c } else { r },
                    along: along as usize,
                });
            }
            found = (n > 0).then_some((r, n, c, width));
            core::mem::swap(&mut cells, &mut next);
        }
    }

    /// The cells of index entries. With `column` the entries belong to adjacent columns, the first of which is
    /// `column`; otherwise all belong to the first column.
    #[inline(always)]
    fn find<I: Index>(&self, ids: &[I], column: Option<usize>, cells: &mut [usize]) {
        let (len, width, rows) = (self.len as i64, self.columns.len(), self.rows.len());
        let (mut base, step) = (self.base + column.unwrap_or(0), column.is_some() as usize);
        for (cell, id) in cells.iter_mut().zip(ids) {
            let j = id.to_i64();
            let j = if j < 0 { j.wrapping_add(len) } else { j } as usize;
            let row = j.wrapping_sub(self.rows.start);
            *cell = if row < rows { base + row * width } else { ELSEWHERE };
            base += step;
        }
    }
}
