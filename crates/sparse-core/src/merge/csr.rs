//! Merging two CSR patterns of one shape.

use super::assert_fits;
use crate::{Index, alloc::zeroed, par};
use core::hint::select_unpredictable;
use core::ops::Range;

/// A CSR pattern made of two, with a map into each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedCsr<I> {
    /// Row pointers, `rows + 1`.
    pub row_ptr: Vec<I>,
    /// Columns, strictly ascending in each row.
    pub col_idx: Vec<I>,
    /// For each element its position in `a`, or `nnz_a` where `a` lacks it.
    pub map_a: Vec<I>,
    /// For each element its position in `b`, or `nnz_b` where `b` lacks it.
    pub map_b: Vec<I>,
}

/// Row ranges with about the same number of elements of both patterns (plus rows).
pub(super) fn row_pieces<I: Index>(a_ptr: &[I], b_ptr: &[I]) -> Vec<Range<usize>> {
    assert_eq!(a_ptr.len(), b_ptr.len(), "merge: both patterns must have the same number of rows");
    let rows = a_ptr.len() - 1;
    let cost = |r: usize| a_ptr[r].to_usize() + b_ptr[r].to_usize() + r;
    let parts = par::pieces(cost(rows)).min(rows.max(1));
    let mut cuts = Vec::with_capacity(parts);
    let mut start = 0;
    for target in par::ranges(cost(rows), parts) {
        let (mut low, mut high) = (start, rows);
        while low < high {
            let mid = low + (high - low) / 2;
            if cost(mid) < target.end { low = mid + 1 } else { high = mid }
        }
        cuts.push(start..low);
        start = low;
    }
    cuts
}

/// Length of the union of two ascending rows.
#[inline(always)]
pub(super) fn count_union<I: Index>(a: &[I], b: &[I]) -> usize {
    a.len() + b.len() - count_common(a, b)
}

/// Number of common columns of two ascending rows.
#[inline(always)]
fn count_common<I: Index>(a: &[I], b: &[I]) -> usize {
    let (mut i, mut j, mut n) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        n += (x == y) as usize;
        i += (x <= y) as usize;
        j += (y <= x) as usize;
    }
    n
}

/// Row pointers from the number of elements of each row; also the end of each piece.
pub(super) fn count_rows<I: Index>(
    pieces: &[Range<usize>],
    a: (&[I], &[I]),
    b: (&[I], &[I]),
    count: impl Fn(&[I], &[I]) -> usize + Sync,
) -> (Vec<I>, Vec<usize>) {
    let mut row_ptr: Vec<I> = zeroed(a.0.len());
    let inner = par::split_mut(&mut row_ptr[1..], &par::lens(pieces, |r| r.len()));
    let mut totals = vec![0usize; pieces.len()];
    par::each(inner.into_iter().zip(&mut totals).collect(), &|piece, (ends, total)| {
        for (r, end) in pieces[piece].clone().zip(ends) {
            *total += count(row(a, r), row(b, r));
            // A piece is checked against the index type as a whole below, before this value is used.
            *end = I::from_usize((*total).min(I::MAX));
        }
    });
    let mut starts = Vec::with_capacity(totals.len() + 1);
    let mut sum = 0usize;
    for &n in &totals {
        starts.push(sum);
        sum += n;
    }
    starts.push(sum);
    assert_fits::<I>(sum);
    let inner = par::split_mut(&mut row_ptr[1..], &par::lens(pieces, |r| r.len()));
    par::each(inner, &|piece, ends| {
        for end in ends {
            *end = I::from_usize(end.to_usize() + starts[piece]);
        }
    });
    (row_ptr, starts)
}

/// Columns of one row.
#[inline(always)]
pub(super) fn row<'a, I: Index, T>((ptr, col): (&[I], &'a [T]), r: usize) -> &'a [T] {
    &col[ptr[r].to_usize()..ptr[r + 1].to_usize()]
}

/// Cuts a slice where the pieces of a merge start.
pub(super) fn cut<'a, T>(slice: &'a mut [T], starts: &[usize]) -> Vec<&'a mut [T]> {
    let lengths: Vec<usize> = starts.windows(2).map(|w| w[1] - w[0]).collect();
    par::split_mut(slice, &lengths)
}

/// Both phases: count rows, then fill each row of the outputs with `fill(a, b, a0, b0, out)`.
fn merge<I: Index>(
    a: (&[I], &[I]),
    b: (&[I], &[I]),
    count: impl Fn(&[I], &[I]) -> usize + Sync,
    fill: impl Fn(RowPair<'_, I>, &mut [I], &mut [I], &mut [I]) + Sync,
) -> MergedCsr<I> {
    let pieces = row_pieces(a.0, b.0);
    let (row_ptr, starts) = count_rows(&pieces, a, b, count);
    let nnz = starts[pieces.len()];
    let (mut col_idx, mut map_a, mut map_b) = (zeroed(nnz), zeroed(nnz), zeroed(nnz));
    let cuts = cut(&mut col_idx, &starts).into_iter().zip(cut(&mut map_a, &starts)).zip(cut(&mut map_b, &starts));
    par::each(cuts.collect(), &|piece, ((col, map_a), map_b)| {
        let rows = &pieces[piece];
        let base = row_ptr[rows.start].to_usize();
        for r in rows.clone() {
            let out = row_ptr[r].to_usize() - base..row_ptr[r + 1].to_usize() - base;
            let pair = RowPair {
                a: row(a, r),
                b: row(b, r),
                a_start: a.0[r].to_usize(),
                b_start: b.0[r].to_usize(),
                nnz_a: I::from_usize(a.1.len()),
                nnz_b: I::from_usize(b.1.len()),
            };
            fill(pair, &mut col[out.clone()], &mut map_a[out.clone()], &mut map_b[out]);
        }
    });
    MergedCsr { row_ptr, col_idx, map_a, map_b }
}

/// One row of both operands and where it starts in each.
struct RowPair<'a, I> {
    a: &'a [I],
    b: &'a [I],
    a_start: usize,
    b_start: usize,
    nnz_a: I,
    nnz_b: I,
}

