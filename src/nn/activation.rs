//! Activations of dense tensors, on all cores of a CPU.

use crate::kernel;
use burn::tensor::{Tensor, activation};
use sparse_autograd::{Erased, record};
use sparse_burn::Activation;

/// What Burn's [`elu`](activation::elu) does, on all cores of a CPU: `x` above zero, else `alpha * (e^x - 1)`.
///
/// One pass forward and one backward, which needs the result only; Burn's takes about ten. `e^x - 1` is precise near
/// zero. On a GPU, and for a negative `alpha`, this is Burn's function.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::elu;
///
/// let x = Tensor::<1>::from_floats([-1e-6, 0.0, 2.0], &Device::flex());
/// assert_eq!(elu(x, 1.0).into_data().iter::<f32>().collect::<Vec<_>>(), [-9.999995e-7, 0.0, 2.0]);
/// ```
pub fn elu<const D: usize>(x: Tensor<D>, alpha: f64) -> Tensor<D> {
    activated(x, Activation::Elu { alpha }, |x| activation::elu(x, alpha))
}

/// What Burn's [`leaky_relu`](activation::leaky_relu) does, on all cores of a CPU: `x` above zero, else `slope * x`.
///
/// The gradient at zero is `slope`, as PyTorch's. On a GPU, and for a negative `slope`, this is Burn's function.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::leaky_relu;
///
/// let x = Tensor::<1>::from_floats([-2.0, 2.0], &Device::flex());
/// assert_eq!(leaky_relu(x, 0.25).into_data().iter::<f32>().collect::<Vec<_>>(), [-0.5, 2.0]);
/// ```
pub fn leaky_relu<const D: usize>(x: Tensor<D>, slope: f64) -> Tensor<D> {
    activated(x, Activation::LeakyRelu { slope }, |x| activation::leaky_relu(x, slope))
}

fn activated<const D: usize>(x: Tensor<D>, how: Activation, other: impl FnOnce(Tensor<D>) -> Tensor<D>) -> Tensor<D> {
    if !kernel::activates(&x, how) {
        return other(x);
    }
    let out = kernel::activate(&x, how);
    record(out.clone(), [Erased::from(x)], (out, how), |(out, how), grad, _| {
        [Some(kernel::activate_backward(out, grad, *how).into())]
    })
}
