//! Sparse COO and CSR tensors for [Burn](https://burn.dev) 0.22 that train.
//!
//! - Tensors: [`CooTensor`] of any rank and [`CsrTensor`] of rank 2 and 3, with a [`Fill`] for what is not stored.
//!   Their methods are the operations; each has a backward rule on Burn's autodiff tape.
//! - Operations on dense tensors, and on several sparse ones: [`ops`].
//! - Sparse tensors in Burn modules: [`module`]. Layers: [`nn`].
//! - Several processes or threads that train one model: [`parallel`]. Linear systems: [`solve`].
//! - Files: [`io`]. Graphs and data sets: [`data`]. Shared patterns: [`pattern`]. Pictures: `plot` (a feature).
//!   Devices of another machine: `remote` (a feature).
//! - Matrices and graphs of sprs, nalgebra-sparse, faer and petgraph: `interop` (features).
//! - How to use it all, in chapters: `book`.
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
//!
//! Tensors and operations are the crate `sparse-ops`; each of the other modules is a crate and a feature. `nn`, `data`,
//! `io`, `parallel` and `solve` are on by default. With `default-features = false, features = ["flex"]` only tensors
//! and operations are built. [`extend`] has what an operation, a layer or a file format of your own needs.
#![cfg_attr(feature = "ndarray", allow(deprecated))]
// Links lead to wings that the build has not.
#![cfg_attr(
    not(all(feature = "data", feature = "parallel", feature = "solve")),
    allow(rustdoc::broken_intra_doc_links)
)]

// Its examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/book/links.md")]
#[doc = include_str!("../docs/book/README.md")]
pub mod book;
#[cfg(feature = "parallel")]
pub mod parallel;
pub mod prelude;

pub use sparse_ops::*;

#[cfg(any(feature = "sprs", feature = "nalgebra", feature = "faer", feature = "petgraph"))]
#[doc(inline)]
pub use sparse_files::interop;
#[cfg(feature = "io")]
#[doc(inline)]
pub use sparse_files::io;
#[cfg(feature = "data")]
#[doc(inline)]
pub use sparse_graphs as data;
#[cfg(feature = "nn")]
#[doc(inline)]
pub use sparse_nn as nn;
#[cfg(feature = "plot")]
#[doc(inline)]
pub use sparse_plot as plot;
#[cfg(feature = "remote")]
#[doc(inline)]
pub use sparse_remote as remote;
#[cfg(feature = "solve")]
#[doc(inline)]
pub use sparse_solve as solve;
