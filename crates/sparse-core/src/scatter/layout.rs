//! The order of the cells of an array in memory during a scatter or a gather, which access them at random.

use super::target::{Target, TargetIndex};
use super::walk::BLOCK;
use crate::{
    Plain,
    memory::{Scratch, defaults, unwritten},
    par,
};
use core::ops::Range;

/// Bytes of cells that one thread accesses at random at a time. They fit in a second-level cache of 1 to 2 MiB and the
/// thread's part of the third level. This value was the fastest on a Zen 5 server (1 MiB and 16 MiB per core).
const RESIDENT: usize = 3 << 20;
/// Bytes of the cells of a row that one block has at least. With 4 bytes a cell they have a cache line of 32-bit values
/// and one of i32 indices. Narrower blocks read more, wider ones have more cells than fit in a cache.
const ROW: usize = 64;

/// Cells `[outer, len, inner]`, stored as `[outer, blocks, len, width]`: blocks of `width` columns. The last block of a
/// row has the remaining columns.
///
/// With one index per value the columns are independent, so blocks are the threads' units of work. One block fits in
/// the cache while the values are streamed. A single block of all columns is the row-major layout.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) outer: usize,
    pub(super) len: usize,
    pub(super) inner: usize,
    pub(super) width: usize,
}

/// Part of a block: slab, columns, rows.
type Part = (usize, Range<usize>, Range<usize>);

impl Layout {
    /// The layout for cells of type `X`. Blocks are used if each cell is accessed often enough to pay for the
    /// reordering.
    pub(super) fn of<X>(target: &Target<'_>) -> Self {
        Self::of_size(target, size_of::<X>())
    }

    fn of_size(target: &Target<'_>, size: usize) -> Self {
        let &Target { outer, len, inner, count, index } = target;
        let mut width = inner;
        let threads = par::threads();
        let bytes = len * size;
        let alone = outer >= 2 * threads || threads == 1;
        if matches!(index, TargetIndex::Full(_))
            && count >= len
            && par::pieces(target.values_len()) > 1
            && (bytes * inner > RESIDENT || !alone)
        {
            // A block must fit in the cache, and every thread must get one.
            let least = (ROW / size.max(1)).clamp(BLOCK, 2 * BLOCK);
            let fitting = (RESIDENT / bytes.max(1)).max(least) / least * least;
            let shared = if alone { inner } else { inner.div_ceil(threads.div_ceil(outer.max(1))) };
            let shared = if shared > least { shared.next_multiple_of(least) } else { shared };
            // A power of two, so that the number of blocks divides most widths.
            let fitting = if fitting.is_power_of_two() { fitting } else { fitting.next_power_of_two() / 2 };
            width = fitting.min(shared).min(inner).max(1);
        }
        Self { outer, len, inner, width: width.max(1) }
    }

    /// The row-major layout.
    pub(super) fn plain(target: &Target<'_>) -> Self {
        let &Target { outer, len, inner, .. } = target;
        Self { outer, len, inner, width: inner.max(1) }
    }

    /// Whether the order is row-major.
    pub(super) fn is_plain(&self) -> bool {
        self.width >= self.inner
    }

    /// Number of cells.
    pub(super) fn cells(&self) -> usize {
        self.outer * self.len * self.inner
    }

