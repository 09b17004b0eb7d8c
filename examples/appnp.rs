//! Trains APPNP: a network predicts each node from its own features, and personalised PageRank spreads the predictions.
//!
//! ```text
//! cargo run --release --example appnp                    # Zachary's karate club
//! cargo run --release --example appnp -- --data DIR      # a folder of plain text, Cora for one
//! cargo run --release --example appnp -- --help
//! ```

#[path = "shared/console.rs"]
mod console;
#[path = "shared/early_stopping.rs"]
mod early_stopping;
#[path = "shared/nodes.rs"]
mod nodes;
#[path = "shared/numbers.rs"]
mod numbers;
#[path = "shared/statistics.rs"]
mod statistics;

use burn::module::{Module, ParamGroup};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::{AdamConfig, ModuleOptimizer};
use burn::tensor::{Device, Tensor};
use clap::Parser;
use console::{finish, progress, say};
use nodes::{Classifier, Limits, Task};
use numbers::{above_zero, not_negative, probability};
use sparse_tensor::data::{Graph, karate, read_folder};
use sparse_tensor::nn::{
    Appnp, AppnpConfig, Mlp, MlpConfig, row_normalization, sparse_dropout, symmetric_normalization,
};
use statistics::mean_std;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Trains APPNP on a graph: a network of two layers predicts each node, and ten steps of personalised PageRank spread
/// the predictions.
///
/// Without --data the graph is Zachary's karate club. The defaults are the set-up of Gasteiger et al. (2019). A run
/// ends when neither the loss nor the accuracy on the validation nodes has improved for some epochs, and the best model
/// is tested. The last line of the output is `test accuracy: mean M std S over N seeds, E ms/epoch`.
#[derive(Parser, Debug)]
#[command(name = "appnp")]
struct Args {
    /// Folder with adjacency.mtx, features.mtx, labels.txt, train.txt, val.txt and test.txt
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Number of runs, each from its own seed
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    seeds: u32,
    /// The most steps of training in a run [default: 100 if no nodes are for validation, else 2000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    epochs: Option<u32>,
    /// End a run after so many epochs in which neither validation loss nor validation accuracy improved
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    patience: u32,
    /// Size of the hidden layer
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    hidden: u32,
    /// Steps of the propagation
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    steps: u32,
    /// Probability of a return to the node's own prediction, in [0, 1]
    #[arg(long, default_value_t = 0.1)]
    alpha: f64,
    /// Learning rate of Adam
    #[arg(long, default_value_t = 0.01, value_parser = above_zero)]
    lr: f64,
    /// Dropout of the features, of the hidden layer and of the edges
    #[arg(long, default_value_t = 0.5, value_parser = probability)]
    dropout: f64,
    /// L2 penalty of the first layer
    #[arg(long, default_value_t = 5e-3, value_parser = not_negative)]
    weight_decay: f64,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

/// Predictions, and their propagation.
#[derive(Module, Debug)]
struct Net {
    network: Mlp,
    propagation: Appnp,
}

impl Net {
    fn new(args: &Args, features: usize, classes: usize, device: &Device) -> Result<Self, String> {
        let network = MlpConfig::new(vec![features, args.hidden as usize, classes]);
        let network = network.with_batch_norm(false).with_dropout(args.dropout).try_init(device);
        let propagation = AppnpConfig::new(args.steps as usize, args.alpha).with_dropout(args.dropout).try_init();
        let text = |trouble: sparse_tensor::SparseError| trouble.to_string();
        Ok(Self { network: network.map_err(text)?, propagation: propagation.map_err(text)? })
    }

    /// Adam with an L2 penalty on the first layer only.
    fn optimizer(&self, args: &Args) -> ModuleOptimizer {
        let adam = AdamConfig::new().with_epsilon(1e-8);
        let decay = Some(WeightDecayConfig::new(args.weight_decay as f32));
        let first = ParamGroup::ids_from_module(self.network.linears[0].clone());
        adam.init().with_group(first, adam.with_weight_decay(decay).build(), None)
    }
}

impl Classifier for Net {
    fn logits(&self, graph: &Graph) -> Tensor<2> {
        let (features, dropout) = (&graph.features, self.network.dropout.prob);
        let own = match features.device().is_autodiff() {
            true => self.network.forward_sparse(&sparse_dropout(features, dropout)),
            false => self.network.forward_sparse(features),
        };
        self.propagation.forward(&graph.adjacency, own)
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
    let epochs = args.epochs.unwrap_or(if graph.splits.val.is_empty() { 100 } else { 2000 });
    let limits = Limits { lr: args.lr, epochs, patience: args.patience };
    let adjacency = symmetric_normalization(&graph.adjacency, true);
    let task = Task::new(Graph { adjacency, features: row_normalization(&graph.features), ..graph })?;
    let bar = progress(args.quiet, u64::from(args.seeds) * u64::from(epochs), "epochs");
    let start = Instant::now();
    let mut all = vec![];
    for seed in 0..args.seeds {
        device.seed(u64::from(seed));
        let model = Net::new(args, task.training.features.dims()[1], task.training.classes, &device)?;
        let optimizer = model.optimizer(args);
        let run = task.run(limits, model, optimizer, &bar);
        if !args.quiet {
            bar.suspend(|| say(&format!("seed {seed}: test {:.4}, {} epochs", run.test, run.losses.len())));
        }
        all.push(run);
    }
    bar.finish_and_clear();
    let epochs: usize = all.iter().map(|run| run.losses.len()).sum();
    let epoch = start.elapsed().as_secs_f64() * 1e3 / epochs as f64;
    let tests: Vec<f64> = all.iter().map(|run| run.test).collect();
    let (seeds, (mean, std)) = (args.seeds, mean_std(&tests));
    say(&format!("test accuracy: mean {mean:.4} std {std:.4} over {seeds} seeds, {epoch:.2} ms/epoch"));
    Ok(())
}
