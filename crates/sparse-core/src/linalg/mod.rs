//! Products of sparse and dense matrices.

mod extremum;
mod sddmm;
mod spgemm;
mod spmm;
mod spmv;

pub use extremum::{Extremum, extremum_cols_backward, extremum_rows_backward, spmm_extremum};
pub use sddmm::sddmm;
pub use spgemm::{spgemm, spgemm_sampled, spgemm_values};
pub use spmm::{Compressed, spmm};