    /// The columns of each block.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Range<usize>> + Clone + use<> {
        let (inner, width) = (self.inner, self.width);
        (0..inner).step_by(width).map(move |c| c..(c + width).min(inner))
    }

    /// Where the block with the given first column starts in slab `o`.
    #[inline(always)]
    pub(super) fn block_start(&self, o: usize, first_column: usize) -> usize {
        (o * self.inner + first_column) * self.len
    }

    /// Pieces of the cells, in storage order.
    fn parts(&self) -> Vec<Part> {
        if self.cells() == 0 {
            return Vec::new();
        }
        if self.is_plain() {
            // Slabs are contiguous, so their rows form one list.
            let rows = par::even(self.outer * self.len, self.inner);
            return rows.into_iter().map(|rows| (0, 0..self.inner, rows)).collect();
        }
        let mut parts = Vec::new();
        for o in 0..self.outer {
            for columns in self.blocks() {
                for rows in par::even(self.len, columns.len()) {
                    parts.push((o, columns.clone(), rows));
                }
            }
        }
        parts
    }

    /// Cells in this layout, computed from their row-major positions.
    pub(super) fn build<X: Copy + Default + Send>(&self, f: impl Fn(usize) -> X + Sync) -> Vec<X> {
        let mut cells = defaults(self.cells());
        self.each_row(&mut cells, |first, cells| {
            cells.iter_mut().enumerate().for_each(|(i, cell)| *cell = f(first + i));
        });
        cells
    }

    /// Calls `f` for each contiguous row of cells, with the row-major position of the first.
    fn each_row<X: Send>(&self, cells: &mut [X], f: impl Fn(usize, &mut [X]) + Sync) {
        let parts = self.parts();
        let pieces = par::split_mut(cells, &lens(&parts));
        par::each(pieces, &|k, piece| {
            let (o, columns, rows) = &parts[k];
            // Rows that have all columns are contiguous.
            let width = if self.is_plain() { piece.len() } else { columns.len() };
            let mut first = (o * self.len + rows.start) * self.inner + columns.start;
            for cells in piece.chunks_exact_mut(width) {
                f(first, cells);
                first += self.inner;
            }
        });
    }

    /// Calls `f(position, element, cell)` for each element of a row-major array and its cell.
    pub(super) fn each<X: Copy + Sync, T: Send>(
        &self,
        cells: &[X],
        out: &mut [T],
        f: impl Fn(usize, &mut T, X) + Sync,
    ) {
        if out.is_empty() {
            return;
        }
        let rows = par::even(self.outer * self.len, self.inner);
        par::for_pieces(&rows, out, &|rows| rows.len() * self.inner, &|rows, out| {
            for run in self.runs(rows.clone()) {
                let cells = &cells[run.cell..][..run.len];
                let out = &mut out[run.position - rows.start * self.inner..][..run.len];
                for (i, (out, &cell)) in out.iter_mut().zip(cells).enumerate() {
                    f(run.position + i, out, cell);
                }
            }
        });
    }

    /// Runs of contiguous elements in a range of rows whose cells are contiguous too.
    fn runs(&self, rows: Range<usize>) -> Vec<Run> {
        if self.is_plain() {
            let position = rows.start * self.inner;
            return vec![Run { position, cell: position, len: rows.len() * self.inner }];
        }
        let mut runs = Vec::with_capacity(rows.len() * self.inner.div_ceil(self.width));
        for row in rows {
            for columns in self.blocks() {
                let (o, j, len) = (row / self.len, row % self.len, columns.len());
                let cell = self.block_start(o, columns.start) + j * len;
                runs.push(Run { position: row * self.inner + columns.start, cell, len });
            }
        }
        runs
    }

    /// Copies a row-major array into this layout.
    pub(super) fn reordered<X: Plain>(&self, arr: &[X]) -> Scratch<X> {
        let mut cells = Scratch::unwritten(arr.len());
        self.each_row(&mut cells, |first, cells| cells.copy_from_slice(&arr[first..][..cells.len()]));
        cells
    }

    /// Undoes [`reordered`](Self::reordered).
    pub(super) fn restore<X: Plain>(&self, cells: &[X], out: &mut [X]) {
        self.each(cells, out, |_, x, cell| *x = cell);
    }

    /// A row-major array computed from the positions and the cells.
    pub(super) fn spread<X: Copy + Sync, T: Plain>(&self, cells: &[X], f: impl Fn(usize, X) -> T + Sync) -> Vec<T> {
        let mut out = unwritten(self.cells());
        self.each(cells, &mut out, |p, out, cell| *out = f(p, cell));
        out
    }
}

/// `len` elements from `position` on, whose cells start at `cell`.
struct Run {
    position: usize,
    cell: usize,
    len: usize,
}

/// The number of cells of each part.
fn lens(parts: &[Part]) -> Vec<usize> {
    par::lens(parts, |(_, columns, rows)| columns.len() * rows.len())
}
