//! Krylov methods.
//!
//! A method is one *sweep*: from a point and its true residual to a better point, until its own estimate says that it
//! is done, or it breaks down. What is common stands here: after a sweep the true residual is computed, and the next
//! sweep begins there. So a restart, a breakdown and an estimate that drifted away are one case.

mod bicgstab;
mod cg;
mod gmres;
mod idr;
mod least_squares;
mod minres;
mod system;
mod vectors;
pub mod watch;

use crate::method::Method;
use crate::operator::{LinearOperator, Operator};
use burn::tensor::{Tensor, TensorData};
use sparse_ops::Result;
use system::{Point, System};
use vectors::{Vectors, norm};
pub use vectors::{apply, apply_transposed};
use watch::{Progress, Stopped, Watch, numbers};

/// What to solve, without the tape. Columns are `[systems, rows, F]`.
pub struct Problem<'a> {
    pub a: &'a Operator,
    pub preconditioner: Option<&'a Operator>,
    pub b: Vectors,
    pub start: Option<Vectors>,
    pub relative: f64,
    pub absolute: f64,
    pub most: usize,
    pub every: usize,
}

/// The last point, and how it was reached.
pub struct Outcome {
    pub x: Vectors,
    pub stopped: Stopped,
    pub iterations: usize,
    pub history: Vec<(usize, f64)>,
    /// The true residual of each column by the size of its right-hand side.
    pub residuals: Vec<f64>,
}

pub fn run(method: &Method, problem: Problem<'_>, progress: Option<Progress<'_>>) -> Result<Outcome> {
    let Problem { a, preconditioner, b, start, relative, absolute, most, every } = problem;
    let least_squares = method.is_least_squares();
    // Columns whose largest number is 1: squares of very small or large ones would be 0 or infinite.
    let scale = b.clone().abs().max_dim(1);
    let scale = scale.clone().mask_fill(scale.equal_elem(0.0), 1.0);
    let b = b / scale.clone();
    let measured = |residual: &Vectors| match least_squares {
        true => apply_transposed(a, residual).map(|normal| norm(&normal)),
        false => Ok(norm(residual)),
    };
    let sizes = numbers(&measured(&b)?);
    let scales = numbers(&scale);
    let goals: Vec<f64> =
        sizes.iter().zip(&scales).map(|(size, scale)| (relative * size).max(absolute / scale)).collect();
    let goal = Tensor::<3>::from_data(TensorData::new(goals.clone(), scale.dims()), (&scale.device(), scale.dtype()));
    let system = System { a, preconditioner, goal };
    let mut watch = Watch::new(most, every, goals, sizes, progress);
    let [systems, _, width] = b.dims();
    let cols = a.dims()[1] / systems.max(1);
    let (mut x, mut residual) = match start {
        None => (Tensor::zeros([systems, cols, width], (&b.device(), b.dtype())), b.clone()),
        Some(start) => {
            // Of a right-hand side of zeros the solution is 0.
            let x = start / scale.clone() * (b.clone().abs().max_dim(1).greater_elem(0.0).float().cast(b.dtype()));
            let residual = b.clone() - apply(a, &x)?;
            (x, residual)
        }
    };
    let mut left = numbers(&measured(&residual)?);
    watch.finite(&left)?;
    watch.history.push((0, watch.worst(&left)));
    // Sweeps that gained nothing, one after the other.
    let mut attempt = 0;
    let stopped = loop {
        if watch.solved(&left) {
            break Stopped::Converged;
        }
        if watch.cancelled {
            break Stopped::Cancelled;
        }
        if watch.iterations >= most {
            break Stopped::Iterations;
        }
        watch.begin();
        let point = Point { x: x.clone(), residual: residual.clone() };
        let next = match *method {
            Method::Cg => cg::sweep(&system, point, &mut watch),
            Method::Minres => minres::sweep(&system, point, &mut watch),
            Method::BiCgStab => bicgstab::sweep(&system, point, attempt, &mut watch),
            Method::Gmres { restart } => gmres::cycle(&system, point, (restart, false), &mut watch),
            Method::Fgmres { restart } => gmres::cycle(&system, point, (restart, true), &mut watch),
            Method::Idr { shadows } => idr::sweep(&system, point, (shadows, attempt), &mut watch),
            Method::Lsqr => least_squares::lsqr(&system, point, &mut watch),
            Method::Lsmr => least_squares::lsmr(&system, point, &mut watch),
            Method::Cgls => least_squares::cgls(&system, point, &mut watch),
        }?;
        let next_residual = b.clone() - apply(a, &next)?;
        let now = numbers(&measured(&next_residual)?);
        watch.finite(&now)?;
        // A sweep that gains nothing in the worst column is the last one, unless another try has other random numbers.
        let (before, after) = (watch.distance(&left), watch.distance(&now));
        if after < before {
            (x, residual, left) = (next, next_residual, now);
        }
        attempt = if after >= before * 0.99 { attempt + 1 } else { 0 };
        let tries = if method.is_random() { 3 } else { 0 };
        if attempt > tries && !watch.solved(&left) && !watch.cancelled && watch.iterations < most {
            break Stopped::Stagnated;
        }
    };
    Ok(Outcome {
        residuals: watch.relative(&left).collect(),
        x: x * scale,
        stopped,
        iterations: watch.iterations,
        history: watch.history,
    })
}
