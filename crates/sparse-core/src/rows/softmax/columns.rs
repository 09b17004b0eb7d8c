//! Softmax of segments whose rows have several columns.

use crate::element::Float;
use core::ops::Range;

/// Elements of a group of segments: those stay in the first-level cache.
pub(super) const GROUP: usize = 2048;

/// Memory for the columns of a segment, and for the elements of a group.
pub(super) struct Memory<T: Float> {
    largest: Vec<T::Acc>,
    total: Vec<f64>,
    exps: Vec<T::Acc>,
    shifted: Vec<T::Acc>,
}

impl<T: Float> Memory<T> {
    pub(super) fn new() -> Self {
        Self { largest: Vec::new(), total: Vec::new(), exps: Vec::new(), shifted: Vec::new() }
    }
}

/// The elements of each segment that is not empty.
#[inline(always)]
fn spans(ends: &[usize]) -> impl Iterator<Item = Range<usize>> {
    ends.iter().zip(&ends[1..]).map(|(&low, &high)| low..high).filter(|own| !own.is_empty())
}

pub(super) fn softmax<T: Float>(
    x: &[T],
    ends: &[usize],
    block: usize,
    log: bool,
    out: &mut [T],
    memory: &mut Memory<T>,
) {
    let Memory { largest, total, exps, shifted } = memory;
    exps.resize(x.len(), T::ACC_ZERO);
    for own in spans(ends) {
        let (x, shifted) = (&x[own.clone()], &mut exps[own]);
        largest.clear();
        largest.extend(x[..block].iter().map(|x| x.widen()));
        for row in x.chunks_exact(block) {
            largest.iter_mut().zip(row).for_each(|(largest, &x)| *largest = larger(*largest, x));
        }
        for (shifted, row) in shifted.chunks_exact_mut(block).zip(x.chunks_exact(block)) {
            for ((shifted, x), &largest) in shifted.iter_mut().zip(row).zip(&*largest) {
                *shifted = T::sub(x.widen(), largest);
            }
        }
    }
    // The logarithm needs what the exponential replaces.
    if log {
        shifted.clone_from(exps);
    }
    T::exp_all(exps);
    for own in spans(ends) {
        let (exps, out) = (&exps[own.clone()], &mut out[own.clone()]);
        sum_rows(exps.chunks_exact(block).map(|row| row.iter().map(|&exp| T::wide(exp))), block, total);
        if log {
            total.iter_mut().for_each(|total| *total = total.ln());
        }
        largest.clear();
        largest.extend(total.iter().map(|&total| T::nearest(total)));
        let kept = if log { &shifted[own] } else { exps };
        for (out, row) in out.chunks_exact_mut(block).zip(kept.chunks_exact(block)) {
            for ((out, &scale), &kept) in out.iter_mut().zip(&*largest).zip(row) {
                *out = T::narrow(if log { T::sub(kept, scale) } else { T::div(kept, scale) });
            }
        }
    }
}

/// The larger one, or NaN, which has no order.
#[inline(always)]
fn larger<T: Float>(largest: T::Acc, x: T) -> T::Acc {
    if x.widen() > largest || x.is_nan() { x.widen() } else { largest }
}

/// Sums of the columns of some rows.
#[inline(always)]
fn sum_rows(rows: impl Iterator<Item = impl Iterator<Item = f64>>, block: usize, total: &mut Vec<f64>) {
    total.clear();
    total.resize(block, 0.0);
    rows.for_each(|row| total.iter_mut().zip(row).for_each(|(total, x)| *total += x));
}

pub(super) fn backward<T: Float>(
    [y, grad]: [&[T]; 2],
    ends: &[usize],
    block: usize,
    log: bool,
    out: &mut [T],
    memory: &mut Memory<T>,
) {
    let Memory { largest: totals, total, exps, .. } = memory;
    if log {
        exps.clear();
        exps.extend(y.iter().map(|y| y.widen()));
        T::exp_all(exps);
    }
    // What an element adds to the sum of its column.
    let term = |y: T, grad: T| if log { T::wide(grad.widen()) } else { T::wide(grad.widen()) * T::wide(y.widen()) };
    for own in spans(ends) {
        let (y, grad, out) = (&y[own.clone()], &grad[own.clone()], &mut out[own.clone()]);
        let rows = y.chunks_exact(block).zip(grad.chunks_exact(block));
        sum_rows(rows.clone().map(|(y, grad)| y.iter().zip(grad).map(|(&y, &grad)| term(y, grad))), block, total);
        totals.clear();
        totals.extend(total.iter().map(|&total| T::nearest(total)));
        if log {
            for ((out, grad), exp) in
                out.chunks_exact_mut(block).zip(grad.chunks_exact(block)).zip(exps[own].chunks_exact(block))
            {
                for (((out, grad), &exp), &total) in out.iter_mut().zip(grad).zip(exp).zip(&*totals) {
                    *out = T::narrow(T::sub(grad.widen(), T::mul(exp, total)));
                }
            }
        } else {
            for (out, (y, grad)) in out.chunks_exact_mut(block).zip(rows) {
                for (((out, y), grad), &total) in out.iter_mut().zip(y).zip(grad).zip(&*totals) {
                    *out = T::narrow(T::mul(y.widen(), T::sub(grad.widen(), total)));
                }
            }
        }
    }
}
