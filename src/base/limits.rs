//! Limits on memory. No operation exceeds them unless the user raises them.

use sparse_core::{Result, SparseError};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The default limit: 2^28 elements, 1 GiB of f32.
const DEFAULT_LIMIT: usize = 1 << 28;

static LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_LIMIT);

/// The largest number of elements of a `to_dense` result. Also the largest number of rows for which an operation makes
/// row pointers, if almost all rows are empty.
pub fn dense_limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Sets the largest number of elements that `to_dense` gives, for the whole process.
pub fn set_dense_limit(elements: usize) {
    LIMIT.store(elements, Ordering::Relaxed);
}

/// Error if pointers for `rows` rows would be far larger than the `held` numbers that are in memory already.
pub(crate) fn check_rows(op: &'static str, rows: usize, held: usize) -> Result<()> {
    let hint = "use coordinates (to_coo): compressed rows need a pointer for every row, and almost all are empty";
    check_table(op, ("the row pointers", rows as u128 + 1), rows, held, hint)
}

/// Error if a vector of length `size` would be far larger than the `held` numbers that are in memory already.
pub(crate) fn check_dim(op: &'static str, size: usize, held: usize) -> Result<()> {
    let hint = "use sum_dim or count_stored_dims, whose results are sparse: here there is a number for every index, \
                and almost all are empty";
    check_table(op, ("the result", size as u128), size, held, hint)
}

/// Error if `size` is above [`dense_limit`] and more than 64 times `held`. `what` names the table and has its number of
/// elements.
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
