//! Which values a unit reduces: those of one cell, or a share of a chunk of a cell with many values.
//!
//! A cell here is a vector of adjacent cells, and a position is that of a vector.

use burn_cubecl::cubecl;
use cubecl::prelude::*;
use cubecl::std::FastDivmod;

/// The cells of an array, and the values of each.
#[derive(CubeType, CubeLaunch)]
pub struct Cells<I: Int> {
    /// Values grouped by their cell, or steps along the axis grouped by their row.
    order: OwnedTensor<I>,
    /// Where each group starts in the order. For cubes: what [`probe`](super::kernels::probe) found.
    groups: OwnedTensor<I>,
    sizes: Sizes,
    work: Work,
}

/// Sizes of a put, as in `PutTarget`, with `columns` vectors in the place of `inner` elements.
#[derive(CubeType, CubeLaunch)]
pub struct Sizes {
    pub len: usize,
    pub count: usize,
    pub columns: usize,
    by_len: FastDivmod<usize>,
    by_count: FastDivmod<usize>,
    by_columns: FastDivmod<usize>,
}

/// How cells are distributed.
#[derive(CubeType, CubeLaunch)]
pub struct Work {
    /// Cells.
    units: usize,
    /// Values that one unit reduces at most.
    most: usize,
    /// Groups or chunks that cubes look for.
    probes: usize,
    /// Entries of the notes for each chunk: those of all outer indices and columns.
    width: usize,
    /// Cubes of a chunk: outer indices times tiles.
    parts: FastDivmod<usize>,
    /// Cubes that cover the columns of a step.
    tiles: FastDivmod<usize>,
}

/// Compile-time settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    /// Units that share the values of a cell.
    pub slices: usize,
    /// Adjacent cells of a cube.
    pub lanes: usize,
    /// Whether groups have steps along the axis.
    pub along: bool,
    /// Values between two probes. A group with more values is long.
    pub patience: usize,
    /// Values of a chunk. The last chunk of a group has fewer than twice as many.
    pub chunk: usize,
}

/// The work of a unit for a cell: every `slices`-th entry of `start..end`, from its slice on. A unit without a cell has
/// an empty range, and `mine` is false. It must still reach every barrier.
#[derive(CubeType, Clone, Copy)]
pub struct Part {
    /// The position of the cell in the array.
    pub cell: usize,
    pub start: usize,
    pub end: usize,
    pub slice: usize,
    pub mine: bool,
    /// Values of the whole group, and the chunks that they are cut into.
    pub members: usize,
    pub chunks: usize,
    /// Whether the range starts where the group does.
    pub first: bool,
    /// Entry `e` is at `base + e * stride`.
    pub base: usize,
    pub stride: usize,
    /// Where the result of a chunk is noted.
    pub note: usize,
}

/// The position of an index. A negative index counts from the end.
#[cube]
pub fn resolve<I: Int>(index: I, len: usize) -> usize {
    let back = index < I::from_int(0);
    let size = usize::cast_from(select(back, I::from_int(0) - index, index));
    select(back, len - size, size)
}

/// A position as its row and column.
#[cube]
pub fn columns_of(sizes: &Sizes, position: usize) -> (usize, usize) {
    sizes.by_columns.div_mod(position)
}

/// A row of the array as its outer index and step.
#[cube]
pub fn row_of(sizes: &Sizes, row: usize) -> (usize, usize) {
    sizes.by_len.div_mod(row)
}

/// A row of the values as its outer index and step.
#[cube]
pub fn step_of(sizes: &Sizes, row: usize) -> (usize, usize) {
    sizes.by_count.div_mod(row)
}

