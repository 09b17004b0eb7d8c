//! Validation of indices. All indices are checked before anything is built or written.

use crate::par::{self, even, for_pieces};
use crate::{Index, Result, SparseError};

/// Whether every index lies in `[0, size)`. The loop has no branches, so it runs at memory speed.
pub(crate) fn in_range<I: Index>(indices: &[I], size: usize) -> bool {
    if size == 0 {
        return indices.is_empty();
    }
    let last = I::from_usize((size - 1).min(I::limit()));
    indices.iter().fold(true, |ok, &i| ok & (i >= I::default()) & (i <= last))
}

/// The error for the first index of `indices` outside `[0, size)`, or `None` if all are inside.
fn first_out_of_range<I: Index>(
    op: &'static str,
    axis: usize,
    size: usize,
    indices: &[I],
    offset: usize,
) -> Option<SparseError> {
    let position = indices.iter().position(|&i| !in_range(&[i], size))?;
    let index = indices[position].to_i64();
    Some(SparseError::index_out_of_range(op, axis, size, index, offset + position))
}

/// Checks in parallel that all `indices` of one axis lie in `[0, size)`.
fn check_axis<I: Index>(op: &'static str, axis: usize, size: usize, indices: &[I]) -> Result<()> {
    let ranges = even(indices.len(), 1);
    let ok = par::all(ranges.len(), &|c| in_range(&indices[ranges[c].clone()], size));
    if ok { Ok(()) } else { first_out_of_range(op, axis, size, indices, 0).map_or(Ok(()), Err) }
}

/// Whether entries `from - 1 .. to` ascend strictly in lexicographic order. `from >= 1`.
fn ascends<I: Index>(indices: &[I], dims: usize, nnz: usize, from: usize, to: usize) -> bool {
    // A block of flags fits in the L1 cache. Dimensions are compared from the last (least significant) to the first.
    const BLOCK: usize = 1024;
    let mut less = [false; BLOCK];
    let mut start = from;
    while start < to {
        let end = to.min(start + BLOCK);
        let less = &mut less[..end - start];
        less.fill(false);
        for d in (0..dims).rev() {
            let row = &indices[d * nnz..(d + 1) * nnz];
            for ((less, &a), &b) in less.iter_mut().zip(&row[start - 1..end - 1]).zip(&row[start..end]) {
                *less = (a < b) | ((a == b) & *less);
            }
        }
        if !less.iter().fold(true, |all, &l| all & l) {
            return false;
        }
        start = end;
    }
    true
}

/// Checks COO indices and returns whether they are coalesced.
///
/// `indices` is row-major `[shape.len(), nnz]`: all indices along the first dimension, then the second, and so on.
/// Coalesced means that the coordinates ascend strictly in lexicographic order. `shape` may be empty. Then all entries
/// have the same (empty) coordinate, and they are coalesced if there is at most one.
///
/// One parallel pass, O(nnz * dims).
///
/// # Errors
///
/// [`SparseError::LengthMismatch`] if `indices` does not hold `shape.len() * nnz` entries.
/// [`SparseError::IndexOutOfRange`] for the first index (in memory order) outside `[0, shape[d])`; its position is the
/// position in the flat list.
pub fn validate_coo<I: Index>(op: &'static str, shape: &[usize], indices: &[I], nnz: usize) -> Result<bool> {
    let dims = shape.len();
    let expected = dims.saturating_mul(nnz);
    if indices.len() != expected || dims.checked_mul(nnz).is_none() {
        return Err(SparseError::length_mismatch(op, "indices", expected, indices.len()));
    }
    if dims == 0 {
        return Ok(nnz <= 1);
    }
    let ranges = even(nnz, dims);
    let check = |piece: usize| {
        let range = ranges[piece].clone();
        let valid = shape.iter().enumerate().all(|(d, &size)| in_range(&indices[d * nnz..][range.clone()], size));
        (valid, valid && ascends(indices, dims, nnz, range.start.max(1), range.end))
    };
    let (valid, coalesced) =
        par::map(ranges.len(), &check).into_iter().fold((true, true), |a, b| (a.0 && b.0, a.1 && b.1));
    if !valid {
        for (d, &size) in shape.iter().enumerate() {
            if let Some(error) = first_out_of_range(op, d, size, &indices[d * nnz..(d + 1) * nnz], d * nnz) {
                return Err(error);
            }
        }
    }
    Ok(coalesced)
}

/// Checks row pointers: `rows + 1` entries that start at 0, never descend and end at `nnz`.
fn check_row_ptr<I: Index>(op: &'static str, rows: usize, nnz: usize, row_ptr: &[I]) -> Result<()> {
    let expected = rows.saturating_add(1);
    if row_ptr.len() != expected || rows == usize::MAX {
        return Err(SparseError::length_mismatch(op, "row_ptr", expected, row_ptr.len()));
    }
    let error = |rule, position: usize| SparseError::invalid_row_ptr(op, rule, row_ptr[position].to_i64(), position);
    if row_ptr[0] != I::default() {
        return Err(error("start at 0", 0));
    }
    let ranges = even(rows, 1);
    let descends = par::find_first(ranges.len(), &|piece| {
        ranges[piece].clone().find(|&k| row_ptr[k + 1] < row_ptr[k]).map(|k| k + 1)
    });
    if let Some(position) = descends {
        return Err(error("never descend", position));
    }
    // The pointers start at 0 and never descend, so if any entry exceeds nnz, the last one does.
    if row_ptr[rows].to_usize() != nnz {
        return Err(error("end at the number of stored elements", rows));
    }
    Ok(())
}

