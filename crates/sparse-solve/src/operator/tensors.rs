//! Tensors as operators.

use super::base::{Batch, LinearOperator, Operator, check_sizes};
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use sparse_ops::extend::{Exact, same_elements};
use sparse_ops::pattern::Pattern;
use sparse_ops::{CsrTensor, Result, SparseTensor};

const OP: &str = "LinearOperator::apply";

impl<P: Pattern> LinearOperator for SparseTensor<P, 2> {
    fn dims(&self) -> [usize; 2] {
        SparseTensor::dims(self)
    }

    fn device(&self) -> Option<Device> {
        Some(SparseTensor::device(self))
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.try_matmul(x)
    }

    fn try_transposed(&self) -> Result<Operator> {
        self.try_transpose().map(Operator::new)
    }

    fn without_tape(&self) -> Operator {
        Operator::new(Module::valid(self))
    }
}

impl LinearOperator for CsrTensor<3> {
    fn dims(&self) -> [usize; 2] {
        let [batch, rows, cols] = CsrTensor::dims(self);
        [batch * rows, batch * cols]
    }

    fn batch(&self) -> Batch {
        Batch::Systems(CsrTensor::dims(self))
    }

    fn device(&self) -> Option<Device> {
        Some(CsrTensor::device(self))
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        check_sizes(OP, LinearOperator::dims(self), &x)?;
        let ([batch, rows, cols], [_, width]) = (CsrTensor::dims(self), x.dims());
        let out = self.try_matmul(x.reshape(Exact([batch, cols, width])))?;
        Ok(out.reshape(Exact([batch * rows, width])))
    }

    fn try_transposed(&self) -> Result<Operator> {
        self.try_transpose().map(Operator::new)
    }

    fn groups(&self, size: usize, of: usize) -> Option<Vec<Operator>> {
        let all = CsrTensor::dims(self)[0] == of;
        let parts = all.then(|| Module::valid(self).try_split(size, 0).ok()).flatten()?;
        Some(parts.into_iter().map(Operator::new).collect())
    }

    fn without_tape(&self) -> Operator {
        Operator::new(Module::valid(self))
    }
}

impl LinearOperator for Tensor<2> {
    fn dims(&self) -> [usize; 2] {
        Tensor::dims(self)
    }

    fn device(&self) -> Option<Device> {
        Some(Tensor::device(self))
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        check_sizes(OP, Tensor::dims(self), &x)?;
        same_elements(OP, self, &x)?;
        Ok(self.clone().matmul(x))
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(Operator::new(self.clone().swap_dims(0, 1)))
    }

    fn without_tape(&self) -> Operator {
        Operator::new(self.clone().inner())
    }
}
