//! Multiplication by a scalar.

use crate::pattern::Pattern;
use crate::tensor::{Fill, Numeric, SparseTensor};
use burn::tensor::Scalar;

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// Every element times `factor`, the fill included. Backward: the gradient times `factor`.
    pub fn mul_scalar(&self, factor: impl Into<Scalar>) -> Self {
        let factor = factor.into();
        let scale = |rows: burn::tensor::Tensor<2, K>| match factor {
            Scalar::Float(value) => rows.mul_scalar(value),
            Scalar::Int(value) => rows.mul_scalar(value),
            Scalar::UInt(value) => rows.mul_scalar(value),
            Scalar::Bool(value) => rows.mul_scalar(i64::from(value)),
        };
        // Zero stays zero for any finite factor; 0 * inf is not.
        let finite = !matches!(factor, Scalar::Float(value) if !value.is_finite());
        let fill = match &self.fill {
            Fill::Zero if finite => Fill::Zero,
            fill => fill.map_row(self.block(), self.dtype(), &self.device(), scale),
        };
        self.with_rows(scale(self.values.clone()), fill)
    }
}
