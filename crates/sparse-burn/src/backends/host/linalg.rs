//! Products.

use super::{ints, optional, write_ints};
use crate::dtype::{Wide, with_index, with_wide};
use crate::{AnyTensor, HostAccess, HostTensor, PatternArrays, RowsView};
use burn::backend::tensor::IntTensor;
use sparse_core::{Compressed, Result, zeroed};

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

/// A matrix by compressed rows, and its values.
pub(super) struct Operand {
    pub(super) ptr: HostTensor,
    idx: HostTensor,
    perm: Option<HostTensor>,
    pub(super) values: HostTensor,
}

impl Operand {
    pub(super) fn read<B: HostAccess>(view: RowsView<B>, values: AnyTensor<B>) -> Self {
        let (ptr, idx, perm) = (ints::<B>(view.ptr), ints::<B>(view.idx), optional::<B>(view.perm));
        Self { ptr, idx, perm, values: B::to_host(values) }
    }

    pub(super) fn view<I: bytemuck::Pod>(&self) -> Compressed<'_, I> {
        let perm = self.perm.as_ref().map(HostTensor::slice);
        Compressed { ptr: self.ptr.slice(), idx: self.idx.slice(), perm }
    }
}

pub(crate) fn spgemm<B: HostAccess>(
    a: RowsView<B>,
    a_values: AnyTensor<B>,
    b: RowsView<B>,
    b_values: AnyTensor<B>,
    cols: usize,
) -> (PatternArrays<B>, AnyTensor<B>, Result<()>) {
    let (device, dtype) = (a_values.device(), a_values.dtype());
    let (a, b) = (Operand::read::<B>(a, a_values), Operand::read::<B>(b, b_values));
    with_index!("matmul", a.ptr.dtype(), I => {
        let (ptr, idx, values, trouble) = with_wide!("matmul", dtype, T => {
            let (left, right) = (T::read(&a.values), T::read(&b.values));
            let product = sparse_core::spgemm::<T, I>(a.view(), &left, b.view(), &right, cols);
            let (product, trouble) = match product {
                Ok(product) => (product, Ok(())),
                Err(trouble) => (Default::default(), Err(trouble)),
            };
            let (ptr, idx, values): (Vec<I>, Vec<I>, Vec<T>) = product;
            let nnz = idx.len();
            (ptr, idx, T::data(values, vec![nnz, 1], dtype), trouble)
        });
        let (rows, nnz) = (ptr.len(), idx.len());
        let ptr = write_ints::<B, I>(ptr, &[rows], a.ptr.dtype(), &device);
        let idx = write_ints::<B, I>(idx, &[nnz], a.ptr.dtype(), &device);
        (PatternArrays::Csr(ptr, idx), B::to_device(values, &device), trouble)
    })
}

pub(crate) fn spgemm_values<B: HostAccess>(
    c: PatternArrays<B>,
    a: RowsView<B>,
    a_values: AnyTensor<B>,
    b: RowsView<B>,
    b_values: AnyTensor<B>,
    cols: usize,
) -> AnyTensor<B> {
    with_pattern::<B>(c, a, a_values, b, b_values, cols, false)
}

pub(crate) fn spgemm_sampled<B: HostAccess>(
    mask: PatternArrays<B>,
    x: RowsView<B>,
    x_values: AnyTensor<B>,
    y: RowsView<B>,
    y_values: AnyTensor<B>,
    cols: usize,
) -> AnyTensor<B> {
    with_pattern::<B>(mask, x, x_values, y, y_values, cols, true)
}

fn with_pattern<B: HostAccess>(
    pattern: PatternArrays<B>,
    a: RowsView<B>,
    a_values: AnyTensor<B>,
    b: RowsView<B>,
    b_values: AnyTensor<B>,
    cols: usize,
    sampled: bool,
) -> AnyTensor<B> {
    let PatternArrays::Csr(ptr, idx) = pattern else { unreachable!("products are by compressed rows") };
    let (device, dtype) = (a_values.device(), a_values.dtype());
    let (ptr, idx) = (ints::<B>(ptr), ints::<B>(idx));
    let (a, b) = (Operand::read::<B>(a, a_values), Operand::read::<B>(b, b_values));
    let nnz = idx.dims()[0];
    let out = with_index!("matmul", ptr.dtype(), I => with_wide!("matmul", dtype, T => {
        let mut out = zeroed::<T>(nnz);
        let (own, left, right) = ((ptr.slice::<I>(), idx.slice::<I>()), T::read(&a.values), T::read(&b.values));
        if sampled {
            sparse_core::spgemm_sampled::<T, I>(own, a.view(), &left, b.view(), &right, cols, &mut out);
        } else {
            sparse_core::spgemm_values::<T, I>(own, a.view(), &left, b.view(), &right, cols, &mut out);
        }
        T::data(out, vec![nnz, 1], dtype)
    }));
    B::to_device(out, &device)
}
