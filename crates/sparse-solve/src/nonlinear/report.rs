//! What a non-linear solve gives.

use crate::krylov::vectors::{Vectors, evened, norm, read};
use crate::krylov::watch::Stopped;
use burn::tensor::Tensor;
use sparse_ops::SparseError;
use sparse_ops::extend::Exact;
use std::fmt;
use std::time::Duration;

/// A solution of a non-linear equation and how it was reached.
#[derive(Debug)]
pub struct Root<const D: usize> {
    /// The solution, of the shape of the start.
    pub u: Tensor<D>,
    /// How it was reached.
    pub report: NonlinearReport,
}

/// How a non-linear solve went.
#[derive(Debug, Clone)]
pub struct NonlinearReport {
    /// Why it ended.
    pub stopped: Stopped,
    /// Iterations: of Newton's method linear systems, of a fixed point applications.
    pub iterations: usize,
    /// How often the function was applied without the tape. Those for Jacobians are not counted.
    pub evaluations: usize,
    /// Iterations of all linear solves together.
    pub linear_iterations: usize,
    /// The residual `|F(u)|`, of a fixed point `|G(u) - u|`, at the start and after each iteration.
    pub history: Vec<f64>,
    /// How long it took; 0 in a browser, which has no such clock.
    pub time: Duration,
}

impl NonlinearReport {
    /// The last residual; 0 if there are no unknowns.
    pub fn residual(&self) -> f64 {
        self.history.last().copied().unwrap_or(0.0)
    }

    /// Before anything is done.
    pub(super) fn new() -> Self {
        Self {
            stopped: Stopped::Converged,
            iterations: 0,
            evaluations: 0,
            linear_iterations: 0,
            history: vec![],
            time: Duration::ZERO,
        }
    }

    pub(super) fn unsolved(&self, op: &'static str, relative: f64) -> SparseError {
        let advice = match self.stopped {
            Stopped::Cancelled => "the progress callback must not end the solve, or use accept_unsolved".to_string(),
            _ => format!("use a larger tolerance than {relative:e}, another start or method, or more iterations"),
        };
        SparseError::invalid(op, format!("{advice}: {self}"))
    }
}

impl fmt::Display for NonlinearReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.stopped {
            Stopped::Converged => "solved after",
            Stopped::Iterations => "stopped by the limit of",
            Stopped::Stagnated => "got no nearer after",
            Stopped::Cancelled => "cancelled after",
        };
        let (first, last) = (self.history.first().copied().unwrap_or(0.0), self.residual());
        let (count, seconds) = (self.iterations, self.time.as_secs_f64());
        write!(f, "{why} {count} iterations in {seconds:.2} s with a residual of {last:.1e}, from {first:.1e}")
    }
}

/// As one column `[1, n, 1]`.
pub(super) fn column<const D: usize>(x: Tensor<D>) -> Vectors {
    let n = x.dims().iter().product();
    x.reshape(Exact([1, n, 1]))
}

/// The Euclidean norms, in one read. Not finite if a number is not.
pub(super) fn sizes<const N: usize>(list: [&Vectors; N]) -> [f64; N] {
    let parts = list.into_iter().flat_map(|own| {
        let (share, most) = evened(own);
        [norm(&share), most]
    });
    // Their products may not fit where they do.
    let [parts] = read([&Tensor::cat(parts.collect(), 2)]);
    std::array::from_fn(|own| parts[2 * own] * parts[2 * own + 1])
}