/// A cell that this unit reduces alone.
#[cube]
pub fn alone<I: Int>(cells: &Cells<I>, #[comptime] share: Share) -> Part {
    let (sizes, work) = (&cells.sizes, &cells.work);
    let cell = min(ABSOLUTE_POS, work.units - 1);
    let (row, column) = sizes.by_columns.div_mod(cell);
    let (outer, step) = sizes.by_len.div_mod(row);
    let group = if comptime!(share.along) { step } else { cell };
    let start = usize::cast_from(cells.groups[group]);
    let last = usize::cast_from(cells.groups[group + 1]);
    let members = last - start;
    let mine = ABSOLUTE_POS < work.units && members <= work.most;
    let base = if comptime!(share.along) { outer * sizes.count * sizes.columns + column } else { 0usize.runtime() };
    let stride = if comptime!(share.along) { sizes.columns } else { 1usize.runtime() };
    Part {
        cell,
        start,
        end: select(mine, last, start),
        slice: 0usize.runtime(),
        mine,
        members,
        chunks: 1usize.runtime(),
        first: true.runtime(),
        base,
        stride,
        note: 0usize.runtime(),
    }
}

/// A chunk of a long group. The units of a lane share it. With `noted` the entries are the notes of all chunks of a
/// group that has several.
///
/// A chunk is found by the first probe in it. Every chunk contains one, because it has more values than there are from
/// probe to probe. Where a group is cut depends on its length only.
#[cube]
pub fn together<I: Int>(cells: &Cells<I>, #[comptime] noted: bool, #[comptime] share: Share) -> Part {
    let (sizes, work) = (&cells.sizes, &cells.work);
    let (patience, chunk) = (comptime!(share.patience).runtime(), comptime!(share.chunk).runtime());
    let unit = UNIT_POS as usize;
    let (probe, part) = work.parts.div_mod(CUBE_POS);
    let stride = if comptime!(noted) { chunk } else { patience };
    let at = min(probe, work.probes - 1) * stride;
    let entry = 3 * (at / patience);
    let group = usize::cast_from(cells.groups[entry]);
    let start = usize::cast_from(cells.groups[entry + 1]);
    let last = usize::cast_from(cells.groups[entry + 2]);
    let members = last - start;
    let chunks = max(members / chunk, 1);
    let k = min((at - start) / chunk, chunks - 1);
    let from = start + k * chunk;
    let to = select(k + 1 == chunks, last, from + chunk);
    let (tile_outer, tile) = work.tiles.div_mod(part);
    let lane = unit % share.lanes;
    let mut mine = probe < work.probes && start < last && at - from < stride;
    let mut cell = group;
    let mut base = 0usize.runtime();
    let mut step = 1usize.runtime();
    let mut place = 0usize.runtime();
    if comptime!(share.along) {
        let column = min(tile * share.lanes + lane, sizes.columns - 1);
        mine = mine && tile * share.lanes + lane < sizes.columns;
        cell = (tile_outer * sizes.len + group) * sizes.columns + column;
        base = tile_outer * sizes.count * sizes.columns + column;
        step = sizes.columns;
        place = tile_outer * sizes.columns + column;
    }
    // Chunks of one group, and of different groups that have several, start in different stretches of that length.
    let note = from / chunk * work.width + place;
    if comptime!(noted) {
        mine = mine && k == 0 && chunks > 1;
        let end = select(mine, chunks, 0usize.runtime());
        Part {
            cell,
            start: 0usize.runtime(),
            end,
            slice: unit / share.lanes,
            mine,
            members,
            chunks,
            first: true.runtime(),
            base: note,
            stride: work.width,
            note,
        }
    } else {
        Part {
            cell,
            start: from,
            end: select(mine, to, from),
            slice: unit / share.lanes,
            mine,
            members,
            chunks,
            first: k == 0,
            base,
            stride: step,
            note,
        }
    }
}

/// The position of the value that entry `t` of the order names for a cell.
#[cube]
pub fn position<I: Int>(cells: &Cells<I>, part: &Part, t: usize) -> usize {
    part.base + usize::cast_from(cells.order[t]) * part.stride
}

/// The position of note `k` of a cell.
#[cube]
pub fn noted(part: &Part, k: usize) -> usize {
    part.base + k * part.stride
}
