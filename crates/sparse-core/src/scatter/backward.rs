//! Gradients of `put_along_axis`.

use super::cells::{Arrivals, LastStep, index_state, scatter_rows, units};
use super::gather::{gather, gather_map};
use super::layout::Layout;
use super::product;
use super::step::Step;
use super::target::{Reduce, Target};
use super::ties::{not_hit, same};
use crate::memory::{copied, unwritten};
use crate::{Element, par};
use core::hint::select_unpredictable;

/// Which slices the gradient of a reduction reads. The others may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackwardReads {
    /// The array before the operation.
    pub arr: bool,
    /// The values.
    pub values: bool,
    /// The result.
    pub out: bool,
}

/// What [`put_backward`] reads besides the index and the incoming gradient.
///
/// Nothing for assign, add and mean. For mul, amax and amin: the values, the result and (with `include_self`) the
/// array.
pub const fn backward_reads(reduce: Reduce, include_self: bool) -> BackwardReads {
    let reads = matches!(reduce, Reduce::Mul | Reduce::Amax | Reduce::Amin);
    BackwardReads { arr: reads && include_self, values: reads, out: reads }
}

/// Gradients of [`put()`](super::put()) with respect to the array and the values.
///
/// `grad` is the gradient of the result, `[outer, len, inner]`. `needs` tells which gradients of `[array, values]` are
/// wanted. `arr`, `values` and `out` are read only as [`backward_reads`] says, and may be empty otherwise. A position
/// of the array is *hit* if any value belongs to it. For a value `v`, let `g` be the gradient and `y` the result at its
/// position:
///
/// - assign: the last value in row-major order gets `g`, the others get 0. The array gets `g` where it is not hit.
/// - add: each value gets `g`, and so does the array (with `include_self = false` only where it is not hit).
/// - mean: `g / n`, where `n` is the number of values in the mean.
/// - mul: `g` times the product of the other values of the group. There are three cases. If `y` is a normal number,
///   this is a division. If `y` is 0, it follows from the number of zeros and the product of the rest. If the group
///   overflows, underflows or holds NaN or infinity, it is a product over the others with a wide exponent.
/// - amax, amin: the values equal to `y` get equal shares of `g` (the NaN values if `y` is NaN).
///
/// With `include_self = false` the array is not a member of a group, and gets `g` where it is not hit. Time O(count *
/// outer * inner) for all but the last case of mul, which sorts the values of those groups.
///
/// # Panics
/// If `T` is not a float or a length does not agree with the target.
#[allow(clippy::too_many_arguments)]
pub fn put_backward<T: Element>(
    target: &Target<'_>,
    reduce: Reduce,
    include_self: bool,
    arr: &[T],
    values: &[T],
    out: &[T],
    grad: &[T],
    needs: [bool; 2],
) -> [Option<Vec<T>>; 2] {
    assert!(T::IS_FLOAT, "put_backward: gradients are of floats");
    assert_eq!(grad.len(), target.array_len(), "put_backward: the gradient must be [outer, len, inner]");
    if needs == [false, false] {
        return [None, None];
    }
    let [need_arr, need_values] = needs;
    let values_grad = |f: &(dyn Fn(&mut [T]) + Sync)| {
        need_values.then(|| {
            let mut out = unwritten(target.values_len());
            f(&mut out);
            out
        })
    };
    let no_values = units(target.values_len());
    match reduce {
        Reduce::Assign => {
            let layout = Layout::of::<(T, u32)>(target);
            let last = index_state(target, &layout, &LastStep);
            let arr_grad = need_arr.then(|| layout.spread(&last, |p, last| if last == 0 { grad[p] } else { T::ZERO }));
            let value_grad = values_grad(&|dv| {
                let grad = layout.reordered(grad);
                gather_map(target, &layout, &last, no_values, dv, |c, dv, (), k| {
                    *dv = select_unpredictable(last[c] == k as u32 + 1, grad[c], T::ZERO);
                });
            });
            [arr_grad, value_grad]
        }
        Reduce::Add => {
            let arr_grad = need_arr.then(|| if include_self { copied(grad) } else { not_hit(target, grad) });
            [arr_grad, values_grad(&|dv| gather(target, grad, dv))]
        }
        Reduce::Mean => {
            let layout = Layout::of::<T>(target);
            let counts = index_state(target, &layout, &Arrivals);
            mean_backward(target, include_self, &layout, &counts, grad, needs)
        }
        Reduce::Mul => product::backward(target, include_self, arr, values, out, grad, needs),
        Reduce::Amax | Reduce::Amin => {
            // Each cell holds the result and the number of members equal to it. So a value needs one random access, and
            // no branch depends on it (a misprediction would cost a memory access).
            let layout = Layout::of::<(T, u32)>(target);
            let mut ties: Vec<(T, u32)> = layout.build(|p| (out[p], (include_self && same(arr[p], out[p])) as u32));
            scatter_rows(target, &layout, values, None, &mut ties, &CountTies);
            let arr_grad = need_arr.then(|| {
                layout.spread(&ties, |p, (y, ties)| {
                    if include_self && same(arr[p], y) {
                        divide(grad[p], ties)
                    } else if !include_self && ties == 0 {
                        grad[p]
                    } else {
                        T::ZERO
                    }
                })
            });
            let value_grad = values_grad(&|dv| {
                let grad = layout.reordered(grad);
                let shares: Vec<[T; 2]> = par::fill_with(ties.len(), |c| {
                    let (y, ties) = ties[c];
                    [y, divide(grad[c], ties.max(1))]
                });
                gather_map(target, &layout, &shares, values, dv, |c, dv, v, _| {
                    let [y, share] = shares[c];
                    *dv = select_unpredictable(same(v, y), share, T::ZERO);
                });
            });
            [arr_grad, value_grad]
        }
    }
}

