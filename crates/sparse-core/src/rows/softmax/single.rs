//! Softmax of segments of single numbers.
//!
//! A loop over short segments of different lengths would mispredict a branch in each. So what is the same in a segment,
//! its maximum and its total, is computed from whole vectors, see [`contiguous`](crate::rows::contiguous), and written
//! to each of its elements. All else is loops over the elements of a group, which do not know of segments.

use crate::element::{Element, Float, Lanes};
use crate::rows::contiguous::{LANES, segment};
use pulp::{Simd, WithSimd};

/// Elements of a group of segments. What is read, written and kept of them stays in the first-level cache.
pub(super) const GROUP: usize = 1024;

/// Memory for the elements of a group. The last segment is read and written as a whole vector.
pub(super) struct Memory<T: Float> {
    values: [T::Acc; GROUP + LANES],
    largest: [T::Acc; GROUP + LANES],
    scale: [T::Acc; GROUP + LANES],
    terms: [f64; GROUP + LANES],
}

impl<T: Float> Memory<T> {
    pub(super) fn new() -> Self {
        let list = [T::ACC_ZERO; GROUP + LANES];
        Self { values: list, largest: list, scale: list, terms: [0.0; GROUP + LANES] }
    }
}

pub(super) struct Softmax<'a, T: Float> {
    pub(super) x: &'a [T],
    pub(super) ends: &'a [usize],
    pub(super) log: bool,
    pub(super) out: &'a mut [T],
    pub(super) memory: &'a mut Memory<T>,
}

impl<T: Float> WithSimd for Softmax<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { x, ends, log, out, memory } = self;
        let Memory { values, largest, scale, terms } = memory;
        let finish = |total: f64| T::nearest(if log { logarithm(total) } else { total });
        if x.len() <= GROUP {
            widen(x, values);
            spread(ends, largest, |low, high| largest_of::<T::Acc, S>(simd, values, low, high));
            exps::<T>(x.len(), values, largest, log, terms);
            spread(ends, scale, |low, high| finish(segment::<f64, S>(simd, terms, low, high)));
            scaled(values, scale, log, out);
            return;
        }
        let mut peak = T::ACC_LOWEST;
        for x in x.chunks(GROUP) {
            widen(x, values);
            let other = largest_of::<T::Acc, S>(simd, values, 0, x.len());
            peak = if other > peak { other } else { peak };
        }
        largest.fill(peak);
        let mut total = 0.0;
        for (x, out) in x.chunks(GROUP).zip(out.chunks_mut(GROUP)) {
            widen(x, values);
            exps::<T>(x.len(), values, largest, log, terms);
            total += segment::<f64, S>(simd, terms, 0, x.len());
            if T::EXACT {
                out.iter_mut().zip(&*values).for_each(|(out, &value)| *out = T::narrow(value));
            }
        }
        scale.fill(finish(total));
        for (x, out) in x.chunks(GROUP).zip(out.chunks_mut(GROUP)) {
            // Numbers of 16 bits cannot hold the exponentials, so they are computed again.
            if T::EXACT {
                widen(out, values);
            } else {
                widen(x, values);
                exps::<T>(x.len(), values, largest, log, terms);
            }
            scaled(values, scale, log, out);
        }
    }
}

#[inline(always)]
fn widen<T: Float>(x: &[T], values: &mut [T::Acc]) {
    values.iter_mut().zip(x).for_each(|(value, x)| *value = x.widen());
}

/// The terms of the totals, and what is to be scaled by the totals.
#[inline(always)]
fn exps<T: Float>(len: usize, values: &mut [T::Acc], largest: &[T::Acc], log: bool, terms: &mut [f64]) {
    let values = &mut values[..len];
    values.iter_mut().zip(largest).for_each(|(value, &largest)| *value = T::sub(*value, largest));
    if log {
        terms.iter_mut().zip(values).for_each(|(term, value)| *term = T::wide(T::exp(*value)));
    } else {
        // The loop over numbers of 64 bits has shorter vectors, so it has nothing else.
        values.iter_mut().for_each(|value| *value = T::exp(*value));
        terms.iter_mut().zip(values).for_each(|(term, value)| *term = T::wide(*value));
    }
}

