//! Training of classifiers of whole graphs.

use crate::{Run, Trouble, folder};
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use sparse_tensor::CsrTensor;
use sparse_tensor::data::{GraphBatch, TuGraph, read_tu};
use sparse_tensor::ops::IndexPlan;
use std::fs;

/// A graph, the features of its nodes, and its class.
#[derive(Clone)]
pub struct Sample {
    pub adjacency: CsrTensor<2>,
    pub x: Tensor<2>,
    pub class: i64,
}

/// Some graphs as one.
pub struct Batch {
    pub adjacency: CsrTensor<2>,
    pub x: Tensor<2>,
    /// The graph of each node.
    pub graphs: IndexPlan,
    classes: Tensor<1, Int>,
}

impl Batch {
    fn new(samples: &[Sample], device: &Device) -> Result<Self, Trouble> {
        let batch = GraphBatch::new(&samples.iter().map(|sample| sample.adjacency.clone()).collect::<Vec<_>>())?;
        let x = batch.join_rows(&samples.iter().map(|sample| sample.x.clone()).collect::<Vec<_>>());
        let classes: Vec<i64> = samples.iter().map(|sample| sample.class).collect();
        Ok(Self {
            adjacency: batch.adjacency().clone(),
            x,
            graphs: IndexPlan::new(batch.graph_ids(), batch.graphs())?,
            classes: Tensor::from_data(TensorData::new(classes, [samples.len()]), device),
        })
    }
}

impl Run {
    /// The graphs of a set of TUDataset that train in this run, with gradients, and those that test, without: the fold
    /// of this run. `x` gives the features of nodes from a graph and its one-hot labels.
    pub fn tu(
        &self,
        name: &str,
        x: impl Fn(&TuGraph, Option<Tensor<2>>) -> Tensor<2>,
    ) -> Result<[Vec<Sample>; 2], Trouble> {
        let name = self.data.as_deref().unwrap_or(name);
        let path = folder(&format!("tu/{name}"))?;
        let folds = fs::read_to_string(path.join("folds.txt"))?;
        let fold = folds.lines().nth(self.split()).ok_or("folds.txt must have ten lines")?;
        let fold = fold.split_whitespace().map(str::parse).collect::<Result<Vec<usize>, _>>()?;
        let read = |device: &Device, tests: bool| -> Result<Vec<Sample>, Trouble> {
            let set = read_tu(&path, name, device)?;
            let classes = set.labels.as_ref().ok_or("the graphs must have classes")?.to_vec();
            let all = set.graphs.iter().zip(classes).enumerate().filter(|(at, _)| fold.contains(at) == tests);
            let sample = |(_, (graph, class)): (usize, (&TuGraph, i64))| {
                let labels = graph
                    .features
                    .clone()
                    .map(|x| x.clone().narrow(1, set.node_attributes, x.dims()[1] - set.node_attributes));
                Sample { adjacency: graph.adjacency.clone(), x: x(graph, labels), class }
            };
            Ok(all.map(sample).collect())
        };
        Ok([read(&self.device, false)?, read(&self.device.clone().inner(), true)?])
    }
}

/// Trains on shuffled batches with the cross-entropy of the graphs, and gives the test accuracy after each epoch.
pub fn fit_graphs<M: Module>(
    run: &Run,
    [mut train, test]: [Vec<Sample>; 2],
    [epochs, size]: [usize; 2],
    (mut model, mut optimizer, lr): (M, ModuleOptimizer, f64),
    forward: impl Fn(&M, &Batch) -> Tensor<2>,
) -> Result<Vec<f64>, Trouble> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(run.seed);
    let cross_entropy = CrossEntropyLossConfig::new().init(&run.device);
    let test = Batch::new(&test, &run.device.clone().inner())?;
    let mut accuracies = vec![];
    for _ in 0..run.epochs(epochs) {
        train.shuffle(&mut rng);
        for samples in train.chunks(size) {
            let batch = Batch::new(samples, &run.device)?;
            let loss = cross_entropy.forward(forward(&model, &batch), batch.classes.clone());
            let grads = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(lr, model, grads);
        }
        let predicted = forward(&model.valid(), &test).argmax(1).squeeze_dim::<1>(1);
        accuracies.push(predicted.equal(test.classes.clone()).float().mean().into_scalar::<f64>());
    }
    Ok(accuracies)
}
