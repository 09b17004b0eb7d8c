//! Who reduces what: a unit each cell, or a cube each cell that very many values belong to.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// The cells of an array, and the values of each.
#[derive(CubeType, CubeLaunch)]
pub struct Cells<I: Int> {
    /// Values (or steps along the axis), grouped by the cell (or row) they belong to.
    order: OwnedTensor<I>,
    /// Where each group starts in the order, or the list of long groups for units that share them.
    groups: OwnedTensor<I>,
    sizes: Sizes,
    work: Work,
}

/// Sizes of a put, as `PutTarget`.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Sizes {
    pub len: usize,
    pub inner: usize,
    pub count: usize,
}

/// How cells are shared out.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Work {
    /// Cells.
    units: usize,
    /// Values of a cell that one unit reduces at most.
    most: usize,
    /// Entries of the list of long groups.
    probes: usize,
    /// Cubes that a group takes: lines times tiles of a line.
    parts: usize,
    tiles: usize,
}

/// What a launch is compiled for: the units that share a cell, cells side by side in a cube, and whether groups are of
/// steps along the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    pub slices: usize,
    pub lanes: usize,
    pub along: bool,
}

/// What a unit does for a cell: the values of each `slices`-th entry of `start..end` from its slice on. Nothing belongs to
/// a cell that is not `mine`, so that the unit passes every barrier all the same.
#[derive(CubeType, Clone, Copy)]
pub struct Part {
    pub cell: usize,
    pub start: usize,
    pub end: usize,
    pub slice: usize,
    pub mine: bool,
}

/// The part of this unit.
#[cube]
pub fn part<I: Int>(cells: &Cells<I>, #[comptime] share: Share) -> Part {
    if comptime!(share.slices > 1) { together::<I>(cells, share) } else { alone::<I>(cells, share) }
}

/// A cell that this unit has to itself.
#[cube]
fn alone<I: Int>(cells: &Cells<I>, #[comptime] share: Share) -> Part {
    let cell = min(ABSOLUTE_POS, cells.work.units - 1);
    let group = if comptime!(share.along) { cell / cells.sizes.inner % cells.sizes.len } else { cell };
    let start = usize::cast_from(cells.groups[group]);
    let end = usize::cast_from(cells.groups[group + 1]);
    let mine = ABSOLUTE_POS < cells.work.units && end - start <= cells.work.most;
    Part { cell, start, end: select(mine, end, start), slice: 0usize.runtime(), mine }
}

/// A cell of a long group that the units of a lane share: `lanes` neighbours along a line for each cube.
#[cube]
fn together<I: Int>(cells: &Cells<I>, #[comptime] share: Share) -> Part {
    let (sizes, work) = (&cells.sizes, &cells.work);
    let unit = UNIT_POS as usize;
    let probe = CUBE_POS / work.parts;
    let part = CUBE_POS % work.parts;
    let entry = 3 * min(probe, work.probes - 1);
    let group = usize::cast_from(cells.groups[entry]);
    let start = usize::cast_from(cells.groups[entry + 1]);
    let end = usize::cast_from(cells.groups[entry + 2]);
    let mut mine = probe < work.probes && start < end;
    let mut cell = group;
    if comptime!(share.along) {
        let column = part % work.tiles * share.lanes + unit % share.lanes;
        mine = mine && column < sizes.inner;
        cell = (part / work.tiles * sizes.len + group) * sizes.inner + min(column, sizes.inner - 1);
    }
    Part { cell, start, end: select(mine, end, start), slice: unit / share.lanes, mine }
}

/// The position of the value that entry `t` of the order gives a cell.
#[cube]
pub fn position<I: Int>(cells: &Cells<I>, part: &Part, t: usize, #[comptime] share: Share) -> usize {
    let entry = usize::cast_from(cells.order[t]);
    if comptime!(share.along) {
        let (inner, len) = (cells.sizes.inner, cells.sizes.len);
        let o = part.cell / inner / len;
        (o * cells.sizes.count + entry) * inner + part.cell % inner
    } else {
        entry
    }
}
