//! The two traversals that everything along an axis is made of.

use super::{Target, TargetIndex};
use crate::{Index, alloc::zeroed, par};
use core::ops::Range;
use rayon::prelude::*;

/// Below this many values one thread does the work.
const GRAIN: usize = 16 * 1024;
/// Columns are given to threads in multiples of this many: a cache line of i64 indices.
const COLUMNS: usize = 8;

/// Values that take no memory, for traversals that need only the index.
pub(super) fn units(len: usize) -> &'static [()] {
    &[(); usize::MAX][..len]
}

/// An index as a position, counting from the end where negative.
#[inline(always)]
pub(super) fn resolve<I: Index>(index: I, len: usize) -> usize {
    let j = index.to_i64();
    (if j < 0 { j.wrapping_add(len as i64) } else { j }) as usize
}

/// Calls `step(cell, value, k)` for each value and the cell it belongs to.
///
/// `cells` is `[outer, len, inner]`, `values` `[outer, count, inner]`. The calls for one cell come in ascending `k`
/// and from one thread at a time, so the result does not depend on the number of threads:
///
/// - slabs of `outer` are independent and done in place;
/// - columns of `inner` are independent too: each thread copies some of them to memory of its own (denser in cache
///   as well), works there, and the result is copied back;
/// - an index for whole rows, or too few columns: each thread takes a range of destinations, in place, reads the
///   whole index and skips what belongs to others.
pub(super) fn scatter_cells<X, V, I>(
    target: &Target<'_, I>,
    values: &[V],
    cells: &mut [X],
    step: impl Fn(&mut X, V, usize) + Sync,
) where
    X: Copy + Default + Send + Sync,
    V: Copy + Sync,
    I: Index,
{
    let &Target { outer, len, inner, count, .. } = target;
    target.assert_index();
    assert_eq!(values.len(), target.values_len(), "scatter: values must be [outer, count, inner]");
    assert_eq!(cells.len(), target.array_len(), "scatter: the array must be [outer, len, inner]");
    if cells.is_empty() || values.is_empty() {
        return;
    }
    let threads = if values.len() < GRAIN { 1 } else { rayon::current_num_threads() };
    // With few slabs each is shared by several threads.
    let shares = if outer >= 2 * threads { 1 } else { threads.div_ceil(outer) };
    let per_task = if threads == 1 { outer } else { GRAIN.div_ceil(count * inner).min(outer.div_ceil(threads)).max(1) };
    cells.par_chunks_mut(len * inner * per_task).enumerate().with_max_len(1).for_each(|(task, cells)| {
        for (s, cells) in cells.chunks_exact_mut(len * inner).enumerate() {
            let o = task * per_task + s;
            let slab =
                Slab { len, inner, index: target.slab_index(o), values: &values[o * count * inner..][..count * inner] };
            slab.scatter(cells, shares, &step);
        }
    });
}

impl<'a, I: Index> Target<'a, I> {
    /// The index of one slab.
    fn slab_index(&self, o: usize) -> TargetIndex<'a, I> {
        match self.index {
            TargetIndex::Full(index) => {
                TargetIndex::Full(&index[o * self.count * self.inner..][..self.count * self.inner])
            }
            TargetIndex::Axis(index) => TargetIndex::Axis(index),
        }
    }
}

/// The part of the work that belongs to one `o`.
struct Slab<'a, V, I> {
    len: usize,
    inner: usize,
    index: TargetIndex<'a, I>,
    values: &'a [V],
}

