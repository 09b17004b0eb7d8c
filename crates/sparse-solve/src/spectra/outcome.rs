//! From an iteration to what the caller gets.

use super::pencil::Tally;
use super::report::SpectrumReport;
use crate::krylov::watch::Stopped;
use burn::tensor::DType;
use sparse_ops::{Result, SparseError};
use std::time::{Duration, Instant};

/// The tolerance of solves for gradients.
pub fn gradient_tolerance(dtype: DType) -> f64 {
    if dtype == DType::F64 { 1e-11 } else { 1e-5 }
}

/// The most iterations of a matrix with `n` rows.
pub fn most(asked: Option<usize>, n: usize) -> usize {
    asked.unwrap_or(n.saturating_mul(10).clamp(100, 10_000))
}

/// In a browser, asking for the time panics.
pub fn clock() -> Option<Instant> {
    (!cfg!(all(target_family = "wasm", target_os = "unknown"))).then(Instant::now)
}

/// With the size of each residual and what it may be, of the matrix divided by `size`.
pub fn report(
    stopped: Stopped,
    iterations: usize,
    tally: &Tally<'_>,
    residuals: &[[f64; 2]],
    size: f64,
    clock: Option<Instant>,
) -> SpectrumReport {
    let converged: Vec<bool> = residuals.iter().map(|[own, goal]| own <= goal).collect();
    let stopped = match (converged.iter().all(|good| *good), stopped) {
        (true, _) => Stopped::Converged,
        (false, Stopped::Converged) => Stopped::Stagnated,
        (false, other) => other,
    };
    SpectrumReport {
        stopped,
        iterations,
        products: tally.products.get(),
        residuals: residuals.iter().map(|[own, _]| own * size).collect(),
        converged,
        time: clock.map_or(Duration::ZERO, |clock| clock.elapsed()),
    }
}

/// # Errors
///
/// `invalid` if not all pairs have converged, unless that is accepted.
pub fn check_report(op: &'static str, report: &SpectrumReport, accept_unsolved: bool) -> Result<()> {
    if report.stopped == Stopped::Converged || accept_unsolved {
        return Ok(());
    }
    let advice = match report.stopped {
        Stopped::Cancelled => "the progress callback must not end it, or use accept_unsolved",
        _ => "use a larger tolerance, more iterations, a larger basis, a preconditioner or an inverse",
    };
    Err(SparseError::invalid(op, format!("{advice}: {report}")))
}
