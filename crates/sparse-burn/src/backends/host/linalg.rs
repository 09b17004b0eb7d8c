//! Products.

use super::ints;
use crate::carried::RowsView;
use crate::dtype::{Wide, with_index, with_wide};
use crate::host_tensor::HostTensor;
use crate::kernel::{Sddmm, Spgemm, SpgemmSampled, SpgemmValues, Spmm};
use burn::tensor::TensorData;
use sparse_core::{Compressed, Result, zeroed};

impl RowsView<HostTensor> {
    pub(super) fn slices<I: bytemuck::Pod>(&self) -> Compressed<'_, I> {
        let perm = self.perm.as_ref().map(HostTensor::slice);
        Compressed { ptr: self.ptr.slice(), idx: self.idx.slice(), perm }
    }
}

impl Spmm<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { view, values, dense } = self;
        let (rows, features, dtype) = (view.ptr.dims()[0] - 1, dense.dims()[1], values.dtype());
        with_index!("matmul", view.ptr.dtype(), I => with_wide!("matmul", dtype, T => {
            let mut out = zeroed::<T>(rows * features);
            sparse_core::spmm::<T, I>(view.slices(), &T::read(&values), &T::read(&dense), features, &mut out);
            T::data(out, vec![rows, features], dtype)
        }))
    }
}

impl Sddmm<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { rows, cols, x, y } = self;
        let (nnz, features, dtype) = (rows.dims()[0], x.dims()[1], x.dtype());
        with_index!("masked_matmul", rows.dtype(), I => with_wide!("masked_matmul", dtype, T => {
            let mut out = zeroed::<T>(nnz);
            sparse_core::sddmm::<T, I>(rows.slice(), cols.slice(), &T::read(&x), &T::read(&y), features, &mut out);
            T::data(out, vec![nnz, 1], dtype)
        }))
    }
}

impl Spgemm<HostTensor> {
    pub(crate) fn host(self) -> Result<(RowsView<TensorData>, TensorData)> {
        let Self { a: (a, a_values), b: (b, b_values), cols } = self;
        let (dtype, index) = (a_values.dtype(), a.ptr.dtype());
        with_index!("matmul", index, I => with_wide!("matmul", dtype, T => {
            let (left, right) = (T::read(&a_values), T::read(&b_values));
            let (ptr, idx, values) = sparse_core::spgemm::<T, I>(a.slices(), &left, b.slices(), &right, cols)?;
            let nnz = idx.len();
            let view = RowsView { ptr: ints(ptr, index), idx: ints(idx, index), perm: None };
            Ok((view, T::data(values, vec![nnz, 1], dtype)))
        }))
    }
}

impl SpgemmValues<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        with_pattern(self.c, self.a, self.b, self.cols, false)
    }
}

impl SpgemmSampled<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        with_pattern(self.mask, self.x, self.y, self.cols, true)
    }
}

type Factor = (RowsView<HostTensor>, HostTensor);

fn with_pattern(
    (ptr, idx): (HostTensor, HostTensor),
    (a, a_values): Factor,
    (b, b_values): Factor,
    cols: usize,
    sampled: bool,
) -> TensorData {
    let (nnz, dtype) = (idx.dims()[0], a_values.dtype());
    with_index!("matmul", ptr.dtype(), I => with_wide!("matmul", dtype, T => {
        let mut out = zeroed::<T>(nnz);
        let (own, left, right) = ((ptr.slice::<I>(), idx.slice::<I>()), T::read(&a_values), T::read(&b_values));
        if sampled {
            sparse_core::spgemm_sampled::<T, I>(own, a.slices(), &left, b.slices(), &right, cols, &mut out);
        } else {
            sparse_core::spgemm_values::<T, I>(own, a.slices(), &left, b.slices(), &right, cols, &mut out);
        }
        T::data(out, vec![nnz, 1], dtype)
    }))
}
