//! Layers that work on sparse tensors, as Burn modules.

mod dropout;
mod gcn;
mod normalization;

pub use dropout::{sparse_dropout, try_sparse_dropout};
pub use gcn::{GcnConv, GcnConvConfig};
pub use normalization::{
    row_normalization, symmetric_normalization, try_row_normalization, try_symmetric_normalization,
};
