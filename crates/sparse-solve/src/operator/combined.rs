//! Sums, products and scalings.

use super::base::{Batch, LinearOperator, Operator, check_sizes, device_of};
use burn::tensor::{Device, Tensor};
use sparse_ops::extend::same_elements;
use sparse_ops::{Result, SparseError};
use std::ops::Range;

#[derive(Debug)]
pub struct Identity(pub usize);

impl LinearOperator for Identity {
    fn dims(&self) -> [usize; 2] {
        [self.0; 2]
    }

    fn batch(&self) -> Batch {
        Batch::Any
    }

    fn device(&self) -> Option<Device> {
        None
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        check_sizes("Operator::identity", self.dims(), &x).map(|()| x)
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(Operator::identity(self.0))
    }

    fn systems(&self, own: Range<usize>, of: usize) -> Option<Operator> {
        Some(Operator::identity(self.0 / of * own.len()))
    }

    fn without_tape(&self) -> Operator {
        Operator::identity(self.0)
    }
}

/// With its diagonal as a column `[n, 1]`.
#[derive(Debug)]
pub struct Diagonal(pub Tensor<2>);

impl LinearOperator for Diagonal {
    fn dims(&self) -> [usize; 2] {
        [self.0.dims()[0]; 2]
    }

    fn batch(&self) -> Batch {
        Batch::Any
    }

    fn device(&self) -> Option<Device> {
        Some(self.0.device())
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        const OP: &str = "LinearOperator::apply";
        check_sizes(OP, self.dims(), &x)?;
        same_elements(OP, &self.0, &x)?;
        Ok(x * self.0.clone())
    }

    fn scaling(&self) -> Option<Tensor<2>> {
        Some(self.0.clone())
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(Operator::diagonal(self.0.clone()))
    }

    fn systems(&self, own: Range<usize>, of: usize) -> Option<Operator> {
        let rows = self.dims()[0] / of;
        Some(Operator::diagonal(self.0.clone().narrow(0, rows * own.start, rows * own.len())))
    }

    fn without_tape(&self) -> Operator {
        Operator::diagonal(self.0.clone().inner())
    }
}

#[derive(Debug)]
pub struct Scaled(pub Operator, pub f64);

impl LinearOperator for Scaled {
    fn dims(&self) -> [usize; 2] {
        self.0.dims()
    }

    fn batch(&self) -> Batch {
        self.0.batch()
    }

    fn device(&self) -> Option<Device> {
        self.0.device()
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        Ok(self.0.try_apply(x)?.mul_scalar(self.1))
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(self.0.try_transposed()? * self.1)
    }

    fn systems(&self, own: Range<usize>, of: usize) -> Option<Operator> {
        Some(self.0.systems(own, of)? * self.1)
    }

    fn without_tape(&self) -> Operator {
        self.0.without_tape() * self.1
    }
}

#[derive(Debug)]
pub struct Sum(pub Operator, pub Operator);

impl LinearOperator for Sum {
    fn dims(&self) -> [usize; 2] {
        self.0.dims()
    }

    fn batch(&self) -> Batch {
        self.0.batch().plus(self.1.batch())
    }

    fn device(&self) -> Option<Device> {
        device_of([self.0.device(), self.1.device()])
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        let (left, right) = (self.0.dims(), self.1.dims());
        if left != right {
            let rule = "the operators of a sum must have one shape";
            return Err(SparseError::shape_mismatch("Operator::add", rule, left, right));
        }
        Ok(self.0.try_apply(x.clone())? + self.1.try_apply(x)?)
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(self.0.try_transposed()? + self.1.try_transposed()?)
    }

    fn systems(&self, own: Range<usize>, of: usize) -> Option<Operator> {
        Some(self.0.systems(own.clone(), of)? + self.1.systems(own, of)?)
    }

    fn without_tape(&self) -> Operator {
        self.0.without_tape() + self.1.without_tape()
    }
}

#[derive(Debug)]
pub struct Product(pub Operator, pub Operator);

impl LinearOperator for Product {
    fn dims(&self) -> [usize; 2] {
        [self.0.dims()[0], self.1.dims()[1]]
    }

    fn batch(&self) -> Batch {
        self.0.batch().times(self.1.batch())
    }

    fn device(&self) -> Option<Device> {
        device_of([self.0.device(), self.1.device()])
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.0.try_apply(self.1.try_apply(x)?)
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(self.1.try_transposed()? * self.0.try_transposed()?)
    }

    fn systems(&self, own: Range<usize>, of: usize) -> Option<Operator> {
        Some(self.0.systems(own.clone(), of)? * self.1.systems(own, of)?)
    }

    fn without_tape(&self) -> Operator {
        self.0.without_tape() * self.1.without_tape()
    }
}
