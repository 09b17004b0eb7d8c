//! When a pattern is pruned or rewired, and by how much.

use burn::config::Config;
use std::f64::consts::PI;

/// When to rewire a parameter, and which share of its elements: RigL's schedule, which SET uses with a constant share
/// (`cosine` false).
///
/// A share of `fraction / 2 * (1 + cos(pi * step / end))` at every `every`-th step before `end`.
///
/// Source: Evci et al., *Rigging the lottery: making all tickets winners*, ICML 2020, section 3.
///
/// ```
/// use sparse_tensor::module::RewireSchedule;
///
/// let schedule = RewireSchedule::new(100, 1000); // 0.3 by default
/// assert_eq!(schedule.count(50, 200), None);
/// assert_eq!(schedule.count(500, 200), Some(30)); // of 200 elements, half of 0.3
/// assert_eq!(schedule.count(1000, 200), None);
/// ```
#[derive(Config, Debug)]
pub struct RewireSchedule {
    /// Steps between two changes.
    pub every: usize,
    /// No change at this step or later, so that the last pattern is trained.
    pub end: usize,
    /// The share at the start.
    #[config(default = 0.3)]
    pub fraction: f64,
    /// Whether the share falls to zero like a cosine.
    #[config(default = true)]
    pub cosine: bool,
}

impl RewireSchedule {
    /// How many of `nnz` elements to drop and to grow after step `step` (counted from 1); `None` if none.
    pub fn count(&self, step: usize, nnz: usize) -> Option<usize> {
        if step == 0 || step >= self.end || !step.is_multiple_of(self.every.max(1)) {
            return None;
        }
        let share = if self.cosine { (1.0 + (PI * step as f64 / self.end as f64).cos()) / 2.0 } else { 1.0 };
        let count = (self.fraction.clamp(0.0, 1.0) * share * nnz as f64).round() as usize;
        (count > 0).then_some(count)
    }
}

/// How many elements a parameter keeps while it is pruned step by step: gradual magnitude pruning.
///
/// The density is `to + (from - to) * (1 - t)^3`, with `t` the share of the way from step `start` to step `end`: much
/// is dropped early, little late. After `end` it is `to`.
///
/// Source: Zhu and Gupta, *To prune, or not to prune: exploring the efficacy of pruning for model compression*, 2017.
///
/// ```
/// use sparse_tensor::module::PruneSchedule;
///
/// let schedule = PruneSchedule::new(10, 100, 1000, 0.1); // from density 1 to 0.1 in steps 100 to 1000
/// assert_eq!(schedule.count(105, 500, 500), None);
/// assert_eq!(schedule.count(550, 500, 500), Some(394)); // 500 * (0.1 + 0.9 * 0.5^3) stay
/// assert_eq!(schedule.count(1000, 106, 500), Some(56));
/// ```
#[derive(Config, Debug)]
pub struct PruneSchedule {
    /// Steps between two changes.
    pub every: usize,
    /// The step at which pruning starts.
    pub start: usize,
    /// The step at which the last elements are dropped.
    pub end: usize,
    /// The density at the end: elements that stay, by elements at the start.
    pub to: f64,
    /// The density at the start.
    #[config(default = 1.0)]
    pub from: f64,
}

impl PruneSchedule {
    /// The density after a step.
    pub fn density(&self, step: usize) -> f64 {
        let (start, end) = (self.start as f64, self.end.max(self.start + 1) as f64);
        let way = ((step as f64 - start) / (end - start)).clamp(0.0, 1.0);
        self.to + (self.from - self.to) * (1.0 - way).powi(3)
    }

    /// How many of `nnz` elements to drop after step `step` (counted from 1), of `whole` at density 1; `None` if none.
    pub fn count(&self, step: usize, nnz: usize, whole: usize) -> Option<usize> {
        let on_time = |step: usize| step == self.end || (step - self.start).is_multiple_of(self.every.max(1));
        if step < self.start || step > self.end || !on_time(step) {
            return None;
        }
        let stay = (self.density(step).clamp(0.0, 1.0) * whole as f64).round() as usize;
        nnz.checked_sub(stay).filter(|&count| count > 0)
    }
}
