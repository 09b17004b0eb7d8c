//! Scattering: each cell is updated with the values that belong to it.

use super::groups::{self, visit_groups};
use super::layout::Layout;
use super::plan::tasks;
use super::step::{Step, block};
use super::target::{Target, TargetIndex};
use super::walk::{AHEAD, BLOCK, Stretch, Visitor, Walk, prefetch_block};
use crate::element::{Ids, Index};
use crate::memory::zeroed;
use crate::par;
use crate::source::{prefetch, prefetch_row};
use crate::sums::Cascade;

/// How many rows of cells and of values to prefetch ahead. The rows of other threads are skipped in between, so the
/// hardware does not see which come next.
const ROWS_AHEAD: usize = 16;

/// Values that need no memory, for traversals that use only the index.
pub(super) fn units(len: usize) -> &'static [()] {
    &[(); usize::MAX][..len]
}

/// Calls `step(cell, value, k)` for each value and the cell it belongs to.
///
/// `cells` is `[outer, len, inner]` in the order of `layout`, `values` is `[outer, count, inner]`. For each cell the
/// calls have ascending `k` and come from one thread; those of a [`block`] of steps that rounds, for a cell of its own.
/// So the result does not depend on the number of threads.
pub(super) fn scatter_cells<X: Copy + Send + Sync, V: Copy + Sync, F: Step<X, V>>(
    target: &Target<'_>,
    layout: &Layout,
    values: &[V],
    cells: &mut [X],
    step: &F,
) {
    assert_lengths(target, values.len(), cells.len());
    if cells.is_empty() || values.is_empty() {
        return;
    }
    let index = target.index.plain();
    let (tasks, lens) = tasks(target, layout);
    let &Target { inner, count, .. } = target;
    let nothing = step.nothing().filter(|_| count > block(target));
    let steps = if nothing.is_some() { block(target) } else { count };
    let add = |cell, more| step.join(cell, more);
    par::each(par::split_mut(cells, &lens), &|task, mut cells| {
        let mut sums = Cascade::new();
        for part in &tasks[task] {
            let (own, rest) = cells.split_at_mut(part.cells());
            cells = rest;
            for (k, start) in (0..count).step_by(steps).enumerate() {
                let steps = start..count.min(start + steps);
                let values = &values[(part.slab * count + start) * inner..][..steps.len() * inner];
                let walk = part.walk(target, steps);
                walk.run(index, &mut Visit { values, cells: &mut *own, stride: inner, step });
                if let Some(nothing) = nothing {
                    sums.push(k, own, add);
                    own.fill(nothing);
                }
            }
            if nothing.is_some() {
                sums.finish(own, add);
            }
        }
    });
}

/// [`scatter_cells`] into row-major cells. If `start` is given, the cells begin with its contents.
///
/// Wide rows of values for more cells than fit a cache are grouped by their destinations. Then each cell and each value
/// is loaded once, and the cell is copied from `start` in the same pass.
pub(super) fn scatter_rows<X: Copy + Send + Sync, V: Copy + Sync>(
    target: &Target<'_>,
    layout: &Layout,
    values: &[V],
    start: Option<&[X]>,
    cells: &mut [X],
    step: &impl Step<X, V>,
) {
    assert_lengths(target, values.len(), cells.len());
    if let Some((ptr, order)) = groups::of(target, size_of::<X>(), size_of::<V>()) {
        return visit_groups(target, (&ptr, &order), values, start, cells, step);
    }
    if let Some(start) = start {
        par::copy(start, cells);
    }
    scatter_cells(target, layout, values, cells, step);
}

pub(super) fn assert_lengths(target: &Target<'_>, values: usize, cells: usize) {
    target.assert_index();
    assert_eq!(values, target.values_len(), "scatter: values must be [outer, count, inner]");
    assert_eq!(cells, target.array_len(), "scatter: the array must be [outer, len, inner]");
}

