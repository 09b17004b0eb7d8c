//! Products and powers of rows. Integers wrap.

use crate::base::index::numbers;
use crate::base::kind::{Numeric, as_float, from_float};
use crate::base::scalar::{host_apply, host_float};
use crate::kernel;
use crate::rows::sum_dim;
use burn::tensor::{DType, Float, Int, Scalar, Shape, Tensor};
use sparse_autograd::{Erased, record};
use sparse_burn::BinaryOp;

/// The product of rows of one shape: on the tape for floats, wrapping for integers.
pub(crate) fn wrapping_mul<K: Numeric>(a: Tensor<2, K>, b: Tensor<2, K>) -> Tensor<2, K> {
    if a.dtype().is_float() { a * b } else { wrapping(BinaryOp::Mul, &a, &b) }
}

/// `op` of untracked rows of one shape, at least one. Integers wrap in every build.
pub(crate) fn wrapping<K: Numeric>(op: BinaryOp, a: &Tensor<2, K>, b: &Tensor<2, K>) -> Tensor<2, K> {
    let (fill_a, fill_b) = (a.clone().narrow(0, 0, 1), b.clone().narrow(0, 0, 1));
    kernel::zip_rows(op, [a, b], [fill_a, fill_b], [None, None])
}

/// A number of the host to the power `times`, as elements of `dtype`.
pub(crate) fn host_power(value: Scalar, times: u128, dtype: DType) -> Scalar {
    let (mut power, mut base, mut times) = (Scalar::Int(1), value, times);
    if dtype.is_float() {
        return Scalar::Float(host_float(Scalar::Float(host_float(value, dtype).powf(times as f64)), dtype));
    }
    while times > 0 {
        if times % 2 == 1 {
            power = host_apply(BinaryOp::Mul, power, base, dtype);
        }
        base = host_apply(BinaryOp::Mul, base, base, dtype);
        times /= 2;
    }
    power
}

/// The row `base` `[1, width]` to the powers `times` `[n, 1]` (at most `most`). The power 0 of anything is 1.
///
/// Backward: `times * base^(times - 1)` times the gradient, and 0 where `times` is 0.
pub(crate) fn power<K: Numeric>(base: Tensor<2, K>, times: Tensor<2, Int>, most: usize) -> Tensor<2, K> {
    let out = plain_power(base.clone().inner(), &times, most);
    let (Some(base), Some(result)) = (as_float(&base), as_float(&out)) else { return out };
    let saved = (base.clone().inner(), times, most);
    from_float(record(result, [Erased::from(base)], saved, |(base, times, most), grad, _| {
        let lower = times.clone().sub_scalar(1).clamp_min(0);
        let slope = plain_power(base.clone(), &lower, *most) * numbers::<Float>(times.clone(), grad.dtype());
        [Some(sum_dim(grad * slope, 0).into())]
    }))
}

/// [`power`] of a row off the tape. By repeated squares: one pass for each binary digit.
pub(crate) fn plain_power<K: Numeric>(base: Tensor<2, K>, times: &Tensor<2, Int>, most: usize) -> Tensor<2, K> {
    let shape = Shape::from([times.dims()[0], base.dims()[1]]);
    let mut square = base;
    let mut out = Tensor::<2, K>::ones(shape.clone(), (&square.device(), square.dtype()));
    for digit in 0..usize::BITS - most.leading_zeros() {
        if digit > 0 {
            square = wrapping_mul(square.clone(), square);
        }
        let odd = times.clone().bitwise_and_scalar(1i64 << digit).not_equal_scalar(0).expand(shape.clone());
        let factor: Tensor<2, K> = square.clone().expand(shape.clone());
        out = out.clone().mask_where(odd, wrapping_mul(out, factor));
    }
    out
}
