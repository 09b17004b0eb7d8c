//! Softmax within segments, one thread for each segment.

use crate::element::{Float, Ids};
use crate::par::for_pieces;
use crate::{Element, Index};
use core::ops::Range;

/// `exp(x - m) / sum exp(x - m)` over the rows of each segment, with `m` the largest `x`; or the logarithm of that. A
/// row has `block` elements, and each column is on its own. Segment `s` is the rows `ptr[s]..ptr[s + 1]`; together the
/// segments cover all rows. NaN makes its column of the segment NaN.
///
/// # Panics
///
/// If the segments do not cover all rows.
pub fn segment_softmax<T: Float, I: Index>(values: &[T], block: usize, ptr: &[I], log: bool, out: &mut [T]) {
    each_segment([values; 2], block, I::list(ptr), out, &|[x, _], out| softmax(x, block, log, out));
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
    each_segment([y, grad], block, I::list(ptr), out, &|[y, grad], out| backward(y, grad, block, log, out));
}

/// Computes the rows of a segment from those of two lists.
type OfSegment<'a, T> = dyn Fn([&[T]; 2], &mut [T]) + Sync + 'a;

/// Calls `f` with the rows of each segment that is not empty.
fn each_segment<T: Element>(lists: [&[T]; 2], block: usize, ptr: Ids<'_>, out: &mut [T], f: &OfSegment<'_, T>) {
    if out.is_empty() {
        return;
    }
    for list in lists {
        assert_eq!(list.len(), out.len(), "segment_softmax: the lists must have the same length");
    }
    ptr.check_covers(out.len() / block);
    let places = |rows: Range<usize>| rows.start * block..rows.end * block;
    for_pieces(&ptr.cuts(block), out, &|rows| ptr.spans(rows).len() * block, &|rows, mut piece| {
        for row in rows {
            let span = places(ptr.span(row));
            let (own, rest) = piece.split_at_mut(span.len());
            piece = rest;
            if !span.is_empty() {
                f(lists.map(|list| &list[span.clone()]), own);
            }
        }
    });
}

fn softmax<T: Float>(x: &[T], block: usize, log: bool, out: &mut [T]) {
    let mut largest: Vec<T::Acc> = x[..block].iter().map(|x| x.widen()).collect();
    for row in x.chunks_exact(block) {
        for (largest, &x) in largest.iter_mut().zip(row) {
            // NaN has no order.
            if x.widen() > *largest || x.is_nan() {
                *largest = x.widen();
            }
        }
    }
    let mut total = vec![0.0; block];
    for (out, row) in out.chunks_exact_mut(block).zip(x.chunks_exact(block)) {
        for (((out, total), &largest), &x) in out.iter_mut().zip(&mut total).zip(&largest).zip(row) {
            let shifted = T::sub(x.widen(), largest);
            let exp = T::exp(shifted);
            *out = T::narrow(if log { shifted } else { exp });
            *total += T::wide(exp);
        }
    }
    // What the columns are divided by, or its logarithm.
    let scale: Vec<T::Acc> = total.into_iter().map(|total| T::nearest(if log { total.ln() } else { total })).collect();
    for (out, row) in out.chunks_exact_mut(block).zip(x.chunks_exact(block)) {
        for (((out, &scale), &largest), &x) in out.iter_mut().zip(&scale).zip(&largest).zip(row) {
            let kept = if T::EXACT {
                out.widen()
            } else {
                // What was kept is rounded.
                let shifted = T::sub(x.widen(), largest);
                if log { shifted } else { T::exp(shifted) }
            };
            *out = T::narrow(if log { T::sub(kept, scale) } else { T::div(kept, scale) });
        }
    }
}

fn backward<T: Float>(y: &[T], grad: &[T], block: usize, log: bool, out: &mut [T]) {
    let mut total = vec![0.0; block];
    for (y, grad) in y.chunks_exact(block).zip(grad.chunks_exact(block)) {
        for ((total, &y), &grad) in total.iter_mut().zip(y).zip(grad) {
            let grad = T::wide(grad.widen());
            *total += if log { grad } else { grad * T::wide(y.widen()) };
        }
    }
    let total: Vec<T::Acc> = total.into_iter().map(T::nearest).collect();
    let rows = y.chunks_exact(block).zip(grad.chunks_exact(block));
    for (out, (y, grad)) in out.chunks_exact_mut(block).zip(rows) {
        for (((out, &total), &y), &grad) in out.iter_mut().zip(&total).zip(y).zip(grad) {
            let (y, grad) = (y.widen(), grad.widen());
            *out = T::narrow(if log { T::sub(grad, T::mul(T::exp(y), total)) } else { T::mul(y, T::sub(grad, total)) });
        }
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
