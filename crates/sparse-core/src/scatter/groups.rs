//! Scattering of whole rows of values, grouped by destination.

use super::plan::GRAIN;
use super::step::{Step, block};
use super::target::{Target, TargetIndex};
use crate::narrow_limit;
use crate::par;
use crate::source::Source;
use crate::structure::{Segments, group_by};
use crate::sums::Cascade;
use std::borrow::Cow;

/// Number of columns that are reduced together in registers.
const TILE: usize = 32;

/// Bytes of cells that stay in a third-level cache. Rows of values are then added to them in order. That takes 24 ms
/// for 1 M rows of 256 bytes and 25 MB of cells. Groups, whose values are read at random, take 27 ms and 7 ms for the
/// sort.
const CACHED: usize = 32 << 20;
/// With more threads the groups are faster, for without them each thread walks over the whole index.
const THREADS: usize = 8;

/// Where each destination starts in the order, and the steps in that order.
type Groups<'a> = (Cow<'a, [i32]>, Cow<'a, [i32]>);

/// The steps along the axis, grouped by destination. `None` if that does not pay for cells and values of these sizes in
/// bytes, if the index has one entry per value instead of one per row, or if 32 bits cannot count the steps.
pub(super) fn of<'a>(target: &Target<'a>, cell: usize, value: usize) -> Option<Groups<'a>> {
    let &Target { len, inner, count, index, .. } = target;
    let fits = count.max(len) <= narrow_limit();
    let wide = inner * value >= 64 && count >= len / 8 && target.values_len() >= GRAIN;
    let pays = || len * inner * cell > CACHED || par::threads() > THREADS;
    match index {
        _ if !fits || target.array_len() == 0 || target.values_len() == 0 => None,
        TargetIndex::Grouped { order, ptr, .. } => Some((ptr.narrow(), order.narrow())),
        TargetIndex::Axis(index) if wide && pays() => {
            let mut keys = Vec::with_capacity(count);
            index.positions(len, |j| keys.push(j as i32));
            let Segments { ptr, order } = group_by(&keys, len);
            Some((Cow::Owned(ptr), Cow::Owned(order)))
        }
        _ => None,
    }
}

/// [`scatter_rows`](super::cells::scatter_rows) with known groups.
pub(super) fn visit_groups<X: Copy + Send + Sync, V: Copy + Sync, F: Step<X, V>>(
    target: &Target<'_>,
    (ptr, order): (&[i32], &[i32]),
    values: &[V],
    start: Option<&[X]>,
    cells: &mut [X],
    step: &F,
) {
    let (len, count, inner) = (ptr.len() - 1, order.len(), target.inner);
    let nothing = step.nothing().filter(|_| count > block(target));
    let blocks = nothing.map(|nothing| (block(target), nothing));
    let ranges = par::by_elements(ptr, inner);
    let slab = len * inner;
    par::chunks_mut(cells, slab, &|o, cells| {
        let values = &values[o * count * inner..][..count * inner];
        par::for_pieces(&ranges, cells, &|rows| rows.len() * inner, &|rows, cells| {
            let start = start.map(|start| &start[o * slab + rows.start * inner..][..cells.len()]);
            visit((&ptr[rows.start..=rows.end], order), inner, blocks, values, start, cells, step);
        });
    });
}

/// Visits a range of destinations of a slab, with the rows of values that belong to them. `blocks` are the steps of a
/// block and a cell of nothing, if there are several blocks.
fn visit<X: Copy, V: Copy, F: Step<X, V>>(
    (ptr, order): (&[i32], &[i32]),
    inner: usize,
    blocks: Option<(usize, X)>,
    values: &[V],
    start: Option<&[X]>,
    cells: &mut [X],
    &step: &F,
) {
    let rows = Source::new(values, inner, "scatter: values");
    let distance = rows.distance();
    let mut sums = Cascade::new();
    for (j, group) in ptr.windows(2).enumerate() {
        let cells = &mut cells[j * inner..][..inner];
        if let Some(start) = start {
            cells.copy_from_slice(&start[j * inner..][..inner]);
        }
        let (mut low, high) = (group[0] as usize, group[1] as usize);
        let ahead = order.len().min(low + distance)..order.len().min(high + distance);
        for &next in &order[ahead] {
            rows.prefetch(next as usize);
        }
        // What the cells hold belongs to the first block.
        let (mut number, group_len) = (0, high - low);
        loop {
            let end = blocks.map_or(high, |(block, _)| low + below(&order[low..high], (number + 1) * block));
            let own = &order[low..end];
            low = end;
            let (tiles, rest) = cells.as_chunks_mut::<TILE>();
            for (t, tile) in tiles.iter_mut().enumerate() {
                // The copy stays in registers.
                let mut cells = *tile;
                for &k in own {
                    let values = &rows.row(k as usize)[t * TILE..][..TILE];
                    for (cell, &value) in cells.iter_mut().zip(values) {
                        step.step(cell, value, k as usize);
                    }
                }
                *tile = cells;
            }
            let done = inner - rest.len();
            for &k in own {
                let values = &rows.row(k as usize)[done..][..rest.len()];
                for (cell, &value) in rest.iter_mut().zip(values) {
                    step.step(cell, value, k as usize);
                }
            }
            let in_first = number == 0 && own.len() == group_len;
            let (Some((block, nothing)), false) = (blocks, in_first) else { break };
            let add = |cell, more| step.join(cell, more);
            sums.push(number, cells, add);
            let Some(&next) = order[..high].get(low) else {
                sums.finish(cells, add);
                break;
            };
            number = next as usize / block;
            cells.fill(nothing);
        }
    }
}

/// How many of ascending numbers are below `end`. Reads few of those behind.
fn below(numbers: &[i32], end: usize) -> usize {
    let mut count = 0;
    for some in numbers.chunks(16) {
        let inside = some.iter().filter(|&&k| (k as usize) < end).count();
        count += inside;
        if inside < some.len() {
            break;
        }
    }
    count
}
