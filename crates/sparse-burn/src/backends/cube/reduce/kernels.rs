//! Kernels that combine the elements of a row: one unit for each vector of the result, or the units of a cube.

use super::super::parts::{MAX, MIN, SUM, combine, matched, product, tree};
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
    pub indexed: bool,
    pub weighted: bool,
    pub permuted: bool,
    /// Whether an element has several weights, one for each head.
    pub several: bool,
    pub float: bool,
}

impl How {
    fn is_extremum(self) -> bool {
        self.rule == MAX || self.rule == MIN
    }

    /// The rule that combines two terms.
    fn combines(self) -> u32 {
        if self.rule == SHARES || self.rule == MATCHED { SUM } else { self.rule }
    }
}

/// The operands. `own` has the shape of the result. `other` has it too for [`SHARES`], and else the shape of `dense`.
#[derive(CubeType, CubeLaunch)]
pub struct Operands<T: Numeric, I: Int, N: Size> {
    ptr: OwnedTensor<I>,
    idx: OwnedTensor<I>,
    perm: OwnedTensor<I>,
    weights: OwnedTensor<T>,
    dense: OwnedTensor<Vector<T, N>>,
    own: OwnedTensor<Vector<T, N>>,
    other: OwnedTensor<Vector<T, N>>,
}

/// A vector of the result: its position, its column and head, and the range of its terms.
#[derive(CubeType, Clone, Copy)]
struct Cell {
    at: usize,
    column: usize,
    columns: usize,
    head: usize,
    heads: usize,
    start: usize,
    end: usize,
}

#[cube]
fn cell<T: Numeric, I: Int, N: Size>(
    operands: &Operands<T, I, N>,
    segment: usize,
    column: usize,
    columns: usize,
    heads: usize,
) -> Cell {
    let start = usize::cast_from(operands.ptr[segment]);
    let end = usize::cast_from(operands.ptr[segment + 1]);
    let head = column / (columns / heads);
    Cell { at: segment * columns + column, column, columns, head, heads, start, end }
}

/// The term of element `k` for a cell.
#[cube]
fn term<T: Numeric, A: Numeric, I: Int, N: Size>(
    operands: &Operands<T, I, N>,
    cell: &Cell,
    k: usize,
    #[comptime] how: How,
) -> Vector<A, N> {
    let row = if comptime!(how.indexed) { usize::cast_from(operands.idx[k]) } else { k };
    let from = row * cell.columns + cell.column;
    let x = Vector::<A, N>::cast_from(operands.dense[from]);
    if comptime!(how.weighted) {
        let place = if comptime!(how.permuted) { usize::cast_from(operands.perm[k]) } else { k };
        let own = if comptime!(how.several) { place * cell.heads + cell.head } else { place };
        let weight = Vector::<A, N>::new(A::cast_from(operands.weights[own]));
        if comptime!(how.is_extremum()) {
            product::<T, A, N>(weight, x)
        } else if comptime!(how.rule == SHARES) {
            let one = Vector::<A, N>::new(A::from_int(1));
            matched::<T, A, N>(weight, x, Vector::<A, N>::cast_from(operands.own[cell.at]), one)
        } else if comptime!(how.rule == MATCHED) {
            let result = Vector::<A, N>::cast_from(operands.other[from]);
            matched::<T, A, N>(weight, Vector::<A, N>::cast_from(operands.own[cell.at]), result, x * weight)
        } else {
            x * weight
        }
    } else {
        x
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
    let mut acc = Vector::<A, N>::cast_from(0u32);
    if comptime!(how.is_extremum()) {
        // The first term is used twice, and also for slices without terms. This does not change an extremum. An empty
        // cell is 0.
        if cell.start < cell.end {
            acc = term::<T, A, I, N>(operands, cell, cell.start, how);
        }
    }
    let mut k = cell.start + slice;
    while k < cell.end {
        let term = term::<T, A, I, N>(operands, cell, k, how);
        acc = combine::<A, N>(acc, term, comptime!(how.combines()), how.float);
        k += slices;
    }
    acc
}

/// The stored result of a cell, given its accumulator.
#[cube]
fn finish<T: Numeric, A: Numeric, I: Int, N: Size>(
    operands: &Operands<T, I, N>,
    cell: &Cell,
    acc: Vector<A, N>,
    #[comptime] how: How,
) -> Vector<T, N> {
    if comptime!(how.rule == SHARES) {
        let ties = max(acc, Vector::<A, N>::new(A::from_int(1)));
        Vector::<T, N>::cast_from(Vector::<A, N>::cast_from(operands.other[cell.at]) / ties)
    } else {
        Vector::<T, N>::cast_from(acc)
    }
}

/// One unit for each vector of the result, except in rows with more than `most` elements.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn short<T: Numeric, A: Numeric, I: Int, N: Size>(
    operands: &Operands<T, I, N>,
    out: &mut Tensor<Vector<T, N>>,
    columns: usize,
    heads: usize,
    units: usize,
    most: usize,
    #[comptime] how: How,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    if ABSOLUTE_POS >= units {
        terminate!();
    }
    let cell = cell::<T, I, N>(operands, ABSOLUTE_POS / columns, ABSOLUTE_POS % columns, columns, heads);
    if cell.end - cell.start > most {
        terminate!();
    }
    let acc = walk::<T, A, I, N>(operands, &cell, 0, 1usize, how);
    out[cell.at] = finish::<T, A, I, N>(operands, &cell, acc, how);
}

/// A cube for each `group` rows of the result, one after the other. It computes the rows with `least` elements or more:
/// each of `slices` units combines a part of the row, then a tree reduction combines the parts.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn long<T: Numeric, A: Numeric, I: Int, N: Size>(
    operands: &Operands<T, I, N>,
    out: &mut Tensor<Vector<T, N>>,
    columns: usize,
    heads: usize,
    segments: usize,
    least: usize,
    group: usize,
    #[comptime] slices: usize,
    #[comptime] lanes: usize,
    #[comptime] how: How,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    let mut shared = Shared::<[Vector<A, N>]>::new_slice(slices * lanes);
    let unit = UNIT_POS as usize;
    let slice = unit / lanes;
    let column = unit % lanes;
    for member in 0..group {
        // All units must reach every barrier, whatever their rows.
        let segment = CUBE_POS * group + member;
        let whole = cell::<T, I, N>(operands, min(segment, segments - 1), min(column, columns - 1), columns, heads);
        let mine = segment < segments && column < columns && whole.end - whole.start >= least;
        let cell = Cell {
            at: whole.at,
            column: whole.column,
            columns,
            head: whole.head,
            heads,
            start: whole.start,
            end: select(mine, whole.end, whole.start),
        };
        let own = walk::<T, A, I, N>(operands, &cell, slice, slices, how);
        tree::<A, N>(&mut shared, own, slice, slices, lanes, comptime!(how.combines()), how.float);
        if mine && slice == 0 {
            out[cell.at] = finish::<T, A, I, N>(operands, &cell, shared[unit], how);
        }
    }
}
