//! Training on sampled batches, and evaluation on the whole graph.

use crate::args::Args;
use crate::model::Sage;
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::decay::WeightDecayConfig;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Int, Tensor, TensorData};
use indicatif::ProgressBar;
use sparse_tensor::CsrTensor;
use sparse_tensor::data::{Graph, LabelledNodes, NeighborLoader, NeighborSamplerConfig};
use std::time::{Duration, Instant};

/// The most nodes in the picture.
const SHOWN: usize = 3000;

/// A graph made ready once for all runs.
pub(crate) struct Task {
    device: Device,
    loader: NeighborLoader,
    /// `[nodes, features]`, for training.
    features: Tensor<2>,
    labels: Tensor<1, Int>,
    /// The whole graph, off the tape.
    adjacency: CsrTensor<2>,
    val: LabelledNodes,
    test: LabelledNodes,
    classes: usize,
    /// Nodes for the picture, evenly over the graph, off the tape.
    shown: Tensor<1, Int>,
    pub(crate) shown_labels: Vec<i64>,
}

/// What a run leaves.
pub(crate) struct Run {
    /// The mean loss of the batches of each epoch.
    pub(crate) losses: Vec<f32>,
    /// The logits of the nodes for the picture, in the epoch with the best validation accuracy.
    pub(crate) logits: Tensor<2>,
    /// Accuracy of the epoch with the best validation accuracy.
    pub(crate) test: f64,
    /// Time of the training, without evaluation.
    pub(crate) time: Duration,
    /// The part of it in which no batch was ready.
    pub(crate) waited: Duration,
}

impl Task {
    pub(crate) fn new(args: &Args, graph: &Graph, features: Tensor<2>, device: &Device) -> Result<Self, String> {
        let text = |trouble: sparse_tensor::SparseError| trouble.to_string();
        let splits = &graph.splits;
        for (name, ids) in [("training", &splits.train), ("validation", &splits.val), ("test", &splits.test)] {
            if ids.is_empty() {
                return Err(format!("the graph must have at least one {name} node, got none"));
            }
        }
        let fan_outs = args.fan_outs.iter().map(|&count| count as usize).collect();
        let sampler = NeighborSamplerConfig::new(fan_outs).try_init(&graph.adjacency).map_err(text)?;
        let loader = NeighborLoader::new(sampler, &splits.train, args.batch()).map_err(text)?;
        let labels = graph.labels.to_vec();
        let shown: Vec<i64> = (0..labels.len() as i64).step_by(labels.len().div_ceil(SHOWN).max(1)).collect();
        let shown_labels = shown.iter().map(|&node| labels[node as usize]).collect();
        let count = shown.len();
        Ok(Self {
            shown: Tensor::from_data(TensorData::new(shown, [count]), &device.clone().inner()),
            shown_labels,
            device: device.clone(),
            loader: loader.with_workers(args.workers as usize),
            features,
            labels: graph.labels.tensor(),
            adjacency: graph.valid().adjacency,
            val: graph.labelled(&splits.val).map_err(text)?,
            test: graph.labelled(&splits.test).map_err(text)?,
            classes: graph.labels.classes(),
        })
    }

    /// Trains from one seed.
    pub(crate) fn run(&self, args: &Args, seed: u64, bar: &ProgressBar) -> Run {
        self.device.seed(seed);
        let mut model = Sage::new(args, self.features.dims()[1], self.classes, &self.device);
        let decay = WeightDecayConfig::new(args.weight_decay as f32);
        let mut optimizer = AdamConfig::new().with_epsilon(1e-8).with_weight_decay(Some(decay)).init();
        let cross_entropy = CrossEntropyLossConfig::new().init(&self.device);
        let loader = self.loader.clone().with_seed(seed);
        let logits = Tensor::zeros([self.shown.dims()[0], self.classes], &self.device.clone().inner());
        let mut run = Run { losses: vec![], logits, test: 0.0, time: Duration::ZERO, waited: Duration::ZERO };
        let mut best = f64::NEG_INFINITY;
        for epoch in 0..args.epochs() {
            let start = Instant::now();
            let mut batches = loader.epoch(u64::from(epoch));
            let mut losses = vec![];
            loop {
                let asked = Instant::now();
                let Some(batch) = batches.next() else { break };
                run.waited += asked.elapsed();
                let logits = model.forward(batch.blocks().iter(), batch.features(self.features.clone()));
                let loss = cross_entropy.forward(logits, batch.labels(self.labels.clone()));
                let grads = GradientsParams::from_grads(loss.backward(), &model);
                model = optimizer.step(args.lr, model, grads);
                losses.push(loss.inner());
                bar.inc(1);
            }
            run.losses.push(Tensor::cat(losses, 0).mean().into_scalar::<f32>());
            run.time += start.elapsed();

            let logits = model.valid().forward_all(&self.adjacency, self.features.clone().inner());
            let val = self.val.accuracy(logits.clone());
            if val > best {
                (best, run.test) = (val, self.test.accuracy(logits.clone()));
                run.logits = logits.select(0, self.shown.clone());
            }
            bar.set_message(format!("seed {seed}  validation {val:.3}"));
        }
        run
    }

    /// Batches of an epoch.
    pub(crate) fn batches(&self) -> usize {
        self.loader.len()
    }
}
