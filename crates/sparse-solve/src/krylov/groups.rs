//! A batch of small systems, on a CPU.
//!
//! A pass over all systems of a large batch reads memory for each number. So a few systems at a time are solved to the
//! end by one thread, and their numbers stay in its cache.

use super::problem::{Outcome, Problem};
use super::watch::Stopped;
use crate::operator::LinearOperator;
use burn::tensor::Tensor;
use sparse_ops::Result;
use sparse_ops::extend::is_local;
use std::ops::Range;

/// Unknowns of a group. A vector of f64 has 128 KB.
const UNKNOWNS: usize = 1 << 14;

/// The outcome, if the systems are several groups and can be taken apart: `solve` is given a group and the number of
/// its first system.
pub fn run(
    problem: &Problem<'_>,
    solve: &(dyn Fn(Problem<'_>, usize) -> Result<Outcome> + Sync),
) -> Option<Result<Outcome>> {
    let [systems, rows, width] = problem.b.dims();
    let unknowns = rows.max(problem.a.dims()[1] / systems) * width;
    let size = UNKNOWNS / unknowns.max(1);
    if size < 2 || size >= systems || !is_local(&problem.b.device()) {
        return None;
    }
    let groups: Vec<Range<usize>> = (0..systems).step_by(size).map(|at| at..systems.min(at + size)).collect();
    // A preconditioner that cannot be cut is known before the matrix is.
    let preconditioners = match problem.preconditioner {
        Some(own) => own.groups(size, systems)?.into_iter().map(Some).collect(),
        None => vec![None; groups.len()],
    };
    let a = problem.a.groups(size, systems)?;
    let outcome = |at: usize| {
        let group = groups[at].clone();
        let narrow = |x: &Tensor<3>| x.clone().narrow(0, group.start, group.len());
        let problem = Problem {
            a: &a[at],
            preconditioner: preconditioners[at].as_ref(),
            b: narrow(&problem.b),
            start: problem.start.as_ref().map(narrow),
            relative: problem.relative[group.start * width..group.end * width].to_vec(),
            ..*problem
        };
        solve(problem, group.start)
    };
    let mut outcomes: Vec<Option<Result<Outcome>>> = groups.iter().map(|_| None).collect();
    sparse_core::for_chunks(&mut outcomes, 1, &|at, own| own[0] = Some(outcome(at)));
    Some(outcomes.into_iter().flatten().collect::<Result<Vec<_>>>().map(joined))
}

/// As if they had been solved side by side.
fn joined(outcomes: Vec<Outcome>) -> Outcome {
    let history = joined_history(&outcomes);
    let x = Tensor::cat(outcomes.iter().map(|own| own.x.clone()).collect(), 0);
    let join = |mut all: Outcome, next: Outcome| {
        all.stopped = if all.stopped == Stopped::Converged { next.stopped } else { all.stopped };
        all.trouble = all.trouble.or(next.trouble);
        all.iterations = all.iterations.max(next.iterations);
        all.residuals.extend(next.residuals);
        all.relative.extend(next.relative);
        all
    };
    let all = outcomes.into_iter().reduce(join).expect("there are groups");
    Outcome { x, history, ..all }
}

/// The worst residual of all groups at each iteration at which one of them was looked at.
fn joined_history(outcomes: &[Outcome]) -> Vec<(usize, f64)> {
    let mut looks: Vec<usize> = outcomes.iter().flat_map(|own| own.history.iter().map(|(at, _)| *at)).collect();
    looks.sort_unstable();
    looks.dedup();
    let last = |own: &Outcome, at: usize| {
        let count = own.history.partition_point(|(other, _)| *other <= at);
        own.history[..count].last().map_or(0.0, |(_, worst)| *worst)
    };
    looks.iter().map(|&at| (at, outcomes.iter().map(|own| last(own, at)).fold(0.0, f64::max))).collect()
}
