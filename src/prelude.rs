//! What a training program needs, beside `burn::prelude`.
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
//! The free functions `gather`, `scatter` and their `_nd` forms are in [`ops`](crate::ops): Burn's tensors have methods of
//! those names.

pub use crate::base::kind::{Kind, Numeric};
pub use crate::nn::{GcnConv, GcnConvConfig, row_normalization, sparse_dropout, symmetric_normalization};
pub use crate::ops::{IndexPlan, Reduce, block_diag, concat, masked_matmul, put_along_axis, sparse_mask, stack};
pub use crate::pattern::{CooPattern, CsrPattern, Pattern};
pub use crate::tensor::fill::Fill;
pub use crate::tensor::sparse::{CooTensor, CsrTensor, SparseTensor};
pub use sparse_core::SparseError;
