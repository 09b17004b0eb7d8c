//! The gradient of an extremum of products, computed by row: its shares, and the gradient of the values.

use super::forward::is_result;
use super::winners::all_known;
use crate::element::Ids;
use crate::linalg::sddmm::{FEW, WHOLE, dot, dot_few};
use crate::linalg::spmm::head_width;
use crate::par::{self, split_mut};
use crate::source::Source;
use crate::sums::{Total, parts};
use crate::{Element, Index};
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// The first half of the gradient of [`spmm_extremum`] for floats, computed row by row, and the gradient of its values.
///
/// The values `[nnz, heads]` of the compressed rows `(ptr, idx)` are in order. `out` is the result and `grad` its
/// gradient, both row-major `[rows, features]`. `shares[r, f]` becomes `grad[r, f]` divided by the number of products
/// of row `r` that are equal to `out[r, f]` (by 1 if there are none). `value_grads[k, h]` becomes the sum of `shares[r,
/// f] * dense[idx[k], f]` over the `f` of head `h` where the product of element `k` is equal to `out[r, f]`. Sums are
/// accumulated in [`Element::Acc`] in 32 interleaved lanes. O(nnz * features) time, parallel over rows weighted by
/// their elements; each thread needs memory for one row.
///
/// `winners` is the record of [`spmm_extremum_recorded`](crate::spmm_extremum_recorded), if there is one. It saves the
/// comparison with the result; the bits are the same.
///
/// # Panics
///
/// When lengths disagree, `heads` does not divide `features`, `ptr` descends or an index is out of range.
#[allow(clippy::too_many_arguments)]
pub fn extremum_rows_backward<T: Element, I: Index>(
    (ptr, idx): (&[I], &[I]),
    values: &[T],
    dense: &[T],
    out: &[T],
    grad: &[T],
    heads: usize,
    features: usize,
    winners: Option<&[u8]>,
    shares: &mut [T],
    value_grads: Option<&mut [T]>,
) {
    let pattern = (I::list(ptr), I::list(idx));
    rows_backward(pattern, [values, dense, out, grad], heads, features, winners, shares, value_grads);
}

fn rows_backward<T: Element>(
    (ptr, idx): (Ids<'_>, Ids<'_>),
    [values, dense, out, grad]: [&[T]; 4],
    heads: usize,
    features: usize,
    winners: Option<&[u8]>,
    shares: &mut [T],
    value_grads: Option<&mut [T]>,
) {
    const OP: &str = "extremum_rows_backward";
    let whole = [out.len(), grad.len(), shares.len()] == [ptr.rows() * features; 3];
    assert!(whole, "{OP}: out, grad and shares must be [rows, features]");
    let counts = [values.len(), value_grads.as_ref().map_or(values.len(), |grads| grads.len())];
    assert_eq!(counts, [idx.len() * heads; 2], "{OP}: values and their gradients must have one entry for each head");
    if features == 0 {
        value_grads.into_iter().for_each(|grads| grads.fill(T::ZERO));
        return;
    }
    head_width(heads, features);
    assert!(winners.is_none_or(|winners| winners.len() == out.len()), "{OP}: winners must be [rows, features]");
    let winners = winners.map(|winners| Source::new(winners, features, OP));
    let dense = Source::new(dense, features, "extremum_rows_backward: dense");
    let [out, grad] = [Source::new(out, features, OP), Source::new(grad, features, OP)];
    let ranges = ptr.cuts(2 * features);
    let shares = split_mut(shares, &par::lens(&ranges, |rows| rows.len() * features));
    let value_grads =
        value_grads.map(|grads| split_mut(grads, &par::lens(&ranges, |rows| ptr.spans(rows).len() * heads)));
    let mut value_grads = value_grads.unwrap_or_default().into_iter();
    let jobs = shares.into_iter().map(|shares| (shares, value_grads.next())).collect();
    par::each(jobs, &|piece, (shares, value_grads)| {
        let rows = ranges[piece].clone();
        T::dispatch(Rows { ptr, idx, values, dense, out, grad, winners, heads, rows, shares, value_grads });
    });
}

