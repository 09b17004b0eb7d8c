//! Krylov methods.
//!
//! A method is one *sweep*: from a point and its true residual to a better point, until its own estimate says that it
//! is done, or it breaks down. What is common stands here: after a sweep the true residual is computed, and the next
//! sweep begins there, in each column from the better point. So a restart, a breakdown and an estimate that drifted
//! away are one case.

mod bicg;
mod bicgstab;
mod cg;
mod gmres;
mod groups;
mod idr;
mod least_squares;
mod minres;
mod pass;
mod problem;
mod scaling;
mod squared;
mod system;
pub mod vectors;
pub mod watch;

use crate::finite::not_finite;
use crate::method::Method;
use crate::operator::LinearOperator;
use crate::report::place;
use burn::tensor::{Bool, Tensor, TensorData};
pub use problem::{Outcome, Problem};
use sparse_ops::{Result, SparseError};
use system::{Point, System};
use vectors::{Vectors, choose, evened, indicator, largest, read, spoiled};
use watch::{Column, Goal, OP, Progress, Stopped, Watch, columns};

pub fn run(method: &Method, problem: Problem<'_>, progress: Option<Progress<'_>>) -> Result<Outcome> {
    // A callback sees all systems, so with one they go side by side.
    let solve = |problem: Problem<'_>, first| sweeps(method, problem, Some(first), None);
    let in_groups = if progress.is_none() { groups::run(&problem, &solve) } else { None };
    let first = (problem.b.dims()[0] > 1).then_some(0);
    in_groups.unwrap_or_else(|| sweeps(method, problem, first, progress))
}

