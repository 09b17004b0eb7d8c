//! Activations of dense tensors, on all cores of a CPU.

use burn::tensor::{Tensor, activation};
use sparse_ops::extend::{Activation, Erased, is_gpu, kernel, record};

/// What Burn's [`elu`](activation::elu) does, on all cores of a CPU: `x` above zero, else `alpha * (e^x - 1)`.
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
    activated(x, Activation::Elu { alpha }, |x| activation::elu(x, alpha))
}

/// What Burn's [`leaky_relu`](activation::leaky_relu) does, on all cores of a CPU: `x` above zero, else `slope * x`.
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
    activated(x, Activation::LeakyRelu { slope }, |x| activation::leaky_relu(x, slope))
}

/// `burn` is Burn's function, for GPUs.
fn activated<const D: usize>(x: Tensor<D>, how: Activation, burn: impl FnOnce(Tensor<D>) -> Tensor<D>) -> Tensor<D> {
    if x.shape().num_elements() == 0 {
        return x;
    }
    let plain = x.clone().inner();
    let out = if is_gpu(&plain.device()) { burn(plain.clone()) } else { kernel::activate(&plain, how) };
    record(out, [Erased::from(x)], (plain, how), |(x, how), grad, _| [Some(gradient(x, grad, *how).into())])
}

/// The gradient of what an activation took, from that of its result.
fn gradient<const D: usize>(x: &Tensor<D>, grad: Tensor<D>, how: Activation) -> Tensor<D> {
    if is_gpu(&x.device()) { grad * slopes(x, how) } else { kernel::activate_backward(x, grad, how) }
}

/// The slope at each number.
fn slopes<const D: usize>(x: &Tensor<D>, how: Activation) -> Tensor<D> {
    let below = match how {
        // Not the exponential of large numbers: an infinity would become NaN.
        Activation::Elu { alpha } => x.clone().clamp_max(0.0).exp().mul_scalar(alpha),
        Activation::LeakyRelu { slope } => x.zeros_like().add_scalar(slope),
    };
    below.mask_fill(x.clone().greater_elem(0.0), 1.0)
}
