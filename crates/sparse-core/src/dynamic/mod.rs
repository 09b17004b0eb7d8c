//! The kernels for elements and indices whose types are known only at run time.
//!
//! Every function here matches the types once and calls the generic kernel of the same name. So all instances of a
//! kernel are compiled in this crate. Higher crates contain no kernel code, and their build does not wait for it. Some
//! arguments of a call must have the same type: all indices, or values and result. That type is read from the first
//! such argument. A later argument of another type is a bug of the caller and panics.

mod linalg;
mod merge;
mod moves;
mod scatter;
mod slices;
mod structure;

pub use crate::element::Ids;
pub use linalg::{
    DynCompressed, extremum_cols_backward, extremum_rows_backward, sddmm, spgemm, spgemm_sampled, spgemm_values, spmm,
    spmm_extremum,
};
pub use merge::{
    DynMatrix, DynMerged, DynSide, concat_coo, concat_coo_values, concat_csr_cols, concat_csr_cols_values,
    concat_csr_rows, interleave_csr_rows, intersect_coo, intersect_csr, locate_coo, locate_csr, union_apply_csr,
    union_coo, union_csr, zip_rows,
};
pub use moves::{concat_slices, join_rows, move_rows, segment_any, segment_cumsum, segment_sum};
pub use scatter::{DynRecorded, check_indices, gather, put, put_backward, put_copied, put_recorded, recorded_backward};
pub use slices::{BitVec, Bits, ElementVec, Elements, ElementsMut, IdVec};
pub use structure::{coalesce, compress, expand_ptr, group_by, scan, validate_coo, validate_csr};
