//! Kernels of reductions along an axis, of their gradients, and of reads.

use super::super::parts::{MAX, MIN, One, PRODUCT, SUM, combine, same, tree};
use super::scaled::{Scaled, beside, scaled, times, unscaled};
use super::work::{Cells, Part, Share, Sizes, part, position};
use burn_cubecl::cubecl;
use cubecl::prelude::*;
use sparse_core::Reduce;

/// The rule that combines the values of a group.
fn rule(reduce: Reduce) -> u32 {
    match reduce {
        Reduce::Assign | Reduce::Add | Reduce::Mean => SUM,
        Reduce::Mul => PRODUCT,
        Reduce::Amax => MAX,
        Reduce::Amin => MIN,
    }
}

/// The position of an index. A negative index counts from the end.
#[cube]
fn resolve<I: Int>(index: I, len: usize) -> usize {
    usize::cast_from(select(index < I::from_int(0), index + I::cast_from(len), index))
}

/// The cell of each value, or with `along` the row of each step along the axis.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
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

/// [`combine`] of two numbers.
#[cube]
fn combine_one<A: Numeric>(acc: A, x: A, #[comptime] reduce: Reduce, #[comptime] float: bool) -> A {
    let (acc, x) = (Vector::<A, One>::new(acc), Vector::<A, One>::new(x));
    combine::<A, One>(acc, x, comptime!(rule(reduce)), float).extract(0usize)
}

/// [`same`] of two numbers.
#[cube]
fn ties<A: Numeric>(x: A, y: A) -> bool {
    same::<A, One>(Vector::<A, One>::new(x), Vector::<A, One>::new(y)).extract(0usize)
}

/// Combines the slices of each lane. All units of the lane get the result.
#[cube]
fn fold<A: Numeric>(own: A, #[comptime] share: Share, #[comptime] rule: u32, #[comptime] float: bool) -> A {
    if comptime!(share.slices == 1) {
        own
    } else {
        let mut shared = Shared::<[Vector<A, One>]>::new_slice(comptime!(share.slices * share.lanes));
        let unit = UNIT_POS as usize;
        let (own, slice) = (Vector::<A, One>::new(own), unit / share.lanes);
        tree::<A, One>(&mut shared, own, slice, share.slices, share.lanes, rule, float);
        shared[unit % share.lanes].extract(0usize)
    }
}

/// How many numbers the mean of a cell has.
#[cube]
fn members(part: &Part, #[comptime] include_self: bool) -> usize {
    if include_self { part.end - part.start + 1 } else { part.end - part.start }
}

/// The mean, given the sum.
#[cube]
fn divide<A: Numeric>(sum: A, members: usize, #[comptime] float: bool) -> A {
    let divisor = A::cast_from(members as u32);
    let quotient = sum / divisor;
    // Integers round towards minus infinity.
    if float { quotient } else { select(quotient * divisor > sum, quotient - A::from_int(1), quotient) }
}

#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn put<T: Numeric, A: Numeric, I: Int>(
    cells: &Cells<I>,
    arr: &Tensor<T>,
    values: &Tensor<T>,
    out: &mut Tensor<T>,
    #[comptime] share: Share,
    #[comptime] reduce: Reduce,
    #[comptime] include_self: bool,
    #[comptime] float: bool,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    let part = part::<I>(cells, share);
    let (cell, end) = (part.cell, part.end);
    let hit = part.start < end;
    let mut sum = A::from_int(0);
    if hit {
        // An assignment reads one value, the last.
        let first = if comptime!(reduce == Reduce::Assign) { end - 1 } else { part.start + part.slice };
        sum = A::cast_from(values[position::<I>(cells, &part, first, share)]);
        if comptime!(reduce != Reduce::Assign) {
            // The array's own element is the first of the group.
            if include_self && part.slice == 0 {
                sum = combine_one::<A>(A::cast_from(arr[cell]), sum, reduce, float);
            }
            let mut t = first + share.slices;
            while t < end {
                let value = A::cast_from(values[position::<I>(cells, &part, t, share)]);
                sum = combine_one::<A>(sum, value, reduce, float);
                t += share.slices;
            }
        }
    }
    let sum =
        if comptime!(reduce == Reduce::Assign) { sum } else { fold::<A>(sum, share, comptime!(rule(reduce)), float) };
    if part.mine && part.slice == 0 {
        if !hit {
            out[cell] = arr[cell];
        } else if comptime!(reduce == Reduce::Mean) {
            out[cell] = T::cast_from(divide::<A>(sum, members(&part, include_self), float));
        } else {
            out[cell] = T::cast_from(sum);
        }
    }
}

