//! Training of a classifier of nodes on a whole graph.

use crate::console::{progress, say};
use crate::data::open;
use crate::early_stopping::EarlyStopping;
use crate::statistics::mean_std;
use burn::module::Module;
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Tensor};
use indicatif::ProgressBar;
use sparse_tensor::data::{Graph, LabelledNodes, karate};
use sparse_tensor::plot::{self, Plot};
use std::path::Path;
use std::time::{Duration, Instant};

/// The classes of the karate club.
const SIDES: [&str; 2] = ["Mr. Hi's side", "the officers' side"];

/// The graph of `--data`, or the karate club. Says what it is.
pub(crate) fn open_or_karate(data: Option<&Path>, quiet: bool, device: &Device) -> Result<Graph, String> {
    let graph = data.map_or_else(|| Ok(karate(device)), |path| open(path, quiet, device))?;
    if !quiet {
        let (nodes, edges, [_, features]) = (graph.nodes(), graph.edges(), graph.features.dims());
        say(&format!("{nodes} nodes, {edges} edges, {features} features"));
    }
    Ok(graph)
}

/// A classifier of the nodes of a graph.
pub(crate) trait Classifier: Module {
    /// Logits `[nodes, classes]`. On an autodiff device features and edges may be dropped.
    fn logits(&self, graph: &Graph) -> Tensor<2>;
}

/// How runs go.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Runs, each from its own seed.
    pub(crate) seeds: u32,
    pub(crate) lr: f64,
    /// The most epochs.
    pub(crate) epochs: u32,
    /// Epochs without an improvement after which a run ends.
    pub(crate) patience: u32,
}

/// What a run leaves.
struct Run<M> {
    /// The loss of each epoch.
    losses: Vec<f32>,
    /// The model of the best epoch (the last one where no nodes are for validation), off the tape.
    best: M,
    /// Its test accuracy.
    test: f64,
}

/// What all runs leave.
pub(crate) struct Runs<M> {
    /// At least one.
    all: Vec<Run<M>>,
    time: Duration,
}

impl<M> Runs<M> {
    /// The model of the first run.
    pub(crate) fn first(&self) -> &M {
        &self.all[0].best
    }

    /// The losses of all runs.
    pub(crate) fn plot(&self) -> Plot {
        let losses: Vec<_> = self.all.iter().map(|run| &run.losses).collect();
        plot::runs(&losses).with_title("Training loss").with_axes("epoch", "cross-entropy")
    }

    /// The last line of the output.
    pub(crate) fn summary(&self) -> String {
        let tests: Vec<f64> = self.all.iter().map(|run| run.test).collect();
        let epochs: usize = self.all.iter().map(|run| run.losses.len()).sum();
        let epoch = self.time.as_secs_f64() * 1e3 / epochs as f64;
        let (seeds, (mean, std)) = (tests.len(), mean_std(&tests));
        format!("test accuracy: mean {mean:.4} std {std:.4} over {seeds} seeds, {epoch:.2} ms/epoch")
    }
}

/// A graph made ready once for all runs.
pub(crate) struct Task {
    pub(crate) training: Graph,
    pub(crate) evaluation: Graph,
    /// The class of each node.
    pub(crate) labels: Vec<i64>,
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
        let labels = graph.labels.to_vec();
        Ok(Self { evaluation: graph.valid(), training: graph, labels, train, val, test })
    }

    /// A plot of the nodes with rings around those for training and, for the karate club, the names of its sides.
    pub(crate) fn label(&self, plot: Plot, karate: bool) -> Plot {
        let plot = plot.with_rings(&self.training.splits.train, "training node");
        if karate { plot.with_names(&SIDES) } else { plot }
    }

    /// Trains the models that `make` gives, one for each seed, and says how each is.
    pub(crate) fn runs<M: Classifier>(
        &self,
        limits: Limits,
        quiet: bool,
        make: impl Fn(&Graph) -> Result<(M, ModuleOptimizer), String>,
    ) -> Result<Runs<M>, String> {
        let device = self.training.adjacency.device();
        let bar = progress(quiet, u64::from(limits.seeds) * u64::from(limits.epochs), "epochs");
        let (start, mut all) = (Instant::now(), vec![]);
        for seed in 0..limits.seeds {
            device.seed(u64::from(seed));
            let (model, optimizer) = make(&self.training)?;
            let run = self.run(limits, model, optimizer, &bar);
            if !quiet {
                bar.suspend(|| say(&format!("seed {seed}: test {:.4}, {} epochs", run.test, run.losses.len())));
            }
            all.push(run);
        }
        bar.finish_and_clear();
        Ok(Runs { all, time: start.elapsed() })
    }

    /// Trains a model. What a run leaves out is taken from the length of the bar.
    fn run<M: Classifier>(
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
        bar.dec_length(u64::from(limits.epochs) - run.losses.len() as u64);
        run
    }
}
