//! Burn's `Linear` on sparse rows.

use super::features::{Features, check_width};
use burn::nn::Linear;
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::{CsrTensor, Result};

/// Burn's [`Linear`] on sparse rows: `x W + b`, `x [N, d_input]` to `[N, d_output]`. The weight and the bias are dense
/// and are trained as always; `x` stays sparse.
///
/// The product and the bias are one pass. Any fill gives the dense answer. Gradients reach the weight, the bias and the
/// values of `x`. Cost: `O(nnz d_output)`, forward and backward. ([`SparseLinear`](super::SparseLinear) is the layer
/// with a sparse weight.)
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::Device;
/// use sparse_tensor::{CsrTensor, nn::sparse_input_linear};
///
/// let device = Device::flex();
/// let words = CsrTensor::<2>::from_rows(&[vec![(7, 1.0), (2, 1.0)], vec![]], 10, &device).unwrap();
/// let linear = LinearConfig::new(10, 4).init(&device);
/// let out = sparse_input_linear(&words, &linear);
/// assert!((out - linear.forward(words.to_dense())).abs().max().into_scalar::<f32>() < 1e-6);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if `x` does not have `d_input` columns; `dtype_mismatch`, `device_mismatch`.
#[or_panic]
pub fn try_sparse_input_linear(x: &CsrTensor<2>, linear: &Linear) -> Result<Tensor<2>> {
    linear_of("sparse_input_linear", x, linear)
}

/// [`try_sparse_input_linear`] for another function, which errors name.
pub(super) fn linear_of(op: &'static str, x: &CsrTensor<2>, linear: &Linear) -> Result<Tensor<2>> {
    let [d_input, _] = linear.weight.lazy_shape().dims();
    check_width(op, x.dims(), d_input)?;
    Features::Sparse(x).linear(op, linear)
}
