//! Sparse matrix times vector.

use super::compressed::View;
use crate::ids::IdList;
use crate::par::for_pieces;
use crate::reduce::Weights;
use crate::{Element, Index};
use core::ops::Range;

/// How far ahead permuted values are asked for: each is a cache line of its own.
const AHEAD: usize = 32;

/// `out[r] = sum over k of value[k] * x[idx[k]]`; bound by memory, not by arithmetic.
pub(super) fn spmv<T: Element>(a: View<'_>, values: &[T], x: &[T], out: &mut [T]) {
    let weights = Weights { values: Some(values), perm: a.perm };
    for_pieces(&a.ptr.cuts(1), out, &|r| r.len(), &|rows, out| {
        let rows = rows.zip(out).map(|(row, out)| (a.ptr.span(row), out));
        // One accumulator suffices: its additions are hidden behind the loads of the rows that follow, while more of
        // them need a second loop, with an exit that no branch predictor guesses, in every short row.
        match (a.idx, a.perm) {
            (IdList::I32(idx), None) => {
                rows.for_each(|(row, out)| *out = T::narrow(dot(&values[row.clone()], &idx[row], x)));
            }
            _ => rows.for_each(|(row, out)| *out = T::narrow(gather_dot(a.idx, &weights, row, x))),
        }
    });
}

/// The sum of products, in order.
#[inline(always)]
fn dot<T: Element>(values: &[T], idx: &[i32], x: &[T]) -> T::Acc {
    let mut sum = T::ACC_ZERO;
    for (value, &i) in values.iter().zip(idx) {
        sum = T::add(sum, T::mul(value.widen(), x[i.to_usize()].widen()));
    }
    sum
}

/// The same for any indices and weights.
#[inline(always)]
fn gather_dot<T: Element>(idx: IdList<'_>, weights: &Weights<'_, T>, elements: Range<usize>, x: &[T]) -> T::Acc {
    let mut sum = T::ACC_ZERO;
    for k in elements {
        weights.prefetch(k + AHEAD);
        sum = T::add(sum, T::mul(weights.at(k), x[idx.at(k)].widen()));
    }
    sum
}
