//! The two traversals that everything along an axis is made of.

use super::layout::Layout;
use super::target::{Target, TargetIndex};
use crate::reduce::{Source, prefetch};
use crate::structure::{Segments, group_by};
use crate::{Index, alloc::zeroed, par};
use core::ops::Range;
use pulp::{Arch, Simd, WithSimd};
use std::borrow::Cow;

/// Below this many values one thread does the work.
const GRAIN: usize = 16 * 1024;

/// Rows of index and values to fetch ahead: a block uses a cache line of each, too far apart for the hardware to
/// foresee, and the processor itself looks some 5 rows ahead.
const AHEAD: usize = 24;

/// Columns that are reduced together, in registers.
const TILE: usize = 64;

/// Rows whose cells to fetch ahead.
const CELLS_AHEAD: usize = 4;

/// What happens to a cell for each value that belongs to it; `k` is the value's step along the axis.
///
/// A trait of named types and not a closure: a closure inside a function that is generic over the index would be another
/// type for each index, and all loops over it would be compiled again.
pub(super) trait Step<X, V>: Sync {
    /// Lets the cell take in the value.
    fn step(&self, cell: &mut X, value: V, k: usize);
}

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
/// `cells` is `[outer, len, inner]` in the order of `layout`, `values` `[outer, count, inner]`. The calls for one cell
/// come in ascending `k` and from one thread at a time, so the result does not depend on the number of threads: slabs
/// of `outer` and blocks of columns are independent, and so are destinations: wide rows of values are grouped by theirs
/// (each cell is then in memory once, while values pass by once), else where there are too few slabs and blocks each
/// thread takes a range of destinations, reads the whole index and skips what belongs to others.
pub(super) fn scatter_cells<X, V, I>(
    target: &Target<'_, I>,
    layout: &Layout,
    values: &[V],
    cells: &mut [X],
    step: &impl Step<X, V>,
) where
    X: Copy + Send + Sync,
    V: Copy + Sync,
    I: Index,
{
    scatter_onto(target, layout, values, None, cells, step);
}

/// [`scatter_cells`] that begins from the cells of `start`, if given: grouped destinations are copied on the way.
pub(super) fn scatter_onto<X, V, I>(
    target: &Target<'_, I>,
    layout: &Layout,
    values: &[V],
    start: Option<&[X]>,
    cells: &mut [X],
    step: &impl Step<X, V>,
) where
    X: Copy + Send + Sync,
    V: Copy + Sync,
    I: Index,
{
    let &Target { len, inner, count, index, .. } = target;
    target.assert_index();
    assert_eq!(values.len(), target.values_len(), "scatter: values must be [outer, count, inner]");
    assert_eq!(cells.len(), target.array_len(), "scatter: the array must be [outer, len, inner]");
    if cells.is_empty() || values.is_empty() {
        start.iter().for_each(|start| cells.copy_from_slice(start));
        return;
    }
    let wide = inner * size_of::<V>() >= 64 && count >= len / 8 && values.len() >= GRAIN;
    let known = matches!(index, TargetIndex::Grouped { .. });
    if size_of::<V>() > 0
        && (known || wide)
        && let Some((ptr, order)) = groups(index, len)
    {
        return visit_groups(inner, (&ptr, &order), values, start, cells, step);
    }
    let index = index.plain();
    start.iter().for_each(|start| cells.copy_from_slice(start));
    let tasks = tasks(target, layout);
    let lens: Vec<usize> = tasks.iter().map(|parts| parts.iter().map(|part| part.cells()).sum()).collect();
    par::each(par::split_mut(cells, &lens), &|task, mut cells| {
        for part in &tasks[task] {
            let (own, rest) = cells.split_at_mut(part.cells());
            cells = rest;
            visit(target, index, part, values, own, step);
        }
    });
}

/// Some rows and columns of one slab.
struct Part {
    slab: usize,
    columns: Range<usize>,
    rows: Range<usize>,
}

impl Part {
    /// How many cells it has.
    fn cells(&self) -> usize {
        self.columns.len() * self.rows.len()
    }
}

