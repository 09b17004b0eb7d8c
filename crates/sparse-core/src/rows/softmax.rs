//! Softmax within segments, one thread for each segment.

use crate::Index;
use crate::element::{Float, Ids};
use crate::par::for_pieces;

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
type OfSegments<'a, T> = dyn Fn([&[T]; 2], &[usize], &mut [T], &mut Rows<T>) + Sync + 'a;

/// Memory for the columns of a segment, and for the elements of a group.
struct Rows<T: Float> {
    largest: Vec<T::Acc>,
    total: Vec<f64>,
    exps: Vec<T::Acc>,
    shifted: Vec<T::Acc>,
}

impl<T: Float> Rows<T> {
    fn start(&mut self, block: usize) {
        self.total.clear();
        self.total.resize(block, 0.0);
    }
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
        let mut memory = Rows { largest: Vec::new(), total: Vec::new(), exps: Vec::new(), shifted: Vec::new() };
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

/// Splits off the first `len` elements.
fn split<'a, T>(list: &mut &'a [T], len: usize) -> &'a [T] {
    let (head, tail) = list.split_at(len);
    *list = tail;
    head
}

fn softmax<T: Float>(mut x: &[T], lengths: &[usize], block: usize, log: bool, out: &mut [T], memory: &mut Rows<T>) {
    memory.exps.clear();
    for &len in lengths {
        let x = split(&mut x, len);
        memory.largest.clear();
        memory.largest.extend(x.iter().take(block).map(|x| x.widen()));
        for row in x.chunks_exact(block) {
            for (largest, &x) in memory.largest.iter_mut().zip(row) {
                // NaN has no order.
                *largest = if x.widen() > *largest || x.is_nan() { x.widen() } else { *largest };
            }
        }
        for row in x.chunks_exact(block) {
            memory.exps.extend(row.iter().zip(&memory.largest).map(|(x, &largest)| T::sub(x.widen(), largest)));
        }
    }
    // The logarithm needs what the exponential replaces.
    memory.shifted.clear();
    if log {
        memory.shifted.extend_from_slice(&memory.exps);
    }
    T::exp_all(&mut memory.exps);
    let mut at = 0;
    for &len in lengths {
        let own = at..at + len;
        at += len;
        memory.start(block);
        for row in memory.exps[own.clone()].chunks_exact(block) {
            for (total, &exp) in memory.total.iter_mut().zip(row) {
                *total += T::wide(exp);
            }
        }
        // What the columns are divided by, or its logarithm.
        memory.largest.clear();
        memory.largest.extend(memory.total.iter().map(|total| T::nearest(if log { total.ln() } else { *total })));
        let kept = if log { &memory.shifted } else { &memory.exps };
        for (out, row) in out[own.clone()].chunks_exact_mut(block).zip(kept[own].chunks_exact(block)) {
            for ((out, &scale), &kept) in out.iter_mut().zip(&memory.largest).zip(row) {
                *out = T::narrow(if log { T::sub(kept, scale) } else { T::div(kept, scale) });
            }
        }
    }
}

fn backward<T: Float>(
    [mut y, mut grad]: [&[T]; 2],
    lengths: &[usize],
    block: usize,
    log: bool,
    mut out: &mut [T],
    memory: &mut Rows<T>,
) {
    if log {
        memory.exps.clear();
        memory.exps.extend(y.iter().map(|y| y.widen()));
        T::exp_all(&mut memory.exps);
    }
    let mut at = 0;
    for &len in lengths {
        let range = at..at + len;
        at += len;
        let (y, grad) = (split(&mut y, len), split(&mut grad, len));
        let (own, rest) = out.split_at_mut(len);
        out = rest;
        memory.start(block);
        for (y, grad) in y.chunks_exact(block).zip(grad.chunks_exact(block)) {
            for ((total, &y), &grad) in memory.total.iter_mut().zip(y).zip(grad) {
                let grad = T::wide(grad.widen());
                *total += if log { grad } else { grad * T::wide(y.widen()) };
            }
        }
        memory.largest.clear();
        memory.largest.extend(memory.total.iter().map(|&total| T::nearest(total)));
        if log {
            let exps = memory.exps[range].chunks_exact(block);
            for (out, (exp, grad)) in own.chunks_exact_mut(block).zip(exps.zip(grad.chunks_exact(block))) {
                for (((out, &total), &exp), grad) in out.iter_mut().zip(&memory.largest).zip(exp).zip(grad) {
                    *out = T::narrow(T::sub(grad.widen(), T::mul(exp, total)));
                }
            }
        } else {
            let rows = y.chunks_exact(block).zip(grad.chunks_exact(block));
            for (out, (y, grad)) in own.chunks_exact_mut(block).zip(rows) {
                for (((out, &total), y), grad) in out.iter_mut().zip(&memory.largest).zip(y).zip(grad) {
                    *out = T::narrow(T::mul(y.widen(), T::sub(grad.widen(), total)));
                }
            }
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
