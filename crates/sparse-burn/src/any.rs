//! A tensor of any kind.

use burn::backend::tensor::{BoolTensor, FloatTensor, IntTensor};
use burn::backend::{Backend, BackendTensor, DType, Dispatch, DispatchTensor, TensorMetadata};
use std::convert::identity;

/// A tensor of any kind. Values of sparse tensors are moved and summed alike whatever their kind, so kernels take and
/// give tensors of this one type, index arrays included.
#[derive(Clone, Debug)]
pub enum AnyTensor<B: Backend> {
    /// f16, bf16, f32 or f64.
    Float(FloatTensor<B>),
    /// i32, i64 or u8.
    Int(IntTensor<B>),
    /// Bool in the backend's storage.
    Bool(BoolTensor<B>),
}

impl<B: Backend> AnyTensor<B> {
    /// The tensor that one of three functions makes of `source`: the one for the kind of `dtype`.
    pub(crate) fn of_dtype<S>(
        dtype: DType,
        source: S,
        float: impl FnOnce(S) -> FloatTensor<B>,
        int: impl FnOnce(S) -> IntTensor<B>,
        bool: impl FnOnce(S) -> BoolTensor<B>,
    ) -> Self {
        match dtype {
            dtype if dtype.is_float() => Self::Float(float(source)),
            dtype if dtype.is_bool() => Self::Bool(bool(source)),
            _ => Self::Int(int(source)),
        }
    }

    /// Device.
    pub fn device(&self) -> B::Device {
        match self {
            Self::Float(tensor) => tensor.device(),
            Self::Int(tensor) => tensor.device(),
            Self::Bool(tensor) => tensor.device(),
        }
    }
}

impl<B: Backend> From<AnyTensor<B>> for BackendTensor<B> {
    fn from(tensor: AnyTensor<B>) -> Self {
        match tensor {
            AnyTensor::Float(tensor) => Self::Float(tensor),
            AnyTensor::Int(tensor) => Self::Int(tensor),
            AnyTensor::Bool(tensor) => Self::Bool(tensor),
        }
    }
}

impl<B: Backend> From<BackendTensor<B>> for AnyTensor<B> {
    fn from(tensor: BackendTensor<B>) -> Self {
        match tensor {
            BackendTensor::Float(tensor) => Self::Float(tensor),
            BackendTensor::Int(tensor) => Self::Int(tensor),
            BackendTensor::Bool(tensor) => Self::Bool(tensor),
            other => panic!("kernels take plain tensors of floats, integers or bools, got a {} one", other.name()),
        }
    }
}

impl From<AnyTensor<Dispatch>> for DispatchTensor {
    fn from(tensor: AnyTensor<Dispatch>) -> Self {
        let (AnyTensor::Float(tensor) | AnyTensor::Int(tensor) | AnyTensor::Bool(tensor)) = tensor;
        tensor
    }
}

impl From<DispatchTensor> for AnyTensor<Dispatch> {
    fn from(tensor: DispatchTensor) -> Self {
        Self::of_dtype(tensor.dtype(), tensor, identity, identity, identity)
    }
}
