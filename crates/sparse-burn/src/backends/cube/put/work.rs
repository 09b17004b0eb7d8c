//! Which values a unit reduces: those of one cell, or a part of a cell that several units of a cube share.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// The cells of an array, and the values of each.
#[derive(CubeType, CubeLaunch)]
pub struct Cells<I: Int> {
    /// Values grouped by their cell, or steps along the axis grouped by their row.
    order: OwnedTensor<I>,
    /// Where each group starts in the order. For units that share a cell: the list of long groups.
    groups: OwnedTensor<I>,
    sizes: Sizes,
    work: Work,
}

/// Sizes of a put, as in `PutTarget`.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Sizes {
    pub len: usize,
    pub inner: usize,
    pub count: usize,
}

/// How cells are distributed.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Work {
    /// Cells.
    units: usize,
    /// Values that one unit reduces at most.
    most: usize,
    /// Entries of the list of long groups.
    probes: usize,
    /// Cubes of a group: outer indices times tiles.
    parts: usize,
    /// Cubes that cover the `inner` cells of a step.
    tiles: usize,
}

/// Compile-time settings: units per cell, adjacent cells per cube, and whether groups have steps along the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    pub slices: usize,
    pub lanes: usize,
    pub along: bool,
}

/// The work of a unit for a cell: every `slices`-th entry of `start..end`, from its slice on. A unit without a cell has
/// an empty range, and `mine` is false. It must still reach every barrier.
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

/// A cell that this unit reduces alone.
#[cube]
fn alone<I: Int>(cells: &Cells<I>, #[comptime] share: Share) -> Part {
    let cell = min(ABSOLUTE_POS, cells.work.units - 1);
    let group = if comptime!(share.along) { cell / cells.sizes.inner % cells.sizes.len } else { cell };
    let start = usize::cast_from(cells.groups[group]);
    let end = usize::cast_from(cells.groups[group + 1]);
    let mine = ABSOLUTE_POS < cells.work.units && end - start <= cells.work.most;
    Part { cell, start, end: select(mine, end, start), slice: 0usize.runtime(), mine }
}

/// A cell of a long group. The units of a lane share it, and a cube has `lanes` adjacent cells.
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

/// The position of the value that entry `t` of the order names for a cell.
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
