//! Sparse tensors.

pub mod construct;
mod display;
pub mod fill;
pub mod plain;
pub mod sparse;
