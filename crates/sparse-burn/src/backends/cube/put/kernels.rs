//! Kernels of reductions along an axis.

pub use super::parts::WorkLaunch;
use super::parts::{Scaled, Work, alone, fold, product_beside, scaled, times, together, unscaled};
use burn_cubecl::cubecl;
use cubecl::prelude::*;

pub const ASSIGN: u32 = 0;
pub const ADD: u32 = 1;
pub const MUL: u32 = 2;
pub const MEAN: u32 = 3;
pub const AMAX: u32 = 4;

/// Sizes of a put, as `PutTarget`.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Sizes {
    pub len: usize,
    pub inner: usize,
    pub count: usize,
}

/// An index as a position, counting from the end where negative.
#[cube]
fn resolve<I: Int>(index: I, len: usize) -> usize {
    usize::cast_from(select(index < I::from_int(0), index + I::cast_from(len), index))
}

/// The cell of each value, or the row of each step where `along` the axis.
#[cube(launch)]
pub fn cells<I: Int>(
    index: &Tensor<I>,
    out: &mut Tensor<I>,
    sizes: Sizes,
    units: usize,
    #[comptime] along: bool,
    #[define(I)] _type: ElemType,
) {
    if ABSOLUTE_POS >= units {
        terminate!();
    }
    let j = resolve::<I>(index[ABSOLUTE_POS], sizes.len);
    let cell = if along {
        j
    } else {
        let o = ABSOLUTE_POS / sizes.inner / sizes.count;
        (o * sizes.len + j) * sizes.inner + ABSOLUTE_POS % sizes.inner
    };
    out[ABSOLUTE_POS] = I::cast_from(cell);
}

/// Where the values of a cell stand in the order.
#[cube]
pub fn segment(cell: usize, sizes: &Sizes, #[comptime] along: bool) -> usize {
    if along { cell / sizes.inner % sizes.len } else { cell }
}

/// The position of a value of a cell, from its entry in the order.
#[cube]
fn position(entry: usize, cell: usize, sizes: &Sizes, #[comptime] along: bool) -> usize {
    if along {
        let o = cell / sizes.inner / sizes.len;
        (o * sizes.count + entry) * sizes.inner + cell % sizes.inner
    } else {
        entry
    }
}

#[cube]
fn is_nan<A: Numeric>(x: A, #[comptime] float: bool) -> bool {
    if float { f32::cast_from(x).is_nan() } else { false.runtime() }
}

/// Equal, with NaN equal to itself.
#[cube]
fn same<A: Numeric>(x: A, y: A, #[comptime] float: bool) -> bool {
    x == y || (is_nan::<A>(x, float) && is_nan::<A>(y, float))
}

/// Two members of a group as one: the first stays where they tie, and NaN wins.
#[cube]
pub fn combine<A: Numeric>(sum: A, value: A, #[comptime] reduce: u32, #[comptime] float: bool) -> A {
    if reduce == ADD || reduce == MEAN {
        sum + value
    } else if reduce == MUL {
        sum * value
    } else {
        let better = if reduce == AMAX { value > sum } else { value < sum };
        select(better || is_nan::<A>(value, float), value, sum)
    }
}

/// The mean from a sum.
#[cube]
fn divide<A: Numeric>(sum: A, members: usize, #[comptime] float: bool) -> A {
    let divisor = A::cast_from(members as u32);
    let quotient = sum / divisor;
    // Integers round towards minus infinity.
    if float { quotient } else { select(quotient * divisor > sum, quotient - A::from_int(1), quotient) }
}

