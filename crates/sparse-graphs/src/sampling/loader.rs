//! Batches of sampled neighbours for an epoch, drawn ahead by worker threads.

use super::neighbors::NeighborBatch;
use super::sampler::NeighborSampler;
use super::seeds::SeedSampler;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use sparse_core::graph::{Stream, mix};
use sparse_ops::extend::check_ids;
use sparse_ops::{Result, SparseError};
use std::fmt;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{JoinHandle, spawn};

/// A sampler that is a function of the seeds and the number of the draw, below a number of seeds.
///
/// Batches of many graphs, shuffled and joined by worker threads:
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{GraphBatch, NeighborLoader, SampledBy, barabasi_albert};
///
/// let device = Device::flex();
/// let graphs: Vec<_> = (5..15).map(|nodes| barabasi_albert(nodes, 2, 7, &device).unwrap()).collect();
/// let join = SampledBy::new(graphs.len(), move |numbers, _| {
///     let parts: Vec<_> = numbers.iter().map(|&number| graphs[number].clone()).collect();
///     (GraphBatch::new(&parts).unwrap(), numbers.to_vec())
/// });
/// let loader = NeighborLoader::new(join, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 4).unwrap();
/// assert_eq!(loader.epoch(0).map(|(batch, _)| batch.graphs()).collect::<Vec<_>>(), [4, 4, 2]);
/// ```
pub struct SampledBy<B> {
    seeds: usize,
    batch: Arc<BatchOf<B>>,
}

type BatchOf<B> = dyn Fn(&[usize], u64) -> B + Send + Sync;

impl<B> SampledBy<B> {
    /// A sampler of seeds below `seeds`.
    pub fn new(seeds: usize, batch: impl Fn(&[usize], u64) -> B + Send + Sync + 'static) -> Self {
        Self { seeds, batch: Arc::new(batch) }
    }
}

impl<B> Clone for SampledBy<B> {
    fn clone(&self) -> Self {
        Self { seeds: self.seeds, batch: self.batch.clone() }
    }
}

impl<B> fmt::Debug for SampledBy<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SampledBy({} seeds)", self.seeds)
    }
}

impl<B: Send + 'static> SeedSampler for SampledBy<B> {
    type Batch = B;

    fn seed_nodes(&self) -> usize {
        self.seeds
    }

    fn batch(&self, seeds: &[usize], draw: u64) -> B {
        (self.batch)(seeds, draw)
    }
}

/// Goes through seeds in batches and samples their neighbours, with worker threads that draw batches ahead.
///
/// The batches of an epoch depend on the loader's seed, the sampler's seed and the number of the epoch: the same bits
/// for any number of workers and threads. Each worker draws every `workers`-th batch and waits once `prefetch` of its
/// batches are not taken. So at most `workers * (prefetch + 1)` batches are in memory besides that of the caller.
/// (PyG's `NeighborLoader`, also of `HeteroData`.)
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{NeighborLoader, NeighborSamplerConfig, karate};
///
/// let graph = karate(&Device::flex());
/// let sampler = NeighborSamplerConfig::new(vec![5, 5]).init(&graph.adjacency);
/// let loader = NeighborLoader::new(sampler, &graph.splits.test, 10).unwrap().with_seed(3);
/// for epoch in 0..2 {
///     let sizes: Vec<usize> = loader.epoch(epoch).map(|batch| batch.seeds().len()).collect();
///     assert_eq!(sizes, [10, 10, 10, 2]);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct NeighborLoader<S = NeighborSampler> {
    sampler: S,
    seeds: Arc<Vec<usize>>,
    batch_size: usize,
    shuffle: bool,
    /// Of each seed, if they are drawn by them.
    weights: Option<Arc<Vec<f64>>>,
    drop_last: bool,
    workers: usize,
    prefetch: usize,
    seed: u64,
}

impl<S: SeedSampler> NeighborLoader<S> {
    /// A loader of batches of `batch_size` seeds, the last of which may be smaller. By default the seeds are shuffled
    /// in each epoch, and 2 workers draw up to 2 batches ahead each. Without seeds there are no batches.
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for a seed that is no node; `invalid` for a batch size of 0.
    pub fn new(sampler: S, seeds: &[usize], batch_size: usize) -> Result<Self> {
        const OP: &str = "NeighborLoader::new";
        check_ids(OP, seeds, sampler.seed_nodes())?;
        if batch_size == 0 {
            return Err(SparseError::invalid(OP, "the batch size must be above 0, got 0"));
        }
        let seeds = Arc::new(seeds.to_vec());
        let (shuffle, weights, drop_last) = (true, None, false);
        Ok(Self { sampler, seeds, batch_size, shuffle, weights, drop_last, workers: 2, prefetch: 2, seed: 0 })
    }

