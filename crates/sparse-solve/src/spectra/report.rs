//! Which part of a spectrum is wanted, what a computation is given, and how it went.

use crate::krylov::watch::{Progress, Stopped};
use crate::operator::LinearOperator;
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Which eigenvalues. The first one of a result is the one that fits best.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Which {
    /// The smallest ones, of a matrix that is not symmetric by the real part (`SA`, `SR`).
    Smallest,
    /// The largest ones, of a matrix that is not symmetric by the real part (`LA`, `LR`).
    Largest,
    /// Those of the largest absolute value (`LM`).
    Magnitude,
    /// Those of the largest absolute imaginary part, of a matrix that is not symmetric (`LI`).
    Imaginary,
    /// Those nearest to this number (`sigma`), by products with `(A - sigma B)^-1`.
    Near(f64),
}

/// What a computation of eigenvalues or singular values may be given besides the matrix. No gradient reaches any of it
/// but `mass`.
#[derive(Default)]
pub struct SpectrumHints<'a> {
    /// The matrix `B` of `A x = l B x`, symmetric and positive definite. Gradients reach it.
    pub mass: Option<&'a dyn LinearOperator>,
    /// About the inverse of `A` or of `A - sigma B`, symmetric and positive definite; as [`Amg`](crate::Amg). For
    /// `Lobpcg`, for [`Which::Near`] without an inverse, and for the solve in the backward pass, whatever the method:
    /// `Lanczos` for other values has no use for it in the forward pass.
    pub preconditioner: Option<&'a dyn LinearOperator>,
    /// `(A - sigma B)^-1`, for [`Which::Near`] and the solve in its backward pass. An error for other values.
    pub inverse: Option<&'a dyn LinearOperator>,
    /// Vectors `[n, any]` where it begins, of singular values as the right ones; else random ones.
    pub start: Option<Tensor<2>>,
    /// Vectors `[n, any]` that are left out: the others are orthogonal to `B` times these.
    pub deflate: Option<Tensor<2>>,
    /// Called after each iteration with the largest residual by what it may be, of the last restart if there are such
    /// (infinite before the first one); `false` ends it.
    pub progress: Option<Progress<'a>>,
}

impl fmt::Debug for SpectrumHints<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpectrumHints")
            .field("mass", &self.mass)
            .field("inverse", &self.inverse)
            .finish_non_exhaustive()
    }
}

/// How a computation went.
#[derive(Debug, Clone)]
pub struct SpectrumReport {
    /// Why it ended.
    pub stopped: Stopped,
    /// Iterations: products of a block.
    pub iterations: usize,
    /// Columns that the matrix was multiplied with, or its inverse.
    pub products: usize,
    /// The true residual of each pair: `|A v - l B v|`; of singular values `|(A v - s u, A^T u - s v)|`.
    pub residuals: Vec<f64>,
    /// Whether it is as small as was asked.
    pub converged: Vec<bool>,
    /// How long it took; 0 in a browser, which has no such clock.
    pub time: Duration,
}

impl fmt::Display for SpectrumReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (good, all) = (self.converged.iter().filter(|good| **good).count(), self.converged.len());
        let worst = self.residuals.iter().copied().fold(0.0, f64::max);
        let why = match self.stopped {
            Stopped::Converged => "converged",
            Stopped::Iterations => "stopped by the limit",
            Stopped::Stagnated => "got no nearer",
            Stopped::Cancelled => "cancelled",
        };
        let (iterations, seconds) = (self.iterations, self.time.as_secs_f64());
        write!(
            f,
            "{why} after {iterations} iterations in {seconds:.2} s with {good} of {all} pairs and a residual of "
        )?;
        write!(f, "{worst:.1e}")
    }
}
