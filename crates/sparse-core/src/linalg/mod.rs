//! Products of sparse and dense matrices.

mod sddmm;
mod spgemm;
mod spmm;
mod spmv;

pub use sddmm::sddmm;
pub use spgemm::{spgemm, spgemm_sampled, spgemm_values};
pub use spmm::{Compressed, spmm};
