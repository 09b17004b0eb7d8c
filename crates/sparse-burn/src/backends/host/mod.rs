//! The kernels for host memory. Each calls `sparse_core::dynamic`, which matches the dtypes.

mod dense;
mod extremum;
mod linalg;
mod matmul;
mod merge;
mod put;
mod rows;
mod structure;

use crate::bytes::cast_mut;
use crate::dtype::unsupported;
use crate::host_tensor::{Given, HostTensor};
use burn::tensor::{BoolStore, Bytes, DType, TensorData};
use sparse_core::dynamic::{ElementsMut, IdVec, Ids};

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

/// Owned memory as the elements that it holds.
fn elements_mut(bytes: &mut Bytes, dtype: DType) -> ElementsMut<'_> {
    match dtype {
        #[cfg(feature = "f16")]
        DType::F16 => ElementsMut::F16(cast_mut(bytes)),
        #[cfg(feature = "f16")]
        DType::BF16 => ElementsMut::Bf16(cast_mut(bytes)),
        DType::F32 => ElementsMut::F32(cast_mut(bytes)),
        DType::F64 => ElementsMut::F64(cast_mut(bytes)),
        DType::I32 | DType::Bool(BoolStore::U32) => ElementsMut::I32(cast_mut(bytes)),
        DType::I64 => ElementsMut::I64(cast_mut(bytes)),
        DType::U8 | DType::Bool(_) => ElementsMut::U8(bytes),
        other => panic!("{}", unsupported(other)),
    }
}
