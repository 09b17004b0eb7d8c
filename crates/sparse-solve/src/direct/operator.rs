//! Factors as the inverse matrix.

use super::factor::Factor;
use crate::operator::{Batch, LinearOperator, Operator, check_sizes};
use burn::tensor::{Device, Tensor};
use sparse_ops::Result;
use sparse_ops::extend::same_elements;

const OP: &str = "LinearOperator::apply";

impl Factor {
    fn apply(&self, x: Tensor<2>, transposed: bool) -> Result<Tensor<2>> {
        let dims = self.sizes(transposed);
        check_sizes(OP, dims, &x)?;
        same_elements(OP, &self.values, &x)?;
        Ok(self.columns(x, transposed))
    }

    fn sizes(&self, transposed: bool) -> [usize; 2] {
        let [systems, rows, cols] = self.core.structure.sizes;
        if transposed { [systems * rows, systems * cols] } else { [systems * cols, systems * rows] }
    }

    fn of_batch(&self, transposed: bool) -> Batch {
        let [systems, rows, cols] = self.core.structure.sizes;
        match (self.core.batched, transposed) {
            (false, _) => Batch::One,
            (true, false) => Batch::Systems([systems, cols, rows]),
            (true, true) => Batch::Systems([systems, rows, cols]),
        }
    }
}

impl LinearOperator for Factor {
    fn dims(&self) -> [usize; 2] {
        self.sizes(false)
    }

    fn batch(&self) -> Batch {
        self.of_batch(false)
    }

    fn device(&self) -> Option<Device> {
        Some(self.home())
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.apply(x, false)
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(Operator::new(Transposed(self.clone())))
    }

    fn without_tape(&self) -> Operator {
        Operator::new(self.plain())
    }
}

/// The transposed inverse.
#[derive(Debug)]
struct Transposed(Factor);

impl LinearOperator for Transposed {
    fn dims(&self) -> [usize; 2] {
        self.0.sizes(true)
    }

    fn batch(&self) -> Batch {
        self.0.of_batch(true)
    }

    fn device(&self) -> Option<Device> {
        Some(self.0.home())
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.0.apply(x, true)
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(Operator::new(self.0.clone()))
    }

    fn without_tape(&self) -> Operator {
        Operator::new(Self(self.0.plain()))
    }
}
