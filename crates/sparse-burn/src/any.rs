//! Arguments of backend methods that are not single tensors of a fixed kind.

use burn::backend::tensor::{BoolTensor, FloatTensor, IntTensor};
use burn::backend::{Backend, DType, Dispatch, DispatchTensor, ExtensionType, TensorMetadata};
use burn::tensor::Tensor;
use burn::tensor::kind::Basic;

/// A tensor of any kind. Values of sparse tensors are moved and summed alike whatever their kind, so one backend method
/// serves all three.
#[derive(Clone, Debug, ExtensionType)]
pub enum AnyTensor<B: Backend> {
    /// f16, bf16, f32 or f64.
    Float(FloatTensor<B>),
    /// i32, i64 or u8.
    Int(IntTensor<B>),
    /// Bool in the backend's storage.
    Bool(BoolTensor<B>),
}

impl<B: Backend> AnyTensor<B> {
    /// Element type.
    pub fn dtype(&self) -> DType {
        match self {
            Self::Float(tensor) => tensor.dtype(),
            Self::Int(tensor) => tensor.dtype(),
            Self::Bool(tensor) => tensor.dtype(),
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

    /// Shape.
    pub fn dims(&self) -> Vec<usize> {
        let shape = match self {
            Self::Float(tensor) => tensor.shape(),
            Self::Int(tensor) => tensor.shape(),
            Self::Bool(tensor) => tensor.shape(),
        };
        (0..shape.num_dims()).map(|axis| shape[axis]).collect()
    }
}

impl AnyTensor<Dispatch> {
    /// Wraps a user's tensor. It must carry no autodiff association (`Tensor::inner`).
    pub fn from_tensor<const D: usize, K: Basic>(tensor: Tensor<D, K>) -> Self {
        let tensor: DispatchTensor = tensor.into_dispatch();
        match tensor.dtype() {
            dtype if dtype.is_float() => Self::Float(tensor),
            dtype if dtype.is_bool() => Self::Bool(tensor),
            _ => Self::Int(tensor),
        }
    }

    /// Back to a user's tensor.
    ///
    /// # Panics
    ///
    /// If the kind or rank differs.
    pub fn into_tensor<const D: usize, K: Basic>(self) -> Tensor<D, K> {
        match self {
            Self::Float(tensor) | Self::Int(tensor) | Self::Bool(tensor) => Tensor::from_dispatch(tensor),
        }
    }
}

/// An index array that may be absent, which then means the identity.
#[derive(Clone, Debug, ExtensionType)]
pub enum OptionalInt<B: Backend> {
    /// Element `k` stands at `k`.
    Identity,
    /// Element `k` stands at entry `k` of the array.
    By(IntTensor<B>),
}

/// A sparse matrix by compressed rows: row `r` holds elements `ptr[r]..ptr[r + 1]`, element `k` has column `idx[k]` and
/// its value stands at `perm[k]`. The transpose of a pattern is the same thing with the roles swapped.
#[derive(Clone, Debug, ExtensionType)]
pub struct RowsView<B: Backend> {
    /// `[rows + 1]`.
    pub ptr: IntTensor<B>,
    /// `[nnz]`.
    pub idx: IntTensor<B>,
    /// Where the value of element `k` stands.
    #[extension_type]
    pub perm: OptionalInt<B>,
}
