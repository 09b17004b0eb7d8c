//! Kernels that combine the elements of a row: a few units for each vector of a short row, and cubes for a long one.

use super::super::parts::{bound, tree};
use super::terms::{Cell, How, Matrix, Operands, finish, walk};
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// How units share a row: `lanes` vectors side by side, with `slices` units for each. A cube has `units`. If there is
/// one slice, units of short rows work alone, and lanes have no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    pub slices: usize,
    pub lanes: usize,
    pub units: usize,
}

/// What cubes do for a long row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// A row of one chunk: its result.
    Row,
    /// Each chunk of a longer row: its partial result.
    Chunk,
    /// These rows: the result from the partial results, which are the rows of `dense`.
    Fold,
}

/// Sizes that all launches for a result share.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Sizes {
    rows: usize,
    terms: usize,
    /// Vectors of a row.
    columns: usize,
    heads: usize,
    /// Elements of the longest row that is short, and of a chunk: a multiple of it.
    most: usize,
    chunk: usize,
}

#[cube]
fn head(column: usize, sizes: &Sizes, #[comptime] how: How) -> usize {
    if comptime!(how.several) { column / (sizes.columns / sizes.heads) } else { 0usize.runtime() }
}

/// Lists the row of position `probe * most`: its number, where it starts, and where it ends.
#[cube]
fn probe<I: Int>(probe: usize, ptr: &Tensor<I>, list: &mut Tensor<I>, sizes: &Sizes) {
    let past = bound::<I>(I::cast_from(probe * sizes.most), ptr, 1, sizes.rows + 1, true);
    let row = min(past - 1, sizes.rows - 1);
    list[3 * probe] = I::cast_from(row);
    list[3 * probe + 1] = ptr[row];
    list[3 * probe + 2] = ptr[row + 1];
}

/// The list of [`probe`] by a launch of its own.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn find<I: Int>(ptr: &Tensor<I>, list: &mut Tensor<I>, sizes: Sizes, units: usize, #[define(I)] _type: ElemType) {
    if ABSOLUTE_POS >= units {
        terminate!();
    }
    probe::<I>(ABSOLUTE_POS, ptr, list, &sizes);
}

/// The rows of at most `most` elements. `share.slices` units combine parts of each vector, then a tree reduction
/// combines the parts. The first units also write the list of [`probe`], if there is one.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn short<T: Numeric, A: Numeric, I: Int, N: Size>(
    operands: &Operands<T, I, N>,
    ptr: &Tensor<I>,
    list: ComptimeOption<&mut Tensor<I>>,
    after: ComptimeOption<Matrix<Vector<T, N>>>,
    out: &mut Tensor<Vector<T, N>>,
    sizes: Sizes,
    #[comptime] share: Share,
    #[comptime] how: How,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    #[comptime]
    if let ComptimeOption::Some(list) = list {
        if ABSOLUTE_POS < sizes.terms.div_ceil(sizes.most) {
            probe::<I>(ABSOLUTE_POS, ptr, list, &sizes);
        }
    }
    let unit = UNIT_POS as usize;
    let mut row = ABSOLUTE_POS / sizes.columns;
    let mut column = ABSOLUTE_POS % sizes.columns;
    let mut slice = 0usize;
    if comptime!(share.slices > 1) {
        let members = comptime!(share.slices * share.lanes);
        let groups = comptime!(share.units / members);
        let group = unit / members;
        // The units after the last group have no row.
        row = select(group < groups, CUBE_POS * groups + group, sizes.rows);
        column = unit % share.lanes;
        slice = select(group < groups, unit % members / share.lanes, share.slices);
    }
    let exists = row < sizes.rows;
    row = min(row, sizes.rows - 1);
    let start = usize::cast_from(ptr[row]);
    let end = min(usize::cast_from(ptr[row + 1]), sizes.terms);
    let mine = exists && end - start <= sizes.most;
    let cell =
        Cell { row, column, from: column, head: head(column, &sizes, how), start, end: select(mine, end, start) };
    let mut acc = walk::<T, A, I, N>(operands, &cell, slice, share.slices, how);
    if comptime!(share.slices > 1) {
        // All units reach every barrier, whatever their rows.
        let mut shared = Shared::<[Vector<A, N>]>::new_slice(share.units);
        tree::<A, N>(&mut shared, acc, slice, share.slices, share.lanes, comptime!(how.combines()), how.float);
        acc = shared[unit];
    }
    if mine && slice == 0 {
        out[row * sizes.columns + column] = finish::<T, A, N>(&after, row, column, acc, how);
    }
}

