//! Which product of a row is its largest or smallest: a record that saves the backward pass the comparisons.

use super::forward::{Extremum, reducer};
use crate::element::Ids;
use crate::epilogue::Epilogue;
use crate::linalg::compressed::{Compressed, View};
use crate::linalg::spmm::{reduce_products, reduce_products_here};
use crate::par::{self, split_mut};
use crate::source::Source;
use crate::{Element, Index};
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// Not recorded.
const UNKNOWN: u8 = u8::MAX;

/// Elements of a row whose winners are recorded: their numbers must differ from [`UNKNOWN`].
const LONGEST: usize = UNKNOWN as usize;

/// Bytes of dense rows that are in the cache when their products are compared with the result.
const CACHED: usize = 24 << 10;

/// [`spmm_extremum`](crate::spmm_extremum()) of floats that also records which product won: `winners[r, f]` becomes the
/// number of the element within row `r`, or 255 where none is recorded. This is where products tie, and in rows with
/// NaN or more than 255 elements.
///
/// O(nnz * features) time, 1.5 to 1.6 times as long as without the record. Each thread needs memory for one row.
///
/// # Panics
///
/// As [`spmm_extremum`](crate::spmm_extremum()), or when `winners` is not `[rows, features]`.
#[allow(clippy::too_many_arguments)]
pub fn spmm_extremum_recorded<T: Element, I: Index>(
    extremum: Extremum,
    a: Compressed<'_, I>,
    values: &[T],
    dense: &[T],
    heads: usize,
    features: usize,
    out: &mut [T],
    winners: &mut [u8],
) {
    recorded(extremum, a.view(), [values, dense], heads, features, out, winners);
}

fn recorded<T: Element>(
    extremum: Extremum,
    a: View<'_>,
    [values, dense]: [&[T]; 2],
    heads: usize,
    features: usize,
    out: &mut [T],
    winners: &mut [u8],
) {
    let whole = [out.len(), winners.len()] == [a.ptr.rows() * features; 2];
    assert!(whole, "spmm_extremum: out and winners must be [rows, features]");
    if features == 0 {
        return;
    }
    let dense = Source::new(dense, features, "spmm_extremum: dense");
    let ranges = a.ptr.cuts(2 * features);
    let lens = par::lens(&ranges, |rows| rows.len() * features);
    let jobs = split_mut(out, &lens).into_iter().zip(split_mut(winners, &lens)).collect();
    par::each(jobs, &|piece, (mut out, mut winners): (&mut [T], &mut [u8])| {
        let Range { mut start, end } = ranges[piece].clone();
        let mut codes = vec![0; features];
        while start < end {
            let rows = start..block(a.ptr, start..end, (CACHED / features / size_of::<T>()).max(1));
            start = rows.end;
            let (own, rest) = out.split_at_mut(rows.len() * features);
            let (own_winners, rest_winners) = winners.split_at_mut(own.len());
            (out, winners) = (rest, rest_winners);
            let part = View { ptr: a.ptr.slice(rows.start..rows.end + 1), ..a };
            let products = reducer::<T>(extremum);
            if rows.len() == 1 && part.ptr.span(0).len() > LONGEST {
                // A long row is for all threads.
                reduce_products(products, part, values, dense, heads, Epilogue::default(), own);
                own_winners.fill(UNKNOWN);
            } else {
                reduce_products_here(products, part, values, dense, heads, own);
                T::dispatch(Note { a: part, values, dense, heads, out: own, codes: &mut codes, winners: own_winners });
            }
        }
    });
}

/// The end of the rows from the first of these on that are computed together: one, or some of at most `most` elements.
fn block(ptr: Ids<'_>, rows: Range<usize>, most: usize) -> usize {
    let (first, most) = (ptr.at(rows.start), most.min(LONGEST));
    let fits = |row: &usize| ptr.at(row + 1).wrapping_sub(first) <= most;
    rows.clone().skip(1).take(most).take_while(fits).last().unwrap_or(rows.start) + 1
}

/// Whether every winner of a row is recorded.
#[inline(always)]
pub(super) fn all_known(winners: &[u8]) -> bool {
    // Without an early end, so that it is vectorised.
    winners.iter().fold(0, |most, winner| most.max(*winner)) != UNKNOWN
}

/// Records the winners of some rows.
struct Note<'a, T> {
    a: View<'a>,
    values: &'a [T],
    dense: Source<'a, T>,
    heads: usize,
    out: &'a [T],
    codes: &'a mut [u32],
    winners: &'a mut [u8],
}

impl<T: Element> WithSimd for Note<'_, T> {
    type Output = ();

    // Plain loops, as for the gradients.
    #[inline(always)]
    #[allow(clippy::eq_op)]
    fn with_simd<S: Simd>(self, _: S) {
        const ONE: u32 = 1 << 16;
        let Self { a: View { ptr, idx, perm }, values, dense, heads, out, codes, winners } = self;
        let width = dense.width();
        let part = width / heads;
        for (row, (out, winners)) in out.chunks_exact(width).zip(winners.chunks_exact_mut(width)).enumerate() {
            if out.iter().fold(false, |nan, x| nan | (x != x)) {
                winners.fill(UNKNOWN);
                continue;
            }
            // The number of products that are the result, and the sum of their numbers.
            codes.fill(0);
            for (number, k) in (0u32..).zip(ptr.span(row)) {
                let (x, place) = (dense.row(idx.at(k)), perm.map_or(k, |perm| perm.at(k)));
                for (head, value) in values[place.saturating_mul(heads)..][..heads].iter().enumerate() {
                    let (own, value) = (head * part..(head + 1) * part, value.widen());
                    for ((code, x), out) in codes[own.clone()].iter_mut().zip(&x[own.clone()]).zip(&out[own]) {
                        let won = T::round(T::mul(value, x.widen())) == out.widen();
                        *code += if won { ONE + number } else { 0 };
                    }
                }
            }
            for (winner, code) in winners.iter_mut().zip(&*codes) {
                *winner = if code / ONE == 1 { *code as u8 } else { UNKNOWN };
            }
        }
    }
}
