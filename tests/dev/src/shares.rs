//! GraphSAGE on shares of batches: by several ranks, by one process that goes through the shares, and on whole batches.

use burn::module::{Module, ModuleVisitor, Param};
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Int, Tensor, TensorData};
use sparse_tensor::SparseError;
use sparse_tensor::data::{NeighborLoader, NeighborSampler, NeighborSamplerConfig, karate};
use sparse_tensor::nn::{SageConv, SageConvConfig};
use sparse_tensor::parallel::{Collective, all_reduce, broadcast, weighted_mean};
use std::ops::Range;

pub const STEPS: usize = 5;
const BATCH: usize = 13;
const RATE: f64 = 0.1;

#[derive(Module, Debug)]
pub struct Sage {
    layers: Vec<SageConv>,
}

impl Sage {
    pub fn new(hidden: usize, device: &Device) -> Self {
        let sizes = [6, hidden, 2];
        Self { layers: sizes.windows(2).map(|size| SageConvConfig::new(size[0], size[1]).init(device)).collect() }
    }
}

/// What all ranks know.
pub struct Task {
    sampler: NeighborSampler,
    features: Tensor<2>,
    labels: Tensor<1, Int>,
}

impl Task {
    pub fn new(device: &Device) -> Self {
        let graph = karate(device);
        let features: Vec<f32> = (0..34 * 6).map(|at| ((at * 37 % 101) as f32 / 50.0 - 1.0).sin()).collect();
        // All neighbours: then a batch gives the same numbers whole or in shares.
        let sampler = NeighborSamplerConfig::new(vec![100, 100]).init(&graph.adjacency);
        let features = Tensor::from_data(TensorData::new(features, [34, 6]), device);
        Self { sampler, features, labels: graph.labels.tensor() }
    }

    fn loss(&self, model: &Sage, nodes: &[usize]) -> Tensor<1> {
        let loader = NeighborLoader::new(self.sampler.clone(), nodes, nodes.len()).unwrap();
        let batch = loader.with_shuffle(false).with_workers(0).epoch(0).next().unwrap();
        let mut x = batch.features(self.features.clone());
        for (at, (layer, block)) in model.layers.iter().zip(batch.blocks()).enumerate() {
            let source = if at == 0 { x } else { relu(x) };
            let target = source.clone().narrow(0, 0, block.dims()[0]);
            x = layer.forward_bipartite(block, source, target);
        }
        CrossEntropyLossConfig::new().init(&x.device()).forward(x, batch.labels(self.labels.clone()))
    }

    /// Gradients of the mean loss of some nodes; none of no nodes.
    fn grads(&self, model: &Sage, nodes: &[usize]) -> GradientsParams {
        match nodes {
            [] => GradientsParams::new(),
            nodes => GradientsParams::from_grads(self.loss(model, nodes).backward(), model),
        }
    }

    /// A rank's training.
    pub fn train(&self, ranks: &mut impl Collective, model: Sage) -> Result<Vec<TensorData>, SparseError> {
        let mut model = broadcast(ranks, model, 0)?;
        let mut optimizer = SgdConfig::new().init();
        for step in 0..STEPS {
            let nodes = batch(step);
            let share = &nodes[share(step, ranks.rank(), ranks.size())];
            let grads = all_reduce(ranks, self.grads(&model, share), &model, share.len() as f64)?;
            model = optimizer.step(RATE, model, grads);
        }
        Ok(parameters(&model))
    }

    /// One process that goes through the shares of so many ranks.
    pub fn train_shares(&self, size: usize, mut model: Sage) -> Vec<TensorData> {
        let mut optimizer = SgdConfig::new().init();
        for step in 0..STEPS {
            let nodes = batch(step);
            let shares = (0..size).map(|rank| &nodes[share(step, rank, size)]);
            let parts = shares.map(|share| (self.grads(&model, share), share.len() as f64)).collect();
            let grads = weighted_mean(parts, &model).unwrap();
            model = optimizer.step(RATE, model, grads);
        }
        parameters(&model)
    }

    /// One process that takes each batch as a whole.
    pub fn train_union(&self, mut model: Sage) -> Vec<TensorData> {
        let mut optimizer = SgdConfig::new().init();
        for step in 0..STEPS {
            let grads = self.grads(&model, &batch(step));
            model = optimizer.step(RATE, model, grads);
        }
        parameters(&model)
    }
}

/// The nodes of a step.
fn batch(step: usize) -> Vec<usize> {
    (0..BATCH).map(|at| (step * 7 + at * 5) % 34).collect()
}

/// The share of a rank: rank 0 has most of the batch, and nothing in step 3 if it is not alone.
fn share(step: usize, rank: usize, size: usize) -> Range<usize> {
    let skip = usize::from(step == 3 && size > 1);
    let weight = |rank: usize| if rank < skip { 0 } else { 2 * size - rank };
    let total: usize = (0..size).map(weight).sum();
    let end = |ranks: usize| BATCH * (0..ranks).map(weight).sum::<usize>() / total;
    end(rank)..end(rank + 1)
}

pub fn parameters(model: &impl Module) -> Vec<TensorData> {
    struct Values(Vec<TensorData>);
    impl ModuleVisitor for Values {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.0.push(param.val().into_data());
        }
    }
    let mut values = Values(vec![]);
    model.visit(&mut values);
    values.0
}

/// The largest difference of two lists of tensors.
pub fn distance(a: &[TensorData], b: &[TensorData]) -> f64 {
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().zip(b).flat_map(|(a, b)| {
        assert_eq!(a.shape(), b.shape());
        a.iter::<f64>().zip(b.iter::<f64>()).collect::<Vec<_>>()
    });
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
