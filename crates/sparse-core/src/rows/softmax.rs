//! Softmax within segments, one thread for each segment.

use crate::Index;
use crate::element::{Float, Ids};
use crate::par::for_pieces;
use core::ops::Range;

/// `exp(x - m) / sum exp(x - m)` over the rows of each segment, with `m` the largest `x`; or the logarithm of that. A
/// row has `block` elements, and each column is on its own. Segment `s` is the rows `ptr[s]..ptr[s + 1]`; together the
/// segments cover all rows. NaN makes its column of the segment NaN.
///
/// # Panics
///
/// If the segments do not cover all rows.
pub fn segment_softmax<T: Float, I: Index>(values: &[T], block: usize, ptr: &[I], log: bool, out: &mut [T]) {
    each_segment([values; 2], block, I::list(ptr), out, &|[x, _], lengths, out, memory| {
        softmax(x, lengths, block, log, out, memory);
    });
}

/// The gradient of the values of [`segment_softmax`], from its result `y` and the gradient of that.
///
/// # Panics
///
/// If the segments do not cover all rows.
pub fn segment_softmax_backward<T: Float, I: Index>(
    y: &[T],
    grad: &[T],
    block: usize,
    ptr: &[I],
    log: bool,
    out: &mut [T],
) {
    each_segment([y, grad], block, I::list(ptr), out, &|lists, lengths, out, memory| {
        backward(lists, lengths, block, log, out, memory);
    });
}

/// Short segments are computed together, until they have this many elements: loops over them vectorise, and what they
/// read and write stays in the first-level cache.
const GROUP: usize = 2048;

/// Computes some segments from their elements in two lists: `f(lists, lengths of the segments, out)`.
type OfSegments<'a, T> = dyn Fn([&[T]; 2], &[usize], &mut [T], &mut Memory<T>) + Sync + 'a;

/// Memory for the columns of a segment, and for the elements of a group.
struct Memory<T: Float> {
    largest: Vec<T::Acc>,
    total: Vec<f64>,
    exps: Vec<T::Acc>,
    shifted: Vec<T::Acc>,
}

/// Calls `f` with groups of segments.
fn each_segment<T: Float>(lists: [&[T]; 2], block: usize, ptr: Ids<'_>, out: &mut [T], f: &OfSegments<'_, T>) {
    if out.is_empty() {
        return;
    }
    for list in lists {
        assert_eq!(list.len(), out.len(), "segment_softmax: the lists must have the same length");
    }
    ptr.check_covers(out.len() / block);
    for_pieces(&ptr.cuts(block), out, &|rows| ptr.spans(rows).len() * block, &|rows, mut piece| {
        let mut memory = Memory { largest: Vec::new(), total: Vec::new(), exps: Vec::new(), shifted: Vec::new() };
        let mut lengths = Vec::new();
        let mut rows = rows.peekable();
        while let Some(&first) = rows.peek() {
            let start = ptr.at(first) * block;
            let mut len = 0;
            lengths.clear();
            while len < GROUP
                && let Some(row) = rows.next()
            {
                lengths.push(ptr.span(row).len() * block);
                len += lengths[lengths.len() - 1];
            }
            let (own, rest) = piece.split_at_mut(len);
            piece = rest;
            f(lists.map(|list| &list[start..start + len]), &lengths, own, &mut memory);
        }
    });
}