#[inline(always)]
fn scaled<T: Float>(values: &[T::Acc], scale: &[T::Acc], log: bool, out: &mut [T]) {
    for ((out, &value), &scale) in out.iter_mut().zip(values).zip(scale) {
        *out = T::narrow(if log { T::sub(value, scale) } else { T::div(value, scale) });
    }
}

/// Not inlined: the compiler would compute it where it is not needed.
#[inline(never)]
fn logarithm(total: f64) -> f64 {
    total.ln()
}

pub(super) struct Backward<'a, T: Float> {
    pub(super) y: &'a [T],
    pub(super) grad: &'a [T],
    pub(super) ends: &'a [usize],
    pub(super) log: bool,
    pub(super) out: &'a mut [T],
    pub(super) memory: &'a mut Memory<T>,
}

impl<T: Float> WithSimd for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { y, grad, ends, log, out, memory } = self;
        let Memory { scale, terms, .. } = memory;
        if y.len() <= GROUP {
            products(y, grad, log, terms);
            spread(ends, scale, |low, high| T::nearest(segment::<f64, S>(simd, terms, low, high)));
            slopes(y, grad, scale, log, out);
            return;
        }
        let mut total = 0.0;
        for (y, grad) in y.chunks(GROUP).zip(grad.chunks(GROUP)) {
            products(y, grad, log, terms);
            total += segment::<f64, S>(simd, terms, 0, y.len());
        }
        scale.fill(T::nearest(total));
        for ((y, grad), out) in y.chunks(GROUP).zip(grad.chunks(GROUP)).zip(out.chunks_mut(GROUP)) {
            slopes(y, grad, scale, log, out);
        }
    }
}

/// What each element adds to the total of its segment.
#[inline(always)]
fn products<T: Float>(y: &[T], grad: &[T], log: bool, terms: &mut [f64]) {
    for ((term, &y), &grad) in terms.iter_mut().zip(y).zip(grad) {
        let grad = T::wide(grad.widen());
        *term = if log { grad } else { grad * T::wide(y.widen()) };
    }
}

#[inline(always)]
fn slopes<T: Float>(y: &[T], grad: &[T], totals: &[T::Acc], log: bool, out: &mut [T]) {
    for (((out, &y), &grad), &total) in out.iter_mut().zip(y).zip(grad).zip(totals) {
        let (y, grad) = (y.widen(), grad.widen());
        *out = T::narrow(if log { T::sub(grad, T::mul(T::exp(y), total)) } else { T::mul(y, T::sub(grad, total)) });
    }
}

/// Writes the result of each segment, `of(low, high)`, to each of its elements.
#[inline(always)]
fn spread<A: Copy>(ends: &[usize], out: &mut [A], of: impl Fn(usize, usize) -> A) {
    for (&low, &high) in ends.iter().zip(&ends[1..]) {
        let result = of(low, high);
        // The elements after the segment are written by the next one.
        out[low..low + LANES].copy_from_slice(&[result; LANES]);
        if high - low > LANES {
            out[low + LANES..high].fill(result);
        }
    }
}

/// The largest of `list[low..high]`, after which the list has [`LANES`] more. It may ignore NaN, which makes its own
/// exponential NaN, and that the total.
#[inline(always)]
fn largest_of<A: Element<Acc = A>, S: Simd>(simd: S, list: &[A], mut low: usize, high: usize) -> A {
    let lanes = A::Lanes::lanes::<S>();
    let mut largest = [A::Lanes::splat(simd, A::LOWEST); LANES];
    while high - low > LANES {
        let x = &list[low..low + LANES];
        for j in 0..LANES / lanes {
            largest[j] = A::Lanes::max(simd, largest[j], A::Lanes::load(simd, &x[j * lanes..]));
        }
        low += LANES;
    }
    let (x, rest) = (&list[low..low + LANES], high - low);
    for j in 0..LANES / lanes {
        let head = A::Lanes::load_head(simd, &x[j * lanes..], rest.saturating_sub(j * lanes), A::LOWEST);
        largest[j] = A::Lanes::max(simd, largest[j], head);
    }
    (1..LANES / lanes).for_each(|j| largest[0] = A::Lanes::max(simd, largest[0], largest[j]));
    A::Lanes::largest(simd, largest[0])
}
