//! Sampled neighbours as a data loader of Burn, for burn-train.

use super::loader::{NeighborBatches, NeighborLoader};
use super::neighbors::NeighborBatch;
use crate::host::on_device;
use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::module::Module;
use burn::tensor::Device;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes the input of a model of the data and a batch.
type Prepare<D, O> = dyn Fn(&D, NeighborBatch) -> O + Send + Sync;

/// A [`NeighborLoader`] as a `DataLoader` of Burn: what burn-train's learner trains and validates on.
///
/// `data` is what a batch reads from: a tensor, a sparse tensor, or a tuple of them, such as the features and labels of
/// all nodes. `prepare` makes the input of the model of the data and a batch. Worker threads call it, as
/// [`NeighborLoader::epoch_with`] says.
///
/// Each call of `iter` is the next epoch, with a new order of the seeds and new neighbours. The learner calls it once
/// an epoch. To resume after `n` epochs, start with [`with_epoch(n)`](Self::with_epoch): then the batches are those of
/// a run that was never stopped. For validation use [`with_fixed_epoch`](Self::with_fixed_epoch).
///
/// `to_device` and `slice` give loaders that count epochs on their own, from where this one is. `to_device` moves the
/// data and the adjacency once. Batches get the device's autodiff association, and are constants: gradients do not
/// reach the data or the values of the adjacency. On a device with gradient checkpointing they have no association;
/// there Burn's `Dropout` of a batch's own features drops nothing. `slice` takes some of the seeds, in the order of
/// [`NeighborLoader::new`]. Items are seeds.
///
/// Needs the feature `dataset`.
///
/// ```
/// use burn::data::dataloader::DataLoader;
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::{NeighborDataLoader, NeighborLoader, NeighborSamplerConfig, karate};
///
/// let graph = karate(&Device::flex());
/// let sampler = NeighborSamplerConfig::new(vec![5, 5]).init(&graph.adjacency);
/// let seeds = NeighborLoader::new(sampler, &graph.splits.test, 10).unwrap();
/// let data = (Tensor::<2>::ones([34, 8], &Device::flex()), graph.labels.tensor());
/// let loader = NeighborDataLoader::new(seeds, data, |(x, labels), batch| {
///     (batch.features(x.clone()), batch.labels(labels.clone()), batch)
/// });
/// for item in loader.iter() {
///     let (x, labels, batch) = item.unwrap();
///     assert_eq!((x.dims()[0], labels.dims()[0]), (batch.nodes().len(), batch.seeds().len()));
/// }
/// assert_eq!(loader.num_items(), 32);
/// ```
pub struct NeighborDataLoader<D, O> {
    loader: NeighborLoader,
    data: Arc<D>,
    prepare: Arc<Prepare<D, O>>,
    epoch: AtomicU64,
    fixed: bool,
}

impl<D: Module + Sync + 'static, O: Send + 'static> NeighborDataLoader<D, O> {
    /// A loader of what `prepare` makes of `data` and each batch of `loader`. The data must be on the device of the
    /// adjacency; `to_device` moves both.
    pub fn new(
        loader: NeighborLoader,
        data: D,
        prepare: impl Fn(&D, NeighborBatch) -> O + Send + Sync + 'static,
    ) -> Self {
        Self { loader, data: Arc::new(data), prepare: Arc::new(prepare), epoch: AtomicU64::new(0), fixed: false }
    }

    /// The number of the next epoch; 0 at first.
    pub fn with_epoch(self, epoch: u64) -> Self {
        Self { epoch: AtomicU64::new(epoch), ..self }
    }

    /// Every epoch has the same batches. Then the losses of a validation set can be compared.
    pub fn with_fixed_epoch(self) -> Self {
        Self { fixed: true, ..self }
    }

    fn with_loader(&self, loader: NeighborLoader, data: Arc<D>) -> Arc<dyn DataLoader<O>> {
        let (prepare, epoch) = (self.prepare.clone(), AtomicU64::new(self.epoch.load(Ordering::Relaxed)));
        Arc::new(Self { loader, data, prepare, epoch, fixed: self.fixed })
    }
}

impl<D: Module + Sync + 'static, O: Send + 'static> DataLoader<O> for NeighborDataLoader<D, O> {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<O> + 'a> {
        let epoch = self.epoch.fetch_add(u64::from(!self.fixed), Ordering::Relaxed);
        let (data, prepare) = (self.data.clone(), self.prepare.clone());
        let batches = self.loader.epoch_with(epoch, move |batch| prepare(&data, batch));
        Box::new(Batches { loader: &self.loader, batches, taken: 0 })
    }

    fn num_items(&self) -> usize {
        self.loader.seeds()
    }

    fn to_device(&self, device: &Device) -> Arc<dyn DataLoader<O>> {
        let sampler = self.loader.sampler().on_device(device);
        let data = Arc::new(on_device(D::clone(&self.data), device));
        self.with_loader(self.loader.clone().with_sampler(sampler), data)
    }

    /// A range that goes beyond the seeds ends with them.
    fn slice(&self, start: usize, end: usize) -> Arc<dyn DataLoader<O>> {
        self.with_loader(self.loader.clone().with_seeds(start..end), self.data.clone())
    }
}

impl<D, O> fmt::Debug for NeighborDataLoader<D, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let epoch = self.epoch.load(Ordering::Relaxed);
        write!(f, "NeighborDataLoader({:?}, {} batches, epoch {epoch})", self.loader.sampler(), self.loader.len())
    }
}

/// The batches of an epoch, and how many of its seeds they had.
struct Batches<'a, O> {
    loader: &'a NeighborLoader,
    batches: NeighborBatches<O>,
    taken: usize,
}

impl<O> Iterator for Batches<'_, O> {
    type Item = Result<O, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.batches.next()?;
        self.taken += 1;
        Some(Ok(item))
    }
}

impl<O> DataLoaderIterator<O> for Batches<'_, O> {
    fn progress(&self) -> Progress {
        Progress::new(self.loader.seeds_of(self.taken), self.loader.seeds(), Some("items".into()))
    }
}
