//! Factors of a square sparse matrix that leave elements out, and inverses of its blocks: what preconditioners apply.
//!
//! All are computed in f64, and rounded once to the element type.

mod blocks;
mod cholesky;
mod factors;
mod lu;
mod matrix;
mod threshold;

pub use factors::{Incomplete, incomplete};
pub use matrix::RowsOf;

/// For types that are known at run time.
pub(super) mod dynamic {
    pub use super::factors::dynamic::*;
}
