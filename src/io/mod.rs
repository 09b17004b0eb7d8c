//! File formats.
//!
//! [`matrix_market`] reads and writes the exchange format of sparse matrices. Nothing here panics on what a file holds,
//! and nothing is allocated because a header merely claims a size.

pub mod matrix_market;

pub use matrix_market::MatrixMarket;
