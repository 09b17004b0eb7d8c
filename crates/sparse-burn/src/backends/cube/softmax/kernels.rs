//! Kernels of softmax within segments. Each segment is computed by the units of a group, by a cube, or chunk by chunk.

use super::super::parts::{MAX, bound, combine, is_finite};
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// Units of a cube.
pub const CUBE: usize = 256;

/// Compile-time settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct How {
    /// The logarithm, or its gradient.
    pub log: bool,
    pub backward: bool,
    /// Whether numbers are f64.
    pub double: bool,
    /// Vectors of a row that units take side by side. Wider rows are cut into blocks.
    pub lanes: usize,
    /// Units that share a column of a segment.
    pub slices: usize,
}

/// The rows that are normalized (backward: the result), and the gradient of the result, which only the backward pass
/// reads. Strides and columns count vectors.
#[derive(CubeType, CubeLaunch)]
pub struct Operands<T: Float, N: Size> {
    x: OwnedTensor<Vector<T, N>>,
    grad: OwnedTensor<Vector<T, N>>,
    x_stride: usize,
    grad_stride: usize,
    columns: usize,
}

/// Where a unit works: rows `start + slice, start + slice + slices, ..` of a column, before `end`.
#[derive(CubeType, Clone, Copy)]
struct Place {
    start: usize,
    end: usize,
    column: usize,
    slice: usize,
}

/// What is known of some numbers: the largest, and the sum of `exp(x - largest)`. Of gradients only their sum.
#[derive(CubeType, Clone, Copy)]
struct State<A: Float, N: Size> {
    top: Vector<A, N>,
    sum: Vector<A, N>,
}

/// The state of two sets of numbers together. Of one number it is the number and 1.
#[cube]
fn join<A: Float, N: Size>(
    top: Vector<A, N>,
    sum: Vector<A, N>,
    other: Vector<A, N>,
    others: Vector<A, N>,
    #[comptime] how: How,
) -> State<A, N> {
    if comptime!(how.backward) {
        State::<A, N> { top, sum: sum + others }
    } else {
        let larger = other.greater_than(&top);
        let most = combine::<A, N>(top, other, MAX, true);
        let scale = (select_many(larger, top, other) - most).exp();
        State::<A, N> { top: most, sum: select_many(larger, sum * scale + others, sum + others * scale) }
    }
}

/// The state of no numbers. The lowest finite number stands for the largest: the difference to minus infinity is finite
/// then.
#[cube]
fn nothing<A: Float, N: Size>() -> State<A, N> {
    State::<A, N> { top: Vector::<A, N>::new(A::min_value()), sum: Vector::<A, N>::new(A::from_int(0)) }
}

/// The state of a unit's numbers, in one pass.
#[cube]
fn gather<T: Float, A: Float, N: Size>(
    operands: &Operands<T, N>,
    place: &Place,
    #[comptime] slices: usize,
    #[comptime] how: How,
) -> State<A, N> {
    let none = nothing::<A, N>();
    let mut top = none.top;
    let mut sum = none.sum;
    let mut row = place.start + place.slice;
    while row < place.end {
        let x = Vector::<A, N>::cast_from(operands.x[row * operands.x_stride + place.column]);
        let mut term = Vector::<A, N>::new(A::from_int(1));
        if comptime!(how.backward) {
            term = Vector::<A, N>::cast_from(operands.grad[row * operands.grad_stride + place.column]);
            if comptime!(!how.log) {
                term *= x;
            }
        }
        let next = join::<A, N>(top, sum, x, term, how);
        top = next.top;
        sum = next.sum;
        row += slices;
    }
    State::<A, N> { top, sum }
}

/// Joins the states of the `slices` units that share a column, `lanes` apart, as a tree of fixed shape. Each of them
/// gets the result. All units of the cube must call this function.
#[cube]
fn fold<A: Float, N: Size>(
    own: &State<A, N>,
    slice: usize,
    #[comptime] slices: usize,
    #[comptime] how: How,
) -> State<A, N> {
    let mut tops = Shared::<[Vector<A, N>]>::new_slice(CUBE);
    let mut sums = Shared::<[Vector<A, N>]>::new_slice(CUBE);
    let unit = UNIT_POS as usize;
    tops[unit] = own.top;
    sums[unit] = own.sum;
    sync_cube();
    let mut half = comptime!(slices / 2).runtime();
    while half > 0 {
        if slice < half {
            let other = unit + half * how.lanes;
            let both = join::<A, N>(tops[unit], sums[unit], tops[other], sums[other], how);
            tops[unit] = both.top;
            sums[unit] = both.sum;
        }
        sync_cube();
        half /= 2;
    }
    let first = unit - slice * how.lanes;
    State::<A, N> { top: tops[first], sum: sums[first] }
}

