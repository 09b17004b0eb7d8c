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
//! - **To a tensor on a device:** [`from_matrix`](Interop::from_matrix) and `from_petgraph`, methods of the trait
//!   [`Interop`].
//! - **From a tensor:** [`from_sparse`](FromSparse::from_sparse), for example
//!   `sprs::CsMat::<f32>::from_sparse(&tensor)`.
//! - **Your own matrix type:** implement [`HostMatrix`].
//!
//! Both ways copy, and the values keep their bits. Gradients do not pass. Of a tensor with duplicates, compressed
//! formats and graphs get the sums; `TriMat` and `CooMatrix` get all entries in storage order.
//!
//! # sprs
//!
//! ```
//! # #[cfg(feature = "sprs")] {
//! use burn::tensor::{Device, Tensor};
//! use sparse_tensor::CsrTensor;
//! use sparse_tensor::interop::{FromSparse, Interop};
//! use sprs::{CsMat, TriMat};
//!
//! // Row pointers, columns and values.
//! let theirs = CsMat::new((2, 3), vec![0, 1, 3], vec![2, 0, 2], vec![1.0f32, 2.0, 3.0]);
//! let a = CsrTensor::<2>::from_matrix(&theirs, &Device::flex())?;
//! let product = a.matmul(Tensor::<2>::ones([3, 1], &Device::flex()));
//! assert_eq!(product.into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 5.0]);
//!
//! // Back. A `CsMat` from a tensor has compressed rows; `to_csc` of sprs changes that.
//! assert_eq!(CsMat::<f32>::from_sparse(&a)?, theirs);
//! let entries = TriMat::<f64>::from_sparse(&a)?; // every f32 is an f64
//! assert_eq!(entries.data(), [1.0, 2.0, 3.0]);
//! # }
//! # Ok::<(), sparse_tensor::SparseError>(())
//! ```
//!
//! # nalgebra-sparse
//!
//! ```
//! # #[cfg(feature = "nalgebra")] {
//! use burn::tensor::Device;
//! use nalgebra_sparse::{CooMatrix, CscMatrix, CsrMatrix};
//! use sparse_tensor::interop::{FromSparse, Interop};
//! use sparse_tensor::{CooTensor, CsrTensor};
//!
//! // An element that is given twice is the sum of both.
//! let entries = CooMatrix::try_from_triplets(2, 3, vec![1, 0, 1], vec![2, 0, 2], vec![1.0f32, 5.0, 2.0]).unwrap();
//! let a = CsrTensor::<2>::from_matrix(&entries, &Device::flex())?;
//! assert_eq!(a.to_triplets::<f32>(), (vec![0, 1], vec![0, 2], vec![5.0, 3.0]));
//! assert_eq!(CooTensor::<2>::from_matrix(&entries, &Device::flex())?.nnz(), 3);
//!
//! // Back, in each of the three formats.
//! assert_eq!(CsrMatrix::<f32>::from_sparse(&a)?, CsrMatrix::from(&entries));
//! assert_eq!(CscMatrix::<f32>::from_sparse(&a)?, CscMatrix::from(&entries));
//! assert_eq!(CooMatrix::<f32>::from_sparse(&a)?.nnz(), 2);
//! # }
//! # Ok::<(), sparse_tensor::SparseError>(())
//! ```
//!
//! # faer
//!
//! ```
//! # #[cfg(feature = "faer")] {
//! use burn::tensor::Device;
//! use faer::sparse::{SparseColMat, SparseRowMat, Triplet};
//! use sparse_tensor::CsrTensor;
//! use sparse_tensor::interop::{FromSparse, Interop};
//!
//! let entries = [Triplet::new(0u32, 2u32, 1.5), Triplet::new(1, 0, 2.5)];
//! let theirs = SparseColMat::<u32, f64>::try_new_from_triplets(2, 3, &entries).unwrap();
//! let a = CsrTensor::<2>::from_matrix(&theirs, &Device::flex())?;
//! assert_eq!(a.to_triplets::<f64>(), (vec![0, 1], vec![2, 0], vec![1.5, 2.5]));
//!
//! // Back, by columns or by rows, with any type of indices that holds the sizes.
//! let by_columns = SparseColMat::<u32, f64>::from_sparse(&a)?;
//! assert_eq!(by_columns.get(0, 2), Some(&1.5));
//! let by_rows = SparseRowMat::<usize, f64>::from_sparse(&a)?;
//! assert_eq!((by_rows.row_ptr(), by_rows.col_idx()), (&[0, 1, 2][..], &[2, 0][..]));
//! # }
//! # Ok::<(), sparse_tensor::SparseError>(())
//! ```
//!
//! # petgraph
//!
//! ```
//! # #[cfg(feature = "petgraph")] {
//! use burn::tensor::{Device, Tensor};
//! use petgraph::graph::{DiGraph, UnGraph};
//! use sparse_tensor::CsrTensor;
//! use sparse_tensor::interop::{FromSparse, Interop};
//!
//! let mut theirs = DiGraph::new();
//! let [paris, rome] = ["Paris", "Rome"].map(|city| theirs.add_node(city));
//! theirs.add_edge(paris, rome, "1106 km");
//! let kilometres = |text: &&str| text.trim_end_matches(" km").parse().unwrap_or(f32::NAN);
//!
//! // The edge goes from node 0 to node 1: row 0, column 1.
//! let a = CsrTensor::<2>::from_petgraph(&theirs, kilometres, &Device::flex())?;
//! assert_eq!(a.to_triplets::<f32>(), (vec![0], vec![1], vec![1106.0]));
//! // Layers collect into rows. In the transpose Rome receives from Paris.
//! let messages = a.transpose().matmul(Tensor::<2>::from_floats([[5.0], [7.0]], &Device::flex()));
//! assert_eq!(messages.into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 5530.0]);
//!
//! // Back. Node and edge numbers are those of rows and stored elements.
//! let weighted = DiGraph::<(), f32>::from_sparse(&a)?;
//! assert_eq!((weighted.node_count(), weighted.edge_count()), (2, 1));
//! assert!(UnGraph::<(), f32>::from_sparse(&a).is_err()); // the adjacency is not symmetric
//! # }
//! # Ok::<(), sparse_tensor::SparseError>(())
//! ```
//!
//! # Errors
//!
//! `from_matrix` and `from_petgraph` name theirs. What `from_sparse` gives, so that no value changes silently:
//!
//! - `fill_mismatch` for a fill other than zero, `undefined_fill` for a missing one;
//! - `dtype_mismatch` if the type of the values does not hold every number of the dtype: f64 has those of f32 and i32,
//!   f32 does not have those of i32;
//! - `overflow` if the type of the indices does not hold the sizes;
//! - `shape_mismatch` for dense dims, and for the graph of a matrix that is not square;
//! - `would_densify` for compressed rows or columns, and graphs, if there are more than
//!   [the limit](sparse_ops::Limits) of them and almost all are empty;
//! - `invalid` for an undirected graph of a matrix that is not symmetric.
//!
//! # Cost
//!
//! To a tensor: a pass over the entries, and a sort for CSR if they are not in order. From a tensor: the index arrays
//! and the values are read from the device; columns take a counting sort, whose result is kept with the pattern.

#[cfg(feature = "faer")]
mod faer;
mod from_sparse;
mod matrix;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "petgraph")]
mod petgraph;
mod read;
#[cfg(feature = "sprs")]
mod sprs;

pub use from_sparse::FromSparse;
pub use matrix::{HostMatrix, Interop};