fn softmax<T: Float>(x: &[T], lengths: &[usize], block: usize, log: bool, out: &mut [T], memory: &mut Memory<T>) {
    let Memory { largest, total, exps, shifted } = memory;
    exps.resize(x.len(), T::ACC_ZERO);
    for own in Spans::new(lengths) {
        let (x, shifted) = (&x[own.clone()], &mut exps[own]);
        if block == 1 {
            let mut largest = x[0].widen();
            x.iter().for_each(|&x| largest = larger(largest, x));
            shifted.iter_mut().zip(x).for_each(|(shifted, x)| *shifted = T::sub(x.widen(), largest));
            continue;
        }
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
    for own in Spans::new(lengths) {
        let (exps, out) = (&exps[own.clone()], &mut out[own.clone()]);
        if block == 1 {
            let total: f64 = exps.iter().fold(0.0, |total, &exp| total + T::wide(exp));
            if log {
                let scale = T::nearest(total.ln());
                out.iter_mut().zip(&shifted[own]).for_each(|(out, &x)| *out = T::narrow(T::sub(x, scale)));
            } else {
                let scale = T::nearest(total);
                out.iter_mut().zip(exps).for_each(|(out, &exp)| *out = T::narrow(T::div(exp, scale)));
            }
            continue;
        }
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

fn backward<T: Float>(
    [y, grad]: [&[T]; 2],
    lengths: &[usize],
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
    for own in Spans::new(lengths) {
        let (y, grad, out) = (&y[own.clone()], &grad[own.clone()], &mut out[own.clone()]);
        if block == 1 {
            let total = T::nearest(y.iter().zip(grad).fold(0.0, |total, (&y, &grad)| total + term(y, grad)));
            totals.clear();
            totals.push(total);
        } else {
            let rows = y.chunks_exact(block).zip(grad.chunks_exact(block));
            sum_rows(rows.map(|(y, grad)| y.iter().zip(grad).map(|(&y, &grad)| term(y, grad))), block, total);
            totals.clear();
            totals.extend(total.iter().map(|&total| T::nearest(total)));
        }
        if log {
            for ((out, grad), exp) in
                out.chunks_exact_mut(block).zip(grad.chunks_exact(block)).zip(exps[own].chunks_exact(block))
            {
                for (((out, grad), &exp), &total) in out.iter_mut().zip(grad).zip(exp).zip(&*totals) {
                    *out = T::narrow(T::sub(grad.widen(), T::mul(exp, total)));
                }
            }
        } else if let [total] = totals[..] {
            for ((out, y), grad) in out.iter_mut().zip(y).zip(grad) {
                *out = T::narrow(T::mul(y.widen(), T::sub(grad.widen(), total)));
            }
        } else {
            let rows = y.chunks_exact(block).zip(grad.chunks_exact(block));
            for (out, (y, grad)) in out.chunks_exact_mut(block).zip(rows) {
                for (((out, y), grad), &total) in out.iter_mut().zip(y).zip(grad).zip(&*totals) {
                    *out = T::narrow(T::mul(y.widen(), T::sub(grad.widen(), total)));
                }
            }
        }
    }
}

/// The elements of each segment of a group that is not empty.
struct Spans<'a> {
    lengths: core::slice::Iter<'a, usize>,
    at: usize,
}

impl<'a> Spans<'a> {
    fn new(lengths: &'a [usize]) -> Self {
        Self { lengths: lengths.iter(), at: 0 }
    }
}

impl Iterator for Spans<'_> {
    type Item = Range<usize>;

    #[inline(always)]
    fn next(&mut self) -> Option<Range<usize>> {
        let len = *self.lengths.find(|&&len| len > 0)?;
        self.at += len;
        Some(self.at - len..self.at)
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use crate::dynamic::slices::{AnyElement, AnyIndex, ElementVec, Elements, Ids, with_floats, with_ids};
    use crate::memory::unwritten;

    /// See [`segment_softmax`](crate::segment_softmax()).
    pub fn segment_softmax(values: Elements<'_>, block: usize, ptr: Ids<'_>, log: bool) -> ElementVec {
        with_ids!(ptr, I => with_floats!(values, T => {
            let mut out = unwritten::<T>(values.len());
            super::segment_softmax::<T, I>(T::elements(values), block, I::ids(ptr), log, &mut out);
            T::element_vec(out)
        }))
    }

    /// See [`segment_softmax_backward`](crate::segment_softmax_backward()).
    pub fn segment_softmax_backward(
        y: Elements<'_>,
        grad: Elements<'_>,
        block: usize,
        ptr: Ids<'_>,
        log: bool,
    ) -> ElementVec {
        with_ids!(ptr, I => with_floats!(y, T => {
            let mut out = unwritten::<T>(y.len());
            let (y, grad) = (T::elements(y), T::elements(grad));
            super::segment_softmax_backward::<T, I>(y, grad, block, I::ids(ptr), log, &mut out);
            T::element_vec(out)
        }))
    }
}
