//! When an iteration ends.

use super::vectors::Numbers;
use sparse_ops::extend::read_data;
use sparse_ops::{Result, SparseError};

pub const OP: &str = "SolverConfig::solve";

/// Called with the iteration and the largest residual by the size of the right-hand side; `false` ends the solve.
pub type Progress<'a> = &'a mut dyn FnMut(usize, f64) -> bool;

/// Why an iteration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Every column is as near as was asked.
    Converged,
    /// It has done as many iterations as it may.
    Iterations,
    /// It broke down, or gets no nearer.
    Stagnated,
    /// The progress callback asked for it.
    Cancelled,
}

/// Looks at residuals every few iterations, so that a device is not read in each.
pub struct Watch<'a> {
    pub iterations: usize,
    pub most: usize,
    pub every: usize,
    /// The residual that each column may have.
    pub goals: Vec<f64>,
    /// What residuals are compared with: the size of each right-hand side.
    pub sizes: Vec<f64>,
    pub history: Vec<(usize, f64)>,
    pub progress: Option<Progress<'a>>,
    pub cancelled: bool,
    before: Vec<f64>,
}

impl<'a> Watch<'a> {
    pub fn new(most: usize, every: usize, goals: Vec<f64>, sizes: Vec<f64>, progress: Option<Progress<'a>>) -> Self {
        let (history, before) = (vec![], vec![]);
        Self { iterations: 0, most, every: every.max(1), goals, sizes, history, progress, cancelled: false, before }
    }

    /// A sweep of iterations begins.
    pub fn begin(&mut self) {
        self.before.clear();
    }

    /// Counts an iteration, which leaves `residual`. Whether the sweep ends: all columns seem solved, none of them
    /// moves, or the iterations are over.
    ///
    /// # Errors
    ///
    /// `invalid` if a residual is not finite.
    pub fn ends(&mut self, residual: &Numbers) -> Result<bool> {
        self.iterations += 1;
        match self.looks() {
            true => self.judge(numbers(residual)),
            false => Ok(false),
        }
    }

    /// Whether the device is read after this iteration.
    pub fn looks(&self) -> bool {
        self.iterations.is_multiple_of(self.every) || self.iterations >= self.most
    }

    /// The same from numbers of the host.
    pub fn judge(&mut self, residuals: Vec<f64>) -> Result<bool> {
        self.finite(&residuals)?;
        let worst = self.worst(&residuals);
        self.history.push((self.iterations, worst));
        if let Some(progress) = &mut self.progress
            && !progress(self.iterations, worst)
        {
            self.cancelled = true;
        }
        let stays = residuals == self.before;
        let solved = self.solved(&residuals);
        self.before = residuals;
        Ok(solved || stays || self.cancelled || self.iterations >= self.most)
    }

    pub fn solved(&self, residuals: &[f64]) -> bool {
        residuals.iter().zip(&self.goals).all(|(residual, goal)| residual <= goal)
    }

    /// How far the worst column is from its goal; at most 1 if all are solved.
    pub fn distance(&self, residuals: &[f64]) -> f64 {
        let times = residuals.iter().zip(&self.goals).map(|(residual, goal)| match residual <= goal {
            true => 1.0,
            false => residual / goal,
        });
        times.fold(0.0, f64::max)
    }

    /// The largest residual by the size of its right-hand side.
    pub fn worst(&self, residuals: &[f64]) -> f64 {
        self.relative(residuals).fold(0.0, f64::max)
    }

    /// Residuals by the sizes of their right-hand sides; of one of zeros as they are.
    pub fn relative(&self, residuals: &[f64]) -> impl Iterator<Item = f64> {
        residuals.iter().zip(&self.sizes).map(|(residual, size)| if *size == 0.0 { *residual } else { residual / size })
    }

    pub fn finite(&self, residuals: &[f64]) -> Result<()> {
        match residuals.iter().all(|residual| residual.is_finite()) {
            true => Ok(()),
            false => {
                let message = format!("numbers must be finite, got others up to iteration {}", self.iterations);
                Err(SparseError::invalid(OP, message))
            }
        }
    }
}

/// Reads a number for each column.
pub fn numbers(numbers: &Numbers) -> Vec<f64> {
    read_data(numbers.clone()).convert::<f64>().iter().collect()
}
