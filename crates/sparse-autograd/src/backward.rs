//! Backward from a gradient that the caller has.

use crate::{Erased, record};
use burn::tensor::{Gradients, Tensor};

/// The vector-Jacobian product: the gradients of `sum(output * grad)`, without that product.
///
/// `Tensor::backward` of Burn starts from ones of the shape of `output`, which it makes each time. This starts from
/// `grad`, as `output.backward(grad)` of PyTorch does: for a gradient that comes from elsewhere, such as the next part
/// of a model on another device. `grad` must be of the shape and the dtype of `output`, and is not copied.
///
/// # Panics
///
/// As `Tensor::backward` does: if `output` is not on a tape, or its part of the tape is used up. And if `grad` has
/// another shape or dtype.
///
/// # Example
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_autograd::backward_from;
///
/// let device = Device::flex().autodiff();
/// let x = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device).require_grad();
/// let grad = Tensor::<1>::from_floats([1.0, 0.0, 10.0], &device.clone().inner());
/// let grads = backward_from(&(x.clone() * x.clone()), grad);
/// let grad = x.grad(&grads).unwrap().into_data();
/// assert_eq!(grad.iter::<f32>().collect::<Vec<_>>(), [2.0, 0.0, 60.0]);
/// ```
pub fn backward_from<const D: usize>(output: &Tensor<D>, grad: Tensor<D>) -> Gradients {
    let (expected, got) = ((output.shape(), output.dtype()), (grad.shape(), grad.dtype()));
    assert!(
        expected == got,
        "backward_from: the gradient must have the shape and dtype of the output, {expected:?}, got {got:?}"
    );
    let grad = if grad.is_autodiff() { grad.inner() } else { grad };
    // The value says nothing: the tape needs a root of one element, whose gradient is 1.
    let root = Tensor::<1>::zeros([1], (&grad.device(), grad.dtype()));
    record(root, [Erased::from(output)], grad, |grad, _one, _needs| [Some(grad.clone().into())]).backward()
}
