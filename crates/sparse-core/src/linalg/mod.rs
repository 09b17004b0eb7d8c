//! Products of sparse and dense matrices.

mod compressed;
mod extremum;
mod sddmm;
mod spgemm;
mod spmm;
mod spmv;

pub use compressed::Compressed;
pub use extremum::{Extremum, extremum_cols_backward, extremum_rows_backward, spmm_extremum};
pub use sddmm::sddmm;
pub use spgemm::{spgemm, spgemm_sampled, spgemm_values};
pub use spmm::spmm;
