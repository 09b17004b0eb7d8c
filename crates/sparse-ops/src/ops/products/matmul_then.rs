//! A product with a bias and ReLU in the same pass.

use crate::base::checks::same_elements;
use crate::base::empty::constant;
use crate::base::exact::Exact;
use crate::kernel;
use crate::ops::products::matmul::{fill_term, matrix};
use crate::ops::products::operand::Operand;
use crate::ops::products::spmm::spmm;
use crate::pattern::layout::Pattern;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::Tensor;
use burn::tensor::activation::relu;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// What follows a product in the same pass: see [`matmul_then`](SparseTensor::matmul_then).
#[derive(Clone, Debug, Default)]
pub struct Epilogue {
    /// Added to each row, `[F]`.
    pub bias: Option<Tensor<1>>,
    /// Whether ReLU follows.
    pub relu: bool,
}

impl<P: Pattern, const D: usize> SparseTensor<P, D> {
    /// `relu(self x dense + bias)`, each part as the [`Epilogue`] says: `[M, N] x [N, F] -> [M, F]`, and batches.
    ///
    /// The answer is that of [`matmul`](Self::matmul), Burn's addition and `relu`, with the same bits on Flex and GPUs.
    /// The kernel of the product does all three while a row is in registers or in the cache. So it saves one or two
    /// passes over the result, and up to three launches on a GPU. For a fill, and for dense dims, there are separate
    /// passes.
    ///
    /// Backward: the gradient is zero where ReLU gave zero; then `d bias = sum_r d out[r, :]`, and the factors have the
    /// gradients of `matmul`.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CooTensor, ops::Epilogue};
    ///
    /// let device = Device::flex();
    /// let a = CooTensor::<2>::from_dense(Tensor::from_floats([[0.0, 2.0], [3.0, 0.0]], &device), 0);
    /// let x = Tensor::<2>::from_floats([[1.0, -9.0], [10.0, 1.0]], &device);
    /// let bias = Some(Tensor::from_floats([0.5, 1.0], &device));
    /// let out = a.matmul_then(x, Epilogue { bias, relu: true });
    /// assert_eq!(out.into_data().iter::<f32>().collect::<Vec<_>>(), [20.5, 3.0, 3.5, 0.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_matmul_then(&self, dense: Tensor<D>, epilogue: Epilogue) -> Result<Tensor<D>> {
        const OP: &str = "matmul_then";
        let matrix = matrix(OP, self)?;
        let operand = Operand::new(OP, self, dense.dims())?;
        same_elements(OP, &self.values, &dense)?;
        let features = dense.dims()[D - 1];
        let Epilogue { bias, relu: rectify } = epilogue;
        if let Some(bias) = &bias {
            same_elements(OP, bias, &dense)?;
            if bias.dims() != [features] {
                let rule = "the bias {left} must have a number for each column of the operand {right}";
                return Err(SparseError::shape_mismatch(OP, rule, bias.dims(), dense.dims()));
            }
        }
        // Without elements no kernel has anything to bind.
        let some = self.nnz() > 0 && !operand.out().contains(&0);
        let columns = operand.out()[operand.at() + 1..].iter().product::<usize>();
        if some && fill_term(self).is_none() && columns == features {
            let bias = bias.map(|bias| bias.reshape(Exact([1, features])));
            let epilogue = kernel::Epilogue { bias, relu: rectify };
            let (values, batch) = (operand.values(self.values.clone()), operand.batch());
            let out = spmm(matrix, values, operand.below(dense), batch, epilogue, self.transposed());
            return Ok(self.fill.without_gradient(out.reshape(Exact(operand.out()))));
        }
        let out = self.times(OP, dense)?;
        // Nothing to add to, which some devices cannot launch over.
        if out.shape().num_elements() == 0 {
            return Ok(bias.map_or_else(|| out.clone(), |bias| constant(out.clone(), &[&bias])));
        }
        let mut shape = [1; D];
        shape[D - 1] = features;
        let out = match bias {
            Some(bias) => out + bias.reshape(Exact(shape)),
            None => out,
        };
        Ok(if rectify { relu(out) } else { out })
    }
}
