//! Events between nodes, in the order of time.

use burn::tensor::Tensor;
use core::ops::Range;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use sparse_macros::or_panic;
use sparse_ops::extend::check_ids;
use sparse_ops::{Result, SparseError};

/// What happened between nodes, in the order of time: event `k` leads from `sources()[k]` to `targets()[k]`, at the
/// time `times()[k]`, and row `k` of the messages says what it was. Two nodes may have many events.
///
/// Batches are ranges of events: `(0..events.len()).step_by(200)`. (PyG's `TemporalData` and `TemporalDataLoader`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::TemporalEvents;
///
/// let messages = Tensor::<2>::ones([4, 2], &Device::flex());
/// let events = TemporalEvents::new(5, vec![0, 1, 0, 2], vec![3, 3, 4, 4], vec![0, 10, 20, 30], messages).unwrap();
/// assert_eq!(events.split(0.25, 0.25), [0..2, 2..3, 3..4]);
/// assert!(events.random_targets(9, 1).iter().all(|node| (3..5).contains(node)));
/// ```
#[derive(Clone, Debug)]
pub struct TemporalEvents {
    nodes: usize,
    sources: Vec<usize>,
    targets: Vec<usize>,
    times: Vec<i64>,
    messages: Tensor<2>,
}

impl TemporalEvents {
    /// Events between `nodes` nodes: for each a source, a target, a time that is not below that of the event before,
    /// and a row of `messages` `[events, d_message]`.
    ///
    /// # Errors
    ///
    /// `length_mismatch`; `index_out_of_range` for what is no node; `invalid` for time that runs backwards.
    pub fn new(
        nodes: usize,
        sources: Vec<usize>,
        targets: Vec<usize>,
        times: Vec<i64>,
        messages: Tensor<2>,
    ) -> Result<Self> {
        const OP: &str = "TemporalEvents::new";
        let count = sources.len();
        let [rows, _] = messages.dims();
        for (what, got) in [("the targets", targets.len()), ("the times", times.len()), ("the messages", rows)] {
            if got != count {
                return Err(SparseError::length_mismatch(OP, what, count, got));
            }
        }
        check_ids(OP, &sources, nodes)?;
        check_ids(OP, &targets, nodes)?;
        if let Some(at) = times.windows(2).position(|pair| pair[1] < pair[0]) {
            let (before, got) = (times[at], times[at + 1]);
            let message = format!("time must not run backwards, got {got} after {before} at event {}", at + 1);
            return Err(SparseError::invalid(OP, message));
        }
        Ok(Self { nodes, sources, targets, times, messages })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Where each event begins.
    pub fn sources(&self) -> &[usize] {
        &self.sources
    }

    /// Where each event leads.
    pub fn targets(&self) -> &[usize] {
        &self.targets
    }

    /// When each event was.
    pub fn times(&self) -> &[i64] {
        &self.times
    }

    /// What each event was, `[events, d_message]`.
    pub fn messages(&self) -> &Tensor<2> {
        &self.messages
    }

    /// The events for training, validation and testing: those up to the quantile `1 - val - test` of the times, then up
    /// to `1 - test`, and the others. Events at one time stay together. (PyG's `train_val_test_split`, with NumPy's
    /// linear quantiles.)
    ///
    /// # Errors
    ///
    /// `invalid` for shares that are not in `[0, 1]` together.
    #[or_panic]
    pub fn try_split(&self, val: f64, test: f64) -> Result<[Range<usize>; 3]> {
        if !(val >= 0.0 && test >= 0.0 && val + test <= 1.0) {
            let message = format!("the shares must be in [0, 1] together, got {val} and {test}");
            return Err(SparseError::invalid("TemporalEvents::split", message));
        }
        let end = |q: f64| {
            let place = q.max(0.0) * self.len().saturating_sub(1) as f64;
            let [low, high] =
                [place.floor(), place.ceil()].map(|at| self.times.get(at as usize).map_or(0.0, |&t| t as f64));
            let part = place.fract();
            let time = if part < 0.5 { low + (high - low) * part } else { high - (high - low) * (1.0 - part) };
            self.times.partition_point(|&own| own as f64 <= time)
        };
        let [first, second] = [1.0 - val - test, 1.0 - test].map(end);
        Ok([0..first, first..second, second..self.len()])
    }

    /// `count` nodes, drawn uniformly from the least to the largest target: ends of events that did not happen. There
    /// are none without events. (PyG's `neg_sampling_ratio`.)
    pub fn random_targets(&self, count: usize, seed: u64) -> Vec<usize> {
        let (Some(&least), Some(&most)) = (self.targets.iter().min(), self.targets.iter().max()) else { return vec![] };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..count).map(|_| rng.random_range(least..=most)).collect()
    }

    /// Checks a range of events that follows those up to `next`.
    pub(super) fn check_range(&self, op: &'static str, range: &Range<usize>, next: usize) -> Result<()> {
        if range.start > range.end || range.end > self.len() {
            let message = format!("events must be in [0, {}), got {range:?}", self.len());
            return Err(SparseError::invalid(op, message));
        }
        if range.start < next {
            let message = format!("time must not run backwards: events must follow the first {next}, got {range:?}");
            return Err(SparseError::invalid(op, message));
        }
        Ok(())
    }
}
