//! File formats.
//!
//! [`matrix_market`] reads and writes the exchange format of sparse matrices: text, rank 2, filled with zero.
//! `safetensors` (with the feature of that name) keeps every tensor as it is: layout, rank, dense dims, dtype and fill,
//! to the bit. Nothing here panics on what a file holds, and nothing is allocated because a header merely claims a
//! size.

pub mod matrix_market;
#[cfg(feature = "safetensors")]
pub mod safetensors;

pub use matrix_market::MatrixMarket;
