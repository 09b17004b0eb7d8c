//! Linear maps, as solvers see them.

mod base;
mod blocks;
mod closure;
mod combined;
mod kron;
mod made;
mod tensors;

pub(crate) use base::device_of;
pub use base::{Batch, LinearOperator, Operator};