/// The cells in the order of `layout`, as tasks of parts that follow each other.
fn tasks<I: Index>(target: &Target<'_, I>, layout: &Layout) -> Vec<Vec<Part>> {
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

/// Lets the cells of one part take in their values.
fn visit<X, V: Copy, I: Index>(
    target: &Target<'_, I>,
    index: TargetIndex<'_, I>,
    part: &Part,
    values: &[V],
    cells: &mut [X],
    step: &impl Step<X, V>,
) {
    let &Target { len, inner, count, .. } = target;
    let slab = part.slab * count * inner..(part.slab + 1) * count * inner;
    let (columns, rows, values) = (part.columns.clone(), part.rows.clone(), &values[slab.clone()]);
    let visit = Visit { len, inner, values, columns, rows, cells, step };
    match index {
        TargetIndex::Full(index) if inner == 1 => visit.single(&index[slab]),
        TargetIndex::Full(index) if visit.rows.len() < len => visit.some_rows(&index[slab]),
        TargetIndex::Full(index) if visit.columns.len() == 8 => visit.all_rows::<8, I>(&index[slab]),
        TargetIndex::Full(index) => visit.all_rows::<0, I>(&index[slab]),
        TargetIndex::Axis(index) | TargetIndex::Grouped { index, .. } => visit.by_row(index),
    }
}

/// The steps along the axis grouped by destination, where one index serves a whole step and 32 bits count them.
fn groups<'a, I: Index>(index: TargetIndex<'a, I>, len: usize) -> Option<Groups<'a>> {
    let fits = |count: usize| count.max(len) <= i32::MAX as usize;
    match index {
        TargetIndex::Grouped { order, ptr, .. } if fits(order.len()) => Some((I::narrow(ptr), I::narrow(order))),
        TargetIndex::Axis(index) if fits(index.len()) => {
            let keys: Vec<i32> = index.iter().map(|&x| resolve(x, len) as i32).collect();
            let Segments { ptr, order } = group_by(&keys, len);
            Some((Cow::Owned(ptr), Cow::Owned(order)))
        }
        _ => None,
    }
}

/// Where each destination starts in the order, and the steps in it.
type Groups<'a> = (Cow<'a, [i32]>, Cow<'a, [i32]>);

/// [`scatter_onto`] of rows whose destinations are grouped.
fn visit_groups<X: Copy + Send + Sync, V: Copy + Sync>(
    inner: usize,
    (ptr, order): (&[i32], &[i32]),
    values: &[V],
    start: Option<&[X]>,
    cells: &mut [X],
    step: &impl Step<X, V>,
) {
    let (len, count) = (ptr.len() - 1, order.len());
    let arch = Arch::new();
    let ranges = par::by_elements(ptr, inner);
    let slab = len * inner;
    par::chunks_mut(cells, slab, &|o, cells| {
        let values = &values[o * count * inner..][..count * inner];
        par::for_pieces(&ranges, cells, &|rows| rows.len() * inner, &|rows, cells| {
            let start = start.map(|start| &start[o * slab + rows.start * inner..][..cells.len()]);
            arch.dispatch(VisitGroups { ptr: &ptr[rows.start..=rows.end], order, inner, values, start, cells, step });
        });
    });
}

/// Some destinations of a slab, each with the rows of values that belong to it.
struct VisitGroups<'a, V, X, F> {
    ptr: &'a [i32],
    order: &'a [i32],
    inner: usize,
    values: &'a [V],
    start: Option<&'a [X]>,
    cells: &'a mut [X],
    step: &'a F,
}

impl<V: Copy, X: Copy, F: Step<X, V>> WithSimd for VisitGroups<'_, V, X, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<A: Simd>(self, _: A) {
        let Self { ptr, order, inner, values, start, cells, step } = self;
        let rows = Source::new(values, inner, "scatter: values");
        let distance = rows.distance();
        for (j, (cells, group)) in cells.chunks_exact_mut(inner).zip(ptr.windows(2)).enumerate() {
            if let Some(start) = start {
                cells.copy_from_slice(&start[j * inner..][..inner]);
            }
            let group = group[0].to_usize()..group[1].to_usize();
            order.iter().skip(group.start + distance).take(group.len()).for_each(|next| rows.prefetch(next.to_usize()));
            let order = &order[group];
            let (tiles, rest) = cells.as_chunks_mut::<TILE>();
            for (t, tile) in tiles.iter_mut().enumerate() {
                // A copy stays in registers.
                let mut cells = *tile;
                for k in order {
                    let values = &rows.row(k.to_usize())[t * TILE..][..TILE];
                    for (cell, &v) in cells.iter_mut().zip(values) {
                        step.step(cell, v, k.to_usize());
                    }
                }
                *tile = cells;
            }
            let done = inner - rest.len();
            for k in order {
                for (cell, &v) in rest.iter_mut().zip(&rows.row(k.to_usize())[done..]) {
                    step.step(cell, v, k.to_usize());
                }
            }
        }
    }
}

