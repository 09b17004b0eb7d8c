//! The one thin layer that matches dtypes; everything below is generic.

use crate::bytes::{cast, cast_mut, size_of};
use crate::host_tensor::{HostTensor, host_data};
use burn::tensor::{Bytes, DType, TensorData};
use half::{bf16, f16};
use std::borrow::Cow;

/// Whether the library has kernels for values of this dtype.
pub fn is_supported(dtype: DType) -> bool {
    use DType::*;
    matches!(dtype, F16 | BF16 | F32 | F64 | I32 | I64 | U8 | Bool(_))
}

/// i32 where every size fits, else i64.
pub fn index_dtype_for(largest: usize) -> DType {
    // One below the maximum: `nnz` itself is an index too ("missing").
    if largest < i32::MAX as usize { DType::I32 } else { DType::I64 }
}

/// Runs `$body` with `$T` bound to the type that kernels compute in for `$dtype`: f32 for f16 and bf16 (which accumulate
/// in f32 and round once, so nothing changes), i64 for the integers and Bool (sums and products agree modulo their
/// width). Three types in place of eight keep the crate quick to build.
macro_rules! with_wide {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {{
        use burn::tensor::DType;
        match $dtype {
            DType::F32 | DType::F16 | DType::BF16 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            DType::I32 | DType::I64 | DType::U8 | DType::Bool(_) => {
                type $T = i64;
                $body
            }
            other => panic!("{}: values must be f16, bf16, f32, f64, i32, i64, u8 or bool, got {other:?}", $op),
        }
    }};
}

/// Runs `$body` with `$T` bound to an element type of the size of `$dtype`, for kernels that only move values.
macro_rules! with_size {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {
        match crate::bytes::size_of($dtype) {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = half::f16;
                $body
            }
            4 => {
                type $T = i32;
                $body
            }
            8 => {
                type $T = i64;
                $body
            }
            other => panic!("{}: values must have 1, 2, 4 or 8 bytes, got {other}", $op),
        }
    };
}

/// Runs `$body` with `$I` bound to the index type of `$dtype`.
macro_rules! with_index {
    ($op:expr, $dtype:expr, $I:ident => $body:expr) => {{
        use burn::tensor::DType;
        match $dtype {
            DType::I32 => {
                type $I = i32;
                $body
            }
            DType::I64 => {
                type $I = i64;
                $body
            }
            other => panic!("{}: indices must be i32 or i64, got {other:?}", $op),
        }
    }};
}

pub(crate) use {with_index, with_size, with_wide};

/// A type that kernels compute in, for the narrower dtypes it stands for.
pub(crate) trait Wide: sparse_core::Element + bytemuck::Pod {
    /// The elements of bytes of `dtype`, converted where they are narrower.
    fn widen_bytes(bytes: &[u8], dtype: DType) -> Cow<'_, [Self]>;

    /// Writes elements over bytes of `dtype`.
    fn narrow_into(wide: &[Self], bytes: &mut [u8], dtype: DType);

    /// The elements of a tensor.
    fn read(tensor: &HostTensor) -> Cow<'_, [Self]> {
        Self::widen_bytes(tensor.bytes(), tensor.dtype())
    }

    /// Elements as data of `dtype`.
    fn data(wide: Vec<Self>, shape: Vec<usize>, dtype: DType) -> TensorData {
        if size_of(dtype) == core::mem::size_of::<Self>() {
            return host_data(wide, shape, dtype);
        }
        let mut bytes = Bytes::from_bytes_vec(vec![0; wide.len() * size_of(dtype)]);
        Self::narrow_into(&wide, &mut bytes, dtype);
        TensorData::from_bytes(bytes, shape, dtype)
    }
}

fn widen<N: bytemuck::Pod, W: Clone>(bytes: &[u8], f: impl Fn(N) -> W) -> Cow<'_, [W]> {
    Cow::Owned(cast::<N>(bytes).iter().map(|&value| f(value)).collect())
}

fn narrow<N: bytemuck::Pod, W: Copy>(wide: &[W], bytes: &mut [u8], f: impl Fn(W) -> N) {
    cast_mut::<N>(bytes).iter_mut().zip(wide).for_each(|(slot, &value)| *slot = f(value));
}

impl Wide for f32 {
    fn widen_bytes(bytes: &[u8], dtype: DType) -> Cow<'_, [f32]> {
        match dtype {
            DType::F16 => widen(bytes, f16::to_f32),
            DType::BF16 => widen(bytes, bf16::to_f32),
            _ => Cow::Borrowed(cast(bytes)),
        }
    }
    fn narrow_into(wide: &[f32], bytes: &mut [u8], dtype: DType) {
        match dtype {
            DType::F16 => narrow(wide, bytes, f16::from_f32),
            DType::BF16 => narrow(wide, bytes, bf16::from_f32),
            _ => cast_mut(bytes).copy_from_slice(wide),
        }
    }
}

impl Wide for f64 {
    fn widen_bytes(bytes: &[u8], _dtype: DType) -> Cow<'_, [f64]> {
        Cow::Borrowed(cast(bytes))
    }
    fn narrow_into(wide: &[f64], bytes: &mut [u8], _dtype: DType) {
        cast_mut(bytes).copy_from_slice(wide);
    }
}

impl Wide for i64 {
    fn widen_bytes(bytes: &[u8], dtype: DType) -> Cow<'_, [i64]> {
        match size_of(dtype) {
            1 => widen(bytes, |value: u8| value as i64),
            4 => widen(bytes, |value: i32| value as i64),
            _ => Cow::Borrowed(cast(bytes)),
        }
    }
    fn narrow_into(wide: &[i64], bytes: &mut [u8], dtype: DType) {
        match size_of(dtype) {
            1 => narrow(wide, bytes, |value| value as u8),
            4 => narrow(wide, bytes, |value| value as i32),
            _ => cast_mut(bytes).copy_from_slice(wide),
        }
    }
}
