//! Linear maps, as solvers see them.

mod base;
mod blocks;
mod closure;
mod combined;
mod kron;
mod made;
mod tensors;

pub use base::{Batch, LinearOperator, Operator};
pub(crate) use base::{check_sizes, device_of};
