//! Training of a classifier of nodes on a whole graph.

use crate::early_stopping::EarlyStopping;
use burn::module::Module;
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::Tensor;
use indicatif::ProgressBar;
use sparse_tensor::data::{Graph, LabelledNodes};

/// A classifier of the nodes of a graph.
pub(crate) trait Classifier: Module {
    /// Logits `[nodes, classes]`. On an autodiff device features and edges may be dropped.
    fn logits(&self, graph: &Graph) -> Tensor<2>;
}

/// How a run goes.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) lr: f64,
    /// The most epochs.
    pub(crate) epochs: u32,
    /// Epochs without an improvement after which a run ends.
    pub(crate) patience: u32,
}

/// What a run leaves.
pub(crate) struct Run<M> {
    /// The loss of each epoch.
    pub(crate) losses: Vec<f32>,
    /// The model of the best epoch (the last one where no nodes are for validation), off the tape.
    pub(crate) best: M,
    /// Its test accuracy.
    pub(crate) test: f64,
}

/// A graph made ready once for all runs.
pub(crate) struct Task {
    pub(crate) training: Graph,
    pub(crate) evaluation: Graph,
    train: LabelledNodes,
    /// None if no nodes are for validation.
    val: Option<LabelledNodes>,
    test: LabelledNodes,
}

impl Task {
    /// `graph` on the tape, with features and adjacency as the model takes them.
    pub(crate) fn new(graph: Graph) -> Result<Self, String> {
        let splits = &graph.splits;
        if splits.train.is_empty() || splits.test.is_empty() {
            return Err("the graph must have training and test nodes".into());
        }
        let labelled = |nodes: &[usize]| graph.labelled(nodes).map_err(|trouble| trouble.to_string());
        let (train, test) = (labelled(&splits.train)?, labelled(&splits.test)?);
        let val = if splits.val.is_empty() { None } else { Some(labelled(&splits.val)?) };
        Ok(Self { evaluation: graph.valid(), training: graph, train, val, test })
    }

    /// Trains a model. What a run leaves out is taken from the length of the bar.
    pub(crate) fn run<M: Classifier>(
        &self,
        limits: Limits,
        mut model: M,
        mut optimizer: ModuleOptimizer,
        bar: &ProgressBar,
    ) -> Run<M> {
        let mut stopping = EarlyStopping::new(limits.patience, self.val.is_some());
        let mut run = Run { losses: vec![], best: model.valid(), test: 0.0 };
        while run.losses.len() < limits.epochs as usize && !stopping.stops() {
            let loss = self.train.cross_entropy(model.logits(&self.training));
            let grads = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(limits.lr, model, grads);
            run.losses.push(loss.into_scalar::<f32>());

            let valid = model.valid();
            let logits = valid.logits(&self.evaluation);
            let (loss, accuracy) = self.val.as_ref().map_or((0.0, 0.0), |val| {
                (val.cross_entropy(logits.clone()).into_scalar::<f64>(), val.accuracy(logits.clone()))
            });
            if stopping.is_best(loss, accuracy) {
                (run.test, run.best) = (self.test.accuracy(logits), valid);
            }
            bar.inc(1);
            bar.set_message(format!("validation {accuracy:.3}"));
        }
        bar.set_length(bar.length().unwrap_or(0) - (u64::from(limits.epochs) - run.losses.len() as u64));
        run
    }
}
