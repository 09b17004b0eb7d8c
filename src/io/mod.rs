//! File formats.
//!
//! [`matrix_market`] reads and writes the exchange format of sparse matrices: text, rank 2, filled with zero.
//! `safetensors` (with the feature of that name) keeps every tensor exactly: layout, rank, dense dims, dtype and fill.
//! No content of a file causes a panic, and the size that a header claims is not allocated unless the file is that
//! large.

pub mod matrix_market;
#[cfg(feature = "safetensors")]
pub mod safetensors;

pub use matrix_market::matrix::MatrixMarket;
