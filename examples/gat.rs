//! Trains a graph attention network: the softmax over the neighbours of each node is one over sparse rows.
//!
//! ```text
//! cargo run --release --example gat                      # Zachary's karate club
//! cargo run --release --example gat -- --data DIR        # a folder of plain text, Cora for one
//! cargo run --release --example gat -- --v2              # attention of the second kind
//! cargo run --release --example gat -- --help
//! ```

#[path = "shared/console.rs"]
mod console;
#[path = "shared/early_stopping.rs"]
mod early_stopping;
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
use early_stopping::EarlyStopping;
use indicatif::ProgressBar;
use sparse_tensor::CsrTensor;
use sparse_tensor::data::{Graph, karate, read_folder};
use sparse_tensor::nn::{GatConv, GatConvConfig, Gatv2Conv, Gatv2ConvConfig, row_normalization, sparse_dropout};
use sparse_tensor::ops::IndexPlan;
use statistics::mean_std;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Trains a two-layer graph attention network on a graph, with its adjacency and features as sparse tensors.
///
/// Without --data the graph is Zachary's karate club. The defaults are the set-up of Veličković et al. (2018): several
/// heads side by side, then one, and dropout of the features and of the attention. A run ends when neither the loss nor
/// the accuracy on the validation nodes has improved for some epochs, and the best model is tested. The last line of the
/// output is `test accuracy: mean M std S over N seeds, E ms/epoch`.
#[derive(Parser, Debug)]
#[command(name = "gat")]
struct Args {
    /// Folder with adjacency.mtx, features.mtx, labels.txt, train.txt, val.txt and test.txt
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Number of runs, each from its own seed
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    seeds: u32,
    /// The most steps of training in a run [default: 200 if no nodes are for validation, else 2000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    epochs: Option<u32>,
    /// End a run after so many epochs in which neither validation loss nor validation accuracy improved
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    patience: u32,
    /// Use attention of the second kind (GATv2)
    #[arg(long)]
    v2: bool,
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
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

/// A layer of attention of the first or the second kind.
#[derive(Module, Debug)]
enum Attention {
    V1(GatConv),
    V2(Gatv2Conv),
}

impl Attention {
    /// `heads` heads of `d_output` features, side by side or as their mean.
    fn new(args: &Args, [d_input, d_output, heads]: [usize; 3], concat: bool, device: &Device) -> Result<Self, String> {
        let layer = if args.v2 {
            let config = Gatv2ConvConfig::new(d_input, d_output).with_heads(heads).with_concat(concat);
            config.with_dropout(args.dropout).try_init(device).map(Self::V2)
        } else {
            let config = GatConvConfig::new(d_input, d_output).with_heads(heads).with_concat(concat);
            config.with_dropout(args.dropout).try_init(device).map(Self::V1)
        };
        layer.map_err(|trouble| trouble.to_string())
    }

    fn forward(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Tensor<2> {
        match self {
            Self::V1(layer) => layer.forward(adjacency, x),
            Self::V2(layer) => layer.forward(adjacency, x),
        }
    }

    fn forward_sparse(&self, adjacency: &CsrTensor<2>, x: &CsrTensor<2>) -> Tensor<2> {
        match self {
            Self::V1(layer) => layer.forward_sparse(adjacency, x),
            Self::V2(layer) => layer.forward_sparse(adjacency, x),
        }
    }
}

/// Two layers of attention with an ELU between them.
#[derive(Module, Debug)]
struct Gat {
    first: Attention,
    second: Attention,
    dropout: Dropout,
}

impl Gat {
    fn new(args: &Args, features: usize, classes: usize, device: &Device) -> Result<Self, String> {
        let (hidden, heads) = (args.hidden as usize, args.heads as usize);
        Ok(Self {
            first: Attention::new(args, [features, hidden, heads], true, device)?,
            second: Attention::new(args, [heads * hidden, classes, 1], false, device)?,
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
            plan: plan.map_err(|trouble| trouble.to_string())?,
            targets: Tensor::from_data(TensorData::new(targets, [count, 1]), device),
            device: device.clone(),
            training,
            evaluation,
            labels,
        })
    }

    /// Trains from one seed for at most `epochs`. The test accuracy of the best epoch, and the number of epochs.
    fn run(&self, args: &Args, epochs: u32, seed: u64, bar: &ProgressBar) -> Result<(f64, u32), String> {
        self.device.seed(seed);
        let features = self.training.features.dims()[1];
        let mut model = Gat::new(args, features, self.training.classes, &self.device)?;
        let decay = WeightDecayConfig::new(args.weight_decay as f32);
        let mut optimizer = AdamConfig::new().with_epsilon(1e-8).with_weight_decay(Some(decay)).init();
        let mut stopping = EarlyStopping::new(args.patience, !self.evaluation.splits.val.is_empty());
        let (mut best, mut done) = (0.0, 0);
        while done < epochs && !stopping.stops() {
            let logits = model.forward(&self.training.adjacency, &self.training.features);
            let chosen = log_softmax(self.plan.select(logits, 0), 1).gather(1, self.targets.clone());
            let grads = GradientsParams::from_grads(chosen.mean().neg().backward(), &model);
            model = optimizer.step(args.lr, model, grads);

            let (likelihood, val, test) = self.evaluate(&model.valid());
            if stopping.is_best(-likelihood, val) {
                best = test;
            }
            done += 1;
            bar.inc(1);
            bar.set_message(format!("seed {seed}  validation {val:.3}"));
        }
        // What a run leaves out.
        bar.set_length(bar.length().unwrap_or(0) - u64::from(epochs - done));
        Ok((best, done))
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

fn main() -> ExitCode {
    finish(run(&Args::parse()))
}

fn run(args: &Args) -> Result<(), String> {
    let device = Device::default().autodiff();
    let graph = match &args.data {
        Some(folder) => read_folder(folder, &device).map_err(|trouble| trouble.to_string())?,
        None => karate(&device),
    };
    if !args.quiet {
        let (nodes, edges) = (graph.nodes(), graph.edges());
        say(&format!("{nodes} nodes, {edges} edges, {} features", graph.features.dims()[1]));
    }
    let epochs = args.epochs.unwrap_or(if graph.splits.val.is_empty() { 200 } else { 2000 });
    let task = Task::new(graph, &device)?;
    let bar = progress(args.quiet, u64::from(args.seeds) * u64::from(epochs), "epochs");
    let start = Instant::now();
    let (mut tests, mut all) = (vec![], 0);
    for seed in 0..args.seeds {
        let (test, done) = task.run(args, epochs, u64::from(seed), &bar)?;
        if !args.quiet {
            bar.suspend(|| say(&format!("seed {seed}: test {test:.4}, {done} epochs")));
        }
        tests.push(test);
        all += done;
    }
    bar.finish_and_clear();
    let epoch = start.elapsed().as_secs_f64() * 1e3 / f64::from(all);
    let (seeds, (mean, std)) = (args.seeds, mean_std(&tests));
    say(&format!("test accuracy: mean {mean:.4} std {std:.4} over {seeds} seeds, {epoch:.2} ms/epoch"));
    Ok(())
}
