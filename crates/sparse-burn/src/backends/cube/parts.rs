//! Device functions that several kernels share: how two numbers are combined, the tree reduction over the units of a
//! cube, and binary search in an ascending list. Nothing here is launched by itself.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// A vector of one number.
pub type One = Const<1>;

/// Rules that combine two numbers. This one adds them.
pub const SUM: u32 = 0;
/// Of Bool: whether any is true.
pub const ANY: u32 = 1;
pub const MAX: u32 = 2;
pub const MIN: u32 = 3;
pub const PRODUCT: u32 = 4;

/// The bits of an infinity as an f32.
const INFINITY: u32 = 0x7f80_0000;

/// Sizes of numbers, as the bits of an f32. They tell NaN and infinity: a shader compiler may assume that no float is
/// either.
#[cube]
fn size_bits<A: Numeric, N: Size>(x: Vector<A, N>) -> Vector<u32, N> {
    Vector::<u32, N>::reinterpret(Vector::<f32, N>::cast_from(x)) & Vector::<u32, N>::new(0x7fff_ffffu32)
}

/// Whether numbers are NaN.
#[cube]
fn is_nan<A: Numeric, N: Size>(x: Vector<A, N>) -> Vector<bool, N> {
    size_bits::<A, N>(x).greater_than(&Vector::<u32, N>::new(INFINITY))
}

/// Whether numbers are finite as f32.
#[cube]
pub fn is_finite<A: Numeric, N: Size>(x: Vector<A, N>) -> Vector<bool, N> {
    size_bits::<A, N>(x).less_than(&Vector::<u32, N>::new(INFINITY))
}

/// Numbers below zero become zero. NaN stays.
#[cube]
pub fn relu<A: Numeric, N: Size>(x: Vector<A, N>) -> Vector<A, N> {
    let zero = Vector::<A, N>::new(A::from_int(0));
    select_many(x.greater_than(&zero).or(is_nan::<A, N>(x)), x, zero)
}

/// Equal, with NaN equal to itself.
#[cube]
pub fn same<A: Numeric, N: Size>(x: Vector<A, N>, y: Vector<A, N>) -> Vector<bool, N> {
    x.equal(&y).or(is_nan::<A, N>(x).vec_and(is_nan::<A, N>(y)))
}

/// Combines two accumulators, or an accumulator and a term. An extremum keeps the first if they tie, and NaN wins.
#[cube]
pub fn combine<A: Numeric, N: Size>(
    acc: Vector<A, N>,
    x: Vector<A, N>,
    #[comptime] rule: u32,
    #[comptime] float: bool,
) -> Vector<A, N> {
    if comptime!(rule == SUM) {
        acc + x
    } else if comptime!(rule == ANY) {
        max(acc, x)
    } else if comptime!(rule == PRODUCT) {
        acc * x
    } else {
        let better = if comptime!(rule == MAX) { x.greater_than(&acc) } else { x.less_than(&acc) };
        if comptime!(float) {
            let best = select_many(better.or(is_nan::<A, N>(x)), x, acc);
            select_many(is_nan::<A, N>(acc), acc, best)
        } else {
            select_many(better, x, acc)
        }
    }
}

/// Tree reduction over groups of units. The first unit of a group ends with the combination of all. The shape of the
/// tree depends only on the number of `members`, which are `stride` units apart. A unit whose `member` is not less
/// belongs to no group. All units of the cube must call this function.
#[cube]
pub fn tree<A: Numeric, N: Size>(
    shared: &mut Shared<[Vector<A, N>]>,
    own: Vector<A, N>,
    member: usize,
    #[comptime] members: usize,
    #[comptime] stride: usize,
    #[comptime] rule: u32,
    #[comptime] float: bool,
) {
    let unit = UNIT_POS as usize;
    shared[unit] = own;
    sync_cube();
    let mut left = members.runtime();
    while left > 1 {
        let half = left.div_ceil(2);
        if member + half < left {
            let folded = combine::<A, N>(shared[unit], shared[unit + half * stride], rule, float);
            shared[unit] = folded;
        }
        sync_cube();
        left = half;
    }
}

/// Compares a key with element `at` of a list `[dims, stride]`: 1 if the key is greater, -1 if it is less, 0 if equal.
#[cube]
pub fn compare<I: Int>(key: &Sequence<I>, list: &Tensor<I>, stride: usize, at: usize, #[comptime] dims: usize) -> i32 {
    let mut order = 0i32;
    #[unroll]
    for d in 0..dims {
        if order == 0 {
            let other = list[d * stride + at];
            if key[d] > other {
                order = 1;
            }
            if key[d] < other {
                order = -1;
            }
        }
    }
    order
}

/// Binary search in positions `start..end` of a list `[dims, stride]`, which must ascend there. Returns the first
/// position whose element is not less than the key, or with `upper` greater than it. `end` if there is none.
#[cube]
pub fn search<I: Int>(
    key: &Sequence<I>,
    list: &Tensor<I>,
    stride: usize,
    start: usize,
    end: usize,
    #[comptime] dims: usize,
    #[comptime] upper: bool,
) -> usize {
    let mut low = start;
    let mut high = end;
    while low < high {
        let middle = (low + high) / 2;
        let order = compare::<I>(key, list, stride, middle, dims);
        let right = if comptime!(upper) { order >= 0 } else { order > 0 };
        if right {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// [`search`] for one number.
#[cube]
pub fn bound<I: Int>(key: I, list: &Tensor<I>, start: usize, end: usize, #[comptime] upper: bool) -> usize {
    let mut keys = Sequence::<I>::new();
    keys.push(key);
    search::<I>(&keys, list, 0, start, end, 1usize, upper)
}

/// The product of a value and an element of a dense operand, rounded to the stored type.
#[cube]
pub fn product<T: Numeric, A: Numeric, N: Size>(value: Vector<A, N>, x: Vector<A, N>) -> Vector<A, N> {
    Vector::<A, N>::cast_from(Vector::<T, N>::cast_from(value * x))
}

/// `term` where the product equals the stored `result`, else 0.
#[cube]
pub fn matched<T: Numeric, A: Numeric, N: Size>(
    value: Vector<A, N>,
    x: Vector<A, N>,
    result: Vector<A, N>,
    term: Vector<A, N>,
) -> Vector<A, N> {
    let found = same::<A, N>(product::<T, A, N>(value, x), result);
    select_many(found, term, Vector::<A, N>::new(A::from_int(0)))
}
