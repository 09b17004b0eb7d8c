//! A cycle through the levels.

use super::config::Cycle;
use super::hierarchy::{Coarsest, Hierarchy};
use super::relax::Relax;
use crate::operator::{LinearOperator, Operator, check_sizes};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Erased, Parts, expect, record, same_elements};
use sparse_ops::{CsrTensor, Result, SparseError};
use std::fmt;
use std::sync::Arc;

/// The levels of [`AmgConfig`](crate::AmgConfig). As an operator it is one cycle from 0, about `A^-1`; with as many
/// sweeps before the correction as after it is symmetric, and positive definite where `A` is. Clones share it.
/// `Display` shows the levels.
#[derive(Clone)]
pub struct Amg {
    hierarchy: Arc<Hierarchy>,
    /// Sweeps before and after the correction.
    sweeps: [usize; 2],
    cycle: Cycle,
}

impl Amg {
    pub(super) fn new(hierarchy: Hierarchy, sweeps: [usize; 2], cycle: Cycle) -> Self {
        Self { hierarchy: Arc::new(hierarchy), sweeps, cycle }
    }

    /// The hierarchy of a matrix with other values on the same pattern. Aggregates, strong connections, candidates and
    /// all patterns stay. It costs less than a set-up: nothing symbolic is done again.
    ///
    /// # Errors
    ///
    /// As [`AmgConfig::try_setup`](crate::AmgConfig::try_setup); `shape_mismatch`, `dtype_mismatch` and
    /// `device_mismatch` for another shape, dtype and device than those of the set-up; `invalid` for another pattern.
    #[or_panic]
    pub fn try_refresh(&self, a: &CsrTensor<2>) -> Result<Self> {
        Ok(Self::new(self.hierarchy.refreshed(a)?, self.sweeps, self.cycle))
    }

    /// One step of the multigrid method for `A x = b`: a better `x`, `[N, F]` as `b`. Not on the tape.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::solve::{AmgConfig, Boundary, laplacian};
    ///
    /// let device = Device::flex();
    /// let a = laplacian(&[30, 30], Boundary::Dirichlet, &device).unwrap();
    /// let amg = AmgConfig::new().setup(&a);
    /// let b = Tensor::<2>::ones([900, 1], &device);
    /// let size = |x: &Tensor<2>| (b.clone() - a.matmul(x.clone())).abs().max().into_scalar::<f32>();
    /// let mut x = b.zeros_like();
    /// for _ in 0..10 {
    ///     x = amg.cycle(b.clone(), x);
    /// }
    /// assert!(size(&x) < 1e-2);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if `b` has not the rows of the matrix, or `x` another shape than `b`; `dtype_mismatch`,
    /// `device_mismatch`.
    #[or_panic]
    pub fn try_cycle(&self, b: Tensor<2>, x: Tensor<2>) -> Result<Tensor<2>> {
        const OP: &str = "Amg::cycle";
        let (b, x) = (b.inner(), x.inner());
        self.check(OP, &b)?;
        if b.dims() != x.dims() {
            let rule = "x {right} must have the shape of b {left}";
            return Err(SparseError::shape_mismatch(OP, rule, b.dims(), x.dims()));
        }
        self.check(OP, &x)?;
        match self.hierarchy.first() {
            Some(a) if !x.dims().contains(&0) => Ok(x.clone() + self.visit(0, b - a.try_matmul(x)?)?),
            _ => Ok(x),
        }
    }

    /// Rows and stored elements of the matrix of each level.
    pub fn levels(&self) -> Vec<(usize, usize)> {
        let levels = self.hierarchy.levels.iter().map(|level| &level.a);
        let last = match &self.hierarchy.coarsest {
            Coarsest::Nothing => None,
            Coarsest::Inverse(a, _) | Coarsest::Smoothed(a, _) => Some(a),
        };
        levels.chain(last).map(|a| (a.dims()[0], a.nnz())).collect()
    }

    /// Stored elements of all levels, by those of the first: what one product on each level costs, in products of the
    /// first matrix. A V-cycle has at least two on each level, the residual and a sweep, beside those of the
    /// prolongations.
    pub fn operator_complexity(&self) -> f64 {
        let levels = self.levels();
        let all: usize = levels.iter().map(|(_, nnz)| nnz).sum();
        levels.first().map_or(1.0, |(_, nnz)| all as f64 / (*nnz).max(1) as f64)
    }

