//! Nodes of a graph, by sampled neighbours: a loader that samples in worker threads, and GraphSAGE.

use crate::training::{Loaders, Outcome, Settings, train};
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Int, Tensor, TensorData};
use burn_train::{ClassificationOutput, InferenceStep, TrainOutput, TrainStep};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use sparse_tensor::SparseError;
use sparse_tensor::data::{
    Graph, NeighborBatch, NeighborDataLoader, NeighborLoader, NeighborSamplerConfig, stochastic_block_model,
};
use sparse_tensor::nn::{SageConv, SageConvConfig};
use std::sync::Arc;

const FEATURES: usize = 16;
const HIDDEN: usize = 32;
/// The neighbours of a node that each of the two layers sees.
const FAN_OUTS: [usize; 2] = [10, 5];

/// What the model reads for some nodes.
pub(crate) struct NodeBatch {
    neighbors: NeighborBatch,
    /// Of all nodes of the batch.
    features: Tensor<2>,
    /// Of the seeds.
    labels: Tensor<1, Int>,
}

/// GraphSAGE with a layer for each hop.
#[derive(Module, Debug)]
pub(crate) struct Sage {
    layers: Vec<SageConv>,
}

impl Sage {
    pub(crate) fn new(classes: usize, device: &Device) -> Self {
        let sizes = [FEATURES, HIDDEN, classes];
        Self { layers: sizes.windows(2).map(|size| SageConvConfig::new(size[0], size[1]).init(device)).collect() }
    }

    fn forward(&self, batch: NodeBatch) -> ClassificationOutput {
        let mut x = batch.features;
        for (layer, (conv, block)) in self.layers.iter().zip(batch.neighbors.blocks()).enumerate() {
            // The targets of a block are its first sources.
            let targets = x.clone().narrow(0, 0, block.dims()[0]);
            x = conv.forward_bipartite(block, x, targets);
            if layer + 1 < self.layers.len() {
                x = relu(x);
            }
        }
        let loss = CrossEntropyLossConfig::new().init(&x.device()).forward(x.clone(), batch.labels.clone());
        ClassificationOutput::new(loss, x, batch.labels)
    }
}

impl TrainStep for Sage {
    type Input = NodeBatch;
    type Output = ClassificationOutput;

    fn step(&self, batch: NodeBatch) -> TrainOutput<ClassificationOutput> {
        let out = self.forward(batch);
        TrainOutput::new(self, out.loss.backward(), out)
    }
}

impl InferenceStep for Sage {
    type Input = NodeBatch;
    type Output = ClassificationOutput;

    fn step(&self, batch: NodeBatch) -> ClassificationOutput {
        self.forward(batch)
    }
}

pub(crate) fn run(settings: &Settings) -> Result<Outcome, String> {
    let (classes, loaders) = loaders(settings).map_err(|trouble| trouble.to_string())?;
    train(settings, Sage::new(classes, &settings.device), loaders)
}

fn loaders(settings: &Settings) -> Result<(usize, Loaders<NodeBatch>), SparseError> {
    let (graph, features) = graph(&settings.device.clone().inner())?;
    let sampler = NeighborSamplerConfig::new(FAN_OUTS.to_vec()).with_seed(settings.seed).try_init(&graph.adjacency)?;
    let data = (features, graph.labels.tensor());
    let loader = |nodes: &[usize]| {
        let loader = NeighborLoader::new(sampler.clone(), nodes, settings.batch_size)?;
        let loader = loader.with_workers(settings.workers).with_seed(settings.seed);
        Ok::<_, SparseError>(NeighborDataLoader::new(loader, data.clone(), |(features, labels), batch| NodeBatch {
            features: batch.features(features.clone()),
            labels: batch.labels(labels.clone()),
            neighbors: batch,
        }))
    };
    let loaders = Loaders {
        // A resumed run goes on with the batches of a run that was never stopped.
        train: Arc::new(loader(&graph.splits.train)?.with_epoch(settings.done as u64)),
        valid: Arc::new(loader(&graph.splits.val)?.with_fixed_epoch()),
        test: Arc::new(loader(&graph.splits.test)?.with_fixed_epoch()),
    };
    Ok((graph.labels.classes(), loaders))
}

/// A generated graph of 5 classes, and features `[nodes, FEATURES]` that say little about the class of their own node:
/// a model must look at the neighbours.
fn graph(device: &Device) -> Result<(Graph, Tensor<2>), SparseError> {
    let graph = stochastic_block_model(&[800; 5], 0.02, 0.001, 1, device)?;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut features = Vec::with_capacity(graph.nodes() * FEATURES);
    for node in 0..graph.nodes() {
        let class = node / 800;
        features.extend((0..FEATURES).map(|at| rng.random_range(-1.0..1.0f32) + if at == class { 0.4 } else { 0.0 }));
    }
    let features = Tensor::from_data(TensorData::new(features, [graph.nodes(), FEATURES]), device);
    Ok((graph, features))
}