impl<V: Copy + Sync, I: Index> Slab<'_, V, I> {
    fn scatter<X>(&self, cells: &mut [X], shares: usize, step: &(impl Fn(&mut X, V, usize) + Sync))
    where
        X: Copy + Default + Send + Sync,
    {
        let &Slab { len, inner, values, .. } = self;
        let arch = pulp::Arch::new();
        if shares == 1 {
            arch.dispatch(
                #[inline(always)]
                || match self.index {
                    TargetIndex::Full(index) => self.run::<_, false>(index, cells, 0..inner, 0..len, step),
                    TargetIndex::Axis(index) => self.run_rows(index, cells, 0..len, step),
                },
            );
            return;
        }
        // Few values for the size of the array: copying columns would cost more than the work.
        let sparse = values.len() / 8 < cells.len() / 16;
        match self.index {
            TargetIndex::Full(index) if inner >= shares && !sparse => {
                let width = inner.div_ceil(shares);
                let width = if inner >= COLUMNS * shares { width.next_multiple_of(COLUMNS) } else { width };
                let groups = inner.div_ceil(width);
                let parts: Vec<Vec<X>> = (0..groups)
                    .into_par_iter()
                    .with_max_len(1)
                    .map(|g| {
                        let columns = g * width..((g + 1) * width).min(inner);
                        let mut part: Vec<X> = zeroed(len * columns.len());
                        for (part, row) in part.chunks_exact_mut(columns.len()).zip(cells.chunks_exact(inner)) {
                            part.copy_from_slice(&row[columns.clone()]);
                        }
                        arch.dispatch(
                            #[inline(always)]
                            || self.run::<_, false>(index, &mut part, columns, 0..len, step),
                        );
                        part
                    })
                    .collect();
                par::for_pieces(
                    &par::even(len, inner),
                    cells,
                    |rows| rows.len() * inner,
                    |rows, cells| {
                        for (row, cells) in rows.zip(cells.chunks_exact_mut(inner)) {
                            for (part, cells) in parts.iter().zip(cells.chunks_mut(width)) {
                                cells.copy_from_slice(&part[row * cells.len()..][..cells.len()]);
                            }
                        }
                    },
                );
            }
            TargetIndex::Full(index) => {
                let rows = par::ranges(len, shares.min(len));
                let parts = par::split_mut(cells, &rows, |rows| rows.len() * inner);
                parts.into_par_iter().zip(rows).with_max_len(1).for_each(|(cells, rows)| {
                    self.run::<_, true>(index, cells, 0..inner, rows, step);
                });
            }
            TargetIndex::Axis(index) => {
                let rows = self.balanced(index, shares * 2);
                let parts = par::split_mut(cells, &rows, |rows| rows.len() * inner);
                parts.into_par_iter().zip(rows).with_max_len(1).for_each(|(cells, rows)| {
                    arch.dispatch(
                        #[inline(always)]
                        || self.run_rows(index, cells, rows, step),
                    );
                });
            }
        }
    }

    /// Destinations in ranges of about equal numbers of values.
    fn balanced(&self, index: &[I], parts: usize) -> Vec<Range<usize>> {
        let mut hits = vec![0u32; self.len + 1];
        for &x in index {
            hits[resolve(x, self.len)] += 1;
        }
        let total = index.len() as u64;
        let (mut ranges, mut start, mut sum) = (Vec::with_capacity(parts), 0, 0u64);
        for (j, &n) in hits[..self.len].iter().enumerate() {
            sum += n as u64;
            if sum * parts as u64 >= total * (ranges.len() as u64 + 1) && ranges.len() + 1 < parts {
                ranges.push(start..j + 1);
                start = j + 1;
            }
        }
        ranges.push(start..self.len);
        ranges
    }

    /// One index for each value; `cells` holds the rows `rows` and columns `columns` of the slab. With `FILTER`
    /// values that belong to other rows are skipped, without it there must be none.
    #[inline(always)]
    fn run<X, const FILTER: bool>(
        &self,
        index: &[I],
        cells: &mut [X],
        columns: Range<usize>,
        rows: Range<usize>,
        step: &impl Fn(&mut X, V, usize),
    ) {
        let (len, inner, width) = (self.len, self.inner, columns.len());
        if inner == 1 {
            for (k, (&x, &v)) in index.iter().zip(self.values).enumerate() {
                let j = resolve(x, len).wrapping_sub(rows.start);
                if FILTER {
                    if let Some(cell) = cells.get_mut(j) {
                        step(cell, v, k);
                    }
                } else {
                    step(&mut cells[j], v, k);
                }
            }
            return;
        }
        for (k, (index, values)) in index.chunks_exact(inner).zip(self.values.chunks_exact(inner)).enumerate() {
            for (i, (&x, &v)) in index[columns.clone()].iter().zip(&values[columns.clone()]).enumerate() {
                let j = resolve(x, len);
                if FILTER {
                    if rows.contains(&j) {
                        step(&mut cells[(j - rows.start) * width + i], v, k);
                    }
                } else {
                    step(&mut cells[j * width + i], v, k);
                }
            }
        }
    }

    /// One index for each row of values; `cells` holds the rows `rows` of the slab.
    #[inline(always)]
    fn run_rows<X>(&self, index: &[I], cells: &mut [X], rows: Range<usize>, step: &impl Fn(&mut X, V, usize)) {
        let inner = self.inner;
        for (k, (&x, values)) in index.iter().zip(self.values.chunks_exact(inner)).enumerate() {
            let j = resolve(x, self.len);
            if rows.contains(&j) {
                let cells = &mut cells[(j - rows.start) * inner..][..inner];
                for (cell, &v) in cells.iter_mut().zip(values) {
                    step(cell, v, k);
                }
            }
        }
    }
}

