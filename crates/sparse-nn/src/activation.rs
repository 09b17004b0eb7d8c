//! Activations of dense tensors, on all cores of a CPU.

use burn::tensor::Tensor;
use sparse_ops::extend::{Activation, activate};

/// What Burn's [`elu`](burn::tensor::activation::elu) does, on all cores of a CPU: `x` above zero, else
/// `alpha * (e^x - 1)`.
///
/// One pass forward and one backward; Burn's takes about ten. `e^x - 1` is precise near zero. On a GPU the result is
/// that of Burn's function, and the gradient of large numbers is 1, where Burn's is NaN.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::elu;
///
/// let x = Tensor::<1>::from_floats([-1e-6, 0.0, 2.0], &Device::flex());
/// assert_eq!(elu(x, 1.0).into_data().iter::<f32>().collect::<Vec<_>>(), [-9.999995e-7, 0.0, 2.0]);
/// ```
pub fn elu<const D: usize>(x: Tensor<D>, alpha: f64) -> Tensor<D> {
    activate(x, Activation::Elu { alpha })
}

/// What Burn's [`leaky_relu`](burn::tensor::activation::leaky_relu) does, on all cores of a CPU: `x` above zero, else
/// `slope * x`.
///
/// The gradient at zero is `slope`, as PyTorch's.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::leaky_relu;
///
/// let x = Tensor::<1>::from_floats([-2.0, 2.0], &Device::flex());
/// assert_eq!(leaky_relu(x, 0.25).into_data().iter::<f32>().collect::<Vec<_>>(), [-0.5, 2.0]);
/// ```
pub fn leaky_relu<const D: usize>(x: Tensor<D>, slope: f64) -> Tensor<D> {
    activate(x, Activation::LeakyRelu { slope })
}
