//! What a solve is given, and what it gives.

use super::vectors::Vectors;
use super::watch::Stopped;
use crate::operator::Operator;
use sparse_ops::SparseError;

/// What to solve, without the tape. Columns are `[systems, rows, F]`.
pub struct Problem<'a> {
    pub a: &'a Operator,
    pub preconditioner: Option<&'a Operator>,
    pub b: Vectors,
    pub start: Option<Vectors>,
    /// For each column.
    pub relative: Vec<f64>,
    pub absolute: f64,
    pub most: usize,
    pub every: usize,
}

/// The last point, and how it was reached.
pub struct Outcome {
    pub x: Vectors,
    pub stopped: Stopped,
    /// Why the method is not for this system.
    pub trouble: Option<SparseError>,
    pub iterations: usize,
    pub history: Vec<(usize, f64)>,
    /// The true residual of each column by the size of its right-hand side.
    pub residuals: Vec<f64>,
    /// The tolerance of each column for the second solve.
    pub relative: Vec<f64>,
}
