//! The elements of a row as kernels see them: the term of each, how a unit combines its share of them, and the result.

use super::super::parts::{MAX, MIN, SUM, combine, matched, product, relu};
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
    /// Whether a bias is added to the result, and whether ReLU follows.
    pub adds: bool,
    pub relu: bool,
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

/// A vector of the result, and the range of its terms. `from` is its column in `dense`.
#[derive(CubeType, Clone, Copy)]
pub struct Cell {
    pub row: usize,
    pub column: usize,
    pub from: usize,
    pub head: usize,
    pub start: usize,
    pub end: usize,
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
pub fn walk<T: Numeric, A: Numeric, I: Int, N: Size>(
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
/// number of ties. A bias is added after the sum is rounded, as in a pass of its own.
#[cube]
pub fn finish<R: Numeric, A: Numeric, N: Size>(
    after: &ComptimeOption<Matrix<Vector<R, N>>>,
    row: usize,
    column: usize,
    acc: Vector<A, N>,
    #[comptime] how: How,
) -> Vector<R, N> {
    #[comptime]
    let result = match after {
        ComptimeOption::Some(after) => {
            let operand = Vector::<A, N>::cast_from(after.data[row * after.stride + column]);
            if comptime!(how.adds) {
                let sum = Vector::<A, N>::cast_from(Vector::<R, N>::cast_from(acc));
                Vector::<R, N>::cast_from(sum + operand)
            } else {
                Vector::<R, N>::cast_from(operand / max(acc, Vector::<A, N>::new(A::from_int(1))))
            }
        }
        ComptimeOption::None => Vector::<R, N>::cast_from(acc),
    };
    if comptime!(how.relu) {
        // The device may store R and not compute in it.
        Vector::<R, N>::cast_from(relu::<A, N>(Vector::<A, N>::cast_from(result)))
    } else {
        result
    }
}