/// Gradients of all reductions except products.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn put_backward<T: Float, A: Float, I: Int>(
    cells: &Cells<I>,
    grad: &Tensor<T>,
    arr: &Tensor<T>,
    values: &Tensor<T>,
    result: &Tensor<T>,
    arr_grad: &mut Tensor<T>,
    values_grad: &mut Tensor<T>,
    #[comptime] share: Share,
    #[comptime] reduce: Reduce,
    #[comptime] include_self: bool,
    #[comptime] needs: [bool; 2],
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    let extremum = comptime!(matches!(reduce, Reduce::Amax | Reduce::Amin));
    let part = part::<I>(cells, share);
    let (cell, start, end) = (part.cell, part.start, part.end);
    let first = start + part.slice;
    let g = A::cast_from(grad[cell]);
    let zero = A::from_int(0);
    // The gradient of a chosen value, and of the array's own element.
    let mut gets = g;
    let mut own = zero;
    let y = if extremum { A::cast_from(result[cell]) } else { zero };
    if extremum {
        let mut tied = 0u32;
        let mut t = first;
        while t < end {
            if ties::<A>(A::cast_from(values[position::<I>(cells, &part, t, share)]), y) {
                tied += 1;
            }
            t += share.slices;
        }
        let mut tied = fold::<u32>(tied, share, SUM, false);
        let mut own_ties = false;
        if include_self {
            own_ties = ties::<A>(A::cast_from(arr[cell]), y);
            if own_ties {
                tied += 1;
            }
        }
        gets = g / A::cast_from(max(tied, 1u32));
        if own_ties {
            own = gets;
        }
    } else if comptime!(reduce != Reduce::Assign) {
        if comptime!(reduce == Reduce::Mean) {
            gets = g / A::cast_from(max(members(&part, include_self), 1) as u32);
        }
        if include_self {
            own = gets;
        }
    }
    if comptime!(needs[1]) {
        let mut t = first;
        while t < end {
            let at = position::<I>(cells, &part, t, share);
            let mut mine = gets;
            if extremum {
                mine = select(ties::<A>(A::cast_from(values[at]), y), gets, zero);
            } else if comptime!(reduce == Reduce::Assign) {
                mine = select(t + 1 == end, gets, zero);
            }
            values_grad[at] = T::cast_from(mine);
            t += share.slices;
        }
    }
    if comptime!(needs[0]) && part.mine && part.slice == 0 {
        if start == end {
            own = g;
        }
        arr_grad[cell] = T::cast_from(own);
    }
}

/// Compile-time settings of the gradient of a product. `steps` as in [`scaled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    pub include_self: bool,
    pub needs: [bool; 2],
    pub steps: usize,
}

/// A number times the values of the entries `from..to`. With `note` the product before each value is stored in
/// `before`.
#[cube]
fn walk<T: Float, A: Float, I: Int>(
    number: &Scaled<A>,
    cells: &Cells<I>,
    part: &Part,
    values: &Tensor<T>,
    before: &mut Tensor<A>,
    from: usize,
    to: usize,
    #[comptime] note: bool,
    #[comptime] steps: usize,
    #[comptime] share: Share,
) -> Scaled<A> {
    let mut x = number.x;
    let mut places = number.places;
    for t in from..to {
        let at = position::<I>(cells, part, t, share);
        if note {
            before[2 * at] = x;
            before[2 * at + 1] = places;
        }
        let value = scaled::<A>(A::cast_from(values[at]), steps);
        let next = times::<A>(&Scaled::<A> { x, places }, &value);
        x = next.x;
        places = next.places;
    }
    Scaled::<A> { x, places }
}

/// Gradients of products. The gradient of a value has the product of all other values of its group as a factor. This is
/// computed without division, so zeros need no special case. `before` stores, for each value, the fraction and the
/// places of the product of the values before it.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn product_backward<T: Float, A: Float, I: Int>(
    cells: &Cells<I>,
    grad: &Tensor<T>,
    arr: &Tensor<T>,
    values: &Tensor<T>,
    before: &mut Tensor<A>,
    arr_grad: &mut Tensor<T>,
    values_grad: &mut Tensor<T>,
    #[comptime] share: Share,
    #[comptime] how: Product,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    let part = part::<I>(cells, share);
    let (cell, start, end) = (part.cell, part.start, part.end);
    let one = Scaled::<A> { x: A::from_int(1), places: A::from_int(0) };
    let g = scaled::<A>(A::cast_from(grad[cell]), how.steps);
    // Here a slice is a contiguous piece. The products of the other slices are factors of its first and last product.
    let length = (end - start).div_ceil(share.slices);
    let from = min(start + part.slice * length, end);
    let to = min(from + length, end);
    let piece = if comptime!(share.slices > 1) {
        walk::<T, A, I>(&one, cells, &part, values, before, from, to, false, how.steps, share)
    } else {
        one
    };
    let first = beside::<A>(&piece, part.slice, share, false);
    let last = beside::<A>(&piece, part.slice, share, true);
    if comptime!(how.needs[1]) {
        let own = if comptime!(how.include_self) { A::cast_from(arr[cell]) } else { A::from_int(1) };
        let lead = times::<A>(&g, &scaled::<A>(own, how.steps));
        let lead = times::<A>(&first, &lead);
        walk::<T, A, I>(&lead, cells, &part, values, before, from, to, true, how.steps, share);
    }
    let mut x = last.x;
    let mut places = last.places;
    for back in from..to {
        let at = position::<I>(cells, &part, to - 1 - (back - from), share);
        let value = scaled::<A>(A::cast_from(values[at]), how.steps);
        let behind = Scaled::<A> { x, places };
        if comptime!(how.needs[1]) {
            let others = Scaled::<A> { x: before[2 * at], places: before[2 * at + 1] };
            values_grad[at] = T::cast_from(unscaled::<A>(&times::<A>(&behind, &others), how.steps));
        }
        let next = times::<A>(&behind, &value);
        x = next.x;
        places = next.places;
    }
    if comptime!(how.needs[0]) && part.mine && part.slice == 0 {
        let mut own = A::cast_from(grad[cell]);
        if start < end {
            own = if comptime!(how.include_self) {
                unscaled::<A>(&times::<A>(&Scaled::<A> { x, places }, &g), how.steps)
            } else {
                A::from_int(0)
            };
        }
        arr_grad[cell] = T::cast_from(own);
    }
}

#[cube(launch, launch_unchecked, address_type = "dynamic")]
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