/// Destinations in ranges of about equal numbers of values.
fn balanced<I: Index>(index: &[I], len: usize, parts: usize) -> Vec<Range<usize>> {
    let mut hits = vec![0u32; len];
    for &x in index {
        hits[resolve(x, len)] += 1;
    }
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

/// Some rows and columns of one slab: `cells` holds them row by row. Values that belong to other rows are skipped.
struct Visit<'a, V, X, F> {
    len: usize,
    inner: usize,
    values: &'a [V],
    columns: Range<usize>,
    rows: Range<usize>,
    cells: &'a mut [X],
    step: &'a F,
}

impl<V: Copy, X, F: Step<X, V>> Visit<'_, V, X, F> {
    /// All destinations. `W` is the number of columns, or 0 if that is not known.
    fn all_rows<const W: usize, I: Index>(self, index: &[I]) {
        let Self { len, inner, values, columns, cells, step, .. } = self;
        let width = if W > 0 { W } else { columns.len() };
        for k in 0..index.len() / inner {
            let at = k * inner + columns.start;
            prefetch(index, at + AHEAD * inner);
            prefetch(values, at + AHEAD * inner);
            if let Some(next) = index.get(at + CELLS_AHEAD * inner..).and_then(|rest| rest.get(..width)) {
                next.iter().enumerate().for_each(|(i, &x)| prefetch(cells, resolve(x, len) * width + i));
            }
            let (index, values) = (&index[at..][..width], &values[at..][..width]);
            for i in 0..width {
                step.step(&mut cells[resolve(index[i], len) * width + i], values[i], k);
            }
        }
    }

    /// A range of the destinations.
    fn some_rows<I: Index>(self, index: &[I]) {
        let Self { len, inner, values, columns, rows, cells, step, .. } = self;
        let width = columns.len();
        for (k, (index, values)) in index.chunks_exact(inner).zip(values.chunks_exact(inner)).enumerate() {
            for (i, (&x, &v)) in index[columns.clone()].iter().zip(&values[columns.clone()]).enumerate() {
                let j = resolve(x, len);
                if rows.contains(&j) {
                    step.step(&mut cells[(j - rows.start) * width + i], v, k);
                }
            }
        }
    }

    /// Slabs of one column.
    fn single<I: Index>(self, index: &[I]) {
        let Self { len, values, rows, cells, step, .. } = self;
        for (k, (&x, &v)) in index.iter().zip(values).enumerate() {
            let j = resolve(x, len).wrapping_sub(rows.start);
            if let Some(cell) = cells.get_mut(j) {
                step.step(cell, v, k);
            }
        }
    }

    /// One index for each row of values.
    fn by_row<I: Index>(self, index: &[I]) {
        let Self { len, inner, values, rows, cells, step, .. } = self;
        for (k, (&x, values)) in index.iter().zip(values.chunks_exact(inner)).enumerate() {
            let j = resolve(x, len);
            if rows.contains(&j) {
                let cells = &mut cells[(j - rows.start) * inner..][..inner];
                for (cell, &v) in cells.iter_mut().zip(values) {
                    step.step(cell, v, k);
                }
            }
        }
    }
}

/// Calls `f(c, &mut out[p], values[p], k)` for each value's position `p = (o, k, i)` and the place `c` in `cells` (in the
/// order of `layout`) that it belongs to. The cells are not read here, but fetched ahead.
///
/// One parallel pass; each piece of it goes through the blocks of the layout one after the other.
pub(super) fn gather_map<C, V, O, I>(
    target: &Target<'_, I>,
    layout: &Layout,
    cells: &[C],
    values: &[V],
    out: &mut [O],
    f: impl Fn(usize, &mut O, V, usize) + Sync,
) where
    C: Sync,
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
    let pieces = if layout.is_plain() {
        par::even(outer * count, inner)
    } else {
        // Long pieces: each brings every block to its cache once.
        let parts = 2 * par::big_pieces(out.len());
        par::ranges(outer * count, parts.min(outer * count))
    };
    par::for_pieces(&pieces, out, &|rows| rows.len() * inner, &|rows, out| {
        let (mut row, mut out) = (rows.start, out);
        // A piece is cut where it passes from one slab to the next.
        while row < rows.end {
            let (o, k) = (row / count, row % count);
            let n = (count - k).min(rows.end - row);
            let (here, rest) = out.split_at_mut(n * inner);
            let span = row * inner..(row + n) * inner;
            let index = match index {
                TargetIndex::Full(index) => TargetIndex::Full(&index[span.clone()]),
                TargetIndex::Axis(index) | TargetIndex::Grouped { index, .. } => TargetIndex::Axis(&index[k..k + n]),
            };
            let values = &values[span];
            for columns in layout.blocks() {
                let start = layout.block_start(o, columns.start);
                let read = Read { len, inner, cells, values, columns, start, first: k, out: here, f: &f };
                match index {
                    TargetIndex::Full(index) if inner == 1 => read.single(index),
                    TargetIndex::Full(index) if read.columns.len() == 8 => read.by_value::<8, I>(index),
                    TargetIndex::Full(index) => read.by_value::<0, I>(index),
                    TargetIndex::Axis(index) | TargetIndex::Grouped { index, .. } => read.by_row(index),
                }
            }
            (row, out) = (row + n, rest);
        }
    });
}

