//! Sparse x dense with an extremum, and its gradients.

use super::ints;
use super::linalg::Operand;
use crate::dtype::{Wide, with_index};
use crate::host_tensor::host_data;
use crate::{AnyTensor, HostAccess, HostTensor, OptionalFloat, RowsView};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{DType, TensorData};
use half::{bf16, f16};
use sparse_core::{Element, Extremum, Index, zeroed};

/// Integers in their own types, whose products wrap before they are compared. Floats may be wider: rounding keeps the
/// order.
pub(crate) fn spmm_extremum<B: HostAccess>(
    extremum: Extremum,
    view: RowsView<B>,
    values: AnyTensor<B>,
    dense: AnyTensor<B>,
) -> AnyTensor<B> {
    let device = values.device();
    let (a, dense) = (Operand::read::<B>(view, values), B::to_host(dense));
    let out = with_index!("matmul_reduce", a.ptr.dtype(), I => match dense.dtype() {
        DType::F16 | DType::BF16 | DType::F32 => floats::<f32, I>(extremum, &a, &dense),
        DType::F64 => floats::<f64, I>(extremum, &a, &dense),
        DType::I32 => own::<i32, I>(extremum, &a, &dense),
        DType::I64 => own::<i64, I>(extremum, &a, &dense),
        DType::U8 => own::<u8, I>(extremum, &a, &dense),
        other => unsupported(other),
    });
    B::to_device(out, &device)
}

#[cold]
fn unsupported(dtype: DType) -> ! {
    panic!("matmul_reduce: values must be f16, bf16, f32, f64, i32, i64 or u8, got {dtype:?}")
}

fn forward<T: Element, I: Index + bytemuck::Pod>(
    extremum: Extremum,
    a: &Operand,
    values: &[T],
    dense: &[T],
    features: usize,
) -> (Vec<T>, [usize; 2]) {
    let shape = [a.ptr.dims()[0] - 1, features];
    let mut out = zeroed::<T>(shape[0] * features);
    sparse_core::spmm_extremum::<T, I>(extremum, a.view(), values, dense, features, &mut out);
    (out, shape)
}

fn floats<T: Wide, I: Index + bytemuck::Pod>(extremum: Extremum, a: &Operand, dense: &HostTensor) -> TensorData {
    let (values, wide) = (T::read(&a.values), T::read(dense));
    let (out, shape) = forward::<T, I>(extremum, a, &values, &wide, dense.dims()[1]);
    T::data(out, shape.to_vec(), dense.dtype())
}

fn own<T: Element + bytemuck::Pod, I: Index + bytemuck::Pod>(
    extremum: Extremum,
    a: &Operand,
    dense: &HostTensor,
) -> TensorData {
    let (out, shape) = forward::<T, I>(extremum, a, a.values.slice(), dense.slice(), dense.dims()[1]);
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

fn float<B: HostAccess>(data: TensorData, device: &B::Device) -> FloatTensor<B> {
    match B::to_device(data, device) {
        AnyTensor::Float(tensor) => tensor,
        _ => unreachable!("the dtype of a float"),
    }
}

/// `reads` are the values, the dense operand, the result and its gradient.
pub(crate) fn extremum_rows_backward<B: HostAccess>(
    _rows: IntTensor<B>,
    view: RowsView<B>,
    reads: [FloatTensor<B>; 4],
    need_values: bool,
) -> (FloatTensor<B>, OptionalFloat<B>) {
    let [values, dense, out, grad] = reads.map(AnyTensor::<B>::Float);
    let (device, dtype) = (grad.device(), grad.dtype());
    let (ptr, idx) = (ints::<B>(view.ptr), ints::<B>(view.idx));
    let [values, dense, out, grad] = [values, dense, out, grad].map(B::to_host);
    let (shape, nnz) = (grad.dims(), idx.dims()[0]);
    let (shares, value_grads) = with_index!("matmul_reduce", ptr.dtype(), I => with_float!(dtype, T => {
        let (pattern, features) = ((ptr.slice::<I>(), idx.slice::<I>()), shape[1]);
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
    }));
    let value_grads = value_grads.map_or(OptionalFloat::Absent, |data| OptionalFloat::Given(float::<B>(data, &device)));
    (float::<B>(shares, &device), value_grads)
}

/// `reads` are the values, the dense operand, the result and the shares.
pub(crate) fn extremum_cols_backward<B: HostAccess>(view: RowsView<B>, reads: [FloatTensor<B>; 4]) -> FloatTensor<B> {
    let [values, dense, out, shares] = reads.map(AnyTensor::<B>::Float);
    let (device, dtype) = (dense.device(), dense.dtype());
    let a = Operand::read::<B>(view, values);
    let [dense, out, shares] = [dense, out, shares].map(B::to_host);
    let shape = dense.dims();
    let grad = with_index!("matmul_reduce", a.ptr.dtype(), I => with_float!(dtype, T => {
        let mut grad = zeroed::<T>(shape[0] * shape[1]);
        let (values, dense) = (a.values.slice(), dense.slice());
        let (out, shares) = (out.slice(), shares.slice());
        sparse_core::extremum_cols_backward::<T, I>(a.view(), values, dense, out, shares, shape[1], &mut grad);
        host_data(grad, shape, dtype)
    }));
    float::<B>(grad, &device)
}
