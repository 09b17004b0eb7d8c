//! Sparse matrix times vector.

use super::compressed::Compressed;
use crate::par::{by_elements, for_pieces};
use crate::reduce::prefetch;
use crate::simd::dispatch;
use crate::{Element, Index};
use pulp::{Simd, WithSimd};

/// How far ahead permuted values are asked for: each is a cache line of its own.
const AHEAD: usize = 32;

/// `out[r] = sum over k of value[k] * x[idx[k]]`; bound by memory, not by arithmetic.
pub(super) fn spmv<T: Element, I: Index>(a: Compressed<'_, I>, values: &[T], x: &[T], out: &mut [T]) {
    let ranges = by_elements(a.ptr, 1);
    for_pieces(&ranges, out, &|r| r.len(), &|rows, out| {
        dispatch::<T, I, _>(Rows { a, first: rows.start, values, x, out });
    });
}

/// The rows from `first` on.
struct Rows<'a, T, I> {
    a: Compressed<'a, I>,
    first: usize,
    values: &'a [T],
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Element, I: Index> WithSimd for Rows<'_, T, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { a: Compressed { ptr, idx, perm }, first, values, x, out } = self;
        for (pair, out) in ptr[first..].windows(2).zip(out) {
            let (low, high) = (pair[0].to_usize(), pair[1].to_usize());
            let cols = idx[low..high].iter().map(|c| x[c.to_usize()]);
            // One accumulator suffices: its additions are hidden behind the loads of the rows that follow, while more
            // of them need a second loop, with an exit that no branch predictor guesses, in every short row.
            *out = T::narrow(if let Some(perm) = perm {
                for next in perm.iter().take(high.saturating_add(AHEAD)).skip(low.saturating_add(AHEAD)) {
                    prefetch(values, next.to_usize());
                }
                dot(perm[low..high].iter().map(|k| values[k.to_usize()]), cols)
            } else {
                dot(values[low..high].iter().copied(), cols)
            });
        }
    }
}

/// Sum of products, in order.
#[inline(always)]
fn dot<T: Element>(a: impl Iterator<Item = T>, b: impl Iterator<Item = T>) -> T::Acc {
    a.zip(b).fold(T::ACC_ZERO, |sum, (a, b)| T::add(sum, T::mul(a.widen(), b.widen())))
}
