//! An inverse by an iterative solve.

use super::block::Block;
use super::pencil::Pencil;
use crate::krylov::vectors::eps;
use crate::krylov::{self, Problem};
use crate::method::Method;
use crate::operator::{LinearOperator, Operator};
use burn::tensor::{Device, Tensor};
use sparse_ops::extend::{Exact, is_gpu};
use sparse_ops::{Result, SparseError};

/// `x` with `A x = b`, to almost all digits.
#[derive(Debug, Clone)]
struct Inverse {
    op: &'static str,
    a: Operator,
    preconditioner: Option<Operator>,
    method: Method,
    like: Block,
}

/// `(A - sigma B)^-1` by `Minres`.
///
/// # Errors
///
/// None now; those of the solves come with the products.
pub fn symmetric(pencil: &Pencil<'_, '_>, sigma: f64, preconditioner: Option<&dyn LinearOperator>) -> Result<Operator> {
    let n = pencil.n();
    let b = pencil.b.clone().unwrap_or_else(|| Operator::identity(n));
    let preconditioner = preconditioner.map(|own| own.without_tape() * pencil.task.plain.size);
    let a = pencil.task.plain.a.clone() + b * -sigma;
    Ok(Operator::new(Inverse {
        op: pencil.op(),
        a,
        preconditioner,
        method: Method::Minres,
        like: pencil.task.plain.like.clone(),
    }))
}

/// `(A - sigma I)^-1` by `Gmres`.
pub fn general(op: &'static str, a: &Operator, sigma: f64, like: &Block) -> Operator {
    let a = a.clone() + Operator::identity(a.dims()[0]) * -sigma;
    Operator::new(Inverse { op, a, preconditioner: None, method: Method::Gmres { restart: 60 }, like: like.clone() })
}

impl LinearOperator for Inverse {
    fn dims(&self) -> [usize; 2] {
        self.a.dims()
    }

    fn device(&self) -> Option<Device> {
        Some(self.like.device())
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        let [n, width] = x.dims();
        // Errors of the solves are errors of the eigenvalues.
        let relative = 100.0 * eps(x.dtype());
        let every = if is_gpu(&x.device()) { 10 } else { 1 };
        let problem = Problem {
            a: &self.a,
            preconditioner: self.preconditioner.as_ref(),
            b: x.reshape(Exact([1, n, width])),
            start: None,
            relative: vec![relative; width],
            absolute: 0.0,
            most: n.saturating_mul(10).clamp(100, 20_000),
            every,
        };
        let outcome = krylov::run(&self.method, problem, None)?;
        if let Some(trouble) = outcome.trouble {
            return Err(trouble);
        }
        // A shift very near a value has a residual that is large by rounding; the pairs are checked later.
        let worst = outcome.residuals.iter().copied().fold(0.0, f64::max);
        if worst > 1e-3 {
            let message = format!(
                "the solves with A - sigma B must converge, got a relative residual of {worst:.1e} after {} \
                 iterations: give the inverse, or another sigma",
                outcome.iterations
            );
            return Err(SparseError::invalid(self.op, message));
        }
        Ok(outcome.x.reshape(Exact([n, width])))
    }

    fn try_transposed(&self) -> Result<Operator> {
        let preconditioner = self.preconditioner.as_ref().map(LinearOperator::try_transposed).transpose()?;
        Ok(Operator::new(Self { a: self.a.try_transposed()?, preconditioner, ..self.clone() }))
    }

    fn without_tape(&self) -> Operator {
        Operator::new(self.clone())
    }
}
