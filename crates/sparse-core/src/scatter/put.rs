//! The forward pass of `put_along_axis`.

use super::cells::{assert_lengths, scatter_cells, scatter_rows, units};
use super::hubs::Hubs;
use super::layout::Layout;
use super::step::Step;
use super::target::{Reduce, Target};
use crate::memory::unwritten;
use crate::sums::minus_zero;
use crate::{Element, par};
use core::any::Any;
use core::hint::select_unpredictable;

/// Reduces `values` into the positions of `out` that they belong to.
///
/// `values` is `[outer, count, inner]`. `out` `[outer, len, inner]` holds the array on entry and the result on return.
/// The array's own value is the first of each group; with `include_self = false` it is forgotten wherever a value
/// arrives. It stays where no value arrives. Values are taken in row-major order: assign keeps the last one, sums and
/// products are rounded in that order (f16 and bf16 are computed in f32 and rounded once at the end). Of more steps
/// than 512 and 64 times `len`, each block of that many has sums of its own, which are added in pairs; a cell that gets
/// more than about 8,192 values of a block has blocks of its own, of 64 values. A mean divides by the number of values
/// (plus one for the array's own value, if included). Over integers the mean is exact (the sum is kept in 64 bits) and
/// rounded towards minus infinity. For amax and amin, any NaN gives NaN.
///
/// Time O(count * outer * inner). Extra memory for cells: an accumulator for each element of the array if it is wider
/// than the element (sums and products of f16 and bf16, means), else one copy of the array if its columns are divided
/// into blocks, for the threads or for the cache. Sums of floats with a cell of so many values need a number for each
/// cell, and one for each of these values, and walk over the index once more on one thread.
///
/// # Panics
/// If a length does not agree with the target.
pub fn put<T: Element>(target: &Target<'_>, reduce: Reduce, include_self: bool, values: &[T], out: &mut [T]) {
    run(target, reduce, include_self, values, None, out, None);
}

/// [`put()`] into a copy of the array. Copy and reduction are one pass if the destinations of whole rows are grouped.
///
/// # Panics
/// If a length does not agree with the target.
pub fn put_copied<T: Element>(
    target: &Target<'_>,
    reduce: Reduce,
    include_self: bool,
    values: &[T],
    arr: &[T],
) -> Vec<T> {
    let mut out = unwritten(arr.len());
    run(target, reduce, include_self, values, Some(arr), &mut out, None);
    out
}

/// The mean of floats, which also returns the number of values that arrive at each element of the array.
pub(super) fn put_counted<T: Element>(
    target: &Target<'_>,
    include_self: bool,
    values: &[T],
    out: &mut [T],
) -> Vec<i32> {
    let mut counts = unwritten(out.len());
    run(target, Reduce::Mean, include_self, values, None, out, Some(&mut counts));
    counts
}

/// `start` is the array, unless `out` already holds it. Only a mean of floats writes `counts`.
fn run<T: Element>(
    target: &Target<'_>,
    reduce: Reduce,
    include_self: bool,
    values: &[T],
    start: Option<&[T]>,
    out: &mut [T],
    counts: Option<&mut [i32]>,
) {
    let in_one_pass = match reduce {
        Reduce::Assign => true,
        Reduce::Amax | Reduce::Amin => include_self,
        Reduce::Add | Reduce::Mul => include_self && T::EXACT,
        Reduce::Mean => false,
    };
    if let (Some(start), false) = (start, in_one_pass) {
        par::copy(start, out);
    }
    let sums = matches!(reduce, Reduce::Add | Reduce::Mean);
    let hubs = sums.then(|| {
        assert_lengths(target, values.len(), out.len());
        Hubs::of(target, start.unwrap_or(out))
    });
    let start = start.filter(|_| in_one_pass);
    // The value that a hit cell starts from if the array's own value is forgotten.
    let from = |neutral: T| (!include_self).then_some(neutral);
    match reduce {
        Reduce::Assign => in_place(target, values, start, out, None, &Assign),
        Reduce::Amax => in_place(target, values, start, out, from(T::LOWEST), &Extreme { largest: true }),
        Reduce::Amin => in_place(target, values, start, out, from(T::HIGHEST), &Extreme { largest: false }),
        Reduce::Add if T::EXACT => in_place(target, values, start, out, from(T::ZERO), &InPlace(Sum)),
        Reduce::Mul if T::EXACT => in_place(target, values, start, out, from(T::ONE), &InPlace(Product)),
        Reduce::Add => widened(target, values, out, from(T::ZERO), &Sum),
        Reduce::Mul => widened(target, values, out, from(T::ONE), &Product),
        Reduce::Mean if T::IS_FLOAT => {
            let load = |x: T| if include_self { (x.widen(), 1) } else { (T::ACC_ZERO, 0) };
            let store = |x: T, (sum, n): (T::Acc, u32)| {
                if n == 0 { x } else { T::narrow(T::div(sum, T::from_count(n as usize))) }
            };
            let (layout, cells) = through(target, values, out, None, load, &Mean, store);
            if let Some(counts) = counts {
                layout.each(&cells, counts, |_, count, (_, n)| *count = (n - include_self as u32) as i32);
            }
        }
        Reduce::Mean => {
            let load = |x: T| if include_self { (to_i64(x), 1) } else { (0, 0) };
            let store = |x: T, (sum, n): (i64, u32)| {
                if n == 0 { x } else { from_i64(sum.div_euclid(n as i64)) }
            };
            through(target, values, out, None, load, &IntegerMean, store);
        }
    }
    if let Some(hubs) = hubs {
        hubs.write(target, values, include_self, reduce == Reduce::Mean, out);
    }
}

