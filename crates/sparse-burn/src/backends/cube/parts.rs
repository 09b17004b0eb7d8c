//! What kernels of several families are made of: how two numbers become one, the tree in which the units of a cube do so,
//! and the search in a list that ascends. Nothing here is launched by itself.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// A vector of one number.
pub type One = Const<1>;

/// Rules by which numbers become one: they are added.
pub const SUM: u32 = 0;
/// Whether any holds, of Bool.
pub const ANY: u32 = 1;
pub const MAX: u32 = 2;
pub const MIN: u32 = 3;
pub const PRODUCT: u32 = 4;

/// Whether numbers are NaN, by their bits: a compiler may take for granted that a float is not.
#[cube]
fn is_nan<A: Numeric, N: Size>(x: Vector<A, N>) -> Vector<bool, N> {
    let bits = Vector::<u32, N>::reinterpret(Vector::<f32, N>::cast_from(x));
    let size = bits & Vector::<u32, N>::new(0x7fff_ffffu32);
    size.greater_than(&Vector::<u32, N>::new(0x7f80_0000u32))
}

/// Equal, with NaN equal to itself.
#[cube]
pub fn same<A: Numeric, N: Size>(x: Vector<A, N>, y: Vector<A, N>) -> Vector<bool, N> {
    x.equal(&y).or(is_nan::<A, N>(x).vec_and(is_nan::<A, N>(y)))
}

/// Two accumulators, or one and a term, as one. The first stays where an extremum ties, and NaN wins it.
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

/// Combines what the units of a group hold in `shared`, until the first of them holds all. The tree's shape depends on
/// nothing but the launch. A group has `members` units (a power of two), `stride` apart. All units of the cube must call it.
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
    let mut half = comptime!(members / 2).runtime();
    while half > 0 {
        if member < half {
            let folded = combine::<A, N>(shared[unit], shared[unit + half * stride], rule, float);
            shared[unit] = folded;
        }
        sync_cube();
        half /= 2;
    }
}

/// How a key compares with element `at` of a list `[dims, stride]`: 1 if it comes after, -1 before, 0 if they are equal.
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

/// The first of the positions `start..end` of a list `[dims, stride]`, which ascends there, that a key does not come
/// after; with `upper`, the first that it comes before. `end` if there is none.
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

/// [`search`] of one number.
#[cube]
pub fn bound<I: Int>(key: I, list: &Tensor<I>, start: usize, end: usize, #[comptime] upper: bool) -> usize {
    let mut keys = Sequence::<I>::new();
    keys.push(key);
    search::<I>(&keys, list, 0, start, end, 1usize, upper)
}

/// The product of a value and an element of a dense operand, as it would be stored.
#[cube]
pub fn product<T: Numeric, A: Numeric, N: Size>(value: Vector<A, N>, x: Vector<A, N>) -> Vector<A, N> {
    Vector::<A, N>::cast_from(Vector::<T, N>::cast_from(value * x))
}

/// `term` where the product is the stored `result`, else 0.
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
