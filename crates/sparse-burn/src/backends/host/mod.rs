//! The kernels for host memory. Each calls `sparse_core::dynamic`, which matches the dtypes.

mod extremum;
mod linalg;
mod merge;
mod put;
mod rows;
mod structure;

use crate::host_tensor::{Given, HostTensor};
use burn::tensor::{DType, TensorData};
use sparse_core::dynamic::{IdVec, Ids};

/// An index array.
fn list(ids: IdVec) -> TensorData {
    let (length, dtype) = (ids.len(), index_dtype(&ids));
    ids.data([length], dtype)
}

/// Coordinates `[dims, nnz]`.
fn coordinates(ids: IdVec, dims: usize) -> TensorData {
    let (nnz, dtype) = (ids.len() / dims, index_dtype(&ids));
    ids.data([dims, nnz], dtype)
}

fn index_dtype(ids: &IdVec) -> DType {
    match ids {
        IdVec::I32(_) => DType::I32,
        IdVec::I64(_) => DType::I64,
    }
}

fn optional(ids: &Option<HostTensor>) -> Option<Ids<'_>> {
    ids.as_ref().map(HostTensor::ids)
}
