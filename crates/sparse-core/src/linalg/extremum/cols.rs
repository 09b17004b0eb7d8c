//! The gradient of an extremum of products, computed by column: that of the dense operand.

use super::forward::is_result;
use super::winners::all_known;
use crate::element::Ids;
use crate::linalg::compressed::{Compressed, View};
use crate::linalg::spmm::head_width;
use crate::par::{self, for_pieces};
use crate::source::{Source, prefetch};
use crate::sums::{Cascade, add_blocks, blocks};
use crate::{Element, Index};
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// The second half of the gradient of [`spmm_extremum`] for floats: the gradient of its dense operand.
///
/// `a` is the transpose: its row `c` holds the elements of column `c`, and `idx[k]` is the row of element `k`. `values`
/// are `[nnz, heads]`. `dense_grad[c, f]` becomes the sum of `shares[idx[k], f] * value[k]` over the elements `k` where
/// `value[k] * dense[c, f]` is equal to `out[idx[k], f]`. `shares` comes from [`extremum_rows_backward`]. Sums are
/// accumulated in [`Element::Acc`] in the order of the column, in blocks of 64. O(nnz * features) time, parallel over
/// columns weighted by their elements; each thread needs memory for one row.
///
/// `record` are the row pointers of the matrix and its winners, if [`spmm_extremum_recorded`] made them. Then `perm[k]`
/// must be the number of element `k` in the order of the rows. The record saves the comparison with the result, and
/// most reads of it; the bits are the same. It needs a byte for each row.
///
/// [`spmm_extremum_recorded`]: crate::spmm_extremum_recorded
///
/// # Panics
///
/// When lengths disagree, `heads` does not divide `features`, `ptr` descends or an index is out of range.
#[allow(clippy::too_many_arguments)]
pub fn extremum_cols_backward<T: Element, I: Index>(
    a: Compressed<'_, I>,
    values: &[T],
    dense: &[T],
    out: &[T],
    shares: &[T],
    heads: usize,
    features: usize,
    record: Option<(&[I], &[u8])>,
    dense_grad: &mut [T],
) {
    let record = record.map(|(ptr, winners)| (I::list(ptr), winners));
    cols_backward(a.view(), [values, dense, out, shares], heads, features, record, dense_grad);
}

fn cols_backward<T: Element>(
    a: View<'_>,
    [values, dense, out, shares]: [&[T]; 4],
    heads: usize,
    features: usize,
    record: Option<(Ids<'_>, &[u8])>,
    dense_grad: &mut [T],
) {
    const OP: &str = "extremum_cols_backward";
    let whole = dense.len() == a.ptr.rows() * features && dense_grad.len() == dense.len();
    assert!(whole, "{OP}: dense and its gradient must be [cols, features]");
    assert_eq!(out.len(), shares.len(), "{OP}: out and shares must be [rows, features]");
    if features == 0 {
        return;
    }
    head_width(heads, features);
    let source = |data| Source::new(data, features, OP);
    let [dense, out, shares] = [source(dense), source(out), source(shares)];
    let known = record.map(|(ptr, winners)| {
        let whole = ptr.rows() == out.rows() && winners.len() == out.rows() * features;
        assert!(whole, "{OP}: winners must be [rows, features]");
        let winners = Source::new(winners, features, OP);
        (winners, par::fill_with(out.rows(), |row| u8::from(all_known(winners.row(row)))), ptr)
    });
    let known = known.as_ref().map(|(winners, rows, ptr)| Known { winners: *winners, rows, ptr: *ptr });
    for_pieces(&a.ptr.cuts(2 * features), dense_grad, &|cols| cols.len() * features, &|cols, grads| {
        T::dispatch(Cols { a, values, dense, out, shares, known, heads, cols, grads });
    });
}

/// The winners of a matrix.
#[derive(Clone, Copy)]
struct Known<'a> {
    winners: Source<'a, u8>,
    /// Whether all winners of a row are known.
    rows: &'a [u8],
    /// Row pointers.
    ptr: Ids<'a>,
}

impl<'a> Known<'a> {
    /// The winners of a row, if all of them are known.
    #[inline(always)]
    fn row(&self, row: usize) -> Option<&'a [u8]> {
        self.has(row).then(|| self.winners.row(row))
    }

    #[inline(always)]
    fn has(&self, row: usize) -> bool {
        self.rows.get(row).is_some_and(|known| *known != 0)
    }
}

/// A range of columns, with its part of the gradient.
struct Cols<'a, T> {
    a: View<'a>,
    values: &'a [T],
    dense: Source<'a, T>,
    out: Source<'a, T>,
    shares: Source<'a, T>,
    known: Option<Known<'a>>,
    heads: usize,
    cols: Range<usize>,
    grads: &'a mut [T],
}

impl<T: Element> WithSimd for Cols<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { a: View { ptr, idx, perm }, values, dense, out, shares, known, heads, cols, grads } = self;
        let width = dense.width();
        let part = width / heads;
        let (mut sums, mut more) = (vec![T::ACC_ZERO; width], Cascade::new());
        for (col, grads) in cols.zip(grads.chunks_exact_mut(width)) {
            let x = dense.row(col);
            sums.fill(T::ACC_ZERO);
            add_blocks::<T>(blocks(ptr.span(col), T::IS_FLOAT), &mut sums, &mut more, |elements, sums| {
                for k in elements {
                    let next = idx.peek(k + shares.distance());
                    shares.prefetch_second_level(next);
                    match known.filter(|known| known.has(next)) {
                        Some(known) => known.winners.prefetch_second_level(next),
                        None => out.prefetch_second_level(next),
                    }
                    if let Some(perm) = perm {
                        prefetch(values, perm.peek(k + shares.distance()).saturating_mul(heads));
                    }
                    let (row, place) = (idx.at(k), perm.map_or(k, |perm| perm.at(k)));
                    let (out, shares) = (out.row(row), shares.row(row));
                    let own_known = known.and_then(|known| Some((known.row(row)?, known.ptr.at(row))));
                    let values = &values[place.saturating_mul(heads)..][..heads];
                    for (head, value) in values.iter().enumerate() {
                        let (own, value) = (head * part..(head + 1) * part, value.widen());
                        let (sums, x) = (&mut sums[own.clone()], &x[own.clone()]);
                        let terms = sums.iter_mut().zip(&shares[own.clone()]);
                        if let Some((winners, first)) = own_known {
                            let number = place.wrapping_sub(first) as u8;
                            for ((sum, share), winner) in terms.zip(&winners[own]) {
                                let term = if *winner == number { T::mul(value, share.widen()) } else { T::ACC_ZERO };
                                *sum = T::add(*sum, term);
                            }
                        } else {
                            for (((sum, share), x), out) in terms.zip(x).zip(&out[own]) {
                                let matched = is_result(T::mul(value, x.widen()), *out);
                                let term = if matched { T::mul(value, share.widen()) } else { T::ACC_ZERO };
                                *sum = T::add(*sum, term);
                            }
                        }
                    }
                }
            });
            for (grad, sum) in grads.iter_mut().zip(&sums) {
                *grad = T::narrow(*sum);
            }
        }
    }
}
