//! When a restarted iteration has what was asked for.

use super::task::Task;
use crate::krylov::watch::Stopped;
use sparse_ops::Result;

/// How often the true residuals may be larger than the estimates said.
const TRIES: usize = 6;

/// What is known of a value before its residual is made.
pub struct Estimate {
    /// What it is compared by: the less it differs, the more it is the same value.
    pub key: f64,
    /// Of its residual.
    pub size: f64,
    /// What that may be.
    pub goal: f64,
}

/// What follows after a look at the estimates.
pub enum Next<T> {
    Done(T, Stopped),
    Restart,
    /// With random vectors beside those that have converged: these find what is there several times.
    Fresh,
}

/// What earlier looks said.
pub struct Judge<'a, 'p> {
    task: &'a Task<'p>,
    /// What estimates must be smaller by, as residuals turned out larger.
    tight: f64,
    tries: usize,
    /// The wanted values before random vectors were added.
    before: Option<Vec<f64>>,
}

impl<'a, 'p> Judge<'a, 'p> {
    pub fn new(task: &'a Task<'p>) -> Self {
        Self { task, tight: 1.0, tries: 0, before: None }
    }

    /// With the wanted values, the last of them last, and the next one. A space that is `full` cannot grow. `look`
    /// makes what was asked for, with the size of each residual and what that may be.
    ///
    /// # Errors
    ///
    /// Those of `look`.
    pub fn next<T>(
        &mut self,
        (iterations, full): (usize, bool),
        wanted: &[Estimate],
        next: Option<Estimate>,
        look: impl FnOnce() -> Result<(T, Vec<[f64; 2]>)>,
    ) -> Result<Next<T>> {
        let share = |own: &Estimate| own.size / (own.goal * self.tight).max(f64::MIN_POSITIVE);
        let worst = wanted.iter().map(share).fold(0.0, f64::max);
        let cancelled = self.task.tell(iterations, worst * self.tight);
        let over = iterations >= self.task.asked.most;
        let ended = full || over || cancelled;
        if worst > 1.0 && !ended {
            return Ok(Next::Restart);
        }
        let (found, residuals) = look()?;
        let good = residuals.iter().all(|[size, goal]| size <= goal);
        self.tries += usize::from(!good && worst <= 1.0);
        if good && !ended {
            let same = |(old, own): (&f64, &Estimate)| (old - own.key).abs() <= 10.0 * own.goal;
            if !self.before.as_ref().is_some_and(|before| before.iter().zip(wanted).all(same)) {
                self.before = Some(wanted.iter().map(|own| own.key).collect());
                return Ok(Next::Fresh);
            }
            // The next one is known well enough if it cannot be better than the last one that is wanted.
            let last = wanted.last().map_or(0.0, |own| own.key);
            if next.is_some_and(|own| own.size > own.goal.max((own.key - last).abs())) {
                return Ok(Next::Restart);
            }
        }
        if good || ended || self.tries >= TRIES {
            let stopped = match (good, cancelled, over) {
                (true, ..) => Stopped::Converged,
                (_, true, _) => Stopped::Cancelled,
                (_, _, true) => Stopped::Iterations,
                _ => Stopped::Stagnated,
            };
            return Ok(Next::Done(found, stopped));
        }
        self.tight *= 0.1;
        Ok(Next::Restart)
    }
}
