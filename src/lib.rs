#![doc = include_str!("../README.md")]
#![cfg_attr(feature = "ndarray", allow(deprecated))]

pub mod data;
pub mod io;
mod kernel;
pub mod nn;
pub mod ops;
pub mod pattern;
mod rows;
mod tensor;

pub use ops::to_dense::{dense_limit, set_dense_limit};
#[cfg(any(feature = "wgpu", feature = "cuda", feature = "rocm"))]
pub use sparse_burn::{device_reads, host_fallbacks};
pub use sparse_core::{Result, SparseError};
pub use tensor::{CooTensor, CsrTensor, Fill, FillBlock, FillValue, Kind, Numeric, SparseTensor, dtype_name};
