//! Products of sparse and dense matrices.

mod sddmm;
mod spmm;
mod spmv;

pub use sddmm::sddmm;
pub use spmm::{Compressed, spmm};
