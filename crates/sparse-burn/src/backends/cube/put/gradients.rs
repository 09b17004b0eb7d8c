//! Kernels of the gradients of all reductions except products. One unit for each cell of the array, or for each value.

use super::super::parts::same;
use super::work::{Sizes, columns_of, resolve, row_of, step_of};
use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// Which values of a cell get its share of the gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chosen {
    All,
    Last,
    /// Those that equal the result.
    Tied,
}

/// The number of values of a cell.
#[cube]
fn members<I: Int>(ptr: &Tensor<I>, sizes: &Sizes, cell: usize, #[comptime] along: bool) -> usize {
    let (row, _) = columns_of(sizes, cell);
    let (_, step) = row_of(sizes, row);
    let group = if comptime!(along) { step } else { cell };
    usize::cast_from(ptr[group + 1] - ptr[group])
}

/// The gradient where a cell has no values, else 0: that of an array whose elements are not among the values.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn kept<T: Float, I: Int, N: Size>(
    ptr: &Tensor<I>,
    grad: &Tensor<Vector<T, N>>,
    out: &mut Tensor<Vector<T, N>>,
    sizes: &Sizes,
    units: usize,
    #[comptime] along: bool,
    #[define(T, I)] _types: [ElemType; 2],
) {
    if ABSOLUTE_POS >= units {
        terminate!();
    }
    if members::<I>(ptr, sizes, ABSOLUTE_POS, along) == 0 {
        out[ABSOLUTE_POS] = grad[ABSOLUTE_POS];
    } else {
        out[ABSOLUTE_POS] = Vector::new(T::from_int(0));
    }
}

/// The gradient divided by the number of values in the mean.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn mean_shares<T: Float, A: Float, I: Int, N: Size>(
    ptr: &Tensor<I>,
    grad: &Tensor<Vector<T, N>>,
    out: &mut Tensor<Vector<T, N>>,
    sizes: &Sizes,
    units: usize,
    #[comptime] along: bool,
    #[comptime] include_self: bool,
    #[define(T, A, I)] _types: [ElemType; 3],
) {
    if ABSOLUTE_POS >= units {
        terminate!();
    }
    let own = if comptime!(include_self) { 1usize.runtime() } else { 0usize.runtime() };
    let members = max(members::<I>(ptr, sizes, ABSOLUTE_POS, along) + own, 1);
    let gradient = Vector::<A, N>::cast_from(grad[ABSOLUTE_POS]);
    out[ABSOLUTE_POS] = Vector::cast_from(gradient / Vector::<A, N>::new(A::cast_from(members)));
}

/// The gradient divided by the number of ties: the values that equal the result, which are counted, and the array's own
/// element. That element's gradient goes to `own`.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn tie_shares<T: Float, A: Float, N: Size>(
    ties: &Tensor<Vector<u32, N>>,
    grad: &Tensor<Vector<T, N>>,
    arr: &Tensor<Vector<T, N>>,
    result: &Tensor<Vector<T, N>>,
    shares: &mut Tensor<Vector<T, N>>,
    own: &mut Tensor<Vector<T, N>>,
    units: usize,
    #[comptime] include_self: bool,
    #[comptime] needs_own: bool,
    #[define(T, A)] _types: [ElemType; 2],
) {
    if ABSOLUTE_POS >= units {
        terminate!();
    }
    let gradient = Vector::<A, N>::cast_from(grad[ABSOLUTE_POS]);
    let (zero, one) = (Vector::<A, N>::new(A::from_int(0)), Vector::<A, N>::new(A::from_int(1)));
    let values = ties[ABSOLUTE_POS];
    let counted = Vector::<A, N>::cast_from(values);
    if comptime!(include_self) {
        let (x, y) = (Vector::<A, N>::cast_from(arr[ABSOLUTE_POS]), Vector::<A, N>::cast_from(result[ABSOLUTE_POS]));
        let tied = same::<A, N>(x, y);
        let all = counted + select_many(tied, one, zero);
        let share = gradient / max(all, one);
        shares[ABSOLUTE_POS] = Vector::cast_from(share);
        if comptime!(needs_own) {
            own[ABSOLUTE_POS] = Vector::cast_from(select_many(tied, share, zero));
        }
    } else {
        shares[ABSOLUTE_POS] = Vector::cast_from(gradient / max(counted, one));
        if comptime!(needs_own) {
            // Of the values of a cell at least one equals the result.
            let none = values.equal(&Vector::<u32, N>::new(0u32));
            own[ABSOLUTE_POS] = Vector::cast_from(select_many(none, gradient, zero));
        }
    }
}

/// The gradient of each value: the share of its cell, or 0.
#[cube(launch, launch_unchecked, address_type = "dynamic")]
pub fn put_backward<T: Float, A: Float, I: Int, J: Int, N: Size>(
    index: &Tensor<J>,
    order: &Tensor<I>,
    ptr: &Tensor<I>,
    shares: &Tensor<Vector<T, N>>,
    values: &Tensor<Vector<T, N>>,
    result: &Tensor<Vector<T, N>>,
    out: &mut Tensor<Vector<T, N>>,
    sizes: &Sizes,
    units: usize,
    #[comptime] along: bool,
    #[comptime] chosen: Chosen,
    #[define(T, A, I, J)] _types: [ElemType; 4],
) {
    if ABSOLUTE_POS >= units {
        terminate!();
    }
    let (row, column) = columns_of(sizes, ABSOLUTE_POS);
    let (outer, step) = step_of(sizes, row);
    let entry = if comptime!(along) { step } else { ABSOLUTE_POS };
    let j = resolve::<J>(index[entry], sizes.len);
    let cell = (outer * sizes.len + j) * sizes.columns + column;
    let share = shares[cell];
    let zero = Vector::<T, N>::new(T::from_int(0));
    if comptime!(chosen == Chosen::Last) {
        let group = if comptime!(along) { j } else { cell };
        let last = usize::cast_from(order[usize::cast_from(ptr[group + 1]) - 1]);
        if last == entry {
            out[ABSOLUTE_POS] = share;
        } else {
            out[ABSOLUTE_POS] = zero;
        }
    } else if comptime!(chosen == Chosen::Tied) {
        let (x, y) = (Vector::<A, N>::cast_from(values[ABSOLUTE_POS]), Vector::<A, N>::cast_from(result[cell]));
        out[ABSOLUTE_POS] = select_many(same::<A, N>(x, y), share, zero);
    } else {
        out[ABSOLUTE_POS] = share;
    }
}
