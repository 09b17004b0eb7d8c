//! Patterns of concatenated sparse tensors.
//!
//! Values are moved with an index map into the plain concatenation of the parts' values: element `j` of part `p` is at
//! `nnz_0 + .. + nnz_(p-1) + j`. No map is made where it would be the identity. Each part is already sorted along any
//! axis. So elements are moved in runs and never sorted.

use crate::keys::{Keys, Run, keys, rows};
use crate::{Index, Plain, alloc::zeroed, par};
use core::ops::Range;

/// One CSR part: row pointers and columns.
pub type CsrPart<'a, I> = (&'a [I], &'a [I]);

/// Runs of at least this many elements are copied with `memcpy`.
const LONG_RUN: usize = 32;

/// Runs of at most this many elements are moved as if they had exactly this many.
const SHORT_RUN: usize = 8;

/// The concatenation of slices, copied in parallel: `out = parts[0] ++ parts[1] ++ ..`.
pub fn concat_slices<T: Plain>(parts: &[&[T]]) -> Vec<T> {
    let mut out = zeroed(parts.iter().map(|p| p.len()).sum());
    copy_parts(parts, &mut out, &|_, src, dst| dst.copy_from_slice(src));
    out
}

/// Copies a piece of a part: `copy(part number, source, destination)`.
type CopyPiece<'a, T> = &'a (dyn Fn(usize, &[T], &mut [T]) + Sync);

/// Calls `copy(part number, source, destination)` for pieces of each part, in parallel. The destination is the piece's
/// place in `out`.
fn copy_parts<T: Plain>(parts: &[&[T]], out: &mut [T], copy: CopyPiece<'_, T>) {
    let mut pieces = Vec::new();
    for (p, part) in parts.iter().enumerate() {
        pieces.extend(par::even(part.len(), 1).into_iter().map(|range| (p, range)));
    }
    par::each(par::split_mut(out, &par::lens(&pieces, |(_, range)| range.len())), &|k, dst| {
        let (p, range) = &pieces[k];
        copy(*p, &parts[*p][range.clone()], dst);
    });
}

