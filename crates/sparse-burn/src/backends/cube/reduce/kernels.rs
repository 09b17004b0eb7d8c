//! Kernels that combine the elements of a row: a few units for each vector of a short row, and cubes for a long one.

use super::super::parts::{MAX, MIN, SUM, bound, combine, matched, product, tree};
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// Rules besides those of [`parts`](super::super::parts). The gradient is divided by the number of matching products.
pub const SHARES: u32 = 5;
/// The terms whose product equals the result are added.
pub const MATCHED: u32 = 6;

/// Compile-time settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct How {
    pub rule: u32,
    /// Whether an element has several weights, one for each head.
    pub several: bool,
    pub float: bool,
}

impl How {
    fn is_extremum(self) -> bool {
        self.rule == MAX || self.rule == MIN
    }

    /// The rule that combines two terms.
    pub fn combines(self) -> u32 {
        if self.rule == SHARES || self.rule == MATCHED { SUM } else { self.rule }
    }
}

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

/// Rows, and the number of elements of `data` from one to the next.
#[derive(CubeType, CubeLaunch)]
pub struct Matrix<E: CubePrimitive> {
    data: OwnedTensor<E>,
    stride: usize,
}

/// The operands. `own` has the shape of the result, and `other` that of `dense`.
#[derive(CubeType, CubeLaunch)]
pub struct Operands<T: Numeric, I: Int, N: Size> {
    idx: ComptimeOption<OwnedTensor<I>>,
    perm: ComptimeOption<OwnedTensor<I>>,
    weights: ComptimeOption<Matrix<T>>,
    dense: Matrix<Vector<T, N>>,
    own: ComptimeOption<Matrix<Vector<T, N>>>,
    other: ComptimeOption<Matrix<Vector<T, N>>>,
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

/// A vector of the result, and the range of its terms. `from` is its column in `dense`.
#[derive(CubeType, Clone, Copy)]
struct Cell {
    row: usize,
    column: usize,
    from: usize,
    head: usize,
    start: usize,
    end: usize,
}

/// An element of an optional matrix, or 0.
#[cube]
fn read<T: Numeric, A: Numeric, N: Size>(
    matrix: &ComptimeOption<Matrix<Vector<T, N>>>,
    row: usize,
    column: usize,
) -> Vector<A, N> {
    #[comptime]
    match matrix {
        ComptimeOption::Some(matrix) => Vector::<A, N>::cast_from(matrix.data[row * matrix.stride + column]),
        ComptimeOption::None => Vector::<A, N>::cast_from(0u32),
    }
}

/// An element of an optional list, or its position.
#[cube]
fn listed<I: Int>(list: &ComptimeOption<OwnedTensor<I>>, k: usize) -> usize {
    #[comptime]
    match list {
        ComptimeOption::Some(list) => usize::cast_from(list[k]),
        ComptimeOption::None => k,
    }
}

#[cube]
fn head(column: usize, sizes: &Sizes, #[comptime] how: How) -> usize {
    if comptime!(how.several) { column / (sizes.columns / sizes.heads) } else { 0usize.runtime() }
}

/// The term of element `k` for a cell. `own` is the cell's element of the operand of that name.
#[cube]
fn term<T: Numeric, A: Numeric, I: Int, N: Size>(
    operands: &Operands<T, I, N>,
    cell: &Cell,
    own: Vector<A, N>,
    k: usize,
    #[comptime] how: How,
) -> Vector<A, N> {
    let row = listed::<I>(&operands.idx, k);
    let x = Vector::<A, N>::cast_from(operands.dense.data[row * operands.dense.stride + cell.from]);
    #[comptime]
    match &operands.weights {
        ComptimeOption::Some(weights) => {
            let place = listed::<I>(&operands.perm, k) * weights.stride + cell.head;
            let weight = Vector::<A, N>::new(A::cast_from(weights.data[place]));
            if comptime!(how.is_extremum()) {
                product::<T, A, N>(weight, x)
            } else if comptime!(how.rule == SHARES) {
                matched::<T, A, N>(weight, x, own, Vector::<A, N>::new(A::from_int(1)))
            } else if comptime!(how.rule == MATCHED) {
                let result = read::<T, A, N>(&operands.other, row, cell.from);
                matched::<T, A, N>(weight, own, result, x * weight)
            } else {
                x * weight
            }
        }
        ComptimeOption::None => x,
    }
}

/// Combines every `slices`-th term of a cell, from number `slice` on.
#[cube]
fn walk<T: Numeric, A: Numeric, I: Int, N: Size>(
    operands: &Operands<T, I, N>,
    cell: &Cell,
    slice: usize,
    #[comptime] slices: usize,
    #[comptime] how: How,
) -> Vector<A, N> {
    let own = read::<T, A, N>(&operands.own, cell.row, cell.column);
    let mut acc = Vector::<A, N>::cast_from(0u32);
    if comptime!(how.is_extremum()) {
        // The first term is used twice, and also for slices without terms. This does not change an extremum. An empty
        // cell is 0.
        if cell.start < cell.end {
            acc = term::<T, A, I, N>(operands, cell, own, cell.start, how);
        }
    }
    let rule = comptime!(how.combines());
    let mut k = cell.start + slice;
    // Four terms are read before the first is used, so that the unit waits once for all.
    while k + comptime!(3 * slices) < cell.end {
        let a = term::<T, A, I, N>(operands, cell, own, k, how);
        let b = term::<T, A, I, N>(operands, cell, own, k + slices, how);
        let c = term::<T, A, I, N>(operands, cell, own, k + comptime!(2 * slices), how);
        let d = term::<T, A, I, N>(operands, cell, own, k + comptime!(3 * slices), how);
        acc = combine::<A, N>(acc, a, rule, how.float);
        acc = combine::<A, N>(acc, b, rule, how.float);
        acc = combine::<A, N>(acc, c, rule, how.float);
        acc = combine::<A, N>(acc, d, rule, how.float);
        k += comptime!(4 * slices);
    }
    while k < cell.end {
        let a = term::<T, A, I, N>(operands, cell, own, k, how);
        acc = combine::<A, N>(acc, a, rule, how.float);
        k += slices;
    }
    acc
}

/// The stored result of a cell, given its accumulator. If there is a gradient, that is divided by the accumulator, the
/// number of ties.
#[cube]
fn finish<R: Numeric, A: Numeric, N: Size>(
    grad: &ComptimeOption<Matrix<Vector<R, N>>>,
    row: usize,
    column: usize,
    acc: Vector<A, N>,
) -> Vector<R, N> {
    #[comptime]
    match grad {
        ComptimeOption::Some(grad) => {
            let ties = max(acc, Vector::<A, N>::new(A::from_int(1)));
            Vector::<R, N>::cast_from(Vector::<A, N>::cast_from(grad.data[row * grad.stride + column]) / ties)
        }
        ComptimeOption::None => Vector::<R, N>::cast_from(acc),
    }
}

/// Lists the row of position `probe * most`: its number, where it starts, and where it ends.
#[cube]
fn probe<I: Int>(probe: usize, ptr: &Tensor<I>, list: &mut Tensor<I>, sizes: &Sizes) {
    let after = bound::<I>(I::cast_from(probe * sizes.most), ptr, 1, sizes.rows + 1, true);
    let row = min(after - 1, sizes.rows - 1);
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
    grad: ComptimeOption<Matrix<Vector<T, N>>>,
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
        out[row * sizes.columns + column] = finish::<T, A, N>(&grad, row, column, acc);
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
/// of its first such position, and a chunk of it in the work of the only one within it. So the last chunk is the longest.
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
    grad: ComptimeOption<Matrix<Vector<R, N>>>,
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
        out[at] = finish::<R, A, N>(&grad, work.target, column, shared[unit]);
    }
}
