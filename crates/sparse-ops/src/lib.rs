//! The tensors of [sparse-tensor](https://docs.rs/sparse-tensor), and every operation on them.
//!
//! A program depends on the facade `sparse-tensor`, which has all of this under the same names. A crate that adds
//! operations, layers or file formats depends on this one: it has what such a crate needs in [`extend`].
#![cfg_attr(feature = "ndarray", allow(deprecated))]

extern crate self as sparse_ops;

mod base;
pub mod extend;
mod kernel;
pub mod module;
pub mod ops;
pub mod pattern;
mod policy;
mod rows;
mod tensor;

pub use base::kind::{Kind, Numeric, dtype_name};
pub use base::limits::{Limits, dense_limit, set_dense_limit};
pub use base::memory::{MemoryReport, aligned, memory_report, release_pool, set_pool_limit};
#[cfg(any(feature = "wgpu", feature = "cuda", feature = "rocm", feature = "remote"))]
pub use sparse_burn::device_reads;
#[cfg(any(feature = "wgpu", feature = "cuda", feature = "rocm"))]
pub use sparse_burn::host_fallbacks;
/// Runs operations that read the device in a program that must not wait for it: a page in a browser, a server.
///
/// `f` runs as often as it reads a GPU, and once more. A run that comes to a new read starts it and is unwound, as by a
/// panic but without a message. The read is awaited, and the next run gets the answer. In a page, which cannot unwind,
/// a run goes on with zeros in place of the read, and is dropped when it ends. A program that aborts in place of
/// unwinding waits for each read. So `f`
///
/// - does the same in every run: it makes its tensors from clones of its captures, and random numbers are drawn before;
/// - has no side effects, because all runs but the last are dropped, and holds no `Mutex`, which would be poisoned;
/// - lets through what `catch_unwind` catches if it is no message;
/// - reads by this library only, not by Burn's `into_data`. Make the results here, then await `into_data_async`.
///
/// Patterns keep what was derived from them, so later calls do not read and need none of this. On a CPU `f` runs once.
/// The functions `x_async` are `x` in this function.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, nn::symmetric_normalization, without_blocking};
///
/// async fn prepare(dense: Tensor<2>) -> CsrTensor<2> {
///     without_blocking(|| symmetric_normalization(&CsrTensor::from_dense(dense.clone()), true)).await
/// }
/// # let ready = prepare(Tensor::ones([2, 2], &Device::flex()));
/// # let mut ready = std::pin::pin!(ready);
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # let std::task::Poll::Ready(adjacency) = ready.as_mut().poll(&mut context) else { panic!("a CPU is ready") };
/// # assert_eq!(adjacency.nnz(), 4);
/// ```
#[doc(inline)]
pub use sparse_burn::without_blocking;
pub use sparse_core::{Result, SparseError};
pub use tensor::construct::host::Nodes;
pub use tensor::fill::{Fill, FillBlock, FillValue};
pub use tensor::sparse::{CooTensor, CsrTensor, SparseTensor};
