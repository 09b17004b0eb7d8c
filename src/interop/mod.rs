//! Matrices and graphs of other crates.
//!
//! | crate | types | feature |
//! |---|---|---|
//! | [`sprs`](https://docs.rs/sprs) | `CsMat` and `CsMatView` of both storages, `TriMat` | `sprs` |
//! | [`nalgebra-sparse`](https://docs.rs/nalgebra-sparse) | `CsrMatrix`, `CscMatrix`, `CooMatrix` | `nalgebra` |
//! | [`faer`](https://docs.rs/faer) | `SparseColMat`, `SparseRowMat` and their `Ref`s | `faer` |
//! | [`petgraph`](https://docs.rs/petgraph) | `Graph`, directed and undirected | `petgraph` |
//!
//! The feature `interop` turns on all four.
//!
//! - **To a tensor on a device:** [`from_matrix`](crate::SparseTensor::from_matrix) and
//!   `SparseTensor::from_petgraph`. `CsrTensor::try_from(&matrix)` does the same on the default device.
//! - **From a tensor:** `try_from`, for example `sprs::CsMat::<f32>::try_from(&tensor)`.
//! - **Your own matrix type:** implement [`HostMatrix`].
//!
//! Both ways copy, and the values keep their bits. A conversion that would change a value is an error: a fill other
//! than zero, or a type of values that does not hold all numbers of the dtype. Gradients do not pass.

#[cfg(feature = "faer")]
mod faer;
mod matrix;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "petgraph")]
mod petgraph;
mod read;
#[cfg(feature = "sprs")]
mod sprs;

pub use matrix::HostMatrix;
