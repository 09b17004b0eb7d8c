//! Operations, one file each: docs, checks, forward and backward rule together.

pub(crate) mod to_dense;

mod cast;
mod coalesce;
mod convert;
mod masked_matmul;
mod matmul;
mod permute;
mod scale;

pub use masked_matmul::{masked_matmul, try_masked_matmul};