    /// Each epoch draws as many seeds as there are, with replacement, each with a probability in proportion to its
    /// weight. With `1 / count of its class` all classes are drawn alike. (PyG's `ImbalancedSampler`.)
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there is not a weight for each seed; `invalid` for a weight that is negative or not finite,
    /// or if none is above 0.
    pub fn with_weights(mut self, weights: &[f64]) -> Result<Self> {
        const OP: &str = "NeighborLoader::with_weights";
        if weights.len() != self.seeds.len() {
            return Err(SparseError::length_mismatch(OP, "the weights", self.seeds.len(), weights.len()));
        }
        if let Some(weight) = weights.iter().find(|weight| !weight.is_finite() || **weight < 0.0) {
            return Err(SparseError::invalid(OP, format!("a weight must be finite and not below 0, got {weight}")));
        }
        let sum: f64 = weights.iter().sum();
        if !weights.is_empty() && (!sum.is_normal() || sum <= 0.0) {
            return Err(SparseError::invalid(OP, format!("the sum of the weights must be above 0, got {sum}")));
        }
        self.weights = Some(Arc::new(weights.to_vec()));
        Ok(self)
    }

    /// Whether the seeds are shuffled in each epoch.
    pub fn with_shuffle(mut self, shuffle: bool) -> Self {
        self.shuffle = shuffle;
        self
    }

    /// Whether a last batch that is smaller than the others is left out.
    pub fn with_drop_last(mut self, drop_last: bool) -> Self {
        self.drop_last = drop_last;
        self
    }

    /// Number of worker threads. With 0 the caller's thread draws each batch when it is asked for.
    pub fn with_workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// How many finished batches a worker holds before it waits; at least 1.
    pub fn with_prefetch(mut self, batches: usize) -> Self {
        self.prefetch = batches.max(1);
        self
    }

    /// What the order of the seeds depends on.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The same loader with another sampler of the same graph.
    #[cfg(feature = "dataset")]
    pub(super) fn with_sampler(mut self, sampler: S) -> Self {
        self.sampler = sampler;
        self
    }

    /// The same loader for some of its seeds only.
    #[cfg(feature = "dataset")]
    pub(super) fn with_seeds(mut self, range: Range<usize>) -> Self {
        let end = range.end.min(self.seeds.len());
        let range = range.start.min(end)..end;
        self.seeds = Arc::new(self.seeds[range.clone()].to_vec());
        self.weights = self.weights.map(|weights| Arc::new(weights[range].to_vec()));
        self
    }

    /// Number of seeds of an epoch.
    #[cfg(feature = "dataset")]
    pub(super) fn seeds(&self) -> usize {
        if self.drop_last { self.len() * self.batch_size } else { self.seeds.len() }
    }

    /// Number of seeds in the first `batches` batches of an epoch.
    #[cfg(feature = "dataset")]
    pub(super) fn seeds_of(&self, batches: usize) -> usize {
        (batches * self.batch_size).min(self.seeds.len())
    }

    /// The sampler.
    pub fn sampler(&self) -> &S {
        &self.sampler
    }

    /// Number of batches of an epoch.
    pub fn len(&self) -> usize {
        let seeds = self.seeds.len();
        if self.drop_last { seeds / self.batch_size } else { seeds.div_ceil(self.batch_size) }
    }

    /// Whether an epoch has no batches.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The batches of an epoch, in order. Workers start at once and end when the iterator does, or is dropped. On a
    /// thread of a rayon pool there are none: that thread draws each batch itself. Do not pass an iterator to such a
    /// thread: it would wait there for workers whose own parallel work waits for the pool.
    ///
    /// A batch of more than 2^31 - 1 nodes or edges panics, and so does what a store finds wrong in its file. For an
    /// error instead, call [`NeighborSampler::try_sample`] for batches of your own, or check the store before
    /// (`MappedGraph::check`).
    pub fn epoch(&self, epoch: u64) -> NeighborBatches<S::Batch> {
        self.epoch_with(epoch, |batch| batch)
    }