/// `groups` are pointers into the order, or the list of long groups where there are `slices`; so too in the gradient.
#[cube(launch)]
pub fn put<T: Numeric, A: Numeric, I: Int>(
    arr: &Tensor<T>,
    values: &Tensor<T>,
    order: &Tensor<I>,
    groups: &Tensor<I>,
    out: &mut Tensor<T>,
    sizes: Sizes,
    work: Work,
    #[comptime] slices: usize,
    #[comptime] lanes: usize,
    #[comptime] along: bool,
    #[comptime] reduce: u32,
    #[comptime] include_self: bool,
    #[comptime] float: bool,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    let part = if comptime!(slices > 1) {
        together::<I>(groups, &sizes, &work, lanes, along)
    } else {
        alone::<I>(groups, &sizes, &work, along)
    };
    let (cell, end) = (part.cell, part.end);
    let hit = part.start < end;
    let mut sum = A::from_int(0);
    if hit {
        let first = if comptime!(reduce == ASSIGN) { end - 1 } else { part.start + part.slice };
        sum = A::cast_from(values[position(usize::cast_from(order[first]), cell, &sizes, along)]);
        if comptime!(reduce != ASSIGN) {
            // The array's own value is the group's first member.
            if include_self && part.slice == 0 {
                sum = combine::<A>(A::cast_from(arr[cell]), sum, reduce, float);
            }
            let mut t = first + slices;
            while t < end {
                let value = A::cast_from(values[position(usize::cast_from(order[t]), cell, &sizes, along)]);
                sum = combine::<A>(sum, value, reduce, float);
                t += slices;
            }
        }
    }
    let sum = if comptime!(reduce == ASSIGN) { sum } else { fold::<A>(sum, slices, lanes, reduce, float) };
    if part.mine && part.slice == 0 {
        if !hit {
            out[cell] = arr[cell];
        } else if reduce == MEAN {
            let members = if include_self { end - part.start + 1 } else { end - part.start };
            out[cell] = T::cast_from(divide::<A>(sum, members, float));
        } else {
            out[cell] = T::cast_from(sum);
        }
    }
}

/// Gradients of all reductions but [`MUL`].
#[cube(launch)]
pub fn put_backward<T: Float, A: Float, I: Int>(
    grad: &Tensor<T>,
    arr: &Tensor<T>,
    values: &Tensor<T>,
    result: &Tensor<T>,
    order: &Tensor<I>,
    groups: &Tensor<I>,
    arr_grad: &mut Tensor<T>,
    values_grad: &mut Tensor<T>,
    sizes: Sizes,
    work: Work,
    #[comptime] slices: usize,
    #[comptime] lanes: usize,
    #[comptime] along: bool,
    #[comptime] reduce: u32,
    #[comptime] include_self: bool,
    #[comptime] need_arr: bool,
    #[comptime] need_values: bool,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    let part = if comptime!(slices > 1) {
        together::<I>(groups, &sizes, &work, lanes, along)
    } else {
        alone::<I>(groups, &sizes, &work, along)
    };
    let (cell, start, end) = (part.cell, part.start, part.end);
    let first = start + part.slice;
    let g = A::cast_from(grad[cell]);
    let zero = A::from_int(0);
    // What the array's own value gets.
    let mut own = zero;
    if reduce == ASSIGN {
        if need_values {
            let mut t = first;
            while t < end {
                let share = select(t + 1 == end, g, zero);
                values_grad[position(usize::cast_from(order[t]), cell, &sizes, along)] = T::cast_from(share);
                t += slices;
            }
        }
    } else if reduce == ADD || reduce == MEAN {
        let mut share = g;
        if reduce == MEAN {
            let members = if include_self { end - start + 1 } else { end - start };
            share = g / A::cast_from(max(members, 1) as u32);
        }
        if include_self {
            own = share;
        }
        if need_values {
            let mut t = first;
            while t < end {
                values_grad[position(usize::cast_from(order[t]), cell, &sizes, along)] = T::cast_from(share);
                t += slices;
            }
        }
    } else {
        let y = A::cast_from(result[cell]);
        let mut ties = 0u32;
        let mut t = first;
        while t < end {
            let at = position(usize::cast_from(order[t]), cell, &sizes, along);
            if same::<A>(A::cast_from(values[at]), y, true) {
                ties += 1;
            }
            t += slices;
        }
        let mut ties = fold::<u32>(ties, slices, lanes, ADD, false);
        let mut own_ties = false;
        if include_self {
            own_ties = same::<A>(A::cast_from(arr[cell]), y, true);
            if own_ties {
                ties += 1;
            }
        }
        let share = g / A::cast_from(max(ties, 1u32));
        if own_ties {
            own = share;
        }
        if need_values {
            let mut t = first;
            while t < end {
                let at = position(usize::cast_from(order[t]), cell, &sizes, along);
                let mine = select(same::<A>(A::cast_from(values[at]), y, true), share, zero);
                values_grad[at] = T::cast_from(mine);
                t += slices;
            }
        }
    }
    if need_arr && part.mine && part.slice == 0 {
        if start == end {
            own = g;
        }
        arr_grad[cell] = T::cast_from(own);
    }
}