/// What a cube does: it combines terms `start..end` of a row into row `target` of its output.
#[derive(CubeType, Clone, Copy)]
struct Work {
    row: usize,
    target: usize,
    start: usize,
    end: usize,
    mine: bool,
}

/// The work at a position of the terms: a step of [`Stage::Row`] is `most`, and otherwise a chunk. A row is in the work
/// of its first such position, and a chunk of it in the work of the only one within it. So the last chunk is the
/// longest.
#[cube]
fn work<I: Int>(probe: usize, list: &Tensor<I>, sizes: &Sizes, #[comptime] stage: Stage) -> Work {
    let (most, chunk) = (sizes.most, sizes.chunk);
    let position = if comptime!(stage == Stage::Row) { probe * most } else { probe * chunk };
    let entry = 3 * (min(position, sizes.terms - 1) / most);
    let row = usize::cast_from(list[entry]);
    let start = usize::cast_from(list[entry + 1]);
    let end = min(usize::cast_from(list[entry + 2]), sizes.terms);
    let within = position >= start && position < end;
    let (length, ahead) = (end - start, position - start);
    let chunks = length / chunk;
    if comptime!(stage == Stage::Row) {
        let mine = within && length > most && chunks < 2 && ahead < most;
        Work { row, target: row, start, end, mine }
    } else if comptime!(stage == Stage::Chunk) {
        let number = ahead / chunk;
        let from = start + number * chunk;
        let to = select(number + 1 == chunks, end, from + chunk);
        Work { row, target: probe, start: from, end: to, mine: within && chunks > 1 && number < chunks }
    } else {
        let mine = within && chunks > 1 && ahead < chunk;
        Work { row, target: row, start: probe, end: probe + chunks, mine }
    }
}

/// A cube for each step of [`work`] and each `share.lanes` vectors of columns `first..last`. Its units combine parts of
/// the terms, then a tree reduction combines the parts. Partial results have these columns only.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn long<D: Numeric, R: Numeric, A: Numeric, I: Int, N: Size>(
    operands: &Operands<D, I, N>,
    list: &Tensor<I>,
    after: ComptimeOption<Matrix<Vector<R, N>>>,
    out: &mut Tensor<Vector<R, N>>,
    sizes: Sizes,
    first: usize,
    last: usize,
    #[comptime] share: Share,
    #[comptime] stage: Stage,
    #[comptime] how: How,
    #[define(D, R, A, I)] _types: [ElemType; 4],
) {
    let mut shared = Shared::<[Vector<A, N>]>::new_slice(share.units);
    let tiles = (last - first).div_ceil(share.lanes);
    let work = work::<I>(CUBE_POS / tiles, list, &sizes, stage);
    let unit = UNIT_POS as usize;
    let slice = unit / share.lanes;
    let column = first + CUBE_POS % tiles * share.lanes + unit % share.lanes;
    let mine = work.mine && slice < share.slices && column < last;
    let column = min(column, last - 1);
    let cell = Cell {
        row: work.row,
        column,
        from: if comptime!(stage == Stage::Fold) { column - first } else { column },
        head: head(column, &sizes, how),
        start: work.start,
        end: select(mine, work.end, work.start),
    };
    let own = walk::<D, A, I, N>(operands, &cell, slice, share.slices, how);
    // All units reach every barrier, whatever their work.
    tree::<A, N>(&mut shared, own, slice, share.slices, share.lanes, comptime!(how.combines()), how.float);
    if mine && slice == 0 {
        let at = if comptime!(stage == Stage::Chunk) {
            work.target * (last - first) + column - first
        } else {
            work.target * sizes.columns + column
        };
        out[at] = finish::<R, A, N>(&after, work.target, column, shared[unit], how);
    }
}
