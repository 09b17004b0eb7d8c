//! Training and evaluation.

use crate::args::Args;
use crate::model::Gcn;
use burn::module::{Module, ParamGroup};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use sparse_tensor::CsrTensor;
use sparse_tensor::data::{Graph, Splits};
use sparse_tensor::nn::symmetric_normalization;
use sparse_tensor::ops::IndexPlan;
use std::time::{Duration, Instant};

/// A graph made ready once for all runs: its adjacency normalised, on the tape's device for training and off it for
/// evaluation.
pub(crate) struct Task {
    device: Device,
    training: (CsrTensor<2>, CsrTensor<2>),
    evaluation: (CsrTensor<2>, CsrTensor<2>),
    /// The labelled nodes: an index that stays, checked and sorted once.
    train_plan: IndexPlan,
    train_labels: Tensor<2, Int>,
    pub(crate) labels: Vec<i64>,
    pub(crate) splits: Splits,
    pub(crate) classes: usize,
}

/// Where a run stands after an epoch.
#[derive(Clone, Copy)]
pub(crate) struct Epoch {
    pub(crate) loss: f32,
    pub(crate) train: f64,
    pub(crate) val: f64,
    pub(crate) test: f64,
}

/// What a run leaves.
pub(crate) struct Run {
    pub(crate) losses: Vec<f32>,
    /// The best validation epoch (the last one where nothing validates).
    pub(crate) best: Epoch,
    /// The embedding of that epoch, `[nodes, hidden]`.
    pub(crate) embedding: TensorData,
    /// Time of all epochs.
    pub(crate) time: Duration,
}

impl Task {
    pub(crate) fn new(graph: &Graph, device: &Device) -> Result<Self, String> {
        let splits = graph.splits.clone();
        for (name, ids) in [("training", &splits.train), ("test", &splits.test)] {
            if ids.is_empty() {
                return Err(format!("the graph must have at least one {name} node, got none"));
            }
        }
        let plain = graph.valid();
        let adjacency = symmetric_normalization(&graph.adjacency, true);
        let normal = Graph { adjacency, ..graph.clone() };
        let valid = normal.valid();
        let labels: Vec<i64> = plain.labels.to_vec();
        let count = splits.train.len();
        let ids: Vec<i64> = splits.train.iter().map(|&node| node as i64).collect();
        let ids = Tensor::<1, Int>::from_data(TensorData::new(ids, [count]), device);
        let plan = IndexPlan::new(ids, labels.len());
        let chosen: Vec<i64> = splits.train.iter().map(|&node| labels[node]).collect();
        Ok(Self {
            device: device.clone(),
            training: (normal.adjacency, normal.features),
            evaluation: (valid.adjacency, valid.features),
            train_plan: plan.map_err(|trouble| trouble.to_string())?,
            train_labels: Tensor::from_data(TensorData::new(chosen, [count, 1]), device),
            labels,
            splits,
            classes: graph.labels.classes(),
        })
    }

    /// Trains from one seed; `seen` hears of every epoch.
    pub(crate) fn run(&self, args: &Args, seed: u64, mut seen: impl FnMut(&Epoch)) -> Run {
        self.device.seed(seed);
        let (adjacency, features) = &self.training;
        let mut model = Gcn::new(features.dims()[1], args.hidden as usize, self.classes, &self.device);
        let mut optimizer = optimizer(&model, args.weight_decay);
        let mut losses = Vec::with_capacity(args.epochs as usize);
        let mut best: Option<(Epoch, Gcn)> = None;
        let start = Instant::now();
        for _ in 0..args.epochs {
            let logits = model.forward_dropped(adjacency, features, args.dropout);
            let labelled = self.train_plan.select(logits, 0);
            let chosen = log_softmax(labelled, 1);
            let loss = chosen.gather(1, self.train_labels.clone()).mean().neg();
            let grads = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(args.lr, model, grads);
            let (epoch, valid) = self.evaluate(&model, loss);
            losses.push(epoch.loss);
            seen(&epoch);
            let none_validate = self.splits.val.is_empty();
            if none_validate || best.as_ref().is_none_or(|(best, _)| epoch.val > best.val) {
                best = Some((epoch, valid));
            }
        }
        let time = start.elapsed();
        let (best, model) = best.expect("there is at least one epoch");
        let embedding = model.embed(&self.evaluation.0, &self.evaluation.1).into_data();
        Run { losses, best, embedding, time }
    }

    /// Accuracies of the model, off the tape: one read of the predictions.
    fn evaluate(&self, model: &Gcn, loss: Tensor<1>) -> (Epoch, Gcn) {
        let model = model.valid();
        let (adjacency, features) = &self.evaluation;
        let predicted = model.forward(adjacency, features).argmax(1).into_data().convert::<i64>();
        let predicted: Vec<i64> = predicted.iter().collect();
        let accuracy = |ids: &[usize]| {
            let right = ids.iter().filter(|&&node| predicted[node] == self.labels[node]).count();
            right as f64 / ids.len().max(1) as f64
        };
        let Splits { train, val, test } = &self.splits;
        let loss = loss.into_scalar::<f32>();
        (Epoch { loss, train: accuracy(train), val: accuracy(val), test: accuracy(test) }, model)
    }
}

/// Adam with an L2 penalty, added to the gradient, on the first layer only.
fn optimizer(model: &Gcn, penalty: f64) -> ModuleOptimizer {
    let adam = AdamConfig::new().with_epsilon(1e-8);
    let decay = Some(WeightDecayConfig::new(penalty as f32));
    let first = ParamGroup::ids_from_module(model.first.clone());
    adam.init().with_group(first, adam.with_weight_decay(decay).build(), None)
}
