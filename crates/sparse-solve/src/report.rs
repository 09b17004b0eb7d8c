//! What a solve is given besides the system, and what it gives besides the solution.

use crate::krylov::watch::{Progress, Stopped};
use crate::operator::LinearOperator;
use burn::tensor::Tensor;
use sparse_ops::{Result, SparseError};
use std::fmt;
use std::time::Duration;

/// What a solve may be given besides the system.
#[derive(Default)]
pub struct Hints<'a, const D: usize> {
    /// Where it begins, of the shape of the solution; else at 0. No gradient reaches it.
    pub start: Option<Tensor<D>>,
    /// About the inverse of `A`; see [`jacobi`](crate::jacobi()). No gradient reaches it.
    pub preconditioner: Option<&'a dyn LinearOperator>,
    /// Called after each look at the residual.
    pub progress: Option<Progress<'a>>,
}

impl<const D: usize> fmt::Debug for Hints<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hints").field("preconditioner", &self.preconditioner).finish_non_exhaustive()
    }
}

/// A solution and how it was reached.
#[derive(Debug)]
pub struct Solution<const D: usize> {
    /// The solution.
    pub x: Tensor<D>,
    /// How it was reached.
    pub report: Report,
}

/// How a solve went.
#[derive(Debug, Clone)]
pub struct Report {
    /// Why it ended.
    pub stopped: Stopped,
    /// Iterations, each with the products of the [`Method`](crate::Method).
    pub iterations: usize,
    /// The true residual of each column of each system, by the size of its right-hand side: `|b - A x| / |b|`; of least
    /// squares the smaller one of `|A^T r| / max(|A^T b|, |A| |r|)` and `|r| / |b|`, with `r = b - A x`.
    pub residuals: Vec<f64>,
    /// The iterations at which the device was read, with the largest residual by the size of its right-hand side
    /// among the columns that have not broken down.
    pub history: Vec<(usize, f64)>,
    /// How long it took; 0 in a browser, which has no such clock.
    pub time: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let worst = self.residuals.iter().copied().fold(0.0, f64::max);
        let why = match self.stopped {
            Stopped::Converged => "solved",
            Stopped::Iterations => "stopped by the limit",
            Stopped::Stagnated => "got no nearer",
            Stopped::Cancelled => "cancelled",
        };
        let (iterations, seconds) = (self.iterations, self.time.as_secs_f64());
        write!(f, "{why} after {iterations} iterations in {seconds:.2} s with a relative residual of {worst:.1e}")
    }
}

/// The end of a message that names a system of a batch.
pub(crate) fn of_system(system: Option<usize>) -> String {
    system.map_or(String::new(), |system| format!(" of system {system}"))
}

/// The end of a message: which row and column, and which system of a batch.
pub(crate) fn place(row: Option<usize>, column: Option<usize>, system: Option<usize>) -> String {
    let named = [("row", row), ("column", column)].map(|(name, at)| at.map(|at| format!("{name} {at}")));
    let named: Vec<String> = named.into_iter().flatten().collect();
    let start = if named.is_empty() { "" } else { " in " };
    format!("{start}{}{}", named.join(", "), of_system(system))
}

/// Of the largest residual its column and its system, where there are several.
pub(crate) fn place_of_worst(residuals: &[f64], [systems, width]: [usize; 2]) -> String {
    let worst = residuals.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    worst.map_or(String::new(), |(at, _)| {
        place(None, (width > 1).then_some(at % width), (systems > 1).then_some(at / width))
    })
}

/// # Errors
///
/// `invalid` for a tolerance that is no number from 0 on.
pub(crate) fn check_tolerance(op: &'static str, name: &str, number: f64) -> Result<()> {
    match number >= 0.0 && number.is_finite() {
        true => Ok(()),
        false => {
            Err(SparseError::invalid(op, format!("the {name} tolerance must be a number from 0 on, got {number}")))
        }
    }
}
