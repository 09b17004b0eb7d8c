//! Sparse kernels as an extension of Burn's backends.
//!
//! [`kernel`] declares each kernel once. A backend runs all of them through the one method of [`SparseBackend`], which
//! is registered with Burn's runtime dispatch. Its default body reads the arguments, runs the kernel in host memory
//! (`backends::host`) and writes the result back. So any backend works with an empty `impl`. [`HostAccess`] says how a
//! backend is read and written. Flex overrides its two methods, so every operation on it works without a copy. GPUs
//! have kernels of their own.
//!
//! Kernels take tensors without autodiff association. Gradients are the work of the crates above.
#![cfg_attr(feature = "ndarray", allow(deprecated))]

mod any;
mod backend;
mod backends;
mod bytes;
#[cfg(feature = "remote")]
mod codec;
mod dtype;
mod host_tensor;
pub mod kernel;
mod kernel_args;
mod kernel_views;
mod memory;
mod options;
mod read;
#[cfg(feature = "remote")]
pub mod remote;
pub mod replay;

pub use any::AnyTensor;
pub use backend::{Args, Kernel, Output, SparseBackend};
#[cfg(feature = "gpu")]
pub use backend::{Declined, Gpu};
#[cfg(feature = "gpu")]
#[doc(hidden)]
pub use backends::forced;
#[cfg(feature = "gpu")]
pub use backends::host_fallbacks;
#[cfg(feature = "remote")]
pub use codec::{Decoder, Encoder, Meta};
pub use dtype::{index_dtype_for, is_supported};
pub use host_tensor::{HostAccess, HostTensor};
pub use kernel_args::{IntoArg, KernelValue, Kind, Of, of_kind};
pub use kernel_views::{Epilogue, PatternArrays, Put, RowsView};
pub use memory::aligned;
pub use options::{ConcatAxis, MergeRule, PutTarget};
pub use read::{is_flex, is_gpu, is_local, is_remote, read_data};
#[cfg(any(feature = "gpu", feature = "remote"))]
pub use replay::device_reads;
pub use replay::without_blocking;
pub use sparse_core::{
    Activation, AdamStep, BinaryOp, ColumnPass, ColumnStep, Dropout, Extremum, Incomplete, Reduce, ShiftedRows, Term,
    Triangle, TrianglePlan,
};
