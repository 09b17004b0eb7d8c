//! Typed calls of the kernels. [`sparse_burn::kernel`] declares each of them once. A call removes the autodiff
//! association of its tensors.

pub(crate) use sparse_burn::kernel::*;

use burn::tensor::{Int, Tensor};
use sparse_burn::{PatternArrays, RowsView};

/// A matrix in compressed rows: pointers, columns, and the position of each value (`None`: values are in row order).
pub type Compressed = RowsView<Tensor<1, Int>>;

/// The index arrays of a pattern.
pub type Arrays = PatternArrays<Tensor<1, Int>, Tensor<2, Int>>;

/// A reduction into positions along an axis, without the tensors of values.
pub(crate) type Put<const DI: usize> = sparse_burn::Put<Tensor<DI, Int>, Tensor<1, Int>>;

/// What follows a product in the same pass.
pub(crate) type Epilogue<K> = sparse_burn::Epilogue<Tensor<2, K>>;

/// The values that a put chose, and the positions of ties.
pub(crate) type Record = (Tensor<1, Int>, Tensor<1, Int>);
