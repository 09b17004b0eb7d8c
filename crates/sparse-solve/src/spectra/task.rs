//! What is asked of an iteration, of which matrix, and what it keeps account of.

use super::adjoint::Second;
use super::block::Block;
use super::plain::Plain;
use super::report::SpectrumReport;
use crate::krylov::vectors::eps;
use crate::krylov::watch::{Progress, Stopped};
use crate::operator::LinearOperator;
use crate::report::check_tolerance;
use burn::tensor::{DType, Tensor};
use sparse_ops::{Result, SparseError};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// What is asked of an iteration, and of the solves for gradients.
#[derive(Debug, Clone)]
pub struct Asked {
    pub op: &'static str,
    pub count: usize,
    pub relative: f64,
    pub absolute: f64,
    pub most: usize,
    pub seed: usize,
    /// How many vectors are kept.
    pub basis: Option<usize>,
    pub accept_unsolved: bool,
    pub relative_gradient: Option<f64>,
    pub accept_unsolved_gradient: bool,
}

/// [`Asked`] of a configuration, of a matrix with so many rows.
macro_rules! asked {
    ($op:expr, $config:expr, $rows:expr) => {{
        let own = $config;
        $crate::spectra::task::Asked {
            op: $op,
            count: own.count,
            relative: own.relative,
            absolute: own.absolute,
            most: $crate::spectra::task::most(own.max_iterations, $rows),
            seed: own.seed,
            basis: own.basis,
            accept_unsolved: own.accept_unsolved,
            relative_gradient: own.relative_gradient,
            accept_unsolved_gradient: own.accept_unsolved_gradient.unwrap_or(own.accept_unsolved),
        }
    }};
}
pub(super) use asked;

/// The most iterations of a matrix with `n` rows.
pub fn most(asked: Option<usize>, n: usize) -> usize {
    asked.unwrap_or(n.saturating_mul(10).clamp(100, 10_000))
}

impl Asked {
    /// # Errors
    ///
    /// `invalid` for a count of 0, and a tolerance that is no number from 0 on.
    pub fn check(&self) -> Result<()> {
        if self.count == 0 {
            return Err(SparseError::invalid(self.op, "the count must be at least 1, got 0"));
        }
        check_tolerance(self.op, "relative", self.relative)?;
        check_tolerance(self.op, "absolute", self.absolute)
    }

    /// # Errors
    ///
    /// `invalid` if there are not so many.
    pub fn check_count(&self, available: usize, what: &str) -> Result<()> {
        if self.count <= available {
            return Ok(());
        }
        let message = format!("the count must be at most {available}, the number of {what}, got {}", self.count);
        Err(SparseError::invalid(self.op, message))
    }
}

/// A computation: counts products, asks whether to go on, and says what is good enough.
pub struct Task<'p> {
    pub asked: Asked,
    pub plain: Plain,
    products: Cell<usize>,
    progress: RefCell<Option<Progress<'p>>>,
    cancelled: Cell<bool>,
    /// What was told last.
    worst: Cell<f64>,
    /// In a browser, asking for the time panics.
    clock: Option<Instant>,
}

impl<'p> Task<'p> {
    /// With what was asked checked.
    ///
    /// # Errors
    ///
    /// Those of [`Plain::new`].
    pub fn new(
        asked: Asked,
        a: &dyn LinearOperator,
        like: Option<&Tensor<2>>,
        symmetric: bool,
        progress: Option<Progress<'p>>,
    ) -> Result<Self> {
        Ok(Self {
            clock: (!cfg!(all(target_family = "wasm", target_os = "unknown"))).then(Instant::now),
            plain: Plain::new(asked.op, a, like, symmetric)?,
            asked,
            products: Cell::new(0),
            progress: RefCell::new(progress),
            cancelled: Cell::new(false),
            worst: Cell::new(f64::INFINITY),
        })
    }

    pub fn count_products(&self, count: usize) {
        self.products.set(self.products.get() + count);
    }

    pub fn apply(&self, x: &Block) -> Result<Block> {
        self.count_products(x.dims()[1]);
        self.plain.a.try_apply(x.clone())
    }

    /// Whether it ends here.
    pub fn tell(&self, iteration: usize, worst: f64) -> bool {
        self.worst.set(worst);
        if self.cancelled.get() {
            return true;
        }
        if let Some(progress) = self.progress.borrow_mut().as_mut()
            && !progress(iteration, worst)
        {
            self.cancelled.set(true);
        }
        self.cancelled.get()
    }

    /// Whether an iteration ends it before the residuals are looked at; it is told with the last ones.
    pub fn ends(&self, iteration: usize) -> bool {
        iteration >= self.asked.most || self.tell(iteration, self.worst.get())
    }

    /// What a residual may be where that of the value is `value`, and rounding of `rounding` numbers of size 1.
    pub fn goal(&self, value: f64, rounding: f64) -> f64 {
        let rounding = 10.0 * eps(self.plain.like.dtype()) * rounding;
        (self.asked.relative * value).max(self.asked.absolute / self.plain.size).max(rounding)
    }

    /// The same before the residual is made; an inverse has no absolute tolerance.
    pub fn estimated_goal(&self, value: f64, norm: f64, inverse: bool) -> f64 {
        let absolute = if inverse { 0.0 } else { self.asked.absolute / self.plain.size };
        (self.asked.relative * value).max(absolute).max(10.0 * eps(self.plain.like.dtype()) * norm)
    }

    /// With the size of each residual and what it may be.
    ///
    /// # Errors
    ///
    /// `invalid` if not all pairs have converged, unless that is accepted.
    pub fn report(&self, stopped: Stopped, iterations: usize, residuals: &[[f64; 2]]) -> Result<SpectrumReport> {
        let converged: Vec<bool> = residuals.iter().map(|[own, goal]| own <= goal).collect();
        let stopped = match (converged.iter().all(|good| *good), stopped) {
            (true, _) => Stopped::Converged,
            (false, Stopped::Converged) => Stopped::Stagnated,
            (false, other) => other,
        };
        let report = SpectrumReport {
            stopped,
            iterations,
            products: self.products.get(),
            residuals: residuals.iter().map(|[own, _]| own * self.plain.size).collect(),
            converged,
            time: self.clock.map_or(Duration::ZERO, |clock| clock.elapsed()),
        };
        if stopped == Stopped::Converged || self.asked.accept_unsolved {
            return Ok(report);
        }
        let advice = match stopped {
            Stopped::Cancelled => "the progress callback must not end it, or use accept_unsolved",
            _ => "use a larger tolerance, more iterations, a larger basis, a preconditioner or an inverse",
        };
        Err(SparseError::invalid(self.asked.op, format!("{advice}: {report}")))
    }

    /// The solves of the backward pass.
    pub fn second(&self) -> Second {
        let usual = if self.plain.like.dtype() == DType::F64 { 1e-11 } else { 1e-5 };
        Second {
            op: self.asked.op,
            relative: self.asked.relative_gradient.unwrap_or(usual),
            most: self.asked.most.max(1000),
            accept_unsolved: self.asked.accept_unsolved_gradient,
            norm: self.plain.norm.get() * self.plain.size,
        }
    }
}
