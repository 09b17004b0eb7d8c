//! Typed calls of the backend methods. Everything that crosses here is stripped of its autodiff association first.

use crate::tensor::Kind;
use burn::backend::Dispatch;
use burn::tensor::{Int, Tensor};
use sparse_burn::{AnyTensor, OptionalInt, RowsView, SparseBackend};
use sparse_core::Result;

type Any = AnyTensor<Dispatch>;
type Ints = Tensor<1, Int>;

/// The tensor without its autodiff association, of any kind and rank.
fn strip<const D: usize, K: Kind>(tensor: &Tensor<D, K>) -> Any {
    AnyTensor::from_tensor(tensor.clone().inner())
}

fn int<const D: usize>(tensor: &Tensor<D, Int>) -> burn::backend::DispatchTensor {
    tensor.clone().inner().into_dispatch()
}

fn optional(tensor: Option<&Ints>) -> OptionalInt<Dispatch> {
    tensor.map_or(OptionalInt::Identity, |tensor| OptionalInt::By(int(tensor)))
}

pub(crate) fn validate_coo(op: &'static str, indices: &Tensor<2, Int>, shape: &[usize]) -> Result<bool> {
    Dispatch::validate_coo(op, int(indices), shape.to_vec())
}

pub(crate) fn validate_csr(op: &'static str, row_ptr: &Ints, col_idx: &Ints, rows: usize, cols: usize) -> Result<()> {
    Dispatch::validate_csr(op, int(row_ptr), int(col_idx), rows, cols)
}

pub(crate) fn coalesce(indices: &Tensor<2, Int>, shape: &[usize]) -> (Tensor<2, Int>, Ints, Ints) {
    let (indices, order, ptr) = Dispatch::coalesce(int(indices), shape.to_vec());
    (Tensor::from_dispatch(indices), Tensor::from_dispatch(order), Tensor::from_dispatch(ptr))
}

/// `(order, ptr)`.
pub(crate) fn group_by(keys: &Ints, groups: usize) -> (Ints, Ints) {
    let (order, ptr) = Dispatch::group_by(int(keys), groups);
    (Tensor::from_dispatch(order), Tensor::from_dispatch(ptr))
}

pub(crate) fn expand_ptr(ptr: &Ints, nnz: usize) -> Ints {
    Tensor::from_dispatch(Dispatch::expand_ptr(int(ptr), nnz))
}

pub(crate) fn compress(ids: &Ints, groups: usize) -> Ints {
    Tensor::from_dispatch(Dispatch::compress(int(ids), groups))
}

pub(crate) fn move_rows<K: Kind>(values: &Tensor<2, K>, fill: &Tensor<2, K>, map: &Ints) -> Tensor<2, K> {
    Dispatch::move_rows(strip(values), strip(fill), int(map)).into_tensor()
}

pub(crate) fn segment_sum<K: Kind>(values: &Tensor<2, K>, order: Option<&Ints>, ptr: &Ints) -> Tensor<2, K> {
    Dispatch::segment_sum(strip(values), optional(order), int(ptr)).into_tensor()
}

/// A matrix by compressed rows: pointers, columns, and where each value stands.
#[derive(Clone, Debug)]
pub(crate) struct Compressed {
    pub(crate) ptr: Ints,
    pub(crate) idx: Ints,
    pub(crate) perm: Option<Ints>,
}

pub(crate) fn spmm<K: Kind>(view: &Compressed, values: &Tensor<2, K>, dense: &Tensor<2, K>) -> Tensor<2, K> {
    let view = RowsView { ptr: int(&view.ptr), idx: int(&view.idx), perm: optional(view.perm.as_ref()) };
    Dispatch::spmm(view, strip(values), strip(dense)).into_tensor()
}

pub(crate) fn sddmm<K: Kind>(rows: &Ints, cols: &Ints, x: &Tensor<2, K>, y: &Tensor<2, K>) -> Tensor<2, K> {
    Dispatch::sddmm(int(rows), int(cols), strip(x), strip(y)).into_tensor()
}
