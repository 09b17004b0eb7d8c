//! The forward of `put_along_axis`.

use super::cells::{scatter_cells, scatter_onto, units};
use super::layout::Layout;
use super::{Reduce, Target};
use crate::alloc::zeroed;
use crate::{Element, Index};
use core::any::{Any, TypeId};
use core::hint::select_unpredictable;

/// Reduces `values` into the positions of `out` that they belong to.
///
/// `values` is `[outer, count, inner]`; `out` `[outer, len, inner]` holds the array on entry and the result on return.
/// The array's own value is the first of each group, or with `include_self = false` forgotten wherever a value
/// arrives. Values are taken in row-major order: assign keeps the last, sums and products round in that order (f16
/// and bf16 in f32, rounded once at the end). A mean divides by the number of values (and of the array's own, if
/// included); over integers it is exact (the sum is kept in 64 bits) and rounds towards minus infinity. NaN wins in
/// amax and amin. Where no value arrives the array's value stays.
///
/// Time O(count * outer * inner), and up to a copy of the array in memory for each of: columns shared among threads,
/// an accumulator wider than the element (f16, bf16, mean).
///
/// # Panics
/// If a length does not agree with the target.
pub fn put<T: Element, I: Index>(
    target: &Target<'_, I>,
    reduce: Reduce,
    include_self: bool,
    values: &[T],
    out: &mut [T],
) {
    run(target, reduce, include_self, values, None, out);
}

/// [`put()`] into a copy of the array: one pass where the destinations of whole rows are grouped.
///
/// # Panics
/// If a length does not agree with the target.
pub fn put_copied<T: Element, I: Index>(
    target: &Target<'_, I>,
    reduce: Reduce,
    include_self: bool,
    values: &[T],
    arr: &[T],
) -> Vec<T> {
    let mut out = zeroed(arr.len());
    run(target, reduce, include_self, values, Some(arr), &mut out);
    out
}

/// `start` is the array, if it is not in `out` already.
fn run<T: Element, I: Index>(
    target: &Target<'_, I>,
    reduce: Reduce,
    include_self: bool,
    values: &[T],
    start: Option<&[T]>,
    out: &mut [T],
) {
    let exact = TypeId::of::<T>() == TypeId::of::<T::Acc>();
    let in_one_pass = match reduce {
        Reduce::Assign => true,
        Reduce::Amax | Reduce::Amin => include_self,
        Reduce::Add | Reduce::Mul => include_self && exact,
        Reduce::Mean => false,
    };
    let start = start.filter(|start| {
        if !in_one_pass {
            out.copy_from_slice(start);
        }
        in_one_pass
    });
    // What a target that is hit starts from if the array's own value is forgotten.
    let from = |neutral: T| (!include_self).then_some(neutral);
    match reduce {
        Reduce::Assign => in_place(target, values, start, out, None, |x, v| *x = v),
        Reduce::Amax => in_place(target, values, start, out, from(T::LOWEST), |x, v| {
            *x = select_unpredictable((v > *x) | v.is_nan(), v, *x);
        }),
        Reduce::Amin => in_place(target, values, start, out, from(T::HIGHEST), |x, v| {
            *x = select_unpredictable((v < *x) | v.is_nan(), v, *x);
        }),
        Reduce::Add => accumulate(target, values, start, out, from(T::ZERO), T::add),
        Reduce::Mul => accumulate(target, values, start, out, from(T::ONE), T::mul),
        Reduce::Mean if T::IS_FLOAT => {
            let load = |x: T| if include_self { (x.widen(), 1) } else { (T::ACC_ZERO, 0) };
            let store = |x: T, (sum, n): (T::Acc, u32)| {
                if n == 0 { x } else { T::narrow(T::div(sum, T::from_count(n as usize))) }
            };
            through(target, values, out, None, load, |s, v| *s = (T::add(s.0, v.widen()), s.1 + 1), store);
        }
        Reduce::Mean => {
            let load = |x: T| if include_self { (to_i64(x), 1) } else { (0, 0) };
            let store = |x: T, (sum, n): (i64, u32)| {
                if n == 0 { x } else { from_i64(sum.div_euclid(n as i64)) }
            };
            through(target, values, out, None, load, |s, v| *s = (s.0.wrapping_add(to_i64(v)), s.1 + 1), store);
        }
    }
}

