#![doc = include_str!("../README.md")]
#![cfg_attr(feature = "ndarray", allow(deprecated))]

mod base;
pub mod data;
pub mod io;
mod kernel;
pub mod nn;
pub mod ops;
pub mod pattern;
pub mod prelude;
mod rows;
mod tensor;

pub use base::kind::{Kind, Numeric, dtype_name};
pub use base::limits::{dense_limit, set_dense_limit};
#[cfg(any(feature = "wgpu", feature = "cuda", feature = "rocm"))]
pub use sparse_burn::{device_reads, host_fallbacks};
pub use sparse_core::{Result, SparseError};
pub use tensor::fill::{Fill, FillBlock, FillValue};
pub use tensor::sparse::{CooTensor, CsrTensor, SparseTensor};
