//! Sparse COO and CSR tensors for [Burn](https://burn.dev) 0.22 that train.
//!
//! - Tensors: [`CooTensor`] of any rank and [`CsrTensor`] of rank 2 and 3, with a [`Fill`] for what is not stored.
//!   Their methods are the operations; each has a backward rule on Burn's autodiff tape.
//! - Operations on dense tensors, and on several sparse ones: [`ops`].
//! - Sparse tensors in Burn modules: [`module`]. Layers: [`nn`].
//! - Several processes or threads that train one model: [`parallel`].
//! - Files: [`io`]. Graphs and data sets: [`data`]. Shared patterns: [`pattern`]. Pictures: `plot` (a feature).
//!   Devices of another machine: `remote` (a feature).
//! - Matrices and graphs of sprs, nalgebra-sparse, faer and petgraph: `interop` (features).
//! - How to use it all, in fourteen chapters: `book`.
//!
//! ```
//! use burn::prelude::*;
//! use sparse_tensor::prelude::*;
//!
//! let device = Device::flex().autodiff();
//! let indices = Tensor::<2, Int>::from_ints([[0, 0, 1], [0, 2, 2]], &device);
//! let values = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device);
//! let a = CooTensor::<2>::new(indices, values, [2, 3]).unwrap().require_grad();
//! let y = a.to_csr().matmul(Tensor::<2>::ones([3, 4], &device));
//! let grads = y.sum().backward();
//! assert_eq!(a.grad(&grads).unwrap().nnz(), 3);
//! ```
//!
//! An operation `x` panics, as Burn's operations do; `try_x` returns a [`Result`].
#![cfg_attr(feature = "ndarray", allow(deprecated))]

// Its examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod base;
#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/README.md")]
pub mod book;
pub mod data;
#[cfg(any(feature = "sprs", feature = "nalgebra", feature = "faer", feature = "petgraph"))]
pub mod interop;
pub mod io;
mod kernel;
pub mod module;
pub mod nn;
pub mod ops;
pub mod parallel;
pub mod pattern;
#[cfg(feature = "plot")]
pub mod plot;
pub mod prelude;
#[cfg(feature = "remote")]
pub mod remote;
mod rows;
mod tensor;

pub use base::kind::{Kind, Numeric, dtype_name};
pub use base::limits::{Limits, dense_limit, set_dense_limit};
pub use base::memory::{MemoryReport, memory_report, release_pool, set_pool_limit};
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
