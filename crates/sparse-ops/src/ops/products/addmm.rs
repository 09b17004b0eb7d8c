//! A product added to a dense tensor.

use crate::base::checks::same_elements;
use crate::base::empty::constant;
use crate::base::float::in_float;
use crate::base::kind::Numeric;
use crate::ops::elementwise::cast::widened;
use crate::ops::products::matmul::matrix;
use crate::ops::products::operand::Operand;
use crate::pattern::layout::Pattern;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::FloatDType::F32;
use burn::tensor::{ElementConversion, Shape, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// `beta * c + alpha * self x dense`: `[M, N] x [N, F]` on top of `[M, F]`, and batches.
    ///
    /// `c` may have size 1 along any dim and is broadcast then (a bias `[1, F]`). With `beta` 0 it is not read, so its
    /// NaN and infinities do not show, as in BLAS. The product is that of [`try_matmul`](Self::try_matmul), with any
    /// fill and dense dims.
    ///
    /// Backward: `beta` times the gradient to `c`, summed over broadcast dims; to both factors as in a product, times
    /// `alpha`.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::CooTensor;
    ///
    /// let device = Device::flex();
    /// let a = CooTensor::<2>::from_dense(Tensor::from_floats([[0.0, 2.0], [3.0, 0.0]], &device), 0);
    /// let x = Tensor::<2>::from_floats([[1.0], [10.0]], &device);
    /// let bias = Tensor::<2>::from_floats([[1.0]], &device);
    /// let out = a.addmm(1.0, bias, 2.0, x);
    /// assert_eq!(out.into_data().iter::<f32>().collect::<Vec<_>>(), [41.0, 7.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_addmm(
        &self,
        beta: impl ElementConversion + Copy,
        c: Tensor<D, K>,
        alpha: impl ElementConversion + Copy,
        dense: Tensor<D, K>,
    ) -> Result<Tensor<D, K>> {
        const OP: &str = "addmm";
        matrix(OP, self)?;
        let shape = Operand::new(OP, self, dense.dims())?.out();
        same_elements(OP, &self.values, &dense)?;
        let given = c.dims();
        if (0..D).any(|dim| given[dim] != shape[dim] && given[dim] != 1) {
            let rule = "the tensor added {left} must broadcast to the product {right}";
            return Err(SparseError::shape_mismatch(OP, rule, given, shape));
        }
        same_elements(OP, &c, &dense)?;
        if let Some((own, back)) = widened(self) {
            // Both terms are rounded once, as their sum: they may cancel.
            let (c, dense) = (in_float(&c, F32), in_float(&dense, F32));
            return Ok(in_float(&own.try_addmm(beta, c, alpha, dense)?, back));
        }
        let product = self.times(OP, dense)?;
        // Nothing to add up, which some devices cannot launch over.
        if shape.contains(&0) {
            return Ok(constant(product, &[&c]));
        }
        let product = if alpha.elem::<f64>() == 1.0 { product } else { product.mul_scalar(alpha) };
        if beta.elem::<f64>() == 0.0 {
            return Ok(product);
        }
        let c = if beta.elem::<f64>() == 1.0 { c } else { c.mul_scalar(beta) };
        Ok(product + if given == shape { c } else { c.expand(Shape::from(shape)) })
    }
}
