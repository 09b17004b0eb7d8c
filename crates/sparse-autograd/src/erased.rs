//! A float tensor whose rank is not in its type.

use burn::backend::TensorMetadata;
use burn::tensor::{DispatchTensor, Tensor};

/// A float tensor of any rank. Parents and gradients of different ranks can so be in one array.
#[derive(Clone, Debug)]
pub struct Erased(pub(crate) DispatchTensor);

impl Erased {
    /// The tensor with its rank back in the type.
    ///
    /// # Panics
    ///
    /// If the rank is not `D`.
    pub fn into_tensor<const D: usize>(self) -> Tensor<D> {
        let shape = self.shape();
        assert_eq!(shape.len(), D, "into_tensor: rank must be {D}, got shape {shape:?}");
        Tensor::from_dispatch(self.0)
    }

    /// The shape.
    pub fn shape(&self) -> Vec<usize> {
        let shape = self.0.shape();
        (0..shape.num_dims()).map(|axis| shape[axis]).collect()
    }
}

impl<const D: usize> From<Tensor<D>> for Erased {
    fn from(tensor: Tensor<D>) -> Self {
        Self(tensor.into_dispatch())
    }
}

impl<const D: usize> From<&Tensor<D>> for Erased {
    fn from(tensor: &Tensor<D>) -> Self {
        Self(tensor.clone().into_dispatch())
    }
}