/// What the exponentials are divided by: the sum, or NaN if no number is finite, or one is NaN or infinity.
#[cube]
fn divisor<A: Float, N: Size>(all: &State<A, N>, #[comptime] how: How) -> Vector<A, N> {
    // A finite number is the largest, and counts 1, or a smaller one is.
    let some = all.sum.greater_than(&Vector::<A, N>::new(A::new(0.5f32)));
    let finite = if comptime!(how.double) {
        all.top.less_equal(&Vector::<A, N>::new(A::max_value()))
    } else {
        is_finite::<A, N>(all.top)
    };
    let nan = Vector::<A, N>::new(A::cast_from(f32::reinterpret(0x7fc0_0000u32)));
    select_many(finite.vec_and(some), all.sum, nan)
}

/// Writes a unit's rows of the result.
#[cube]
fn write<T: Float, A: Float, N: Size>(
    operands: &Operands<T, N>,
    out: &mut Tensor<Vector<T, N>>,
    place: &Place,
    all: &State<A, N>,
    #[comptime] slices: usize,
    #[comptime] how: How,
) {
    let mut total = all.sum;
    if comptime!(!how.backward) {
        total = divisor::<A, N>(all, how);
        if comptime!(how.log) {
            total = total.ln();
        }
    }
    let mut row = place.start + place.slice;
    while row < place.end {
        let x = Vector::<A, N>::cast_from(operands.x[row * operands.x_stride + place.column]);
        let y = if comptime!(how.backward) {
            let grad = Vector::<A, N>::cast_from(operands.grad[row * operands.grad_stride + place.column]);
            if comptime!(how.log) { grad - x.exp() * total } else { x * (grad - total) }
        } else {
            let below = x - all.top;
            if comptime!(how.log) { below - total } else { below.exp() / total }
        };
        out[row * operands.columns + place.column] = Vector::<T, N>::cast_from(y);
        row += slices;
    }
}

/// A group of units for each segment and block of columns. It computes segments of at most `most` rows.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn softmax_groups<T: Float, A: Float, I: Int, N: Size>(
    operands: &Operands<T, N>,
    ptr: &Tensor<I>,
    out: &mut Tensor<Vector<T, N>>,
    segments: usize,
    blocks: usize,
    most: usize,
    #[comptime] how: How,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    let group = comptime!(how.lanes * how.slices);
    let unit = UNIT_POS as usize;
    let number = CUBE_POS * comptime!(CUBE / group) + unit / group;
    let column = number % blocks * how.lanes + unit % how.lanes;
    // All units must reach every barrier, whatever their segments.
    let segment = min(number / blocks, segments - 1);
    let start = usize::cast_from(ptr[segment]);
    let end = usize::cast_from(ptr[segment + 1]);
    let mine = number / blocks < segments && column < operands.columns && end - start <= most;
    let place = Place { start, end: select(mine, end, start), column, slice: unit % group / how.lanes };
    let own = gather::<T, A, N>(operands, &place, how.slices, how);
    let all = fold::<A, N>(&own, place.slice, how.slices, how);
    write::<T, A, N>(operands, out, &place, &all, how.slices, how);
}

/// The segment of a row, and the part of that segment which a cube takes.
#[derive(CubeType, Clone, Copy)]
struct Part {
    start: usize,
    end: usize,
    /// Windows start every so many rows, across all segments. How many start in the segment before the cube's own.
    number: usize,
}

/// The part of a cube: each window is given to one, for each block of columns. So a segment gets a number of cubes that
/// grows with its length, and nobody has to count long segments.
#[cube]
fn part<I: Int>(ptr: &Tensor<I>, segments: usize, window: usize, own: usize, rows: usize) -> Part {
    let row = min(own * window, rows - 1);
    let segment = bound::<I>(I::cast_from(row), ptr, 0, segments + 1, true) - 1;
    let start = usize::cast_from(ptr[segment]);
    let end = usize::cast_from(ptr[segment + 1]);
    let first = start.div_ceil(window);
    Part { start, end, number: own - first }
}