/// The gradients of a mean. `counts` are the numbers of values that arrive, in the order of `layout`.
pub(super) fn mean_backward<T: Element>(
    target: &Target<'_>,
    include_self: bool,
    layout: &Layout,
    counts: &[u32],
    grad: &[T],
    [need_arr, need_values]: [bool; 2],
) -> [Option<Vec<T>>; 2] {
    // There are fewer cells than values, so the division comes before the gather.
    let share = (need_values || include_self)
        .then(|| layout.spread(counts, |p, n| divide(grad[p], (n + include_self as u32).max(1))));
    let values_grad = share.as_ref().filter(|_| need_values).map(|share| {
        let mut out = unwritten(target.values_len());
        gather(target, share, &mut out);
        out
    });
    let not_hit = || layout.spread(counts, |p, n| if n == 0 { grad[p] } else { T::ZERO });
    let arr_grad = if include_self { share.filter(|_| need_arr) } else { need_arr.then(not_hit) };
    [arr_grad, values_grad]
}

/// Counts the values that are equal to the result.
#[derive(Clone, Copy)]
struct CountTies;

impl<T: Element> Step<(T, u32), T> for CountTies {
    #[inline(always)]
    fn step(&self, (result, ties): &mut (T, u32), v: T, _: usize) {
        *ties += same(v, *result) as u32;
    }
}

#[inline(always)]
fn divide<T: Element>(x: T, n: u32) -> T {
    T::narrow(T::div(x.widen(), T::from_count(n as usize)))
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::{Reduce, Target};
    use crate::dynamic::slices::{AnyElement, ElementVec, Elements, with_floats};

    /// See [`put_backward`](crate::put_backward()). `reads` holds the array, the values and the result. Those that the
    /// gradient does not read may be `None`.
    pub fn put_backward(
        target: &Target<'_>,
        reduce: Reduce,
        include_self: bool,
        reads: [Option<Elements<'_>>; 3],
        grad: Elements<'_>,
        needs: [bool; 2],
    ) -> [Option<ElementVec>; 2] {
        with_floats!(grad, T => {
            let [arr, values, out] = reads.map(|read| read.map_or(&[][..], T::elements));
            super::put_backward::<T>(target, reduce, include_self, arr, values, out, T::elements(grad), needs)
                .map(|grad| grad.map(T::element_vec))
        })
    }
}
