//! Kronecker products.

use super::base::{LinearOperator, Operator, check_sizes, device_of};
use burn::tensor::{Device, Tensor};
use sparse_ops::Result;
use sparse_ops::extend::Exact;

/// `A (x) B`: with the vector as a matrix `[cols of A, cols of B]` it is `A X B^T`.
#[derive(Debug)]
pub struct Kron(pub Operator, pub Operator);

impl LinearOperator for Kron {
    fn dims(&self) -> [usize; 2] {
        let ([rows, cols], [inner_rows, inner_cols]) = (self.0.dims(), self.1.dims());
        [rows * inner_rows, cols * inner_cols]
    }

    fn device(&self) -> Option<Device> {
        device_of([self.0.device(), self.1.device()])
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        check_sizes("Operator::kron", self.dims(), &x)?;
        let ([rows, cols], [inner_rows, inner_cols], [_, width]) = (self.0.dims(), self.1.dims(), x.dims());
        let x = x.reshape(Exact([cols, inner_cols, width])).permute([1, 0, 2]);
        let x = self.1.try_apply(x.reshape(Exact([inner_cols, cols * width])))?;
        let x = x.reshape(Exact([inner_rows, cols, width])).permute([1, 0, 2]);
        let x = self.0.try_apply(x.reshape(Exact([cols, inner_rows * width])))?;
        Ok(x.reshape(Exact([rows * inner_rows, width])))
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(self.0.try_transposed()?.kron(self.1.try_transposed()?))
    }

    fn without_tape(&self) -> Operator {
        self.0.without_tape().kron(self.1.without_tape())
    }
}