/// Some rows of values and some columns; their cells are at `start`, row by row.
struct Read<'a, C, V, O, F> {
    len: usize,
    inner: usize,
    cells: &'a [C],
    values: &'a [V],
    columns: Range<usize>,
    start: usize,
    first: usize,
    out: &'a mut [O],
    f: &'a F,
}

impl<C, V: Copy, O, F: Fn(usize, &mut O, V, usize)> Read<'_, C, V, O, F> {
    /// `W` is the number of columns, or 0 if that is not known.
    fn by_value<const W: usize, I: Index>(self, index: &[I]) {
        let Self { len, inner, cells, values, columns, start, first, out, f } = self;
        let width = if W > 0 { W } else { columns.len() };
        for row in 0..index.len() / inner {
            let at = row * inner + columns.start;
            prefetch(index, at + AHEAD * inner);
            prefetch(values, at + AHEAD * inner);
            prefetch(out, at + AHEAD * inner);
            if let Some(next) = index.get(at + CELLS_AHEAD * inner..).and_then(|rest| rest.get(..width)) {
                next.iter().enumerate().for_each(|(i, &x)| prefetch(cells, start + resolve(x, len) * width + i));
            }
            let (index, values) = (&index[at..][..width], &values[at..][..width]);
            let out = &mut out[at..][..width];
            for i in 0..width {
                f(start + resolve(index[i], len) * width + i, &mut out[i], values[i], first + row);
            }
        }
    }

    /// Slabs of one column.
    fn single<I: Index>(self, index: &[I]) {
        let Self { len, values, start, first, out, f, .. } = self;
        for (((out, &v), &x), k) in out.iter_mut().zip(values).zip(index).zip(first..) {
            f(start + resolve(x, len), out, v, k);
        }
    }

    /// One index for each row of values.
    fn by_row<I: Index>(self, index: &[I]) {
        let Self { len, inner, values, start, first, out, f, .. } = self;
        let rows = out.chunks_exact_mut(inner).zip(values.chunks_exact(inner)).zip(index);
        for (((out, values), &x), k) in rows.zip(first..) {
            let cell = start + resolve(x, len) * inner;
            for (i, (out, &v)) in out.iter_mut().zip(values).enumerate() {
                f(cell + i, out, v, k);
            }
        }
    }
}

/// State that depends on the index alone, in the order of `layout`: `step` for each value that belongs there, from 0.
pub(super) fn index_state<I: Index>(target: &Target<'_, I>, layout: &Layout, step: &impl Step<u32, ()>) -> Vec<u32> {
    let mut states = zeroed(target.array_len());
    if !matches!(target.index, TargetIndex::Full(_)) {
        // The same for each slab and column: computed once and spread.
        let one = Target { outer: 1, inner: 1, index: target.index.plain(), ..*target };
        let mut row = zeroed(target.len);
        scatter_cells(&one, &Layout::of::<u32, I>(&one), units(target.count), &mut row, step);
        layout.each(units(states.len()), &mut states, |p, s, ()| *s = row[p / target.inner % target.len]);
    } else {
        scatter_cells(target, layout, units(target.values_len()), &mut states, step);
    }
    states
}

/// An [`index_state`]: one more than the last step that arrives, 0 for none.
pub(super) struct LastStep;

impl Step<u32, ()> for LastStep {
    #[inline(always)]
    fn step(&self, last: &mut u32, (): (), k: usize) {
        *last = k as u32 + 1;
    }
}

/// An [`index_state`]: how many values arrive.
pub(super) struct Arrivals;

impl Step<u32, ()> for Arrivals {
    #[inline(always)]
    fn step(&self, count: &mut u32, (): (), _: usize) {
        *count += 1;
    }
}