/// For each part, the number of elements before it. The last entry is the total.
fn bases<I: Index>(lengths: &[usize]) -> Vec<usize> {
    let mut bases = vec![0];
    let mut sum = 0;
    for n in lengths {
        sum += n;
        bases.push(sum);
    }
    assert!(sum <= I::MAX, "concat: nnz must fit the index type (at most {}), got {sum}", I::MAX);
    bases
}

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
/// If the parts differ in their number of rows, or nnz of the result does not fit the index type.
pub fn concat_csr_cols<I: Index>(parts: &[CsrPart<'_, I>], col_offsets: &[usize]) -> (Vec<I>, Vec<I>, Vec<I>) {
    let bases = bases::<I>(&par::lens(parts, |(_, col)| col.len()));
    let (row_ptr, pieces) = added_row_ptr(parts);
    let nnz = bases[parts.len()];
    let lens = par::lens(&pieces, |rows| row_ptr[rows.end].to_usize() - row_ptr[rows.start].to_usize());
    let (mut col_idx, mut map) = (zeroed(nnz), zeroed(nnz));
    par::each(par::split_rows(&mut [&mut col_idx, &mut map], nnz, &lens), &|piece, slots: Vec<&mut [I]>| {
        let Ok([cols, map]) = <[&mut [I]; 2]>::try_from(slots) else { return };
        let mut at = 0;
        for r in pieces[piece].clone() {
            for (p, (ptr, col)) in parts.iter().enumerate() {
                let run = ptr[r].to_usize()..ptr[r + 1].to_usize();
                let to = at..at + run.len();
                count(bases[p] + run.start, &mut map[to.clone()]);
                shift(&col[run], &mut cols[to.clone()], col_offsets[p]);
                at = to.end;
            }
        }
    });
    (row_ptr, col_idx, map)
}

/// [`concat_csr_cols`] that moves the values too, without a map: `(row_ptr, col_idx, values)`.
///
/// `values[p]` holds one value for each element of part `p`.
///
/// # Panics
/// If the parts differ in their number of rows, a part does not have one value for each element, or nnz of the result
/// does not fit the index type.
pub fn concat_csr_cols_values<T: Plain, I: Index>(
    parts: &[CsrPart<'_, I>],
    values: &[&[T]],
    col_offsets: &[usize],
) -> (Vec<I>, Vec<I>, Vec<T>) {
    let fit =
        parts.len() == values.len() && parts.iter().zip(values).all(|((_, col), values)| col.len() == values.len());
    assert!(fit, "concat: each part must come with its values");
    assert_eq!(parts.len(), col_offsets.len(), "concat: each part must have an offset");
    let bases = bases::<I>(&par::lens(parts, |(_, col)| col.len()));
    let (row_ptr, pieces) = added_row_ptr(parts);
    let nnz = bases[parts.len()];
    let (mut col_idx, mut out) = (zeroed(nnz), zeroed(nnz));
    let len = |rows: &Range<usize>| row_ptr[rows.end].to_usize() - row_ptr[rows.start].to_usize();
    let cols = par::split_mut(&mut col_idx, &par::lens(&pieces, len));
    let vals = par::split_mut(&mut out, &par::lens(&pieces, len));
    par::each(cols.into_iter().zip(vals).collect(), &|piece, (cols, vals)| {
        let mut at = 0;
        for r in pieces[piece].clone() {
            for (((ptr, col), values), &offset) in parts.iter().zip(values).zip(col_offsets) {
                let run = ptr[r].to_usize()..ptr[r + 1].to_usize();
                move_run(col, run.clone(), cols, at, |c| I::from_usize(c.to_usize() + offset));
                move_run(values, run.clone(), vals, at, |v| v);
                at += run.len();
            }
        }
    });
    (row_ptr, col_idx, out)
}

/// Row pointers of parts that are side by side, and the rows split into pieces of equal work.
fn added_row_ptr<I: Index>(parts: &[CsrPart<'_, I>]) -> (Vec<I>, Vec<Range<usize>>) {
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
fn shift<I: Index>(src: &[I], dst: &mut [I], offset: usize) {
    for (dst, src) in dst.iter_mut().zip(src) {
        *dst = I::from_usize(src.to_usize() + offset);
    }
}

/// `dst[k] = start + k`.
#[inline(always)]
fn count<I: Index>(start: usize, dst: &mut [I]) {
    for (dst, at) in dst.iter_mut().zip(start..) {
        *dst = I::from_usize(at);
    }
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

/// `dst[at..] = f(src[run])`. May also write up to [`SHORT_RUN`] elements of `dst` after the run; the next runs
/// overwrite them.
///
/// The rows of a graph are short and vary in length. A loop over such a row mispredicts its last branch almost every
/// time. That costs more than moving a fixed number of elements.
#[inline(always)]
fn move_run<A: Copy, B>(src: &[A], run: Range<usize>, dst: &mut [B], at: usize, f: impl Fn(A) -> B) {
    let (from, to) = (src.get(run.start..run.start + SHORT_RUN), dst.get_mut(at..at + SHORT_RUN));
    match (from, to) {
        (Some(from), Some(to)) if run.len() <= SHORT_RUN => {
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = f(from))
        }
        _ => dst[at..at + run.len()].iter_mut().zip(&src[run]).for_each(|(to, &from)| *to = f(from)),
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
    let (mut col_idx, mut map) = (zeroed(nnz), zeroed(nnz));
    par::each(par::split_rows(&mut [&mut col_idx, &mut map], nnz, &lens), &|piece, slots: Vec<&mut [I]>| {
        let Ok([cols, map]) = <[&mut [I]; 2]>::try_from(slots) else { return };
        let mut at = 0;
        for b in batches[piece].clone() {
            for ((rows, ptr, col), base) in parts.iter().zip(&bases) {
                let run = ptr[b * rows].to_usize()..ptr[(b + 1) * rows].to_usize();
                let to = at..at + run.len();
                count(base + run.start, &mut map[to.clone()]);
                copy_run(&col[run], &mut cols[to.clone()]);
                at = to.end;
            }
        }
    });
    (row_ptr, col_idx, map)
}

/// COO coordinates `[sparse_dims, nnz]` and their nnz.
pub type CooPart<'a, I> = (&'a [I], usize);

/// Pattern of COO tensors concatenated along a sparse `axis`: `(indices, map)`.
///
/// Part `p` is `(indices [sparse_dims, nnz_p], nnz_p)`. `offsets[p]` (the sum of the sizes before it) is added to its
/// coordinates along `axis`.
///
/// With `coalesced`, the parts are coalesced and so is the result. Along axis 0, or with a single part, the plain
/// concatenation is already coalesced; the map is `None`, because the values are the plain concatenation too. Otherwise
/// the parts are merged: each is already sorted, and elements with equal coordinates before the axis are ordered by
/// part. Without `coalesced` the result is the plain concatenation. Time O(sparse_dims * nnz), plus O(nnz * parts) for
/// a merge.
///
/// # Panics
/// If `axis >= sparse_dims`, a length is wrong, or nnz of the result does not fit the index type.
pub fn concat_coo<I: Index>(
    axis: usize,
    offsets: &[usize],
    parts: &[CooPart<'_, I>],
    sparse_dims: usize,
    coalesced: bool,
) -> (Vec<I>, Option<Vec<I>>) {
    let parts = CooParts::new(axis, offsets, parts, sparse_dims);
    if !parts.needs_merge(coalesced) {
        return (parts.joined(), None);
    }
    let (indices, map) = parts.merged(&|runs, map: &mut [I], mut at| {
        for (p, run) in runs {
            count(parts.bases[*p] + run.start, &mut map[at..at + run.len()]);
            at += run.len();
        }
    });
    (indices, Some(map))
}

/// [`concat_coo`] that moves the values too, without a map: `(indices, values)`.
///
/// `values[p]` holds one value for each element of part `p`.
///
/// # Panics
/// As [`concat_coo`], and if a part does not have one value for each element.
pub fn concat_coo_values<T: Plain, I: Index>(
    axis: usize,
    offsets: &[usize],
    parts: &[CooPart<'_, I>],
    values: &[&[T]],
    sparse_dims: usize,
    coalesced: bool,
) -> (Vec<I>, Vec<T>) {
    let fit = parts.len() == values.len() && parts.iter().zip(values).all(|(part, values)| part.1 == values.len());
    assert!(fit, "concat: each part must come with its values");
    let parts = CooParts::new(axis, offsets, parts, sparse_dims);
    if !parts.needs_merge(coalesced) {
        return (parts.joined(), concat_slices(values));
    }
    parts.merged(&|runs, out: &mut [T], mut at| {
        for (p, run) in runs {
            move_run(values[*p], run.clone(), out, at, |v| v);
            at += run.len();
        }
    })
}

/// The parts of [`concat_coo`].
struct CooParts<'a, I> {
    axis: usize,
    offsets: &'a [usize],
    /// One slice per dimension.
    parts: Vec<Vec<&'a [I]>>,
    bases: Vec<usize>,
}

/// Writes one number for each element of adjacent runs: `write(runs, out, position in out)`. May also write what comes
/// later in `out`; the next runs overwrite that.
type WriteRuns<'a, T> = &'a (dyn Fn(&[Run], &mut [T], usize) + Sync);

impl<'a, I: Index> CooParts<'a, I> {
    fn new(axis: usize, offsets: &'a [usize], parts: &[CooPart<'a, I>], sparse_dims: usize) -> Self {
        assert!(axis < sparse_dims, "concat: axis must be a sparse one (below {sparse_dims}), got {axis}");
        assert_eq!(offsets.len(), parts.len(), "concat: each part must have an offset");
        let bases = bases::<I>(&par::lens(parts, |part| part.1));
        let parts = parts.iter().map(|&(indices, nnz)| rows(indices, sparse_dims, nnz)).collect();
        Self { axis, offsets, parts, bases }
    }

    fn needs_merge(&self, coalesced: bool) -> bool {
        self.axis > 0 && coalesced && self.parts.len() > 1
    }

    fn nnz(&self) -> usize {
        self.bases[self.parts.len()]
    }

    /// What is added to the coordinates of part `p` in dimension `d`.
    fn offset(&self, p: usize, d: usize) -> usize {
        if d == self.axis { self.offsets[p] } else { 0 }
    }

    /// The coordinates of the plain concatenation.
    fn joined(&self) -> Vec<I> {
        let (nnz, dims) = (self.nnz(), self.parts.first().map_or(0, Vec::len));
        let mut indices = zeroed(nnz * dims);
        for (d, out) in indices.chunks_exact_mut(nnz.max(1)).enumerate() {
            let slices: Vec<&[I]> = self.parts.iter().map(|part| part[d]).collect();
            copy_parts(&slices, out, &|p, src, dst| shift(src, dst, self.offset(p, d)));
        }
        indices
    }

    /// Writes the coordinates of adjacent runs, from position `start` of each dimension on.
    fn move_coordinates(&self, runs: &[Run], coordinates: &mut [&mut [I]], start: usize) {
        for (d, out) in coordinates.iter_mut().enumerate() {
            let mut at = start;
            for (p, run) in runs {
                let offset = self.offset(*p, d);
                move_run(self.parts[*p][d], run.clone(), out, at, |c| I::from_usize(c.to_usize() + offset));
                at += run.len();
            }
        }
    }

    /// The k-way merge by the coordinates before the axis: the coordinates, and what `write` writes.
    fn merged<T: Plain>(&self, write: WriteRuns<'_, T>) -> (Vec<I>, Vec<T>) {
        let Self { axis, parts, bases, .. } = self;
        let prefixes: Vec<(&[&[I]], usize)> = parts.iter().map(|part| (&part[..*axis], part[*axis].len())).collect();
        let keys = keys(&prefixes);
        let cuts = cuts(&*keys, bases);
        let lengths: Vec<usize> =
            cuts.windows(2).map(|w| w[1].iter().sum::<usize>() - w[0].iter().sum::<usize>()).collect();
        let nnz = self.nnz();
        let (mut indices, mut written) = (zeroed(nnz * parts[0].len()), zeroed(nnz));
        let coordinates = par::split_rows(&mut [&mut indices], nnz, &lengths);
        let slots = coordinates.into_iter().zip(par::split_mut(&mut written, &lengths)).collect();
        par::each(slots, &|piece, (mut coordinates, written): (Vec<&mut [I]>, &mut [T])| {
            let mut start = 0;
            keys.runs(&cuts[piece], &cuts[piece + 1], &mut |runs| {
                write(runs, written, start);
                self.move_coordinates(runs, &mut coordinates, start);
                start += runs.iter().map(|(_, run)| run.len()).sum::<usize>();
            });
        });
        (indices, written)
    }
}

/// Positions in each part where the merge is split. All elements with the same key are in the same piece.
fn cuts(keys: &dyn Keys, bases: &[usize]) -> Vec<Vec<usize>> {
    let lengths: Vec<usize> = bases.windows(2).map(|w| w[1] - w[0]).collect();
    let (longest, &len) = lengths.iter().enumerate().max_by_key(|&(_, n)| n).expect("at least one part");
    let pieces = par::ranges(len, par::pieces(bases[lengths.len()]).min(len.max(1)));
    let mut cuts = vec![vec![0; lengths.len()]];
    cuts.extend(pieces[1..].iter().map(|piece| keys.before(longest, piece.start, &lengths)));
    cuts.push(lengths);
    cuts
}
