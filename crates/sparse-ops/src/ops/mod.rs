//! Operations. Each file holds one, with its documentation, checks, forward pass and backward rule.
//!
//! Operations on one sparse tensor, or on two of one layout, are methods. Operations on several tensors, or on dense
//! tensors, are the functions of this module: Burn's `Tensor` has inherent methods with some of these names, which
//! would shadow ours.

pub(crate) mod blocks;
pub(crate) mod broadcast;
pub(crate) mod graph;
pub(crate) mod to_dense;

mod addmm;
mod along;
mod any_all;
mod argmax;
pub(crate) mod attention;
mod binary;
mod cast;
mod coalesce;
mod compact;
mod comparisons;
pub(crate) mod concat;
mod conjugate_gradient;
mod convert;
mod count;
mod csc;
mod cumsum;
mod diagonal;
mod elementwise;
mod expand;
mod extremum;
mod flip;
mod fold_lines;
mod folds;
mod functions;
mod gather;
pub(crate) mod indices;
mod kron;
mod line_products;
mod line_sums;
pub(crate) mod linear;
mod map;
pub(crate) mod mask;
pub(crate) mod masked_matmul;
mod matmul;
mod matmul_reduce;
pub(crate) mod matmul_then;
mod mixed;
mod norm;
mod operand;
mod permute;
pub(crate) mod plan;
mod powers;
mod prune;
pub(crate) mod put_along_axis;
mod reduce;
mod roll;
mod scalar;
mod select;
mod shape;
mod slice;
mod softmax;
mod spgemm;
pub(crate) mod stack;
mod stored;
mod triangle;
pub(crate) mod unique;

pub use attention::{attention, try_attention};
pub use concat::{concat, try_concat, try_concat_async};
pub use conjugate_gradient::ConjugateGradientConfig;
pub use gather::{
    NdAxes, gather, gather_nd, scatter, scatter_nd, scatter_reduce, try_gather, try_gather_nd, try_scatter,
    try_scatter_nd, try_scatter_reduce,
};
pub use indices::Indices;
pub use mask::{sparse_mask, try_sparse_mask, try_sparse_mask_async};
pub use masked_matmul::{head_sddmm, masked_matmul, try_head_sddmm, try_masked_matmul};
pub use matmul::MatmulRhs;
pub use matmul_then::Epilogue;
pub use plan::IndexPlan;
pub use put_along_axis::{PutValues, put_along_axis, try_put_along_axis};
pub use scalar::ScalarArg;
pub use slice::Slices;
pub use sparse_burn::Reduce;
pub use stack::{block_diag, stack, try_block_diag, try_stack};
pub use unique::{try_unique, unique};