/// Union of two CSR patterns of one shape, with the maps into both.
///
/// `a_ptr` and `b_ptr` have `rows + 1` entries; columns ascend strictly in a row. Time and memory
/// O(rows + nnz_a + nnz_b).
///
/// # Panics
/// If the row counts differ or the union does not fit the index type.
pub fn union_csr<I: Index>(a_ptr: &[I], a_col: &[I], b_ptr: &[I], b_col: &[I]) -> MergedCsr<I> {
    assert_fits::<I>(a_col.len().max(b_col.len()));
    merge((a_ptr, a_col), (b_ptr, b_col), count_union, |row, col, map_a, map_b| {
        let RowPair { a, b, a_start, b_start, nnz_a, nnz_b } = row;
        let (mut i, mut j) = (0, 0);
        // `n` is the length of the row, so the three writes need no further check.
        let n = col.len();
        let (map_a, map_b) = (&mut map_a[..n], &mut map_b[..n]);
        let mut k = 0;
        while i < a.len() && j < b.len() && k < n {
            let (x, y) = (a[i], b[j]);
            let (take_a, take_b) = (x <= y, y <= x);
            col[k] = x.min(y);
            map_a[k] = select_unpredictable(take_a, I::from_usize(a_start + i), nnz_a);
            map_b[k] = select_unpredictable(take_b, I::from_usize(b_start + j), nnz_b);
            i += take_a as usize;
            j += take_b as usize;
            k += 1;
        }
        for (((&x, col), map_a), map_b) in a[i..].iter().zip(&mut col[k..]).zip(&mut map_a[k..]).zip(&mut map_b[k..]) {
            (*col, *map_a, *map_b) = (x, I::from_usize(a_start + i), nnz_b);
            i += 1;
            k += 1;
        }
        for (((&y, col), map_a), map_b) in b[j..].iter().zip(&mut col[k..]).zip(&mut map_a[k..]).zip(&mut map_b[k..]) {
            (*col, *map_a, *map_b) = (y, nnz_a, I::from_usize(b_start + j));
            j += 1;
        }
    })
}

/// Intersection of two CSR patterns of one shape, with the maps into both.
///
/// Shapes and cost as [`union_csr`]; no map entry is "missing".
///
/// # Panics
/// If the row counts differ.
pub fn intersect_csr<I: Index>(a_ptr: &[I], a_col: &[I], b_ptr: &[I], b_col: &[I]) -> MergedCsr<I> {
    merge((a_ptr, a_col), (b_ptr, b_col), count_common, |row, col, map_a, map_b| {
        let RowPair { a, b, a_start, b_start, .. } = row;
        let (mut i, mut j, mut k) = (0, 0, 0);
        while k < col.len() {
            let (x, y) = (a[i], b[j]);
            // Written again until both agree.
            col[k] = x;
            map_a[k] = I::from_usize(a_start + i);
            map_b[k] = I::from_usize(b_start + j);
            k += (x == y) as usize;
            i += (x <= y) as usize;
            j += (y <= x) as usize;
        }
    })
}

/// For each element of `a` its position in `b`, or `nnz_b` where `b` lacks it.
///
/// Shapes as [`union_csr`]; the result has `nnz_a` entries. Time O(rows + nnz_a + nnz_b).
///
/// # Panics
/// If the row counts differ.
pub fn locate_csr<I: Index>(a_ptr: &[I], a_col: &[I], b_ptr: &[I], b_col: &[I]) -> Vec<I> {
    assert_fits::<I>(b_col.len());
    let pieces = row_pieces(a_ptr, b_ptr);
    let mut map = zeroed(a_col.len());
    let missing = I::from_usize(b_col.len());
    let len = |rows: &Range<usize>| a_ptr[rows.end].to_usize() - a_ptr[rows.start].to_usize();
    par::for_pieces(&pieces, &mut map, &len, &|rows, map| {
        let base = a_ptr[rows.start].to_usize();
        for r in rows {
            let (a, b) = (row((a_ptr, a_col), r), row((b_ptr, b_col), r));
            let (a_start, b_start) = (a_ptr[r].to_usize(), b_ptr[r].to_usize());
            let map = &mut map[a_start - base..][..a.len()];
            let mut j = 0;
            for (&x, slot) in a.iter().zip(map) {
                while j < b.len() && b[j] < x {
                    j += 1;
                }
                *slot = if j < b.len() && b[j] == x { I::from_usize(b_start + j) } else { missing };
            }
        }
    });
    map
}
