//! Sparse kernels as an extension of Burn's backends.
//!
//! [`SparseBackend`] is registered with Burn's runtime dispatch. Every method has a host default body
//! (`backends::host`): read the tensors, call `sparse-core`, write the result back, so any backend works with an empty
//! `impl`. How a backend is read and written is [`HostAccess`]: Flex overrides its two methods and is zero-copy in
//! every operation at once. Accelerated backends override the methods they have kernels for.
//!
//! Nothing here meets an autodiff tape: arguments carry no autodiff association.
#![cfg_attr(feature = "ndarray", allow(deprecated))]

mod any;
mod backend;
mod backends;
mod dtype;
mod host_tensor;
mod huge_pages;
mod read;

pub use any::{
    AnyTensor, Groups, Joined, Merged, OptionalFloat, OptionalInt, PatternArrays, PatternList, PutRecord, RowsView,
    TensorList,
};
pub use backend::{ConcatAxis, MergeRule, PutTarget, SparseBackend};
#[cfg(feature = "gpu")]
#[doc(hidden)]
pub use backends::forced;
#[cfg(feature = "gpu")]
pub use backends::{device_reads, host_fallbacks};
pub use dtype::{index_dtype_for, is_supported};
pub use host_tensor::{HostAccess, HostTensor};
pub use read::{is_gpu, read_data};
pub use sparse_core::{BinaryOp, Extremum, Reduce};