/// Sums or multiplies in the accumulator type; in place where that is the element type.
fn accumulate<T: Element, I: Index>(
    target: &Target<'_, I>,
    values: &[T],
    start: Option<&[T]>,
    out: &mut [T],
    from: Option<T>,
    op: impl Fn(T::Acc, T::Acc) -> T::Acc + Sync,
) {
    if TypeId::of::<T>() == TypeId::of::<T::Acc>() {
        in_place(target, values, start, out, from, |x, v| *x = T::narrow(op(x.widen(), v.widen())));
    } else {
        let from = from.map(T::widen);
        through(target, values, out, from, T::widen, |s, v| *s = op(*s, v.widen()), |_, s| T::narrow(s));
    }
}

/// A scatter whose cells are the elements themselves.
fn in_place<T: Element, I: Index>(
    target: &Target<'_, I>,
    values: &[T],
    start: Option<&[T]>,
    out: &mut [T],
    from: Option<T>,
    step: impl Fn(&mut T, T) + Sync,
) {
    let layout = Layout::of::<T, I>(target);
    assert_eq!(out.len(), target.array_len(), "put: the array must be [outer, len, inner]");
    if layout.is_plain() {
        forget(target, &layout, from, out);
        scatter_onto(target, &layout, values, start, out, |x, v, _| step(x, v));
    } else {
        let arr = start.unwrap_or(out);
        let mut cells = layout.build(|p| arr[p]);
        forget(target, &layout, from, &mut cells);
        scatter_cells(target, &layout, values, &mut cells, |x, v, _| step(x, v));
        layout.each(&cells, out, |_, x, s| *x = s);
    }
}

/// Gives each cell that a value belongs to the value `from`, if there is one.
fn forget<S: Copy + Send + Sync, I: Index>(target: &Target<'_, I>, layout: &Layout, from: Option<S>, cells: &mut [S]) {
    if let Some(from) = from {
        scatter_cells(target, layout, units(target.values_len()), cells, |s, (), _| *s = from);
    }
}

/// A scatter through cells of their own type and order: `load` them, `step` for each value, `store` them. With `from`
/// a cell that is hit starts from that.
fn through<T: Element, S: Copy + Default + Send + Sync, I: Index>(
    target: &Target<'_, I>,
    values: &[T],
    out: &mut [T],
    from: Option<S>,
    load: impl Fn(T) -> S + Sync,
    step: impl Fn(&mut S, T) + Sync,
    store: impl Fn(T, S) -> T + Sync,
) {
    let layout = Layout::of::<S, I>(target);
    assert_eq!(out.len(), target.array_len(), "put: the array must be [outer, len, inner]");
    let mut cells: Vec<S> = layout.build(|p| load(out[p]));
    forget(target, &layout, from, &mut cells);
    scatter_cells(target, &layout, values, &mut cells, |s, v, _| step(s, v));
    layout.each(&cells, out, |_, x, s| *x = store(*x, s));
}

/// An integer element as `i64`.
#[inline(always)]
fn to_i64<T: Element>(x: T) -> i64 {
    let x: &dyn Any = &x;
    if let Some(&x) = x.downcast_ref::<i64>() {
        x
    } else if let Some(&x) = x.downcast_ref::<i32>() {
        x as i64
    } else if let Some(&x) = x.downcast_ref::<u8>() {
        x as i64
    } else {
        unreachable!("integers are i32, i64 and u8")
    }
}

/// The integer element of a value that fits.
#[inline(always)]
fn from_i64<T: Element>(x: i64) -> T {
    let (wide, narrow, byte) = (x, x as i32, x as u8);
    let candidates: [&dyn Any; 3] = [&wide, &narrow, &byte];
    candidates.iter().find_map(|x| x.downcast_ref::<T>()).copied().expect("integers are i32, i64 and u8")
}
