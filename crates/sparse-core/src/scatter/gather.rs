//! Reading: each element of the result is computed from its cell.

use super::cells::units;
use super::layout::Layout;
use super::target::Target;
use super::walk::{AHEAD, BLOCK, Stretch, Visitor, Walk, prefetch_block};
use crate::element::{Ids, Index};
use crate::source::{Source, WRITES_AHEAD, prefetch, prefetch_row};
use crate::{Plain, par};
use core::ops::Range;

/// `out[o, k, i] = x[o, index, i]`: reads along the axis.
///
/// `x` is `[outer, len, inner]`, `out` is `[outer, count, inner]`. One parallel pass over the index and `out`. A large
/// array that is read often is first copied into a layout for the cache.
///
/// # Panics
/// If a length does not match the target.
pub fn gather<T: Plain>(target: &Target<'_>, x: &[T], out: &mut [T]) {
    assert_eq!(x.len(), target.array_len(), "gather: x must be [outer, len, inner]");
    if let (ids, false) = target.index.ids()
        && target.inner > 1
    {
        return gather_rows(target, ids, x, out);
    }
    let layout = Layout::of::<T>(target);
    let reordered = (!layout.is_plain()).then(|| layout.reordered(x));
    let x = reordered.as_deref().unwrap_or(x);
    gather_map(target, &layout, x, units(target.values_len()), out, |cell, out, (), _| *out = x[cell]);
}

/// [`gather`] of whole rows, whose indices are `ids`.
fn gather_rows<T: Plain>(target: &Target<'_>, ids: Ids<'_>, x: &[T], out: &mut [T]) {
    target.assert_index();
    assert_eq!(out.len(), target.values_len(), "gather: the result must be [outer, count, inner]");
    let &Target { outer, len, inner, count, .. } = target;
    par::for_pieces(&par::even(outer * count, inner), out, &|rows| rows.len() * inner, &|rows, mut out| {
        let mut row = rows.start;
        while row < rows.end {
            let (slab, k) = (row / count, row % count);
            let steps = (count - k).min(rows.end - row);
            let (own, rest) = out.split_at_mut(steps * inner);
            let x = Source::new(&x[slab * len * inner..][..len * inner], inner, "gather: x");
            match ids.slice(k..k + steps) {
                Ids::I32(ids) => copy_rows(ids, x, own),
                Ids::I64(ids) => copy_rows(ids, x, own),
            }
            (out, row) = (rest, row + steps);
        }
    });
}

/// Copies the rows `ids` of `x`.
fn copy_rows<T: Plain, I: Index>(ids: &[I], x: Source<'_, T>, out: &mut [T]) {
    let width = x.width();
    let from_start = |id: &I| {
        let j = id.to_i64();
        (if j < 0 { j.wrapping_add(x.rows() as i64) } else { j }) as usize
    };
    for (k, id) in ids.iter().enumerate() {
        x.prefetch(ids.get(k + x.distance()).map_or(usize::MAX, from_start));
        prefetch_row(out, (k + WRITES_AHEAD) * width, width);
        out[k * width..][..width].copy_from_slice(x.row(from_start(id)));
    }
}

/// Calls `f(c, &mut out[p], values[p], k)` for each position `p = (o, k, i)` of the values. `c` is the position in
/// `cells`, in the order of `layout`, that the value belongs to. The cells are only prefetched here, not read.
///
/// One parallel pass. Each piece goes through the blocks of the layout one after the other.
pub(super) fn gather_map<C: Sync, V: Copy + Sync, O: Send>(
    target: &Target<'_>,
    layout: &Layout,
    cells: &[C],
    values: &[V],
    out: &mut [O],
    f: impl Fn(usize, &mut O, V, usize) + Sync,
) {
    target.assert_index();
    assert_eq!(values.len(), target.values_len(), "gather: values must be [outer, count, inner]");
    assert_eq!(out.len(), target.values_len(), "gather: the result must be [outer, count, inner]");
    if out.is_empty() {
        return;
    }
    let pieces = pieces(target, layout);
    let index = target.index.plain();
    par::for_pieces(&pieces, out, &|rows| rows.len() * target.inner, &|rows, mut out| {
        for walks in slabs(target, layout, rows) {
            let first = walks[0].row * target.inner;
            let (here, rest) = out.split_at_mut(walks[0].count * target.inner);
            let values = &values[first..][..here.len()];
            for walk in &walks {
                walk.run(index, &mut Read { cells, values, out: here, stride: target.inner, first: walk.k, f: &f });
            }
            out = rest;
        }
    });
}