    fn check(&self, op: &'static str, x: &Tensor<2>) -> Result<()> {
        check_sizes(op, self.dims(), x)?;
        self.hierarchy.first().map_or(Ok(()), |a| same_elements(op, a.rows(), x))
    }

    /// About the solution of `A x = b` on a level.
    fn visit(&self, at: usize, b: Tensor<2>) -> Result<Tensor<2>> {
        let [before, after] = self.sweeps;
        let Some(level) = self.hierarchy.levels.get(at) else {
            return match &self.hierarchy.coarsest {
                Coarsest::Nothing => Ok(b),
                Coarsest::Inverse(_, inverse) => Ok(inverse.clone().matmul(b)),
                Coarsest::Smoothed(a, relax) => {
                    let x = relax.sweep(a, &relax.scaled(&b), None, before + after)?;
                    Ok(x.expect("there is at least one sweep"))
                }
            };
        };
        let scaled = level.relax.scaled(&b);
        let x = level.relax.sweep(&level.a, &scaled, None, before)?;
        let residual = match &x {
            Some(x) => b - level.a.try_matmul(x.clone())?,
            None => b,
        };
        let coarse = level.restrict.try_matmul(residual)?;
        let mut correction = self.visit(at + 1, coarse.clone())?;
        if let (Cycle::W, Some(next)) = (self.cycle, self.hierarchy.levels.get(at + 1)) {
            let rest = coarse - next.a.try_matmul(correction.clone())?;
            correction = correction + self.visit(at + 1, rest)?;
        }
        let correction = level.prolong.try_matmul(correction)?;
        let x = match x {
            Some(x) => x + correction,
            None => correction,
        };
        let x = level.relax.sweep(&level.a, &scaled, Some(x), after)?;
        Ok(x.expect("there was a point"))
    }
}

impl LinearOperator for Amg {
    fn dims(&self) -> [usize; 2] {
        [self.hierarchy.rows; 2]
    }

    fn device(&self) -> Option<Device> {
        self.hierarchy.first().map(CsrTensor::device)
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.check("Amg::apply", &x)?;
        if x.dims().contains(&0) {
            return Ok(x);
        }
        let out = self.visit(0, x.clone().inner())?;
        // The derivative of a linear map is the map itself: no level is on the tape.
        Ok(record(out, [Erased::from(&x)], self.swapped(), |transposed, grad, _| {
            [Some(expect(transposed.visit(0, grad)).into())]
        }))
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(Operator::new(self.swapped()))
    }

    fn without_tape(&self) -> Operator {
        Operator::new(self.clone())
    }
}

impl Amg {
    /// The transposed cycle. Each sweep and the correction are symmetric, so they only change their order.
    fn swapped(&self) -> Self {
        let [before, after] = self.sweeps;
        Self { sweeps: [after, before], ..self.clone() }
    }

    fn smoother(&self) -> &'static str {
        let first = self.hierarchy.levels.first().map(|level| &level.relax);
        match (first, &self.hierarchy.coarsest) {
            (Some(relax), _) | (None, Coarsest::Smoothed(_, relax)) => match relax {
                Relax::Jacobi { .. } => "Jacobi",
                Relax::Chebyshev { .. } => "Chebyshev",
            },
            (None, _) => "no smoother",
        }
    }
}

impl fmt::Display for Amg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (levels, [before, after]) = (self.levels(), self.sweeps);
        let (count, smoother) = (levels.len(), self.smoother());
        let complexity = self.operator_complexity();
        writeln!(f, "{count} levels, {smoother} {before}+{after}, operator complexity {complexity:.2}")?;
        writeln!(f, "{:>5} {:>12} {:>14} {:>8}", "level", "rows", "nnz", "a row")?;
        for (level, (rows, nnz)) in levels.into_iter().enumerate() {
            writeln!(f, "{level:>5} {rows:>12} {nnz:>14} {:>8.1}", nnz as f64 / rows.max(1) as f64)?;
        }
        let end = match &self.hierarchy.coarsest {
            Coarsest::Smoothed(..) => "the coarsest level is smoothed",
            _ => "the coarsest level is solved by its pseudo-inverse",
        };
        write!(f, "{end}")
    }
}

impl fmt::Debug for Amg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Amg").field("levels", &self.levels()).finish_non_exhaustive()
    }
}