/// The values of one slab and the cells of one part.
struct Visit<'a, X, V, F> {
    values: &'a [V],
    cells: &'a mut [X],
    /// Values between one step and the next.
    stride: usize,
    step: &'a F,
}

impl<X, V: Copy, F: Step<X, V>> Visitor for Visit<'_, X, V, F> {
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
        let &Stretch { cells, mut first, width, stride, mut k, along, .. } = stretch;
        let (own, step) = (&mut *self.cells, *self.step);
        for cells in cells.chunks_exact(width) {
            prefetch(self.values, first + AHEAD * stride);
            let (cells, values) = (&cells[..width], &self.values[first..][..width]);
            for i in 0..width {
                if let Some(cell) = own.get_mut(cells[i]) {
                    step.step(cell, values[i], k + i * along);
                }
            }
            (first, k) = (first + stride, k + 1);
        }
    }

    fn rows(&mut self, cells: &[usize], inner: usize, k: usize) {
        let (own, step) = (&mut *self.cells, *self.step);
        for (s, (k, &cell)) in (k..).zip(cells).enumerate() {
            if let Some(&next) = cells.get(s + ROWS_AHEAD)
                && next < own.len()
            {
                prefetch_row(own, next, inner);
                prefetch_row(self.values, (k + ROWS_AHEAD) * inner, inner);
            }
            let Some(cells) = own.get_mut(cell..).map(|cells| &mut cells[..inner]) else { continue };
            let values = &self.values[k * inner..][..inner];
            for (cell, &value) in cells.iter_mut().zip(values) {
                step.step(cell, value, k);
            }
        }
    }
}

impl<X, V: Copy, F: Step<X, V>> Visit<'_, X, V, F> {
    fn each_block<I: Index>(&mut self, walk: &Walk, ids: &[I]) {
        let (values, stride, step) = (self.values, self.stride, *self.step);
        let fetch = |own: &&mut [X], cells: &[usize; BLOCK], first| {
            cells.iter().for_each(|&cell| prefetch(own, cell));
            prefetch_block(values, first + AHEAD * stride);
        };
        walk.each_block(ids, &mut &mut *self.cells, fetch, |own, cells, first, k| {
            for (&cell, &value) in cells.iter().zip(&values[first..][..BLOCK]) {
                if let Some(cell) = own.get_mut(cell) {
                    step.step(cell, value, k);
                }
            }
        });
    }
}

/// State that depends only on the index, in the order of `layout`. Each state starts at 0; `step` is called for each
/// value that belongs to it.
pub(super) fn index_state(target: &Target<'_>, layout: &Layout, step: &impl Step<u32, ()>) -> Vec<u32> {
    let mut states = zeroed(target.array_len());
    if let TargetIndex::Full(_) = target.index {
        scatter_cells(target, layout, units(target.values_len()), &mut states, step);
    } else {
        // The state is the same for each slab and column, so it is computed once and copied.
        let one = Target { outer: 1, inner: 1, index: target.index.plain(), ..*target };
        let mut row = zeroed(target.len);
        scatter_cells(&one, &Layout::of::<u32>(&one), units(target.count), &mut row, step);
        layout.each(units(states.len()), &mut states, |p, s, ()| *s = row[p / target.inner % target.len]);
    }
    states
}

/// An [`index_state`]: the last step that arrives plus one, or 0 if none arrives.
#[derive(Clone, Copy)]
pub(super) struct LastStep;

impl Step<u32, ()> for LastStep {
    #[inline(always)]
    fn step(&self, last: &mut u32, (): (), k: usize) {
        *last = k as u32 + 1;
    }
}

/// An [`index_state`]: the number of values that arrive.
#[derive(Clone, Copy)]
pub(super) struct Arrivals;

impl Step<u32, ()> for Arrivals {
    #[inline(always)]
    fn step(&self, count: &mut u32, (): (), _: usize) {
        *count += 1;
    }
}
