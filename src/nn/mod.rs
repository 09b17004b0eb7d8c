//! Layers that work on sparse tensors, as Burn modules.

pub(crate) mod dropout;
pub(crate) mod gcn;
pub(crate) mod normalization;
pub(crate) mod sparse_linear;

pub use dropout::{sparse_dropout, try_sparse_dropout};
pub use gcn::{GcnConv, GcnConvConfig};
pub use normalization::{
    row_normalization, symmetric_normalization, try_row_normalization, try_symmetric_normalization,
};
pub use sparse_linear::{SparseLinear, SparseLinearConfig};