/// The rows of values of each task.
fn pieces(target: &Target<'_>, layout: &Layout) -> Vec<Range<usize>> {
    let &Target { outer, inner, count, .. } = target;
    if layout.is_plain() {
        return par::even(outer * count, inner);
    }
    // Long pieces, because each piece loads every block into its cache once.
    let parts = 2 * par::big_pieces(target.values_len());
    par::ranges(outer * count, parts.min(outer * count))
}

/// The walks through a range of rows of values. Each slab in the range has one walk per block.
fn slabs(target: &Target<'_>, layout: &Layout, rows: Range<usize>) -> Vec<Vec<Walk>> {
    let &Target { len, inner, count, .. } = target;
    let mut slabs = Vec::new();
    let mut row = rows.start;
    while row < rows.end {
        let (slab, k) = (row / count, row % count);
        let count = (count - k).min(rows.end - row);
        let walk = |columns: Range<usize>| {
            let base = layout.block_start(slab, columns.start);
            Walk { len, inner, row, k, count, columns, rows: 0..len, base }
        };
        slabs.push(layout.blocks().map(walk).collect());
        row += count;
    }
    slabs
}

/// A range of rows of the values and of the result.
struct Read<'a, C, V, O, F> {
    cells: &'a [C],
    values: &'a [V],
    out: &'a mut [O],
    /// Values between one step and the next.
    stride: usize,
    first: usize,
    f: &'a F,
}

impl<C, V: Copy, O, F: Fn(usize, &mut O, V, usize)> Visitor for Read<'_, C, V, O, F> {
    fn blocks(&mut self, walk: &Walk, ids: Ids<'_>) {
        match ids {
            Ids::I32(ids) => self.each_block(walk, ids),
            Ids::I64(ids) => self.each_block(walk, ids),
        }
    }

    fn prefetch(&mut self, cells: &[usize]) {
        for &cell in cells {
            prefetch(self.cells, cell);
        }
    }

    fn values(&mut self, stretch: &Stretch<'_>) {
        let &Stretch { cells, mut first, width, stride, k, along, .. } = stretch;
        let mut k = self.first + k;
        for cells in cells.chunks_exact(width) {
            prefetch(self.values, first + AHEAD * stride);
            prefetch(self.out, first + AHEAD * stride);
            let (values, out) = (&self.values[first..][..width], &mut self.out[first..][..width]);
            for (i, (&cell, (out, &value))) in cells.iter().zip(out.iter_mut().zip(values)).enumerate() {
                (self.f)(cell, out, value, k + i * along);
            }
            (first, k) = (first + stride, k + 1);
        }
    }

    fn rows(&mut self, cells: &[usize], inner: usize, k: usize) {
        for (k, &cell) in (k..).zip(cells) {
            let (values, out) = (&self.values[k * inner..][..inner], &mut self.out[k * inner..][..inner]);
            for (i, (out, &value)) in out.iter_mut().zip(values).enumerate() {
                (self.f)(cell.wrapping_add(i), out, value, self.first + k);
            }
        }
    }
}

impl<C, V: Copy, O, F: Fn(usize, &mut O, V, usize)> Read<'_, C, V, O, F> {
    fn each_block<I: Index>(&mut self, walk: &Walk, ids: &[I]) {
        let Self { cells: own, values, stride, first: step, f, .. } = *self;
        let fetch = |out: &&mut [O], cells: &[usize; BLOCK], first| {
            cells.iter().for_each(|&cell| prefetch(own, cell));
            prefetch_block(values, first + AHEAD * stride);
            prefetch_block(out, first + AHEAD * stride);
        };
        walk.each_block(ids, &mut &mut *self.out, fetch, |out, cells, first, k| {
            let (values, out) = (&values[first..][..BLOCK], &mut out[first..][..BLOCK]);
            for ((&cell, out), &value) in cells.iter().zip(out).zip(values) {
                f(cell, out, value, step + k);
            }
        });
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::Target;
    use crate::dynamic::slices::{AnyBits, BitVec, Bits, with_bits};
    use crate::memory::unwritten;

    /// See [`gather`](crate::gather()): `[outer, count, inner]`.
    pub fn gather(target: &Target<'_>, x: Bits<'_>) -> BitVec {
        with_bits!(x, T => {
            let mut out = unwritten::<T>(target.values_len());
            super::gather::<T>(target, T::bits(x), &mut out);
            T::bit_vec(out)
        })
    }
}
