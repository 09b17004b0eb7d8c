//! Trains a graph attention network: the softmax over the neighbours of each node is one over sparse rows.
//!
//! ```text
//! cargo run --release --example gat                      # Zachary's karate club
//! cargo run --release --example gat -- --data DIR        # a folder of plain text, Cora for one
//! cargo run --release --example gat -- --help
//! ```

#[path = "shared/console.rs"]
mod console;
#[path = "shared/statistics.rs"]
mod statistics;

use burn::module::Module;
use burn::nn::{Dropout, DropoutConfig};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::{elu, log_softmax};
use burn::tensor::{Device, Int, Tensor, TensorData};
use clap::Parser;
use console::{finish, progress, say};
use indicatif::ProgressBar;
use sparse_tensor::data::{Graph, karate, read_folder};
use sparse_tensor::nn::{GatConv, GatConvConfig, row_normalization, sparse_dropout};
use sparse_tensor::ops::IndexPlan;
use sparse_tensor::plot::{grid, runs, try_attention};
use sparse_tensor::{CsrTensor, SparseError};
use statistics::mean_std;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Trains a two-layer graph attention network on a graph, with its adjacency and features as sparse tensors.
///
/// Without --data the graph is Zachary's karate club. The defaults are the set-up of Veličković et al. (2018): several
/// heads side by side, then one, and dropout of the features and of the attention. The model with the smallest
/// validation loss is tested. The picture shows the loss and, for a graph of at most 500 nodes, whom each node attends
/// to in the second layer. The last line of the output is `test accuracy: mean M std S over N seeds, E ms/epoch`.
#[derive(Parser, Debug)]
#[command(name = "gat")]
struct Args {
    /// Folder with adjacency.mtx, features.mtx, labels.txt, train.txt, val.txt and test.txt
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Number of runs, each from its own seed
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    seeds: u32,
    /// Steps of training in a run
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    epochs: u32,
    /// Features of each head of the first layer
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    hidden: u32,
    /// Heads of the first layer
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1_024))]
    heads: u32,
    /// Learning rate of Adam
    #[arg(long, default_value_t = 0.005)]
    lr: f64,
    /// Dropout of the features, of the hidden layer and of the attention, in [0, 1)
    #[arg(long, default_value_t = 0.6)]
    dropout: f64,
    /// L2 penalty
    #[arg(long, default_value_t = 5e-4)]
    weight_decay: f64,
    /// Folder for the picture, gat.svg and gat.png
    #[arg(long, value_name = "DIR", default_value = "target/gat")]
    out: PathBuf,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

/// Two layers of attention with an ELU between them.
#[derive(Module, Debug)]
struct Gat {
    first: GatConv,
    second: GatConv,
    dropout: Dropout,
}

impl Gat {
    fn new(args: &Args, features: usize, classes: usize, device: &Device) -> Result<Self, String> {
        let (hidden, heads) = (args.hidden as usize, args.heads as usize);
        let first = GatConvConfig::new(features, hidden).with_heads(heads).with_dropout(args.dropout);
        let second = GatConvConfig::new(heads * hidden, classes).with_concat(false).with_dropout(args.dropout);
        Ok(Self {
            first: first.try_init(device).map_err(message)?,
            second: second.try_init(device).map_err(message)?,
            dropout: DropoutConfig::new(args.dropout).init(),
        })
    }

    /// Logits `[nodes, classes]`. On an autodiff device features and attention are dropped.
    fn forward(&self, adjacency: &CsrTensor<2>, features: &CsrTensor<2>) -> Tensor<2> {
        let training = features.device().is_autodiff();
        let features = if training { sparse_dropout(features, self.dropout.prob) } else { features.clone() };
        let hidden = elu(self.first.forward_sparse(adjacency, &features), 1.0);
        self.second.forward(adjacency, self.dropout.forward(hidden))
    }

    /// The attention of the second layer, `[nodes, nodes, heads]`.
    fn attention(&self, adjacency: &CsrTensor<2>, features: &CsrTensor<2>) -> CsrTensor<3> {
        self.second.attention(adjacency, elu(self.first.forward_sparse(adjacency, features), 1.0))
    }
}

/// What a run leaves.
struct Run {
    losses: Vec<f32>,
    /// The model of the epoch with the smallest validation loss (of the last one where none validate).
    best: Gat,
    /// Its test accuracy.
    test: f64,
}

/// A graph made ready once for all runs.
struct Task {
    device: Device,
    training: Graph,
    evaluation: Graph,
    plan: IndexPlan,
    targets: Tensor<2, Int>,
    labels: Vec<i64>,
}

impl Task {
    fn new(graph: Graph, device: &Device) -> Result<Self, String> {
        let train = &graph.splits.train;
        if train.is_empty() || graph.splits.test.is_empty() {
            return Err("the graph must have training and test nodes".into());
        }
        let training = Graph { features: row_normalization(&graph.features), ..graph.clone() };
        let evaluation = training.valid();
        let labels: Vec<i64> = graph.valid().labels.into_data().convert::<i64>().iter().collect();
        let count = train.len();
        let ids: Vec<i64> = train.iter().map(|&node| node as i64).collect();
        let targets: Vec<i64> = train.iter().map(|&node| labels[node]).collect();
        let plan = IndexPlan::new(Tensor::from_data(TensorData::new(ids, [count]), device), labels.len());
        Ok(Self {
            plan: plan.map_err(message)?,
            targets: Tensor::from_data(TensorData::new(targets, [count, 1]), device),
            device: device.clone(),
            training,
            evaluation,
            labels,
        })
    }