/// `out[p] = f(cell, values[p], k)` for each value's position `p = (o, k, i)` and the position `cell` it belongs to.
///
/// One parallel pass.
pub(super) fn gather_map<V, O, I>(
    target: &Target<'_, I>,
    values: &[V],
    out: &mut [O],
    f: impl Fn(usize, V, usize) -> O + Sync,
) where
    V: Copy + Sync,
    O: Send,
    I: Index,
{
    let &Target { outer, len, inner, count, index } = target;
    target.assert_index();
    assert_eq!(values.len(), target.values_len(), "gather: values must be [outer, count, inner]");
    assert_eq!(out.len(), target.values_len(), "gather: the result must be [outer, count, inner]");
    if out.is_empty() {
        return;
    }
    let arch = pulp::Arch::new();
    par::for_pieces(
        &par::even(outer * count, inner),
        out,
        |rows| rows.len() * inner,
        |rows, out| {
            let (mut row, mut out) = (rows.start, out);
            // A piece is cut where it passes from one slab to the next.
            while row < rows.end {
                let (o, k) = (row / count, row % count);
                let n = (count - k).min(rows.end - row);
                let (here, rest) = out.split_at_mut(n * inner);
                let span = row * inner..(row + n) * inner;
                let values = &values[span.clone()];
                let base = o * len * inner;
                arch.dispatch(
                    #[inline(always)]
                    || match index {
                        TargetIndex::Full(index) if inner == 1 => {
                            for (s, ((out, &v), &x)) in here.iter_mut().zip(values).zip(&index[span]).enumerate() {
                                *out = f(base + resolve(x, len), v, k + s);
                            }
                        }
                        TargetIndex::Full(index) => {
                            let rows = here.chunks_exact_mut(inner).zip(values.chunks_exact(inner));
                            for (s, ((out, values), index)) in rows.zip(index[span].chunks_exact(inner)).enumerate() {
                                for (i, ((out, &v), &x)) in out.iter_mut().zip(values).zip(index).enumerate() {
                                    *out = f(base + resolve(x, len) * inner + i, v, k + s);
                                }
                            }
                        }
                        TargetIndex::Axis(index) => {
                            let rows = here.chunks_exact_mut(inner).zip(values.chunks_exact(inner));
                            for (s, ((out, values), &x)) in rows.zip(&index[k..]).enumerate() {
                                let cell = base + resolve(x, len) * inner;
                                for (i, (out, &v)) in out.iter_mut().zip(values).enumerate() {
                                    *out = f(cell + i, v, k + s);
                                }
                            }
                        }
                    },
                );
                (row, out) = (row + n, rest);
            }
        },
    );
}

/// State that depends on the index alone, `[outer, len, inner]`: `step(state, k)` for each value that belongs there.
pub(super) fn index_state<I: Index>(
    target: &Target<'_, I>,
    initial: u32,
    step: impl Fn(&mut u32, usize) + Sync,
) -> Vec<u32> {
    let fill = |len: usize| {
        let mut out = zeroed(len);
        if initial != 0 {
            out.par_iter_mut().for_each(|x| *x = initial);
        }
        out
    };
    if let TargetIndex::Axis(_) = target.index {
        // The same for each slab and column: computed once and spread.
        let row = Target { outer: 1, inner: 1, ..*target };
        let mut states = fill(target.len);
        scatter_cells(&row, units(target.count), &mut states, |state, (), k| step(state, k));
        if target.outer * target.inner == 1 {
            return states;
        }
        let mut out = zeroed(target.array_len());
        let rows = target.outer * target.len;
        par::for_pieces(
            &par::even(rows, target.inner),
            &mut out,
            |rows| rows.len() * target.inner,
            |rows, out| {
                for (row, out) in rows.zip(out.chunks_exact_mut(target.inner.max(1))) {
                    out.fill(states[row % target.len]);
                }
            },
        );
        return out;
    }
    let mut states = fill(target.array_len());
    scatter_cells(target, units(target.values_len()), &mut states, |state, (), k| step(state, k));
    states
}
