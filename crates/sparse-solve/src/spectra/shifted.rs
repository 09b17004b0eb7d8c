//! The systems of the backward pass of symmetric eigenvalue problems.

use super::block::{Block, gram, scaled};
use crate::operator::{LinearOperator, Operator};
use burn::tensor::{Device, Tensor};
use sparse_ops::Result;

/// `P^T (A - l_i B) P` of column `i`, with `P = I - V V^T B`; with an inverse `S = (A - sigma B)^-1` the same solutions
/// by `P^T (B - (l_i - sigma) B S B) P`, which is well conditioned near `sigma`.
#[derive(Debug, Clone)]
pub struct Shifted {
    pub a: Operator,
    pub b: Option<Operator>,
    pub inverse: Option<(Operator, f64)>,
    pub shifts: Vec<f64>,
    /// `V` and `B V`.
    pub known: Block,
    pub mass: Block,
}

impl Shifted {
    /// `P x`.
    pub fn up(&self, x: Block) -> Block {
        x.clone() - self.known.clone().matmul(gram(&self.mass, &x))
    }

    /// `P^T x`.
    pub fn down(&self, x: Block) -> Block {
        x.clone() - self.mass.clone().matmul(gram(&self.known, &x))
    }

    /// `B x`.
    pub fn of_mass(&self, x: Block) -> Result<Block> {
        self.b.as_ref().map_or(Ok(x.clone()), |b| b.try_apply(x))
    }
}

impl LinearOperator for Shifted {
    fn dims(&self) -> [usize; 2] {
        self.a.dims()
    }

    fn device(&self) -> Option<Device> {
        Some(self.known.device())
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        // A probe of the solver has fewer columns.
        let shifts = &self.shifts[..x.dims()[1].min(self.shifts.len())];
        let x = self.up(x);
        let mass = self.of_mass(x.clone())?;
        let out = match &self.inverse {
            None => self.a.try_apply(x)? - scaled(&mass, shifts),
            Some((inverse, sigma)) => {
                let factors: Vec<f64> = shifts.iter().map(|shift| shift - sigma).collect();
                mass.clone() - scaled(&self.of_mass(inverse.try_apply(mass)?)?, &factors)
            }
        };
        Ok(self.down(out))
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(Operator::new(self.clone()))
    }

    fn without_tape(&self) -> Operator {
        Operator::new(self.clone())
    }
}

/// `P M P^T` with a preconditioner `M`.
#[derive(Debug, Clone)]
pub struct Inside(pub Operator, pub Shifted);

impl LinearOperator for Inside {
    fn dims(&self) -> [usize; 2] {
        self.0.dims()
    }

    fn device(&self) -> Option<Device> {
        self.1.device()
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        Ok(self.1.up(self.0.try_apply(self.1.down(x))?))
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(Operator::new(self.clone()))
    }

    fn without_tape(&self) -> Operator {
        Operator::new(self.clone())
    }
}
