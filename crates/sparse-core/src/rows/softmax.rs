//! Softmax within segments, one thread for each segment.

use crate::element::Ids;
use crate::par::for_pieces;
use crate::{Element, Index};
use core::ops::{Add, Div, Mul, Range, Sub};

/// The types whose softmax is computed as they are. 16-bit floats are computed in f32.
pub trait Real: Element + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    /// The exponential.
    fn exp(self) -> Self;
    /// The number as f64. Sums are f64.
    fn wide(self) -> f64;
    /// The nearest number of this type.
    fn nearest(sum: f64) -> Self;
}

macro_rules! real {
    ($($T:ident)*) => {
        $(impl Real for $T {
            fn exp(self) -> Self {
                $T::exp(self)
            }
            fn wide(self) -> f64 {
                self.into()
            }
            fn nearest(sum: f64) -> Self {
                sum as $T
            }
        })*
    };
}
real!(f32 f64);

/// `exp(x - m) / sum exp(x - m)` over the rows of each segment, with `m` the largest `x`; or the logarithm of that. A
/// row has `block` elements, and each column is on its own. Segment `s` is the rows `ptr[s]..ptr[s + 1]`; together the
/// segments cover all rows. NaN makes its column of the segment NaN.
///
/// # Panics
///
/// If the segments do not cover all rows.
pub fn segment_softmax<T: Real, I: Index>(values: &[T], block: usize, ptr: &[I], log: bool, out: &mut [T]) {
    each_segment([values; 2], block, I::list(ptr), out, &|[x, _], out| softmax(x, block, log, out));
}

/// The gradient of the values of [`segment_softmax`], from its result `y` and the gradient of that.
///
/// # Panics
///
/// If the segments do not cover all rows.
pub fn segment_softmax_backward<T: Real, I: Index>(
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
fn each_segment<T: Real>(lists: [&[T]; 2], block: usize, ptr: Ids<'_>, out: &mut [T], f: &OfSegment<'_, T>) {
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

fn softmax<T: Real>(x: &[T], block: usize, log: bool, out: &mut [T]) {
    let mut largest = x[..block].to_vec();
    for row in x.chunks_exact(block) {
        for (largest, &x) in largest.iter_mut().zip(row) {
            // NaN has no order.
            if x > *largest || x.partial_cmp(&x).is_none() {
                *largest = x;
            }
        }
    }
    let mut total = vec![0.0; block];
    for (out, row) in out.chunks_exact_mut(block).zip(x.chunks_exact(block)) {
        for (((out, total), &largest), &x) in out.iter_mut().zip(&mut total).zip(&largest).zip(row) {
            let exp = (x - largest).exp();
            *out = if log { x - largest } else { exp };
            *total += exp.wide();
        }
    }
    // What the columns are divided by, or its logarithm.
    let scale: Vec<T> = total.into_iter().map(|total| T::nearest(if log { total.ln() } else { total })).collect();
    for out in out.chunks_exact_mut(block) {
        for (out, &scale) in out.iter_mut().zip(&scale) {
            *out = if log { *out - scale } else { *out / scale };
        }
    }
}

fn backward<T: Real>(y: &[T], grad: &[T], block: usize, log: bool, out: &mut [T]) {
    let mut total = vec![0.0; block];
    for (y, grad) in y.chunks_exact(block).zip(grad.chunks_exact(block)) {
        for ((total, &y), &grad) in total.iter_mut().zip(y).zip(grad) {
            *total += if log { grad.wide() } else { grad.wide() * y.wide() };
        }
    }
    let total: Vec<T> = total.into_iter().map(T::nearest).collect();
    let rows = y.chunks_exact(block).zip(grad.chunks_exact(block));
    for (out, (y, grad)) in out.chunks_exact_mut(block).zip(rows) {
        for (((out, &total), &y), &grad) in out.iter_mut().zip(&total).zip(y).zip(grad) {
            *out = if log { grad - y.exp() * total } else { y * (grad - total) };
        }
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use crate::alloc::zeroed;
    use crate::dynamic::slices::{AnyElement, AnyIndex, ElementVec, Elements, Ids, with_ids};

    /// For each type that has a softmax of its own.
    macro_rules! with_reals {
        ($elements:expr, $T:ident => $body:expr) => {
            match $elements {
                Elements::F32(_) => {
                    type $T = f32;
                    $body
                }
                Elements::F64(_) => {
                    type $T = f64;
                    $body
                }
                _ => panic!("segment_softmax: the values must be f32 or f64"),
            }
        };
    }

    /// See [`segment_softmax`](crate::segment_softmax()).
    pub fn segment_softmax(values: Elements<'_>, block: usize, ptr: Ids<'_>, log: bool) -> ElementVec {
        with_ids!(ptr, I => with_reals!(values, T => {
            let mut out = zeroed::<T>(values.len());
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
        with_ids!(ptr, I => with_reals!(y, T => {
            let mut out = zeroed::<T>(y.len());
            let (y, grad) = (T::elements(y), T::elements(grad));
            super::segment_softmax_backward::<T, I>(y, grad, block, I::ids(ptr), log, &mut out);
            T::element_vec(out)
        }))
    }
}