    /// Trains from one seed.
    fn run(&self, args: &Args, seed: u64, bar: &ProgressBar) -> Result<Run, String> {
        self.device.seed(seed);
        let features = self.training.features.dims()[1];
        let mut model = Gat::new(args, features, self.training.classes, &self.device)?;
        let decay = WeightDecayConfig::new(args.weight_decay as f32);
        let mut optimizer = AdamConfig::new().with_epsilon(1e-8).with_weight_decay(Some(decay)).init();
        let mut best = (f64::NEG_INFINITY, 0.0, model.valid());
        let mut losses = Vec::with_capacity(args.epochs as usize);
        for _ in 0..args.epochs {
            let logits = model.forward(&self.training.adjacency, &self.training.features);
            let chosen = log_softmax(self.plan.select(logits, 0), 1).gather(1, self.targets.clone());
            let loss = chosen.mean().neg();
            let grads = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(args.lr, model, grads);
            losses.push(loss.into_scalar::<f32>());

            let valid = model.valid();
            let (likelihood, val, test) = self.evaluate(&valid);
            if self.evaluation.splits.val.is_empty() || likelihood > best.0 {
                best = (likelihood, test, valid);
            }
            bar.inc(1);
            bar.set_message(format!("seed {seed}  validation {val:.3}"));
        }
        Ok(Run { losses, best: best.2, test: best.1 })
    }

    /// Of the validation nodes the mean log-likelihood and the accuracy, and the accuracy on the test nodes.
    fn evaluate(&self, model: &Gat) -> (f64, f64, f64) {
        let logits = log_softmax(model.forward(&self.evaluation.adjacency, &self.evaluation.features), 1);
        let classes = self.evaluation.classes;
        let rows: Vec<f32> = logits.into_data().convert::<f32>().iter().collect();
        let row = |node: usize| &rows[node * classes..(node + 1) * classes];
        let right = |node: usize| {
            let best = row(node).iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
            best.is_some_and(|(class, _)| class as i64 == self.labels[node])
        };
        let accuracy = |ids: &[usize]| ids.iter().filter(|&&node| right(node)).count() as f64 / ids.len().max(1) as f64;
        let val = &self.evaluation.splits.val;
        let likelihood: f64 = val.iter().map(|&node| f64::from(row(node)[self.labels[node] as usize])).sum();
        (likelihood / val.len().max(1) as f64, accuracy(val), accuracy(&self.evaluation.splits.test))
    }
}

/// The losses of all runs and, for a small graph, the attention of the first one.
fn draw(folder: &Path, karate: bool, task: &Task, all: &[Run]) -> Result<PathBuf, SparseError> {
    let losses: Vec<_> = all.iter().map(|run| &run.losses).collect();
    let mut plots = vec![runs(&losses).with_title("Training loss").with_axes("epoch", "cross-entropy")];
    let graph = &task.evaluation;
    if graph.nodes() <= 500 {
        let weights = all[0].best.attention(&graph.adjacency, &graph.features);
        let plot = try_attention(&weights, &task.labels)?.with_title("Attention of the second layer");
        let plot = plot.with_rings(&graph.splits.train, "training node");
        plots.push(if karate { plot.with_names(&["Mr. Hi's side", "the officers' side"]) } else { plot });
    }
    let (page, path) = (grid(&plots, 2), folder.join("gat.svg"));
    page.svg(&path)?;
    page.png(path.with_extension("png"))?;
    Ok(path)
}

fn message(trouble: SparseError) -> String {
    trouble.to_string()
}

fn main() -> ExitCode {
    finish(run(&Args::parse()))
}

fn run(args: &Args) -> Result<(), String> {
    let device = Device::default().autodiff();
    let graph = match &args.data {
        Some(folder) => read_folder(folder, &device).map_err(message)?,
        None => karate(&device),
    };
    if !args.quiet {
        let (nodes, edges) = (graph.nodes(), graph.edges());
        say(&format!("{nodes} nodes, {edges} edges, {} features", graph.features.dims()[1]));
    }
    let task = Task::new(graph, &device)?;
    // Before the training, so that a typing error does not cost it.
    std::fs::create_dir_all(&args.out)
        .map_err(|trouble| format!("--out {}: cannot be made, got {trouble}", args.out.display()))?;
    let bar = progress(args.quiet, u64::from(args.seeds) * u64::from(args.epochs), "epochs");
    let start = Instant::now();
    let mut all = vec![];
    for seed in 0..args.seeds {
        let run = task.run(args, u64::from(seed), &bar)?;
        if !args.quiet {
            bar.suspend(|| say(&format!("seed {seed}: test {:.4}", run.test)));
        }
        all.push(run);
    }
    bar.finish_and_clear();
    let tests: Vec<f64> = all.iter().map(|run| run.test).collect();
    let epoch = start.elapsed().as_secs_f64() * 1e3 / f64::from(args.seeds) / f64::from(args.epochs);
    let picture = draw(&args.out, args.data.is_none(), &task, &all).map_err(message)?;
    if !args.quiet {
        say(&format!("picture: {} (and as .png)", picture.display()));
    }
    let (seeds, (mean, std)) = (args.seeds, mean_std(&tests));
    say(&format!("test accuracy: mean {mean:.4} std {std:.4} over {seeds} seeds, {epoch:.2} ms/epoch"));
    Ok(())
}
