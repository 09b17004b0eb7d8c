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

pub use crate::base::kind::{Kind, Numeric};
pub use crate::module::param::{CooParam, CsrParam, SparseParam};
pub use crate::nn::dropout::sparse_dropout;
pub use crate::nn::gcn::{GcnConv, GcnConvConfig};
pub use crate::nn::normalization::{gcn_normalization, row_normalization, symmetric_normalization};
pub use crate::nn::sparse_linear::{SparseLinear, SparseLinearConfig};
pub use crate::ops::concat::concat;
pub use crate::ops::mask::sparse_mask;
pub use crate::ops::masked_matmul::masked_matmul;
pub use crate::ops::plan::IndexPlan;
pub use crate::ops::put_along_axis::put_along_axis;
pub use crate::ops::stack::{block_diag, stack};
pub use crate::pattern::coo::CooPattern;
pub use crate::pattern::csr::CsrPattern;
pub use crate::pattern::layout::Pattern;
pub use crate::tensor::fill::Fill;
pub use crate::tensor::sparse::{CooTensor, CsrTensor, SparseTensor};
pub use sparse_burn::Reduce;
pub use sparse_core::SparseError;