/// A cube for each window of `most` rows and block of columns. It computes a segment of more than `most` rows, or the
/// state of a chunk of one with more than `chunk` rows.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn softmax_cubes<T: Float, A: Float, I: Int, N: Size>(
    operands: &Operands<T, N>,
    ptr: &Tensor<I>,
    out: &mut Tensor<Vector<T, N>>,
    states: &mut Tensor<Vector<A, N>>,
    segments: usize,
    rows: usize,
    blocks: usize,
    most: usize,
    chunk: usize,
    #[comptime] how: How,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    let slices = comptime!(CUBE / how.lanes);
    let unit = UNIT_POS as usize;
    let window = CUBE_POS / blocks;
    let column = CUBE_POS % blocks * how.lanes + unit % how.lanes;
    let part = part::<I>(ptr, segments, most, window, rows);
    let length = part.end - part.start;
    let from = part.start + part.number * chunk;
    let mine = window * most < rows && column < operands.columns && length > most && from < part.end;
    let start = select(mine, from, part.start);
    let place =
        Place { start, end: select(mine, min(start + chunk, part.end), start), column, slice: unit / how.lanes };
    let own = gather::<T, A, N>(operands, &place, slices, how);
    let all = fold::<A, N>(&own, place.slice, slices, how);
    if length <= chunk {
        write::<T, A, N>(operands, out, &place, &all, slices, how);
    } else if mine && place.slice == 0 {
        states[2 * window * operands.columns + column] = all.top;
        states[(2 * window + 1) * operands.columns + column] = all.sum;
    }
}

/// Joins the states of the chunks of a segment. The result replaces the first.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn softmax_fold<A: Float, I: Int, N: Size>(
    ptr: &Tensor<I>,
    states: &mut Tensor<Vector<A, N>>,
    columns: usize,
    segments: usize,
    rows: usize,
    blocks: usize,
    most: usize,
    chunk: usize,
    #[comptime] how: How,
    #[define(A, I)] _types: [ElemType; 2],
) {
    let slices = comptime!(CUBE / how.lanes);
    let unit = UNIT_POS as usize;
    let slice = unit / how.lanes;
    let window = CUBE_POS / blocks;
    let column = CUBE_POS % blocks * how.lanes + unit % how.lanes;
    let part = part::<I>(ptr, segments, chunk / 2, window, rows);
    let length = part.end - part.start;
    let mine = window * (chunk / 2) < rows && column < columns && length > chunk && part.number == 0;
    let first = part.start.div_ceil(most);
    let none = nothing::<A, N>();
    let mut top = none.top;
    let mut sum = none.sum;
    let mut k = slice;
    while mine && k * chunk < length {
        let at = 2 * (first + k) * columns + column;
        let next = join::<A, N>(top, sum, states[at], states[at + columns], how);
        top = next.top;
        sum = next.sum;
        k += slices;
    }
    let all = fold::<A, N>(&State::<A, N> { top, sum }, slice, slices, how);
    if mine && slice == 0 {
        states[2 * first * columns + column] = all.top;
        states[(2 * first + 1) * columns + column] = all.sum;
    }
}

/// Writes the chunks of the segments with more than `chunk` rows, from the state of the whole segment.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn softmax_chunks<T: Float, A: Float, I: Int, N: Size>(
    operands: &Operands<T, N>,
    ptr: &Tensor<I>,
    out: &mut Tensor<Vector<T, N>>,
    states: &Tensor<Vector<A, N>>,
    segments: usize,
    rows: usize,
    blocks: usize,
    most: usize,
    chunk: usize,
    #[comptime] how: How,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    let unit = UNIT_POS as usize;
    let window = CUBE_POS / blocks;
    let column = CUBE_POS % blocks * how.lanes + unit % how.lanes;
    let part = part::<I>(ptr, segments, chunk / 2, window, rows);
    let from = part.start + part.number * chunk;
    if window * (chunk / 2) < rows && column < operands.columns && part.end - part.start > chunk && from < part.end {
        let place = Place { start: from, end: min(from + chunk, part.end), column, slice: unit / how.lanes };
        let at = 2 * part.start.div_ceil(most) * operands.columns + column;
        let all = State::<A, N> { top: states[at], sum: states[at + operands.columns] };
        write::<T, A, N>(operands, out, &place, &all, comptime!(CUBE / how.lanes), how);
    }
}
