//! Operations, one file each: docs, checks, forward and backward rule together.
//!
//! Operations of one sparse tensor, or of two of one layout, are methods; those of several tensors, and those on dense
//! tensors, are the functions here (Burn's `Tensor` has inherent methods of some of the same names, which would shadow
//! ours).

pub(crate) mod blocks;
pub(crate) mod to_dense;

mod addmm;
mod any_all;
mod argmax;
mod binary;
mod broadcast;
mod cast;
mod coalesce;
mod concat;
mod convert;
mod count;
mod cumsum;
mod diagonal;
mod elementwise;
mod expand;
mod extremum;
mod flip;
mod folds;
mod gather;
mod graph;
mod index_select;
mod kron;
mod line_sums;
mod map;
mod mask;
mod masked_matmul;
mod matmul;
mod matmul_reduce;
mod norm;
mod permute;
mod plan;
mod powers;
mod prune;
mod put_along_axis;
mod reduce;
mod scalar;
mod shape;
mod slice;
mod softmax;
mod spgemm;
mod stack;
mod triangle;

pub use concat::{concat, try_concat};
pub use gather::{gather, gather_nd, scatter, scatter_nd, try_gather, try_gather_nd, try_scatter, try_scatter_nd};
pub use mask::{sparse_mask, try_sparse_mask};
pub use masked_matmul::{masked_matmul, try_masked_matmul};
pub use matmul::MatmulRhs;
pub use plan::IndexPlan;
pub use put_along_axis::{PutValues, put_along_axis, try_put_along_axis};
pub use scalar::ScalarArg;
pub use sparse_burn::Reduce;
pub use stack::{block_diag, stack, try_block_diag, try_stack};
