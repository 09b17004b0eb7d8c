//! Patterns: where the specified elements are, owned, validated and shared.

mod coo;
mod csr;

pub use coo::CooPattern;
pub use csr::CsrPattern;

use crate::{Index, Result, SparseError};

/// Checks that a size fits the index type.
fn check_fits<I: Index>(op: &'static str, what: &'static str, got: u128) -> Result<()> {
    let limit = I::MAX as u128;
    if got > limit { Err(SparseError::Overflow { op, what, limit, got }) } else { Ok(()) }
}
