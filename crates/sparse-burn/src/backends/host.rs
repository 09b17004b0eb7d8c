//! Default bodies: read to the host (on Flex nothing is copied), call `sparse-core`, write back.

use crate::dtype::{with_element, with_index};
use crate::host_tensor::host_data;
use crate::{AnyTensor, HostAccess, HostTensor, OptionalInt, RowsView};
use burn::backend::TensorMetadata;
use burn::backend::tensor::IntTensor;
use sparse_core::{Compressed, Element, Result};

fn ints<B: HostAccess>(tensor: IntTensor<B>) -> HostTensor {
    B::to_host(AnyTensor::Int(tensor))
}

fn write_ints<B: HostAccess, I: bytemuck::Pod + Send + Sync>(
    elements: Vec<I>,
    shape: &[usize],
    like: &HostTensor,
    device: &B::Device,
) -> IntTensor<B> {
    match B::to_device(host_data(elements, shape.to_vec(), like.dtype()), device) {
        AnyTensor::Int(tensor) => tensor,
        _ => unreachable!("an index dtype is an int"),
    }
}

fn optional<B: HostAccess>(tensor: OptionalInt<B>) -> Option<HostTensor> {
    match tensor {
        OptionalInt::Identity => None,
        OptionalInt::By(tensor) => Some(ints::<B>(tensor)),
    }
}

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
            write_ints::<B, I>(out.indices, &[dims, unique], &indices, &device),
            write_ints::<B, I>(order, &[nnz], &indices, &device),
            write_ints::<B, I>(ptr, &[unique + 1], &indices, &device),
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
            write_ints::<B, I>(out.order, &[nnz], &keys, &device),
            write_ints::<B, I>(out.ptr, &[groups + 1], &keys, &device),
        )
    })
}

pub(crate) fn expand_ptr<B: HostAccess>(ptr: IntTensor<B>, nnz: usize) -> IntTensor<B> {
    let device = ptr.device();
    let ptr = ints::<B>(ptr);
    with_index!("expand_ptr", ptr.dtype(), I => {
        write_ints::<B, I>(sparse_core::expand_ptr::<I>(ptr.slice()), &[nnz], &ptr, &device)
    })
}

pub(crate) fn compress<B: HostAccess>(ids: IntTensor<B>, groups: usize) -> IntTensor<B> {
    let device = ids.device();
    let ids = ints::<B>(ids);
    with_index!("compress", ids.dtype(), I => {
        write_ints::<B, I>(sparse_core::compress::<I>(ids.slice(), groups), &[groups + 1], &ids, &device)
    })
}

pub(crate) fn move_rows<B: HostAccess>(values: AnyTensor<B>, fill: AnyTensor<B>, map: IntTensor<B>) -> AnyTensor<B> {
    let (device, dtype) = (values.device(), values.dtype());
    let (values, fill, map) = (B::to_host(values), B::to_host(fill), ints::<B>(map));
    let (rows, block) = (map.dims()[0], values.dims()[1]);
    let out = with_index!("move_rows", map.dtype(), I => with_element!("move_rows", dtype, T => {
        let mut out = vec![T::ZERO; rows * block];
        sparse_core::move_rows::<T, I>(values.slice(), block, fill.slice(), map.slice(), &mut out);
        host_data(out, [rows, block], dtype)
    }));
    B::to_device(out, &device)
}

pub(crate) fn segment_sum<B: HostAccess>(
    values: AnyTensor<B>,
    order: OptionalInt<B>,
    ptr: IntTensor<B>,
) -> AnyTensor<B> {
    let (device, dtype) = (values.device(), values.dtype());
    let (values, order, ptr) = (B::to_host(values), optional::<B>(order), ints::<B>(ptr));
    let (segments, block) = (ptr.dims()[0] - 1, values.dims()[1]);
    let out = with_index!("segment_sum", ptr.dtype(), I => with_element!("segment_sum", dtype, T => {
        let mut out = vec![T::ZERO; segments * block];
        let order = order.as_ref().map(HostTensor::slice::<I>);
        if dtype.is_bool() {
            sparse_core::segment_max::<T, I>(values.slice(), block, order, ptr.slice(), &mut out);
        } else {
            sparse_core::segment_sum::<T, I>(values.slice(), block, order, ptr.slice(), &mut out);
        }
        host_data(out, [segments, block], dtype)
    }));
    B::to_device(out, &device)
}

pub(crate) fn spmm<B: HostAccess>(view: RowsView<B>, values: AnyTensor<B>, dense: AnyTensor<B>) -> AnyTensor<B> {
    let (device, dtype) = (values.device(), values.dtype());
    let (ptr, idx, perm) = (ints::<B>(view.ptr), ints::<B>(view.idx), optional::<B>(view.perm));
    let (values, dense) = (B::to_host(values), B::to_host(dense));
    let (rows, features) = (ptr.dims()[0] - 1, dense.dims()[1]);
    let out = with_index!("matmul", ptr.dtype(), I => with_element!("matmul", dtype, T => {
        let mut out = vec![T::ZERO; rows * features];
        let perm = perm.as_ref().map(HostTensor::slice::<I>);
        let view = Compressed { ptr: ptr.slice::<I>(), idx: idx.slice(), perm };
        sparse_core::spmm::<T, I>(view, values.slice(), dense.slice(), features, &mut out);
        host_data(out, [rows, features], dtype)
    }));
    B::to_device(out, &device)
}

pub(crate) fn sddmm<B: HostAccess>(
    rows: IntTensor<B>,
    cols: IntTensor<B>,
    x: AnyTensor<B>,
    y: AnyTensor<B>,
) -> AnyTensor<B> {
    let (device, dtype) = (x.device(), x.dtype());
    let (rows, cols, x, y) = (ints::<B>(rows), ints::<B>(cols), B::to_host(x), B::to_host(y));
    let (nnz, features) = (rows.dims()[0], x.dims()[1]);
    let out = with_index!("masked_matmul", rows.dtype(), I => with_element!("masked_matmul", dtype, T => {
        let mut out = vec![T::ZERO; nnz];
        sparse_core::sddmm::<T, I>(rows.slice(), cols.slice(), x.slice(), y.slice(), features, &mut out);
        host_data(out, [nnz, 1], dtype)
    }));
    B::to_device(out, &device)
}
