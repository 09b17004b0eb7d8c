//! What a method sees: a system, where it starts, and who looks.

use super::vectors::{Numbers, Vectors, apply, apply_transposed};
use crate::operator::Operator;
use sparse_ops::Result;

pub struct System<'a> {
    pub a: &'a Operator,
    pub preconditioner: Option<&'a Operator>,
    /// The residual that each column may have.
    pub goal: Numbers,
}

/// A solution that gets better, and its residual.
pub struct Point {
    pub x: Vectors,
    pub residual: Vectors,
}

impl System<'_> {
    pub fn apply(&self, x: &Vectors) -> Result<Vectors> {
        apply(self.a, x)
    }

    pub fn apply_transposed(&self, x: &Vectors) -> Result<Vectors> {
        apply_transposed(self.a, x)
    }

    /// About the inverse of `A`, times `x`.
    pub fn precondition(&self, x: &Vectors) -> Result<Vectors> {
        match self.preconditioner {
            Some(preconditioner) => apply(preconditioner, x),
            None => Ok(x.clone()),
        }
    }

    /// 1 for the columns that are not solved, else 0.
    pub fn open(&self, residual: &Numbers) -> Numbers {
        let solved = residual.clone().lower_equal(self.goal.clone());
        residual.ones_like().mask_fill(solved, 0.0)
    }
}