/// A range of rows, with its part of the outputs.
struct Rows<'a, T> {
    ptr: Ids<'a>,
    idx: Ids<'a>,
    values: &'a [T],
    dense: Source<'a, T>,
    out: Source<'a, T>,
    grad: Source<'a, T>,
    winners: Option<Source<'a, u8>>,
    heads: usize,
    rows: Range<usize>,
    shares: &'a mut [T],
    value_grads: Option<&'a mut [T]>,
}

impl<T: Element> WithSimd for Rows<'_, T> {
    type Output = ();

    // Plain loops: the compiler vectorises them for the instruction set of the dispatch.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Self { ptr, idx, values, dense, heads, .. } = self;
        let (width, first) = (self.out.width(), self.rows.start);
        let part = width / heads;
        let start = ptr.at(first);
        let mut ties = vec![0u32; width];
        let (mut terms, ones) = (vec![T::ACC_ZERO; part], vec![T::ACC_ONE; part]);
        for (row, shares) in self.rows.zip(self.shares.chunks_exact_mut(width)) {
            let elements = ptr.span(row);
            let (out, grad) = (self.out.row(row), self.grad.row(row));
            let known = self.winners.map(|winners| winners.row(row)).filter(|winners| all_known(winners));
            if known.is_some() {
                shares.copy_from_slice(grad);
            } else {
                ties.fill(0);
                for k in elements.clone() {
                    dense.prefetch(idx.peek(k + dense.distance()));
                    let x = dense.row(idx.at(k));
                    for (head, value) in values[k * heads..][..heads].iter().enumerate() {
                        let (own, value) = (head * part..(head + 1) * part, value.widen());
                        for ((ties, x), out) in ties[own.clone()].iter_mut().zip(&x[own.clone()]).zip(&out[own]) {
                            *ties += u32::from(is_result(T::mul(value, x.widen()), *out));
                        }
                    }
                }
                for ((share, grad), &ties) in shares.iter_mut().zip(grad).zip(&ties) {
                    *share = T::narrow(T::div(grad.widen(), T::from_count(ties.max(1) as usize)));
                }
            }
            let Some(grads) = &mut self.value_grads else { continue };
            for (number, k) in elements.enumerate() {
                if known.is_some() {
                    dense.prefetch(idx.peek(k + dense.distance()));
                }
                let x = dense.row(idx.at(k));
                for head in 0..heads {
                    let (own, value) = (head * part..(head + 1) * part, values[k * heads + head].widen());
                    let factors = x[own.clone()].iter().zip(&shares[own.clone()]);
                    if let Some(winners) = known {
                        for ((term, (x, share)), winner) in terms.iter_mut().zip(factors).zip(&winners[own]) {
                            let product = T::mul(x.widen(), share.widen());
                            *term = if *winner == number as u8 { product } else { T::ACC_ZERO };
                        }
                    } else {
                        for ((term, (x, share)), out) in terms.iter_mut().zip(factors).zip(&out[own]) {
                            let (x, share) = (x.widen(), share.widen());
                            *term = if is_result(T::mul(value, x), *out) { T::mul(x, share) } else { T::ACC_ZERO };
                        }
                    }
                    grads[(k - start) * heads + head] = T::narrow(sum::<T::Acc, S>(simd, &terms, &ones));
                }
            }
        }
    }
}

/// The sum of the terms of a head, times one: as [`sddmm`](crate::sddmm()) adds them.
#[inline(always)]
fn sum<A: Element<Acc = A>, S: Simd>(simd: S, terms: &[A], ones: &[A]) -> A {
    if terms.len() <= FEW {
        return dot_few::<A>(terms, ones);
    }
    Total::<A>::of(parts(terms.len(), WHOLE), |own| dot::<A, S>(simd, &terms[own.clone()], &ones[own]))
}
