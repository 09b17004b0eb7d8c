//! The edges of a type by time: rows that end at the time of a seed.

use super::sampler::HostStore;
use crate::host::HostRows;
use burn::tensor::Int;
use serde::{Deserialize, Serialize};
use sparse_core::graph::{Ahead, GraphStore};
use sparse_ops::extend::{Parts, read_data};
use sparse_ops::{CsrTensor, Result, SparseError};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Which of the edges that are not later than the seed are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TemporalStrategy {
    /// The latest ones; of equal times those of the larger columns.
    Last,
    /// Any, as without times.
    Uniform,
}

/// When the edges were.
pub(super) struct Times {
    pub(super) strategy: TemporalStrategy,
    /// Of each type of edges.
    pub(super) edges: Vec<TimesOf>,
    /// Of each node of the seeds' type.
    pub(super) seeds: Vec<i64>,
}

/// The times of the edges of a type, wherever they are: appends those of the edges at these positions of the store.
pub type EdgeTimes = Arc<dyn Fn(Range<usize>, &mut Vec<i64>) -> Result<()> + Send + Sync>;

pub(super) enum TimesOf {
    Sorted(ByTime),
    Stored(EdgeTimes),
}

/// The elements of a matrix, in each row by their time.
pub(super) struct ByTime {
    /// The positions.
    order: Vec<usize>,
    /// The time of each, in that order.
    times: Vec<i64>,
}

impl ByTime {
    /// The edges by time, unless the times have another pattern.
    pub(super) fn new(own: &HostStore, times: &CsrTensor<2, Int>) -> Option<Self> {
        let rows = HostRows::of(times.pattern());
        if times.dims()[1] != own.columns || !own.rows.same(&rows) {
            return None;
        }
        let ptr = own.rows.ptr();
        let times: Vec<i64> = read_data(times.rows().clone()).convert::<i64>().iter().collect();
        let mut order: Vec<usize> = (0..times.len()).collect();
        for row in 1..ptr.len() {
            order[ptr.at(row - 1)..ptr.at(row)].sort_by_key(|&at| times[at]);
        }
        Some(Self { times: order.iter().map(|&at| times[at]).collect(), order })
    }
}

/// The rows of keys, and of their elements only those that are not too late.
pub(super) struct View<'a> {
    pub(super) store: &'a dyn GraphStore,
    pub(super) targets: i64,
    /// The times of the edges, the time of each tree, and how many of the latest there are to be.
    pub(super) times: Option<(&'a TimesOf, &'a [i64], Option<usize>)>,
    /// With stored times, the positions in the store of the elements that were found: these are their numbers.
    pub(super) picked: Mutex<Vec<usize>>,
}

impl View<'_> {
    /// The positions in the store.
    pub(super) fn own(&self, positions: &[usize]) -> Vec<usize> {
        match self.times {
            None => positions.to_vec(),
            Some((TimesOf::Sorted(own), ..)) => positions.iter().map(|&at| own.order[at]).collect(),
            Some((TimesOf::Stored(_), ..)) => {
                let picked = self.picked.lock().unwrap_or_else(PoisonError::into_inner);
                positions.iter().map(|&at| picked[at]).collect()
            }
        }
    }

    /// The elements of a span until `limit`, by time, and of these the last ones.
    fn pick(&self, read: &EdgeTimes, span: Range<usize>, limit: i64, last: Option<usize>) -> Result<Range<usize>> {
        let mut times = Vec::with_capacity(span.len());
        read(span.clone(), &mut times)?;
        if times.len() != span.len() {
            return Err(SparseError::length_mismatch("HeteroSampler", "the times of a row", span.len(), times.len()));
        }
        let mut found: Vec<usize> = (0..times.len()).filter(|&at| times[at] <= limit).collect();
        found.sort_by_key(|&at| times[at]);
        let found = &found[found.len() - last.unwrap_or(usize::MAX).min(found.len())..];
        let mut picked = self.picked.lock().unwrap_or_else(PoisonError::into_inner);
        let first = picked.len();
        picked.extend(found.iter().map(|&at| span.start + at));
        Ok(first..picked.len())
    }
}

impl GraphStore for View<'_> {
    fn nodes(&self) -> usize {
        self.store.nodes()
    }

    fn edges(&self) -> usize {
        self.store.edges()
    }

    fn spans(&self, keys: &[i64], out: &mut Vec<Range<usize>>) -> Result<()> {
        let (first, nodes) = (out.len(), keys.iter().map(|key| key % self.targets).collect::<Vec<_>>());
        self.store.spans(&nodes, out)?;
        let Some((own, until, last)) = self.times else { return Ok(()) };
        for (key, span) in keys.iter().zip(&mut out[first..]) {
            let limit = until[(key / self.targets) as usize];
            *span = match own {
                TimesOf::Stored(read) => self.pick(read, span.clone(), limit, last)?,
                TimesOf::Sorted(own) => {
                    let end = span.start + own.times[span.clone()].partition_point(|&time| time <= limit);
                    span.start.max(end.saturating_sub(last.unwrap_or(usize::MAX)))..end
                }
            };
        }
        Ok(())
    }

    fn columns(&self, positions: &[usize], out: &mut Vec<usize>) -> Result<()> {
        self.store.columns(&self.own(positions), out)
    }

    fn has_values(&self) -> bool {
        self.store.has_values()
    }

    fn values(&self, positions: &[usize], out: &mut Vec<f32>) -> Result<()> {
        self.store.values(&self.own(positions), out)
    }

    fn ask(&self, ahead: Ahead<'_>) {
        match ahead {
            Ahead::Rows(keys) => {
                let nodes: Vec<i64> = keys.iter().map(|key| key % self.targets).collect();
                self.store.ask(Ahead::Rows(&nodes));
            }
            Ahead::Columns(positions) => self.store.ask(Ahead::Columns(&self.own(positions))),
            Ahead::Values(positions) => self.store.ask(Ahead::Values(&self.own(positions))),
            Ahead::Spans(spans) if self.times.is_none() => self.store.ask(Ahead::Spans(spans)),
            Ahead::Spans(_) => {}
        }
    }
}
