//! Products.

use super::{ints, optional};
use crate::dtype::{Wide, with_index, with_wide};
use crate::{AnyTensor, HostAccess, HostTensor, RowsView};
use burn::backend::tensor::IntTensor;
use sparse_core::{Compressed, zeroed};

pub(crate) fn spmm<B: HostAccess>(view: RowsView<B>, values: AnyTensor<B>, dense: AnyTensor<B>) -> AnyTensor<B> {
    let (device, dtype) = (values.device(), values.dtype());
    let (ptr, idx, perm) = (ints::<B>(view.ptr), ints::<B>(view.idx), optional::<B>(view.perm));
    let (values, dense) = (B::to_host(values), B::to_host(dense));
    let (rows, features) = (ptr.dims()[0] - 1, dense.dims()[1]);
    let out = with_index!("matmul", ptr.dtype(), I => with_wide!("matmul", dtype, T => {
        let mut out = zeroed::<T>(rows * features);
        let perm = perm.as_ref().map(HostTensor::slice::<I>);
        let view = Compressed { ptr: ptr.slice::<I>(), idx: idx.slice(), perm };
        sparse_core::spmm::<T, I>(view, &T::read(&values), &T::read(&dense), features, &mut out);
        T::data(out, vec![rows, features], dtype)
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
    let out = with_index!("masked_matmul", rows.dtype(), I => with_wide!("masked_matmul", dtype, T => {
        let mut out = zeroed::<T>(nnz);
        sparse_core::sddmm::<T, I>(rows.slice(), cols.slice(), &T::read(&x), &T::read(&y), features, &mut out);
        T::data(out, vec![nnz, 1], dtype)
    }));
    B::to_device(out, &device)
}
