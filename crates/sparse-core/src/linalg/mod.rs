//! Products of sparse and dense matrices, triangular systems, incomplete factors.

mod attend;
mod compressed;
mod extremum;
mod incomplete;
mod places;
mod product_plan;
mod sampled;
mod sampled_extremum;
mod sddmm;
mod shifted;
mod short;
mod spgemm;
mod spgemm_extremum;
mod spmm;
mod spmm_backward;
mod spmv;
mod term;
mod triangular;

pub use attend::{Scores, attend};
pub use compressed::Compressed;
pub use extremum::{Extremum, extremum_cols_backward, extremum_rows_backward, spmm_extremum};
pub use incomplete::{Incomplete, RowsOf, incomplete};
pub use product_plan::ProductPlan;
pub use sampled::spgemm_sampled;
pub use sampled_extremum::{sampled_extremum, sampled_extremum_backward};
pub use sddmm::sddmm;
pub use shifted::ShiftedRows;
pub use spgemm::{spgemm, spgemm_values};
pub use spgemm_extremum::{spgemm_extremum, spgemm_extremum_backward};
pub use spmm::spmm;
pub use spmm_backward::spmm_backward;
pub use term::Term;
pub use triangular::{Levels, Triangle, TrianglePlan, solve_triangular};

pub(crate) mod dynamic {
    pub use super::attend::dynamic::*;
    pub use super::compressed::dynamic::*;
    pub use super::extremum::dynamic::*;
    pub use super::incomplete::dynamic::*;
    pub use super::product_plan::dynamic::*;
    pub use super::sampled::dynamic::*;
    pub use super::sampled_extremum::dynamic::*;
    pub use super::sddmm::dynamic::*;
    pub use super::shifted::dynamic::*;
    pub use super::spgemm::dynamic::*;
    pub use super::spgemm_extremum::dynamic::*;
    pub use super::spmm::dynamic::*;
    pub use super::spmm_backward::dynamic::*;
    pub use super::triangular::dynamic::*;
}
