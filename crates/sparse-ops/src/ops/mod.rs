//! Operations, in families. An operation is one file: its documentation, checks, forward pass and backward rule. What
//! several share is in files beside them, functions of one element share `elementwise/functions.rs`, and `stored.rs`
//! is the view of the stored elements.
//!
//! Operations on one sparse tensor, or on two of one layout, are methods. Operations on several tensors, or on dense
//! tensors, are the functions of this module: Burn's `Tensor` has inherent methods with some of these names, which
//! would shadow ours.

pub(crate) mod dense;
pub(crate) mod elementwise;
pub(crate) mod products;
pub(crate) mod reductions;
pub(crate) mod stored;
pub(crate) mod structure;

pub use dense::gather::{
    NdAxes, gather, gather_nd, scatter, scatter_nd, scatter_reduce, try_gather, try_gather_nd, try_scatter,
    try_scatter_nd, try_scatter_reduce,
};
pub use dense::plan::IndexPlan;
pub use dense::put_along_axis::{PutValues, put_along_axis, try_put_along_axis};
pub use dense::unique::{try_unique, unique};
pub use elementwise::scalar::ScalarArg;
pub use products::attention::{attention, try_attention};
pub use products::masked_matmul::{head_sddmm, masked_matmul, try_head_sddmm, try_masked_matmul};
pub use products::matmul::MatmulRhs;
pub use products::matmul_then::Epilogue;
pub use products::semiring::Semiring;
pub use sparse_burn::Reduce;
pub use stored::Stored;
pub use structure::concat::{concat, try_concat, try_concat_async};
pub use structure::indices::Indices;
pub use structure::mask::{sparse_mask, try_sparse_mask, try_sparse_mask_async};
pub use structure::slice::Slices;
pub use structure::stack::{block_diag, stack, try_block_diag, try_stack};
