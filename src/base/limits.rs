//! Memory that nothing takes unasked.

use sparse_core::{Result, SparseError};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Elements that a dense result may have unless asked otherwise: 2^28, 1 GiB of f32.
const DEFAULT_LIMIT: usize = 1 << 28;

static LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_LIMIT);

/// The number of elements that `to_dense` gives at most, and of rows that an operation compresses where almost all of
/// them are empty.
pub fn dense_limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Sets the number of elements that `to_dense` gives at most, for the whole process.
pub fn set_dense_limit(elements: usize) {
    LIMIT.store(elements, Ordering::Relaxed);
}

/// Checks that pointers to all rows cost no memory out of proportion: few of them, or of as many numbers as are `held`.
pub(crate) fn check_rows(op: &'static str, rows: usize, held: usize) -> Result<()> {
    let hint = "use coordinates (to_coo): compressed rows need a pointer for every row, and almost all are empty";
    check_table(op, rows, rows as u128 + 1, held, hint)
}

/// Checks that a number for every index of a dim of `size` costs no memory out of proportion, as [`check_rows`] does.
pub(crate) fn check_dim(op: &'static str, size: usize, held: usize) -> Result<()> {
    let hint = "use sum_dim or count_stored_dims, whose results are sparse: here there is a number for every index, \
                and almost all are empty";
    check_table(op, size, size as u128, held, hint)
}

/// Checks that `size` entries are few, or few beside the numbers that are `held`.
pub(crate) fn check_table(
    op: &'static str,
    size: usize,
    elements: u128,
    held: usize,
    hint: &'static str,
) -> Result<()> {
    let limit = dense_limit();
    if size <= limit || size / 64 <= held {
        return Ok(());
    }
    Err(SparseError::WouldDensify { op, elements, limit: limit as u128, hint })
}
