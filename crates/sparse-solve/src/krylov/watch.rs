//! When an iteration ends.

use super::vectors::{Numbers, read};

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

/// What the residual of a column is compared with.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    pub relative: f64,
    pub absolute: f64,
    /// `|b|`; of least squares `|A^T b|`.
    pub size: f64,
    /// Of least squares the norm of the matrix, else 0.
    pub norm: f64,
    /// Of least squares `|b|`, else `None`.
    pub length: Option<f64>,
}

impl Goal {
    /// What the residual may be where `|b - A x|` is `length` (Paige and Saunders 1982, section 6): where `b` is nearly
    /// orthogonal to all columns of `A`, rounding alone is more than a share of `A^T b`.
    pub fn of(&self, length: f64) -> f64 {
        (self.relative * self.unit(length)).max(self.absolute)
    }

    /// Not of a residual that is not a number.
    pub fn is_reached(&self, column: Column) -> bool {
        column.residual <= self.of(column.length) || column.length <= self.reach()
    }

    /// Least squares that have a solution of `A x = b` are solved where that is. Else -1.
    pub fn reach(&self) -> f64 {
        self.length.map_or(-1.0, |length| self.relative * length)
    }

    /// What a residual is a share of.
    fn unit(&self, length: f64) -> f64 {
        self.size.max(self.norm * length)
    }

    pub fn share(&self, column: Column) -> f64 {
        let unit = self.unit(column.length);
        let share = if unit == 0.0 { column.residual } else { column.residual / unit };
        self.length.filter(|&length| length > 0.0).map_or(share, |length| share.min(column.length / length))
    }

    /// The share that the second solve is to reach: as much as the first one. One of which little is asked, since its
    /// right-hand side is small, says nothing about the gradient, which is then solved to a thousandth. Of a right-hand
    /// side of zeros the solution is exact, whatever was asked of it.
    pub fn share_of_gradient(&self) -> f64 {
        let exact = self.size == 0.0 && self.relative > 0.0;
        let share = if exact || self.absolute == 0.0 { 0.0 } else { (self.absolute / self.size).min(1e-3) };
        self.relative.max(share)
    }
}

/// What was read of a column: its residual, and of least squares `|b - A x|`.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub residual: f64,
    pub length: f64,
}

/// Looks at residuals every few iterations, so that a device is not read in each.
pub struct Watch<'a> {
    pub iterations: usize,
    pub most: usize,
    pub every: usize,
    pub goals: Vec<Goal>,
    pub history: Vec<(usize, f64)>,
    pub progress: Option<Progress<'a>>,
    pub cancelled: bool,
    /// A sweep ended since it had no room for another direction.
    pub full: bool,
    /// The method is not for a column: why, and which one.
    pub trouble: Option<(String, usize)>,
}

impl<'a> Watch<'a> {
    pub fn new(most: usize, every: usize, goals: Vec<Goal>, progress: Option<Progress<'a>>) -> Self {
        let (every, history, trouble) = (every.max(1), vec![], None);
        Self { iterations: 0, most, every, goals, history, progress, cancelled: false, full: false, trouble }
    }

    /// Counts an iteration of least squares, which leaves `residual` and `|b - A x|` and moved each column by `moved`.
    /// Whether the sweep ends: so does one in which none moves.
    pub fn ends_at(&mut self, residual: &Numbers, length: &Numbers, moved: &Numbers) -> bool {
        self.looks([residual, length, moved]).is_some_and(|[residuals, lengths, moved]| {
            self.judge_moves(&columns(&residuals, Some(&lengths)), &moved, |moved| moved == 0.0)
        })
    }

    /// Of a square matrix, with another number, which says whether a column is stuck.
    pub fn ends_or_sticks(&mut self, residual: &Numbers, other: &Numbers, stuck: impl Fn(f64) -> bool) -> bool {
        let seen = self.looks([residual, other]);
        seen.is_some_and(|[residuals, other]| self.judge_moves(&columns(&residuals, None), &other, stuck))
    }

    fn judge_moves(&mut self, columns: &[Column], other: &[f64], stuck: impl Fn(f64) -> bool) -> bool {
        let none_moves = self
            .open(columns)
            .zip(columns)
            .zip(other)
            .all(|((open, column), &other)| !open || !column.residual.is_finite() || stuck(other));
        self.judge(columns) || none_moves
    }

    /// The same, with a count that must stay 0: else `message` says what the method asks for.
    pub fn ends_unless(&mut self, residual: &Numbers, wrong: &Numbers, message: &str) -> bool {
        self.looks([residual, wrong]).is_some_and(|[residuals, wrong]| {
            let refused = wrong.iter().position(|&count| count > 0.0);
            self.trouble = refused.map(|column| (format!("{message} up to iteration {}", self.iterations), column));
            self.judge(&columns(&residuals, None)) || refused.is_some()
        })
    }

    fn looks<const N: usize>(&mut self, list: [&Numbers; N]) -> Option<[Vec<f64>; N]> {
        self.iterations += 1;
        self.is_due().then(|| read(list))
    }

    /// Whether the device is read after this iteration.
    pub fn is_due(&self) -> bool {
        self.iterations.is_multiple_of(self.every) || self.iterations >= self.most
    }

    /// Whether a sweep ends: each column seems solved or is not finite, or the iterations are over. One that broke down
    /// does not end the sweep of others: it stays where that began, and begins again when they are done.
    pub fn judge(&mut self, columns: &[Column]) -> bool {
        let finite = |column: &Column| column.residual.is_finite();
        if !columns.iter().any(finite) {
            return true;
        }
        let shares = self.shares(columns).zip(columns).filter(|(_, column)| finite(column));
        let worst = shares.fold(0.0, |worst: f64, (share, _)| worst.max(share));
        self.history.push((self.iterations, worst));
        if let Some(progress) = &mut self.progress
            && !progress(self.iterations, worst)
        {
            self.cancelled = true;
        }
        self.open(columns).zip(columns).all(|(open, column)| !open || !finite(column)) || self.is_over()
    }

    /// Whether nothing may follow.
    pub fn is_over(&self) -> bool {
        self.cancelled || self.iterations >= self.most
    }

    /// For each column whether it is not solved.
    pub fn open(&self, columns: &[Column]) -> impl Iterator<Item = bool> {
        columns.iter().zip(&self.goals).map(|(column, goal)| !goal.is_reached(*column))
    }

    /// The residual of each column by the size of its right-hand side.
    pub fn shares(&self, columns: &[Column]) -> impl Iterator<Item = f64> {
        columns.iter().zip(&self.goals).map(|(column, goal)| goal.share(*column))
    }

    /// The largest of them.
    pub fn worst(&self, columns: &[Column]) -> f64 {
        self.shares(columns).fold(0.0, f64::max)
    }
}

pub fn columns(residuals: &[f64], lengths: Option<&[f64]>) -> Vec<Column> {
    let length = |at: usize| lengths.map_or(0.0, |lengths| lengths[at]);
    residuals.iter().enumerate().map(|(at, &residual)| Column { residual, length: length(at) }).collect()
}