    /// As [`epoch`](Self::epoch), with `prepare` applied to each batch by the thread that drew it. So workers also read
    /// the features and the labels of a batch ahead. A panic of `prepare` reaches the caller.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use sparse_tensor::data::{NeighborLoader, NeighborSamplerConfig, karate};
    ///
    /// let graph = karate(&Device::flex());
    /// let sampler = NeighborSamplerConfig::new(vec![5]).init(&graph.adjacency);
    /// let loader = NeighborLoader::new(sampler, &[0, 5, 9], 2).unwrap();
    /// for (batch, labels) in loader.epoch_with(0, move |batch| (batch.clone(), batch.labels(graph.labels.tensor()))) {
    ///     assert_eq!(labels.dims(), [batch.seeds().len()]);
    /// }
    /// ```
    pub fn epoch_with<T: Send + 'static>(
        &self,
        epoch: u64,
        prepare: impl Fn(S::Batch) -> T + Send + Sync + 'static,
    ) -> NeighborBatches<T> {
        let mut seeds = self.seeds.clone();
        let key = mix(self.seed, epoch);
        let sums = self.weights.as_ref().map(|weights| running_sums(weights.iter().copied())).unwrap_or_default();
        if let Some(&all) = sums.last().filter(|all| **all > 0.0) {
            let mut stream = Stream::new(key);
            let mut drawn = |_| self.seeds[drawn_by(&sums, stream.unit() * all)];
            seeds = Arc::new((0..self.seeds.len()).map(&mut drawn).collect());
        } else if self.shuffle {
            Arc::make_mut(&mut seeds).shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(key));
        }
        let sampler = self.sampler.clone();
        let work = Arc::new(Work {
            seeds,
            batch_size: self.batch_size,
            key,
            make: Box::new(move |seeds, draw| prepare(sampler.batch(seeds, draw))),
        });
        let count = self.len();
        // A thread of the pool that waits for a worker would keep the worker's own parallel work from running. A page
        // has no threads.
        let alone = sparse_core::in_pool() || cfg!(target_family = "wasm");
        let step = if alone { 0 } else { self.workers.min(count) };
        let workers = (0..step).map(|first| {
            let (sender, receiver) = sync_channel(self.prefetch.min(count));
            let work = work.clone();
            let thread = spawn(move || {
                for at in (first..count).step_by(step) {
                    // It fails if the iterator is gone.
                    if sender.send(work.batch(at)).is_err() {
                        return;
                    }
                }
            });
            Worker { receiver: Some(receiver), thread: Some(thread) }
        });
        NeighborBatches { workers: workers.collect(), work, left: 0..count }
    }
}

/// The sum of the weights up to each.
pub(super) fn running_sums(weights: impl Iterator<Item = f64>) -> Vec<f64> {
    weights
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect()
}

/// Which of some weights covers `at`, a part of their sum.
pub(super) fn drawn_by(sums: &[f64], at: f64) -> usize {
    sums.partition_point(|&sum| sum <= at).min(sums.len() - 1)
}

/// What an epoch's batches are made from.
struct Work<T> {
    seeds: Arc<Vec<usize>>,
    batch_size: usize,
    key: u64,
    /// The batch of some seeds and a number of the draw.
    make: Make<T>,
}

type Make<T> = Box<dyn Fn(&[usize], u64) -> T + Send + Sync>;

impl<T> Work<T> {
    fn batch(&self, at: usize) -> T {
        let start = at * self.batch_size;
        let end = (start + self.batch_size).min(self.seeds.len());
        (self.make)(&self.seeds[start..end], mix(self.key, at as u64))
    }
}

struct Worker<T> {
    receiver: Option<Receiver<T>>,
    thread: Option<JoinHandle<()>>,
}

/// The batches of an epoch: see [`NeighborLoader::epoch`] and [`NeighborLoader::epoch_with`]. Its length is exact, so a
/// progress bar such as indicatif's takes it (`bar.wrap_iter`).
pub struct NeighborBatches<T = NeighborBatch> {
    workers: Vec<Worker<T>>,
    work: Arc<Work<T>>,
    left: Range<usize>,
}

impl<T> Iterator for NeighborBatches<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let at = self.left.next()?;
        let count = self.workers.len();
        if count == 0 {
            return Some(self.work.batch(at));
        }
        let worker = &mut self.workers[at % count];
        if let Some(batch) = worker.receiver.as_ref().and_then(|receiver| receiver.recv().ok()) {
            return Some(batch);
        }
        // The worker has panicked: so does the caller.
        self.left = 0..0;
        match worker.thread.take().map(JoinHandle::join) {
            Some(Err(trouble)) => resume_unwind(trouble),
            _ => None,
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<T> ExactSizeIterator for NeighborBatches<T> {}

impl<T> fmt::Debug for NeighborBatches<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NeighborBatches({} left, {} workers)", self.left.len(), self.workers.len())
    }
}

impl<T> Drop for NeighborBatches<T> {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.receiver = None;
        }
        for worker in &mut self.workers {
            // A panic of a batch that nobody asked for is not the caller's.
            let _ = worker.thread.take().map(JoinHandle::join);
        }
    }
}