/// Checks a CSR pattern of `rows x cols`.
///
/// Parallel, O(rows + nnz).
///
/// # Errors
///
/// In this order: [`SparseError::LengthMismatch`] (`row_ptr` must have `rows + 1` entries),
/// [`SparseError::InvalidRowPtr`] (starts at 0, never descends, ends at `col_idx.len()`),
/// [`SparseError::IndexOutOfRange`] on axis 1 for the first column outside `[0, cols)`, and
/// [`SparseError::UnsortedColumns`] for the first row whose columns do not ascend strictly.
pub fn validate_csr<I: Index>(op: &'static str, rows: usize, cols: usize, row_ptr: &[I], col_idx: &[I]) -> Result<()> {
    check_row_ptr(op, rows, col_idx.len(), row_ptr)?;
    check_axis(op, 1, cols, col_idx)?;
    // Columns may descend only at the start of a row. So neighbours are compared in one flat pass, and row pointers are
    // read only where the columns descend.
    let row_of = |k: usize| row_ptr.partition_point(|p| p.to_usize() <= k) - 1;
    let ranges = even(col_idx.len(), 1);
    let unsorted = par::find_first(ranges.len(), &|piece| {
        let range = ranges[piece].clone();
        let mut row = row_of(range.start);
        range.into_iter().skip_while(|&k| k == 0).find_map(|k| {
            if col_idx[k - 1] < col_idx[k] {
                return None;
            }
            while row_ptr[row + 1].to_usize() <= k {
                row += 1;
            }
            (row_ptr[row].to_usize() < k).then_some((row, k))
        })
    });
    match unsorted {
        None => Ok(()),
        Some((row, k)) => {
            let (previous, column) = (col_idx[k - 1].to_i64(), col_idx[k].to_i64());
            Err(SparseError::UnsortedColumns { op, row, previous, column })
        }
    }
}

/// Joins the row pointers of a batch of CSR matrices into those of the stacked matrix.
///
/// `ptr` holds `batch * (rows + 1)` entries; the pointers of each batch start at 0. The result holds the
/// `batch * rows + 1` entries of the `[batch * rows, cols]` matrix. This is the inverse of [`split_row_ptr`]. O(batch *
/// rows).
///
/// # Errors
///
/// [`SparseError::LengthMismatch`] for a wrong number of entries, [`SparseError::InvalidRowPtr`] if the pointers of a
/// batch do not start at 0 or descend, [`SparseError::Overflow`] if the total does not fit the index type.
pub fn join_row_ptr<I: Index>(op: &'static str, batch: usize, rows: usize, ptr: &[I]) -> Result<Vec<I>> {
    let expected = rows.checked_add(1).and_then(|n| n.checked_mul(batch));
    if expected != Some(ptr.len()) {
        return Err(SparseError::length_mismatch(op, "row_ptr", expected.unwrap_or(usize::MAX), ptr.len()));
    }
    let mut joined = Vec::with_capacity(ptr.len() - batch + 1);
    joined.push(I::default());
    let mut base = 0u128;
    for (b, part) in ptr.chunks_exact(rows + 1).enumerate() {
        let at = b * (rows + 1);
        if part[0] != I::default() {
            return Err(SparseError::invalid_row_ptr(op, "start at 0 in every batch", part[0].to_i64(), at));
        }
        for (r, pair) in part.windows(2).enumerate() {
            if pair[1] < pair[0] {
                return Err(SparseError::invalid_row_ptr(op, "never descend", pair[1].to_i64(), at + r + 1));
            }
            let total = base + pair[1].to_usize() as u128;
            if total > I::limit() as u128 {
                return Err(SparseError::overflow(op, "the number of stored elements", I::limit(), total));
            }
            joined.push(I::from_usize(total as usize));
        }
        base += part[rows].to_usize() as u128;
    }
    Ok(joined)
}

/// Splits the row pointers of a stacked matrix into the row pointers of each batch, which start at 0.
///
/// `ptr` holds `batch * rows + 1` entries; the result holds `batch * (rows + 1)`. This is the inverse of
/// [`join_row_ptr`].
///
/// # Panics
///
/// If `ptr` has fewer entries, or an entry is smaller than the first one of its batch.
pub fn split_row_ptr<I: Index>(batch: usize, rows: usize, ptr: &[I]) -> Vec<I> {
    let mut split = vec![I::default(); batch * (rows + 1)];
    let batches: Vec<_> = (0..batch).map(|b| b..b + 1).collect();
    for_pieces(&batches, &mut split, &|_| rows + 1, &|b, out| {
        let part = &ptr[b.start * rows..][..rows + 1];
        let base = part[0].to_usize();
        for (slot, p) in out.iter_mut().zip(part) {
            *slot = I::from_usize(p.to_usize().checked_sub(base).expect("split_row_ptr: row_ptr must never descend"));
        }
    });
    split
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use crate::Result;
    use crate::dynamic::slices::{AnyIndex, Ids, with_ids};

    /// See [`validate_coo`](crate::validate_coo()).
    pub fn validate_coo(op: &'static str, shape: &[usize], indices: Ids<'_>, nnz: usize) -> Result<bool> {
        with_ids!(indices, I => super::validate_coo::<I>(op, shape, I::ids(indices), nnz))
    }

    /// See [`validate_csr`](crate::validate_csr()).
    pub fn validate_csr(op: &'static str, rows: usize, cols: usize, row_ptr: Ids<'_>, col_idx: Ids<'_>) -> Result<()> {
        with_ids!(row_ptr, I => super::validate_csr::<I>(op, rows, cols, I::ids(row_ptr), I::ids(col_idx)))
    }
}