/// Keeps the last value.
#[derive(Clone, Copy)]
struct Assign;

impl<T: Copy> Step<T, T> for Assign {
    #[inline(always)]
    fn step(&self, x: &mut T, v: T, _: usize) {
        *x = v;
    }
}

/// Keeps the largest or smallest value; any NaN gives NaN.
#[derive(Clone, Copy)]
struct Extreme {
    largest: bool,
}

impl<T: Element> Step<T, T> for Extreme {
    #[inline(always)]
    fn step(&self, x: &mut T, v: T, _: usize) {
        let (a, b) = select_unpredictable(self.largest, (v, *x), (*x, v));
        *x = select_unpredictable((a > b) | v.is_nan(), v, *x);
    }
}

/// The sum, in the accumulator's type.
#[derive(Clone, Copy)]
struct Sum;

impl<T: Element> Step<Wide<T>, T> for Sum {
    #[inline(always)]
    fn step(&self, sum: &mut Wide<T>, v: T, _: usize) {
        sum.0 = T::add(sum.0, v.widen());
    }
    #[inline(always)]
    fn nothing(&self) -> Option<Wide<T>> {
        T::IS_FLOAT.then(|| Wide(minus_zero::<T>()))
    }
    #[inline(always)]
    fn join(&self, sum: Wide<T>, more: Wide<T>) -> Wide<T> {
        Wide(T::add(sum.0, more.0))
    }
}

/// The product, in the accumulator's type.
#[derive(Clone, Copy)]
pub(super) struct Product;

impl<T: Element> Step<Wide<T>, T> for Product {
    #[inline(always)]
    fn step(&self, product: &mut Wide<T>, v: T, _: usize) {
        product.0 = T::mul(product.0, v.widen());
    }
}

/// The accumulator of an element.
#[derive(Clone, Copy, Default)]
pub(super) struct Wide<T: Element>(pub(super) T::Acc);

/// A step on the accumulator, applied to the element itself. Both have the same type.
#[derive(Clone, Copy)]
struct InPlace<F>(F);

impl<T: Element, F: Step<Wide<T>, T>> Step<T, T> for InPlace<F> {
    #[inline(always)]
    fn step(&self, x: &mut T, v: T, k: usize) {
        let mut wide = Wide(x.widen());
        self.0.step(&mut wide, v, k);
        *x = T::narrow(wide.0);
    }
    #[inline(always)]
    fn nothing(&self) -> Option<T> {
        self.0.nothing().map(|wide| T::narrow(wide.0))
    }
    #[inline(always)]
    fn join(&self, x: T, more: T) -> T {
        T::narrow(self.0.join(Wide(x.widen()), Wide(more.widen())).0)
    }
}

/// The sum and the number of floats.
#[derive(Clone, Copy)]
struct Mean;

impl<T: Element> Step<(T::Acc, u32), T> for Mean {
    #[inline(always)]
    fn step(&self, (sum, n): &mut (T::Acc, u32), v: T, _: usize) {
        *sum = T::add(*sum, v.widen());
        *n += 1;
    }
    #[inline(always)]
    fn nothing(&self) -> Option<(T::Acc, u32)> {
        Some((minus_zero::<T>(), 0))
    }
    #[inline(always)]
    fn join(&self, (sum, n): (T::Acc, u32), (more, m): (T::Acc, u32)) -> (T::Acc, u32) {
        (T::add(sum, more), n + m)
    }
}

