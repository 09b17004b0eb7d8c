//! Sparse x dense with an extremum, and its gradients.

use crate::carried::RowsView;
use crate::dtype::{Wide, with_index};
use crate::host_tensor::{HostTensor, host_data};
use crate::kernel::{ExtremumColsBackward, ExtremumRowsBackward, SpmmExtremum};
use burn::tensor::{DType, TensorData};
use half::{bf16, f16};
use sparse_core::{Element, Extremum, Index, zeroed};

impl SpmmExtremum<HostTensor> {
    /// Integers in their own types, whose products wrap before they are compared. Floats may be wider: rounding keeps the
    /// order.
    pub(crate) fn host(self) -> TensorData {
        let Self { extremum, view, values, dense } = self;
        let a = (&view, &values);
        with_index!("matmul_reduce", view.ptr.dtype(), I => match dense.dtype() {
            DType::F16 | DType::BF16 | DType::F32 => floats::<f32, I>(extremum, a, &dense),
            DType::F64 => floats::<f64, I>(extremum, a, &dense),
            DType::I32 => own::<i32, I>(extremum, a, &dense),
            DType::I64 => own::<i64, I>(extremum, a, &dense),
            DType::U8 => own::<u8, I>(extremum, a, &dense),
            other => unsupported(other),
        })
    }
}

/// Compressed rows and their values.
type Factor<'a> = (&'a RowsView<HostTensor>, &'a HostTensor);

#[cold]
fn unsupported(dtype: DType) -> ! {
    panic!("matmul_reduce: values must be f16, bf16, f32, f64, i32, i64 or u8, got {dtype:?}")
}

fn forward<T: Element, I: Index + bytemuck::Pod>(
    extremum: Extremum,
    a: &RowsView<HostTensor>,
    values: &[T],
    dense: &[T],
    features: usize,
) -> (Vec<T>, [usize; 2]) {
    let shape = [a.ptr.dims()[0] - 1, features];
    let mut out = zeroed::<T>(shape[0] * features);
    sparse_core::spmm_extremum::<T, I>(extremum, a.slices(), values, dense, features, &mut out);
    (out, shape)
}

fn floats<T: Wide, I: Index + bytemuck::Pod>(
    extremum: Extremum,
    (a, values): Factor<'_>,
    dense: &HostTensor,
) -> TensorData {
    let (values, wide) = (T::read(values), T::read(dense));
    let (out, shape) = forward::<T, I>(extremum, a, &values, &wide, dense.dims()[1]);
    T::data(out, shape.to_vec(), dense.dtype())
}

fn own<T: Element + bytemuck::Pod, I: Index + bytemuck::Pod>(
    extremum: Extremum,
    (a, values): Factor<'_>,
    dense: &HostTensor,
) -> TensorData {
    let (out, shape) = forward::<T, I>(extremum, a, values.slice(), dense.slice(), dense.dims()[1]);
    host_data(out, shape, dense.dtype())
}

/// Runs `$body` with `$T` bound to the float type of `$dtype` itself: products are compared as they were stored.
macro_rules! with_float {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::F16 => {
                type $T = f16;
                $body
            }
            DType::BF16 => {
                type $T = bf16;
                $body
            }
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            other => unsupported(other),
        }
    };
}

impl ExtremumRowsBackward<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, Option<TensorData>) {
        let Self { view, reads: [values, dense, out], grad, need_values, .. } = self;
        let (shape, nnz, dtype) = (grad.dims(), view.idx.dims()[0], grad.dtype());
        with_index!("matmul_reduce", view.ptr.dtype(), I => with_float!(dtype, T => {
            let (pattern, features) = ((view.ptr.slice::<I>(), view.idx.slice::<I>()), shape[1]);
            let mut shares = zeroed::<T>(shape[0] * features);
            let mut value_grads = need_values.then(|| zeroed::<T>(nnz));
            sparse_core::extremum_rows_backward::<T, I>(
                pattern,
                values.slice(),
                dense.slice(),
                out.slice(),
                grad.slice(),
                features,
                &mut shares,
                value_grads.as_deref_mut(),
            );
            (host_data(shares, shape, dtype), value_grads.map(|grads| host_data(grads, [nnz, 1], dtype)))
        }))
    }
}

impl ExtremumColsBackward<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { view, reads: [values, dense, out], shares } = self;
        let (shape, dtype) = (dense.dims(), dense.dtype());
        with_index!("matmul_reduce", view.ptr.dtype(), I => with_float!(dtype, T => {
            let mut grad = zeroed::<T>(shape[0] * shape[1]);
            let (values, dense) = (values.slice(), dense.slice());
            let (out, shares) = (out.slice(), shares.slice());
            sparse_core::extremum_cols_backward::<T, I>(view.slices(), values, dense, out, shares, shape[1], &mut grad);
            host_data(grad, shape, dtype)
        }))
    }
}
