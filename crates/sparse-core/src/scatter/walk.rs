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

/// How many rows of the index to prefetch ahead. A block uses one or two cache lines of each row. The rows are too far
/// apart for the hardware prefetcher, and the processor itself looks only about 5 rows ahead.
pub(super) const AHEAD: usize = 24;

/// How many blocks ahead to prefetch cells.
const CELLS_AHEAD: usize = 4;

/// Columns of a block. Loops over a block are unrolled.
pub(super) const BLOCK: usize = 8;

/// The cell of a value whose destination is not part of the walk: larger than the length of any slice.
const ELSEWHERE: usize = usize::MAX;

/// The work on values whose cells are known.
pub(super) trait Visitor {
    /// Visits the [`BLOCK`] values from position `first` on, which have step `k`. Prefetches the cells `next`, which
    /// are visited a few blocks later.
    fn block(&mut self, cells: &[usize; BLOCK], next: &[usize; BLOCK], first: usize, k: usize);
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
            (Ids::I32(ids), true) if self.has_blocks() => self.each_block(ids, visitor),
            (Ids::I64(ids), true) if self.has_blocks() => self.each_block(ids, visitor),
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

    /// Runs over values that each have their own index, in blocks of [`BLOCK`] columns.
    fn each_block<I: Index>(&self, ids: &[I], visitor: &mut dyn Visitor) {
        let (len, start, rows, base, width) =
            (self.len as i64, self.rows.start, self.rows.len(), self.base, self.columns.len());
        // The row and the column of a block. Cells are found some blocks before they are visited.
        let (mut next, mut visited) = ((0, 0), (0, 0));
        let after = |(r, c)| if c + BLOCK < width { (r, c + BLOCK) } else { (r + 1, 0) };
        let at = |(r, c)| r * self.inner + self.columns.start + c;
        let mut found = [[0; BLOCK]; 2 * CELLS_AHEAD];
        for k in 0..self.count * (width / BLOCK) + CELLS_AHEAD {
            let slot = k % found.len();
            if let Some(entries) = ids.get(at(next)..).and_then(|ids| ids.first_chunk::<BLOCK>()) {
                for (cell, (id, column)) in found[slot].iter_mut().zip(entries.iter().zip(next.1..)) {
                    let j = id.to_i64();
                    let row = (if j < 0 { j.wrapping_add(len) } else { j } as usize).wrapping_sub(start);
                    *cell = if row < rows { base + row * width + column } else { ELSEWHERE };
                }
                prefetch_block(ids, at(next) + AHEAD * self.inner);
                next = after(next);
            }
            if k >= CELLS_AHEAD {
                visitor.block(&found[(k - CELLS_AHEAD) % found.len()], &found[slot], at(visited), visited.0);
                visited = after(visited);
            }
        }
    }

    /// Runs over rows of values that share an index.
    fn each_row<I: Index>(&self, ids: &[I], visitor: &mut dyn Visitor) {
        let mut cells = [0; STRETCH];
        for (s, ids) in ids.chunks(STRETCH).enumerate() {
            let cells = &mut cells[..ids.len()];
            self.find(ids, None, cells);
            visitor.rows(cells, self.inner, s * STRETCH);
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
