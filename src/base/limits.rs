//! Limits of memory that no operation exceeds unless it is told to.

use sparse_core::{Result, SparseError};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many elements a dense result may have by default: 2^28, 1 GiB of f32.
const DEFAULT_LIMIT: usize = 1 << 28;

static LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_LIMIT);

/// The largest number of elements that `to_dense` gives, and of rows that an operation compresses if almost all of them
/// are empty.
pub fn dense_limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Sets the largest number of elements that `to_dense` gives, for the whole process.
pub fn set_dense_limit(elements: usize) {
    LIMIT.store(elements, Ordering::Relaxed);
}

/// Checks that pointers to all rows need no memory out of proportion: the rows are few, or few beside the numbers
/// `held`.
pub(crate) fn check_rows(op: &'static str, rows: usize, held: usize) -> Result<()> {
    let hint = "use coordinates (to_coo): compressed rows need a pointer for every row, and almost all are empty";
    check_table(op, ("the row pointers", rows as u128 + 1), rows, held, hint)
}

/// Checks that one number for every index of a dim of `size` needs no memory out of proportion, as [`check_rows`] does.
pub(crate) fn check_dim(op: &'static str, size: usize, held: usize) -> Result<()> {
    let hint = "use sum_dim or count_stored_dims, whose results are sparse: here there is a number for every index, \
                and almost all are empty";
    check_table(op, ("the result", size as u128), size, held, hint)
}

/// Checks that a table with an entry for each of `size` rows or columns is small, or small beside the numbers that are
/// `held` already. `what` names the table and has its number of elements.
pub(crate) fn check_table(
    op: &'static str,
    (what, elements): (&'static str, u128),
    size: usize,
    held: usize,
    hint: &'static str,
) -> Result<()> {
    let limit = dense_limit();
    if size <= limit || size / 64 <= held {
        return Ok(());
    }
    Err(SparseError::WouldDensify { op, what, elements, limit: limit as u128, hint })
}
