//! Validation, grouping, compression.

use super::{ints, write_ints};
use crate::HostAccess;
use crate::dtype::with_index;
use burn::backend::TensorMetadata;
use burn::backend::tensor::IntTensor;
use sparse_core::Result;

pub(crate) fn validate_coo<B: HostAccess>(op: &'static str, indices: IntTensor<B>, shape: &[usize]) -> Result<bool> {
    let indices = ints::<B>(indices);
    let nnz = indices.dims()[1];
    with_index!(op, indices.dtype(), I => sparse_core::validate_coo::<I>(op, shape, indices.slice(), nnz))
}

pub(crate) fn validate_csr<B: HostAccess>(
    op: &'static str,
    row_ptr: IntTensor<B>,
    col_idx: IntTensor<B>,
    rows: usize,
    cols: usize,
) -> Result<()> {
    let (row_ptr, col_idx) = (ints::<B>(row_ptr), ints::<B>(col_idx));
    with_index!(op, row_ptr.dtype(), I => {
        sparse_core::validate_csr::<I>(op, rows, cols, row_ptr.slice(), col_idx.slice())
    })
}

pub(crate) fn coalesce<B: HostAccess>(
    indices: IntTensor<B>,
    shape: &[usize],
) -> (IntTensor<B>, IntTensor<B>, IntTensor<B>) {
    let device = indices.device();
    let indices = ints::<B>(indices);
    let (dims, nnz) = (indices.dims()[0], indices.dims()[1]);
    with_index!("coalesce", indices.dtype(), I => {
        let out = sparse_core::coalesce::<I>(shape, indices.slice(), nnz);
        let (order, ptr) = (out.segments.order, out.segments.ptr);
        let unique = ptr.len() - 1;
        (
            write_ints::<B, I>(out.indices, &[dims, unique], indices.dtype(), &device),
            write_ints::<B, I>(order, &[nnz], indices.dtype(), &device),
            write_ints::<B, I>(ptr, &[unique + 1], indices.dtype(), &device),
        )
    })
}

pub(crate) fn group_by<B: HostAccess>(keys: IntTensor<B>, groups: usize) -> (IntTensor<B>, IntTensor<B>) {
    let device = keys.device();
    let keys = ints::<B>(keys);
    with_index!("group_by", keys.dtype(), I => {
        let out = sparse_core::group_by::<I>(keys.slice(), groups);
        let nnz = out.order.len();
        (
            write_ints::<B, I>(out.order, &[nnz], keys.dtype(), &device),
            write_ints::<B, I>(out.ptr, &[groups + 1], keys.dtype(), &device),
        )
    })
}

pub(crate) fn scan<B: HostAccess>(counts: IntTensor<B>) -> IntTensor<B> {
    let device = counts.device();
    let counts = ints::<B>(counts);
    with_index!("scan", counts.dtype(), I => {
        let ptr = sparse_core::scan::<I>(counts.slice());
        let length = ptr.len();
        write_ints::<B, I>(ptr, &[length], counts.dtype(), &device)
    })
}

pub(crate) fn expand_ptr<B: HostAccess>(ptr: IntTensor<B>, nnz: usize) -> IntTensor<B> {
    let device = ptr.device();
    let ptr = ints::<B>(ptr);
    with_index!("expand_ptr", ptr.dtype(), I => {
        write_ints::<B, I>(sparse_core::expand_ptr::<I>(ptr.slice()), &[nnz], ptr.dtype(), &device)
    })
}

pub(crate) fn compress<B: HostAccess>(ids: IntTensor<B>, groups: usize) -> IntTensor<B> {
    let device = ids.device();
    let ids = ints::<B>(ids);
    with_index!("compress", ids.dtype(), I => {
        write_ints::<B, I>(sparse_core::compress::<I>(ids.slice(), groups), &[groups + 1], ids.dtype(), &device)
    })
}
