//! Tensors of floats in another float type.

use super::empty::nothing;
use super::kind::{Kind, as_float, from_float, is_16_bit};
use burn::tensor::{FloatDType, Tensor};

/// The tensor in another float type, if it holds floats.
pub(crate) fn in_float<const D: usize, K: Kind>(tensor: &Tensor<D, K>, dtype: FloatDType) -> Tensor<D, K> {
    if tensor.shape().num_elements() == 0 {
        return nothing(tensor.dims(), dtype.into(), &[tensor]);
    }
    from_float(as_float(tensor).expect("a tensor of floats").cast(dtype))
}

/// Rows of 16-bit floats in f32, for sums and small steps; others as they are.
pub fn wide(rows: Tensor<2>) -> Tensor<2> {
    if is_16_bit(rows.dtype()) { in_float(&rows, FloatDType::F32) } else { rows }
}