/// The sum (in 64 bits) and the number of integers.
#[derive(Clone, Copy)]
struct IntegerMean;

impl<T: Element> Step<(i64, u32), T> for IntegerMean {
    #[inline(always)]
    fn step(&self, (sum, n): &mut (i64, u32), v: T, _: usize) {
        *sum = sum.wrapping_add(to_i64(v));
        *n += 1;
    }
}

/// Resets a cell to its start.
#[derive(Clone, Copy)]
struct Restart<S>(S);

impl<S: Copy + Sync> Step<S, ()> for Restart<S> {
    #[inline(always)]
    fn step(&self, cell: &mut S, (): (), _: usize) {
        *cell = self.0;
    }
}

/// A sum or product in an accumulator that is wider than the element.
fn widened<T: Element>(
    target: &Target<'_>,
    values: &[T],
    out: &mut [T],
    from: Option<T>,
    step: &impl Step<Wide<T>, T>,
) {
    let from = from.map(|x| Wide(x.widen()));
    through(target, values, out, from, |x| Wide(x.widen()), step, |_, wide: Wide<T>| T::narrow(wide.0));
}

/// A scatter whose cells are the elements themselves.
fn in_place<T: Element>(
    target: &Target<'_>,
    values: &[T],
    start: Option<&[T]>,
    out: &mut [T],
    from: Option<T>,
    step: &impl Step<T, T>,
) {
    let layout = Layout::of::<T>(target);
    assert_eq!(out.len(), target.array_len(), "put: the array must be [outer, len, inner]");
    if layout.is_plain() {
        forget(target, &layout, from, out);
        scatter_rows(target, &layout, values, start, out, step);
    } else {
        let mut cells = layout.reordered(start.unwrap_or(out));
        forget(target, &layout, from, &mut cells);
        scatter_cells(target, &layout, values, &mut cells, step);
        layout.restore(&cells, out);
    }
}

/// Sets each cell that is hit to `from`, if given.
fn forget<S: Copy + Send + Sync>(target: &Target<'_>, layout: &Layout, from: Option<S>, cells: &mut [S]) {
    if let Some(from) = from {
        scatter_cells(target, layout, units(target.values_len()), cells, &Restart(from));
    }
}

/// A scatter through cells that have their own type and order: `load` each cell, `step` for each value, `store` each
/// cell. If `from` is given, a cell that is hit starts from it. Returns the cells and their order.
fn through<T: Element, S: Copy + Default + Send + Sync>(
    target: &Target<'_>,
    values: &[T],
    out: &mut [T],
    from: Option<S>,
    load: impl Fn(T) -> S + Sync,
    step: &impl Step<S, T>,
    store: impl Fn(T, S) -> T + Sync,
) -> (Layout, Vec<S>) {
    let layout = Layout::of::<S>(target);
    assert_eq!(out.len(), target.array_len(), "put: the array must be [outer, len, inner]");
    let mut cells: Vec<S> = layout.build(|p| load(out[p]));
    forget(target, &layout, from, &mut cells);
    scatter_rows(target, &layout, values, None, &mut cells, step);
    layout.each(&cells, out, |_, x, s| *x = store(*x, s));
    (layout, cells)
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

/// Converts an `i64` to the element type. It must fit.
#[inline(always)]
fn from_i64<T: Element>(x: i64) -> T {
    let (wide, narrow, byte) = (x, x as i32, x as u8);
    let candidates: [&dyn Any; 3] = [&wide, &narrow, &byte];
    candidates.iter().find_map(|x| x.downcast_ref::<T>()).copied().expect("integers are i32, i64 and u8")
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::{Reduce, Target};
    use crate::dynamic::slices::{AnyElement, ElementVec, Elements, ElementsMut, with_elements, with_mut};

    /// See [`put`](crate::put()).
    pub fn put(target: &Target<'_>, reduce: Reduce, include_self: bool, values: Elements<'_>, out: ElementsMut<'_>) {
        with_mut!(out, (out: T) => {
            super::put::<T>(target, reduce, include_self, T::elements(values), out)
        })
    }

    /// See [`put_copied`](crate::put_copied()): `[outer, len, inner]`.
    pub fn put_copied(
        target: &Target<'_>,
        reduce: Reduce,
        include_self: bool,
        values: Elements<'_>,
        arr: Elements<'_>,
    ) -> ElementVec {
        with_elements!(arr, T => {
            T::element_vec(super::put_copied::<T>(target, reduce, include_self, T::elements(values), T::elements(arr)))
        })
    }
}
