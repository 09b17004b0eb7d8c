//! The names that a training program needs besides `burn::prelude`.
//!
//! ```
//! use burn::prelude::*;
//! use sparse_tensor::prelude::*;
//!
//! let device = Device::flex().autodiff();
//! let values = Tensor::<1>::ones([2], &device).require_grad();
//! let a = CooTensor::from_edges(&[(0, 1), (1, 0)], values, None).unwrap().to_csr();
//! let loss = a.matmul(Tensor::<2>::ones([2, 3], &device)).sum();
//! assert!(a.grad(&loss.backward()).is_none()); // not a leaf: its values are
//! ```
//!
//! The free functions `gather`, `scatter`, `scatter_reduce` and the `_nd` forms are in [`ops`](crate::ops): their names
//! are common, and Burn's tensors have methods of the same names.

#[cfg(feature = "nn")]
pub use crate::nn::{
    GcnConv, GcnConvConfig, SparseLinear, SparseLinearConfig, gcn_normalization, row_normalization, sparse_dropout,
    symmetric_normalization,
};
#[cfg(any(feature = "sprs", feature = "nalgebra", feature = "faer", feature = "petgraph"))]
pub use sparse_files::interop::{FromSparse, Interop};
pub use sparse_ops::module::{CooParam, CsrParam, SparseParam};
pub use sparse_ops::ops::{IndexPlan, Reduce, block_diag, concat, masked_matmul, put_along_axis, sparse_mask, stack};
pub use sparse_ops::pattern::{CooPattern, CsrPattern, Pattern};
pub use sparse_ops::{CooTensor, CsrTensor, Fill, Kind, Numeric, SparseError, SparseTensor};
