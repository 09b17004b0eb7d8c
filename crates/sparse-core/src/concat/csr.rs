//! Concatenated CSR patterns.

use super::{bases, check_values, concat_slices, copy_parts, count, move_run, placed, shift};
use crate::memory::{unwritten, zeroed};
use crate::{Index, Plain, par};
use core::ops::Range;

/// One CSR part: row pointers and columns.
pub type CsrPart<'a, I> = (&'a [I], &'a [I]);

/// Runs of at least this many elements are copied with `memcpy`.
const LONG_RUN: usize = 32;

/// Pattern of CSR matrices stacked along the rows: `(row_ptr, col_idx)`.
///
/// Part `p` is `[rows_p, cols]` with `rows_p + 1` row pointers. Values are the plain concatenation of the parts'
/// values. Time and memory O(rows + nnz).
///
/// # Panics
/// If nnz of the result does not fit the index type.
pub fn concat_csr_rows<I: Index>(parts: &[CsrPart<'_, I>]) -> (Vec<I>, Vec<I>) {
    let bases = bases::<I>(&par::lens(parts, |(_, col)| col.len()));
    let ends: Vec<&[I]> = parts.iter().map(|(ptr, _)| &ptr[1..]).collect();
    let mut row_ptr = zeroed(ends.iter().map(|p| p.len()).sum::<usize>() + 1);
    copy_parts(&ends, &mut row_ptr[1..], &|p, src, dst| shift(src, dst, bases[p]));
    let cols: Vec<&[I]> = parts.iter().map(|&(_, col)| col).collect();
    (row_ptr, concat_slices(&cols))
}

/// Pattern of CSR matrices side by side: `(row_ptr, col_idx, map)`.
///
/// Part `p` is `[rows, cols_p]`; `col_offsets[p]` is added to its columns (the sum of the widths before it). Time and
/// memory O(parts * rows + nnz). Batched matrices `[B, M, N_p]` are concatenated along their last axis by the same
/// call.
///
/// # Panics
/// If the parts differ in their number of rows, a part has no offset, or nnz of the result does not fit the index type.
pub fn concat_csr_cols<I: Index>(parts: &[CsrPart<'_, I>], col_offsets: &[usize]) -> (Vec<I>, Vec<I>, Vec<I>) {
    let bases = bases::<I>(&par::lens(parts, |(_, col)| col.len()));
    let (row_ptr, pieces) = added_row_ptr(parts, col_offsets);
    let nnz = bases[parts.len()];
    let lens = par::lens(&pieces, |rows| row_ptr[rows.end].to_usize() - row_ptr[rows.start].to_usize());
    let (mut col_idx, mut map) = (unwritten(nnz), unwritten(nnz));
    let sources =
        || parts.iter().zip(&bases).zip(col_offsets).map(|((&(ptr, col), base), offset)| (ptr, (col, base, offset)));
    par::each(par::split_rows(&mut [&mut col_idx, &mut map], nnz, &lens), &|piece, slots: Vec<&mut [I]>| {
        let Ok([cols, map]) = <[&mut [I]; 2]>::try_from(slots) else { return };
        placed(row_runs(pieces[piece].clone(), &sources), 0).for_each(|((col, base, offset), run, at)| {
            let to = at..at + run.len();
            count(base + run.start, &mut map[to.clone()]);
            shift(&col[run], &mut cols[to], *offset);
        });
    });
    (row_ptr, col_idx, map)
}

/// [`concat_csr_cols`] that moves the values too, without a map: `(row_ptr, col_idx, values)`.
///
/// `values[p]` holds one value for each element of part `p`.
///
/// # Panics
/// As [`concat_csr_cols`], and if a part does not have one value for each element.
pub fn concat_csr_cols_values<T: Plain, I: Index>(
    parts: &[CsrPart<'_, I>],
    values: &[&[T]],
    col_offsets: &[usize],
) -> (Vec<I>, Vec<I>, Vec<T>) {
    let lengths = par::lens(parts, |(_, col)| col.len());
    check_values(&lengths, values);
    let nnz = bases::<I>(&lengths)[parts.len()];
    let (row_ptr, pieces) = added_row_ptr(parts, col_offsets);
    let (mut col_idx, mut out) = (unwritten(nnz), unwritten(nnz));
    let len = |rows: &Range<usize>| row_ptr[rows.end].to_usize() - row_ptr[rows.start].to_usize();
    let cols = par::split_mut(&mut col_idx, &par::lens(&pieces, len));
    let vals = par::split_mut(&mut out, &par::lens(&pieces, len));
    let sources = || {
        parts.iter().zip(values).zip(col_offsets).map(|((&(ptr, col), values), offset)| (ptr, (col, values, offset)))
    };
    par::each(cols.into_iter().zip(vals).collect(), &|piece, (cols, vals)| {
        placed(row_runs(pieces[piece].clone(), &sources), 0).for_each(|((col, values, offset), run, at)| {
            move_run(col, run.clone(), cols, at, |c| I::from_usize(c.to_usize() + offset));
            move_run(values, run, vals, at, |v| v);
        });
    });
    (row_ptr, col_idx, out)
}

/// The runs of parts that are side by side: for each row the elements of each part. A part is its row pointers and
/// whatever comes with each of its runs.
#[inline(always)]
fn row_runs<'a, I: Index + 'a, P, S: Iterator<Item = (&'a [I], P)>>(
    rows: Range<usize>,
    parts: &impl Fn() -> S,
) -> impl Iterator<Item = (P, Range<usize>)> {
    rows.flat_map(move |r| parts().map(move |(ptr, part)| (part, ptr[r].to_usize()..ptr[r + 1].to_usize())))
}

/// Row pointers of parts that are side by side, and the rows split into pieces of equal work.
fn added_row_ptr<I: Index>(parts: &[CsrPart<'_, I>], col_offsets: &[usize]) -> (Vec<I>, Vec<Range<usize>>) {
    assert_eq!(parts.len(), col_offsets.len(), "concat: each part must have an offset");
    let len = parts.first().map_or(1, |(ptr, _)| ptr.len());
    assert!(parts.iter().all(|(ptr, _)| ptr.len() == len), "concat: parts must have the same number of rows");
    let mut row_ptr: Vec<I> = zeroed(len);
    par::for_pieces(&par::even(len, parts.len()), &mut row_ptr, &|r| r.len(), &|range, out| {
        for (ptr, _) in parts {
            for (out, add) in out.iter_mut().zip(&ptr[range.clone()]) {
                *out = I::from_usize(out.to_usize() + add.to_usize());
            }
        }
    });
    let pieces = par::by_elements(&row_ptr, 1);
    (row_ptr, pieces)
}

#[inline(always)]
fn copy_run<T: Copy>(src: &[T], dst: &mut [T]) {
    if src.len() >= LONG_RUN {
        dst.copy_from_slice(src);
    } else {
        for (dst, src) in dst.iter_mut().zip(src) {
            *dst = *src;
        }
    }
}

/// Pattern of batched CSR tensors concatenated along the rows of each batch: `(row_ptr, col_idx, map)`.
///
/// Part `p` is `[batch, rows_p, cols]`, given as `(rows_p, row_ptr, col_idx)` of the CSR matrix
/// `[batch * rows_p, cols]`. The result is `[batch, rows_0 + rows_1 + .., cols]` in the same form. Time and memory
/// O(batch * rows + nnz).
///
/// # Panics
/// If a part does not have `batch * rows_p + 1` row pointers, or nnz of the result does not fit the index type.
pub fn interleave_csr_rows<I: Index>(batch: usize, parts: &[(usize, &[I], &[I])]) -> (Vec<I>, Vec<I>, Vec<I>) {
    let bases = bases::<I>(&par::lens(parts, |(.., col)| col.len()));
    let height: usize = parts.iter().map(|(rows, ..)| rows).sum();
    for (rows, ptr, _) in parts {
        assert_eq!(ptr.len(), batch * rows + 1, "concat: a part must have batch * rows + 1 row pointers");
    }
    let nnz = bases[parts.len()];
    let mut row_ptr: Vec<I> = zeroed(batch * height + 1);
    // The number of elements of all parts before batch `b`.
    let before = |b: usize| parts.iter().map(|(rows, ptr, _)| ptr[b * rows].to_usize()).sum::<usize>();
    let batches = par::even(batch, (batch * height + nnz).div_ceil(batch.max(1)));
    par::for_pieces(&batches, &mut row_ptr[1..], &|r| r.len() * height, &|batches, out| {
        let mut at = before(batches.start);
        let mut out = out.iter_mut();
        for b in batches {
            for (rows, ptr, _) in parts {
                let ptr = &ptr[b * rows..=(b + 1) * rows];
                let base = at - ptr[0].to_usize();
                // The pointers come first in the zip: when they end, no element of `out` may have been taken.
                for (end, out) in ptr[1..].iter().zip(out.by_ref()) {
                    *out = I::from_usize(base + end.to_usize());
                }
                at = base + ptr[*rows].to_usize();
            }
        }
    });
    let lens = par::lens(&batches, |r| row_ptr[r.end * height].to_usize() - row_ptr[r.start * height].to_usize());
    let (mut col_idx, mut map) = (unwritten(nnz), unwritten(nnz));
    par::each(par::split_rows(&mut [&mut col_idx, &mut map], nnz, &lens), &|piece, slots: Vec<&mut [I]>| {
        let Ok([cols, map]) = <[&mut [I]; 2]>::try_from(slots) else { return };
        let runs = batches[piece].clone().flat_map(|b| {
            let runs = parts.iter().zip(&bases);
            runs.map(move |((rows, ptr, col), base)| {
                ((col, base), ptr[b * rows].to_usize()..ptr[(b + 1) * rows].to_usize())
            })
        });
        placed(runs, 0).for_each(|((col, base), run, at)| {
            let to = at..at + run.len();
            count(base + run.start, &mut map[to.clone()]);
            copy_run(&col[run], &mut cols[to]);
        });
    });
    (row_ptr, col_idx, map)
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::CsrPart;
    use crate::dynamic::slices::{AnyBits, AnyIndex, BitVec, Bits, Csr, IdVec, Ids, with_bits, with_ids};

    /// Typed row pointers and columns of every part.
    fn typed<'a, I: AnyIndex>(parts: &[Csr<'a>]) -> Vec<CsrPart<'a, I>> {
        parts.iter().map(|&(ptr, col)| (I::ids(ptr), I::ids(col))).collect()
    }

    /// See [`concat_csr_rows`](crate::concat_csr_rows()): row pointers and columns.
    pub fn concat_csr_rows(parts: &[Csr<'_>]) -> (IdVec, IdVec) {
        with_ids!(parts[0].0, I => {
            let (ptr, col) = super::concat_csr_rows::<I>(&typed(parts));
            (I::id_vec(ptr), I::id_vec(col))
        })
    }

    /// See [`concat_csr_cols`](crate::concat_csr_cols()): row pointers, columns and the map.
    pub fn concat_csr_cols(parts: &[Csr<'_>], col_offsets: &[usize]) -> (IdVec, IdVec, IdVec) {
        with_ids!(parts[0].0, I => {
            let (ptr, col, map) = super::concat_csr_cols::<I>(&typed(parts), col_offsets);
            (I::id_vec(ptr), I::id_vec(col), I::id_vec(map))
        })
    }

    /// See [`concat_csr_cols_values`](crate::concat_csr_cols_values()): row pointers, columns, values.
    pub fn concat_csr_cols_values(
        parts: &[Csr<'_>],
        values: &[Bits<'_>],
        col_offsets: &[usize],
    ) -> (IdVec, IdVec, BitVec) {
        with_ids!(parts[0].0, I => with_bits!(values[0], T => {
            let values: Vec<&[T]> = values.iter().map(|part| T::bits(*part)).collect();
            let (ptr, col, out) = super::concat_csr_cols_values::<T, I>(&typed(parts), &values, col_offsets);
            (I::id_vec(ptr), I::id_vec(col), T::bit_vec(out))
        }))
    }

    /// See [`interleave_csr_rows`](crate::interleave_csr_rows()): row pointers, columns and the map. `rows` is the
    /// number of rows per batch of each part.
    pub fn interleave_csr_rows(batch: usize, rows: &[usize], parts: &[Csr<'_>]) -> (IdVec, IdVec, IdVec) {
        with_ids!(parts[0].0, I => {
            let parts: Vec<_> =
                rows.iter().zip(parts).map(|(&rows, &(ptr, col))| (rows, I::ids(ptr), I::ids(col))).collect();
            let (ptr, col, map) = super::interleave_csr_rows::<I>(batch, &parts);
            (I::id_vec(ptr), I::id_vec(col), I::id_vec(map))
        })
    }
}
