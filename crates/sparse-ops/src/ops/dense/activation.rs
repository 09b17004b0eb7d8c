//! Activations of dense tensors, on all cores of a CPU.

use crate::policy;
use burn::tensor::{Tensor, activation};
use sparse_autograd::{Erased, record};
use sparse_burn::Activation;
use sparse_burn::kernel::{activate as apply, activate_backward};

/// The activation of each element: Burn's function, and its gradient, in one pass each, on all cores of a CPU.
///
/// On a GPU the result is that of Burn's function. There the gradient of large numbers is 1, where Burn's `elu` has NaN.
pub fn activate<const D: usize>(x: Tensor<D>, how: Activation) -> Tensor<D> {
    if x.shape().num_elements() == 0 {
        return x;
    }
    let plain = x.clone().inner();
    let out = match how {
        _ if policy::own_passes(&plain.device()) => apply(&plain, how),
        Activation::Elu { alpha } => activation::elu(plain.clone(), alpha),
        Activation::LeakyRelu { slope } => activation::leaky_relu(plain.clone(), slope),
    };
    record(out, [Erased::from(x)], (plain, how), |(x, how), grad, _| [Some(gradient(x, grad, *how).into())])
}

/// The gradient of what an activation took, from that of its result.
fn gradient<const D: usize>(x: &Tensor<D>, grad: Tensor<D>, how: Activation) -> Tensor<D> {
    if policy::own_passes(&x.device()) { activate_backward(x, grad, how) } else { grad * slopes(x, how) }
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
