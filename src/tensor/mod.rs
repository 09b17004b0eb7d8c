//! Sparse tensors.

mod construct;
mod display;
pub(crate) mod fill;
pub(crate) mod sparse;