/// Gradients of [`MUL`]: the product of all the others of a group, without a division, so that zeros are nothing special.
/// `before` takes for each value the fraction and the places of the product of those before it.
#[cube(launch)]
pub fn product_backward<T: Float, A: Float, I: Int>(
    grad: &Tensor<T>,
    arr: &Tensor<T>,
    values: &Tensor<T>,
    order: &Tensor<I>,
    groups: &Tensor<I>,
    before: &mut Tensor<A>,
    arr_grad: &mut Tensor<T>,
    values_grad: &mut Tensor<T>,
    sizes: Sizes,
    work: Work,
    #[comptime] slices: usize,
    #[comptime] lanes: usize,
    #[comptime] along: bool,
    #[comptime] include_self: bool,
    #[comptime] need_arr: bool,
    #[comptime] need_values: bool,
    #[comptime] steps: usize,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    let part = if comptime!(slices > 1) {
        together::<I>(groups, &sizes, &work, lanes, along)
    } else {
        alone::<I>(groups, &sizes, &work, along)
    };
    let (cell, start, end) = (part.cell, part.start, part.end);
    let (zero, one) = (A::from_int(0), A::from_int(1));
    let g = scaled::<A>(A::cast_from(grad[cell]), zero, steps);
    // A slice is one piece here, with those before and behind as factors.
    let length = (end - start).div_ceil(slices);
    let from = min(start + part.slice * length, end);
    let to = min(from + length, end);
    let mut x = A::from_int(1);
    let mut places = A::from_int(0);
    if comptime!(slices > 1) {
        for t in from..to {
            let at = position(usize::cast_from(order[t]), cell, &sizes, along);
            let next = times::<A>(x, places, &scaled::<A>(A::cast_from(values[at]), zero, steps));
            x = next.x;
            places = next.places;
        }
    }
    let first = product_beside::<A>(x, places, part.slice, slices, lanes, false);
    let last = product_beside::<A>(x, places, part.slice, slices, lanes, true);
    if need_values {
        let own = if include_self { A::cast_from(arr[cell]) } else { one };
        let own = scaled::<A>(own, zero, steps);
        let lead = times::<A>(g.x, g.places, &own);
        let lead = times::<A>(first.x, first.places, &lead);
        let mut x = lead.x;
        let mut places = lead.places;
        for t in from..to {
            let at = position(usize::cast_from(order[t]), cell, &sizes, along);
            before[2 * at] = x;
            before[2 * at + 1] = places;
            let next = times::<A>(x, places, &scaled::<A>(A::cast_from(values[at]), zero, steps));
            x = next.x;
            places = next.places;
        }
    }
    let mut x = last.x;
    let mut places = last.places;
    for back in from..to {
        let at = position(usize::cast_from(order[to - 1 - (back - from)]), cell, &sizes, along);
        let value = scaled::<A>(A::cast_from(values[at]), zero, steps);
        if need_values {
            let others = Scaled::<A> { x: before[2 * at], places: before[2 * at + 1] };
            values_grad[at] = T::cast_from(unscaled::<A>(&times::<A>(x, places, &others), steps));
        }
        let next = times::<A>(x, places, &value);
        x = next.x;
        places = next.places;
    }
    if need_arr && part.mine && part.slice == 0 {
        let mut own = A::cast_from(grad[cell]);
        if start < end {
            own = if include_self { unscaled::<A>(&times::<A>(x, places, &g), steps) } else { zero };
        }
        arr_grad[cell] = T::cast_from(own);
    }
}

#[cube(launch)]
pub fn gather<T: Numeric, I: Int>(
    x: &Tensor<T>,
    index: &Tensor<I>,
    out: &mut Tensor<T>,
    sizes: Sizes,
    units: usize,
    #[comptime] along: bool,
    #[define(T, I)] _types: [ElemType; 2],
) {
    if ABSOLUTE_POS >= units {
        terminate!();
    }
    let step = ABSOLUTE_POS / sizes.inner;
    let at = if along { step % sizes.count } else { ABSOLUTE_POS };
    let j = resolve::<I>(index[at], sizes.len);
    out[ABSOLUTE_POS] = x[(step / sizes.count * sizes.len + j) * sizes.inner + ABSOLUTE_POS % sizes.inner];
}