/// `first` is the number of the first system in its batch, if there are others.
fn sweeps(
    method: &Method,
    problem: Problem<'_>,
    first: Option<usize>,
    progress: Option<Progress<'_>>,
) -> Result<Outcome> {
    let Problem { a, preconditioner, mut b, start, relative, absolute, most, every } = problem;
    let [systems, _, width] = b.dims();
    let least_squares = method.is_least_squares();
    let transposed = method.needs_transposed().then(|| a.try_transposed()).transpose()?;
    let (mut system, norms) = System::new(a, transposed, least_squares, preconditioner, &b, first)?;
    let (share, scale) = evened(&b);
    let right = std::mem::replace(&mut b, share);

    let origin = Tensor::zeros([systems, a.dims()[1] / systems, width], (&b.device(), b.dtype()));
    let mut point = system.point_of(origin, b.clone())?;
    let [size, length] = system.norms(&point);
    let [sizes, lengths, scales] = read([&size, &length, &scale]);
    // A number of `b` may be in a row without elements, which has no part in `A^T b`.
    check_finite(sizes.iter().chain(&lengths), "the numbers of the right-hand side", right, first)?;
    let goal = |at: usize| {
        let (size, unit) = (sizes[at], scales[at] * if least_squares { system.size_of(at / width) } else { 1.0 });
        // The norm is at least what it does to this column.
        let norm = if least_squares { norms[at / width].max(size / lengths[at].max(f64::MIN_POSITIVE)) } else { 0.0 };
        let length = least_squares.then_some(lengths[at]);
        Goal { relative: relative[at], absolute: absolute / unit, size, norm, length }
    };
    let goals: Vec<Goal> = (0..sizes.len()).map(goal).collect();
    system.aim(&goals);
    let mut watch = Watch::new(most, every, goals, progress);
    let mut at = columns(&sizes, Some(&lengths));
    if let Some(start) = start {
        // Of a right-hand side of zeros the solution is 0.
        let x = system.scaled(start.clone(), &scale) * indicator(largest(&b).greater_elem(0.0), &scale);
        // So may a number of the start be in a column without elements.
        let spoiled = spoiled(&x);
        point = system.point(&b, x)?;
        let [residual, length] = system.norms(&point);
        let [residuals, lengths, spoiled] = read([&residual, &length, &spoiled]);
        check_finite(residuals.iter().chain(&spoiled), "the numbers of the start", start, first)?;
        at = columns(&residuals, Some(&lengths));
    }
    watch.history.push((0, watch.worst(&at)));

    // Sweeps that gained nothing, one after the other, and how many of these may be.
    let (mut failed, mut allowed) = (0, 0);
    let mut spoiled_x = vec![0.0; at.len()];
    let stopped = loop {
        if !watch.open(&at).any(|open| open) {
            break Stopped::Converged;
        }
        if watch.cancelled {
            break Stopped::Cancelled;
        }
        if watch.iterations >= most {
            break Stopped::Iterations;
        }
        if watch.trouble.is_some() || failed > allowed {
            break Stopped::Stagnated;
        }
        watch.full = false;
        let begin = point.clone();
        let next = match *method {
            Method::Cg => cg::sweep(&system, begin, &mut watch),
            Method::Minres => minres::sweep(&system, begin, &mut watch),
            Method::BiCg => bicg::sweep(&system, begin, (failed, false), &mut watch),
            Method::Qmr => bicg::sweep(&system, begin, (failed, true), &mut watch),
            Method::BiCgStab => bicgstab::sweep(&system, begin, failed, &mut watch),
            Method::Cgs => squared::cgs(&system, begin, failed, &mut watch),
            Method::Tfqmr => squared::tfqmr(&system, begin, failed, &mut watch),
            Method::Gmres { restart } => gmres::cycle(&system, begin, (restart, false), &at, &mut watch),
            Method::Fgmres { restart } => gmres::cycle(&system, begin, (restart, true), &at, &mut watch),
            Method::Idr { shadows } => idr::sweep(&system, begin, (shadows, failed), &mut watch),
            Method::Lsqr => least_squares::lsqr(&system, begin, &mut watch),
            Method::Lsmr => least_squares::lsmr(&system, begin, &mut watch),
            Method::Cgls => least_squares::cgls(&system, begin, &mut watch),
        }?;
        let next = system.point(&b, next)?;
        let spoiled = system.spoiled(&next.x, &scale);
        let [residual, length] = system.norms(&next);
        let [residuals, lengths, spoiled] = read([&residual, &length, &spoiled]);
        let now = columns(&residuals, Some(&lengths));
        // A cycle that was cut off may gain little, and the next one more; a sweep that took itself for solved not.
        let (share, more) = match watch.full {
            true => (1.0 - 1e-6, 2),
            false => (0.99, if method.is_random() { 3 } else { 0 }),
        };
        let open: Vec<bool> = watch.open(&at).collect();
        let pairs = || at.iter().zip(&now).zip(&open).map(|((old, new), open)| (old, new, *open));
        // Along what the matrix maps to zero a point may go beyond all numbers, and its residual does not show it.
        let lost: Vec<bool> = watch.open(&now).zip(&spoiled).map(|(open, zero)| open && zero.is_nan()).collect();
        let gained =
            pairs().zip(&lost).any(|((old, new, open), lost)| open && !lost && new.residual < old.residual * share);
        (failed, allowed) = (if gained { 0 } else { failed + 1 }, more);
        let last = watch.is_over();
        let taken =
            pairs().zip(&lost).map(|((old, new, open), lost)| open && !lost && is_taken(*method, old, new, last));
        let taken: Vec<bool> = taken.collect();
        for (column, _) in taken.iter().enumerate().filter(|(_, taken)| **taken) {
            (at[column], spoiled_x[column]) = (now[column], spoiled[column]);
        }
        point = merged(&taken, next, point);
    };
    let x = system.unscaled(point.x, &scale);
    check_finite(spoiled_x.iter(), "the numbers of the solution", x.clone(), first)?;
    Ok(Outcome {
        x,
        stopped,
        trouble: watch.trouble.take().map(|(message, at)| {
            let place = place(None, (width > 1).then_some(at % width), first.map(|first| first + at / width));
            SparseError::invalid(OP, message + &place)
        }),
        iterations: watch.iterations,
        residuals: watch.shares(&at).collect(),
        relative: watch.goals.iter().map(Goal::share_of_gradient).collect(),
        history: watch.history,
    })
}

/// Whether a column moves on. The last point is taken also where the residual rose, as it does in some methods before
/// it falls.
fn is_taken(method: Method, old: &Column, new: &Column, last: bool) -> bool {
    let better = new.residual < old.residual;
    new.residual.is_finite() && (better || last && (!method.is_monotone() || new.length < old.length))
}

/// The columns of `new` that are taken, and the others of `old`.
fn merged(taken: &[bool], new: Point, old: Point) -> Point {
    if taken.iter().all(|&taken| taken) {
        return new;
    }
    if !taken.contains(&true) {
        return old;
    }
    let [systems, _, width] = new.x.dims();
    let data = TensorData::new(taken.to_vec(), [systems, 1, width]);
    let taken = Tensor::<3, Bool>::from_data(data, &new.x.device());
    Point {
        x: choose(taken.clone(), new.x, old.x),
        residual: choose(taken.clone(), new.residual, old.residual),
        normal: choose(taken, new.normal, old.normal),
    }
}

/// Of numbers of the columns of `x`.
fn check_finite<'a>(
    mut numbers: impl Iterator<Item = &'a f64>,
    what: &str,
    x: Vectors,
    first: Option<usize>,
) -> Result<()> {
    match numbers.all(|number| number.is_finite()) {
        true => Ok(()),
        false => Err(not_finite(OP, what, &x, first)),
    }
}
