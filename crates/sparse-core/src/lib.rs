//! Sparse formats, validation and CPU kernels on plain slices.
//!
//! This crate does not use tensors, devices or gradients. Every function takes slices and returns vectors (or fills a
//! slice). It is generic over the element ([`Element`]: f16, bf16, f32, f64, i32, i64, u8) and the index ([`Index`]:
//! i32, i64). It runs in parallel on the current rayon pool, and its result has the same bits for any number of
//! threads.
//!
//! Bool values are stored as `u8` of 0 or 1.
#![forbid(unsafe_code)]

mod alloc;
mod bits;
mod check;
mod concat;
mod cumsum;
pub mod dynamic;
mod element;
mod error;
pub mod graph;
mod ids;
mod keys;
mod lanes;
mod linalg;
mod lines;
mod merge;
mod numbers;
mod par;
mod reduce;
mod rows;
mod rows_parts;
mod scatter;
mod simd;
mod source;
mod structure;

pub use alloc::{set_large_alloc_hook, zeroed};
pub use bits::Plain;
pub use check::{join_row_ptr, split_row_ptr, validate_coo, validate_csr};
pub use concat::{
    CooPart, CsrPart, concat_coo, concat_coo_values, concat_csr_cols, concat_csr_cols_values, concat_csr_rows,
    concat_slices, interleave_csr_rows,
};
pub use cumsum::segment_cumsum;
pub use element::{Element, Index};
pub use error::{Result, SparseError};
pub use linalg::{
    Compressed, Extremum, extremum_cols_backward, extremum_rows_backward, sddmm, spgemm, spgemm_sampled, spgemm_values,
    spmm, spmm_extremum,
};
pub use merge::{
    BinaryOp, MergedCoo, MergedCsr, intersect_coo, intersect_csr, locate_coo, locate_csr, union_apply_csr, union_coo,
    union_csr, zip_rows,
};
pub use rows::{move_rows, segment_any, segment_sum};
pub use rows_parts::join_rows;
pub use scatter::{
    BackwardReads, Record, Recorded, Reduce, Target, TargetIndex, backward_reads, check_indices, gather, put,
    put_backward, put_copied, put_recorded, recorded_backward,
};
pub use structure::{Coalesced, Segments, coalesce, compress, expand_ptr, group_by, scan, sort_coords};
