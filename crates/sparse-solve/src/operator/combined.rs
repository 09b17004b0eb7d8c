//! Sums, products and scalings.

use super::base::{Batch, LinearOperator, Operator, check_sizes, device_of};
use burn::tensor::{Device, Tensor};
use sparse_ops::extend::same_elements;
use sparse_ops::{Result, SparseError};
use std::ops::{Add, Mul};

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

    fn groups(&self, size: usize, of: usize) -> Option<Vec<Operator>> {
        let lens = group_lens(self.0, size, of)?;
        Some(lens.into_iter().map(Operator::identity).collect())
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

    fn groups(&self, size: usize, of: usize) -> Option<Vec<Operator>> {
        let lens = group_lens(self.dims()[0], size, of)?;
        Some(self.0.clone().inner().split_with_sizes(lens, 0).into_iter().map(Operator::diagonal).collect())
    }

    fn without_tape(&self) -> Operator {
        Operator::diagonal(self.0.clone().inner())
    }
}

/// The rows of each group of `size` of the `of` systems that `rows` are, if they are those of so many.
fn group_lens(rows: usize, size: usize, of: usize) -> Option<Vec<usize>> {
    let lens = (0..of).step_by(size).map(|at| size.min(of - at) * (rows / of));
    rows.is_multiple_of(of).then(|| lens.collect())
}

/// Of each group of two operators what `combine` makes.
fn groups_of_both(
    both: [&Operator; 2],
    size: usize,
    of: usize,
    combine: fn(Operator, Operator) -> Operator,
) -> Option<Vec<Operator>> {
    let [left, right] = both.map(|own| own.groups(size, of));
    Some(left?.into_iter().zip(right?).map(|(left, right)| combine(left, right)).collect())
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

    fn groups(&self, size: usize, of: usize) -> Option<Vec<Operator>> {
        Some(self.0.groups(size, of)?.into_iter().map(|own| own * self.1).collect())
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

    fn groups(&self, size: usize, of: usize) -> Option<Vec<Operator>> {
        groups_of_both([&self.0, &self.1], size, of, Add::add)
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

    fn groups(&self, size: usize, of: usize) -> Option<Vec<Operator>> {
        groups_of_both([&self.0, &self.1], size, of, Mul::mul)
    }

    fn without_tape(&self) -> Operator {
        self.0.without_tape() * self.1.without_tape()
    }
}
