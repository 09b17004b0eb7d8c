//! Sparse tensors.

pub(crate) mod construct;
mod display;
pub(crate) mod fill;
pub(crate) mod sparse;
