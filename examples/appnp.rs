//! Trains APPNP: a network predicts each node from its own features, and personalised PageRank spreads the predictions.
//!
//! The picture shows the loss of each run, and the predictions of the first one in the plane in which they differ most.
//!
//! ```text
//! cargo run --release --example appnp                    # Zachary's karate club
//! cargo run --release --example appnp -- --data PATH     # a graph in files: plain text, Planetoid, OGB, .npz
//! cargo run --release --example appnp -- --help
//! ```

#[path = "shared/console.rs"]
mod console;
#[path = "shared/data.rs"]
mod data;
#[path = "shared/early_stopping.rs"]
mod early_stopping;
#[path = "shared/nodes.rs"]
mod nodes;
#[path = "shared/numbers.rs"]
mod numbers;
#[path = "shared/picture.rs"]
mod picture;
#[path = "shared/statistics.rs"]
mod statistics;

use burn::module::{Module, ParamGroup};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::{AdamConfig, ModuleOptimizer};
use burn::tensor::{Device, Tensor};
use clap::Parser;
use console::{finish, say};
use nodes::{Classifier, Limits, Runs, Task, open_or_karate};
use numbers::{above_zero, not_negative, probability};
use picture::{make_folder, save};
use sparse_tensor::SparseError;
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{Appnp, AppnpConfig, Mlp, MlpConfig, sparse_dropout, symmetric_normalization};
use sparse_tensor::plot::{Plot, grid, try_embedding, try_pca};
use std::path::PathBuf;
use std::process::ExitCode;

/// Trains APPNP on a graph: a network of two layers predicts each node, and ten steps of personalised PageRank spread
/// the predictions.
///
/// Without --data the graph is Zachary's karate club. --data takes the files of a graph as they are downloaded and
/// unpacked; an .npz file is one of Shchur et al. (2018), of which 20 nodes of each class are for training and 30 for
/// validation. The defaults are the set-up of Gasteiger et al. (2019). A run ends when neither the loss nor the
/// accuracy on the validation nodes has improved for some epochs, and the best model is tested. The picture shows the
/// loss, and the predictions of the first run: the principal components of the logits, in the colours of the true
/// classes. The last line of the output is `test accuracy: mean M std S over N seeds, E ms/epoch`.
#[derive(Parser, Debug)]
#[command(name = "appnp")]
struct Args {
    /// Graph: a folder of plain text, Planetoid's raw folder, OGB's folder, or .npz
    #[arg(long, value_name = "PATH")]
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
    /// Folder for the picture, appnp.svg and appnp.png
    #[arg(long, value_name = "DIR", default_value = "target/appnp")]
    out: PathBuf,
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
        Ok(Self { network: network.map_err(message)?, propagation: propagation.map_err(message)? })
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

/// The losses of all runs, and the predictions of the first one.
fn draw(karate: bool, task: &Task, runs: &Runs<Net>) -> Result<Plot, SparseError> {
    let logits = runs.first().logits(&task.evaluation);
    let predictions = try_embedding(try_pca(logits)?, &task.labels)?
        .with_title("Predictions")
        .with_axes("first principal component", "second principal component");
    Ok(grid(&[runs.plot(), task.label(predictions, karate)], 2))
}

fn message(trouble: SparseError) -> String {
    trouble.to_string()
}

fn main() -> ExitCode {
    finish(run(&Args::parse()))
}

fn run(args: &Args) -> Result<(), String> {
    make_folder(&args.out)?;
    let device = Device::default().autodiff();
    let graph = open_or_karate(args.data.as_deref(), args.quiet, &device)?;
    let epochs = args.epochs.unwrap_or(if graph.splits.val.is_empty() { 100 } else { 2000 });
    let limits = Limits { seeds: args.seeds, lr: args.lr, epochs, patience: args.patience };
    let task = Task::new(Graph { adjacency: symmetric_normalization(&graph.adjacency, true), ..graph })?;
    let runs = task.runs(limits, args.quiet, |graph| {
        let model = Net::new(args, graph.features.dims()[1], graph.labels.classes(), &device)?;
        let optimizer = model.optimizer(args);
        Ok((model, optimizer))
    })?;
    let picture = save(&draw(args.data.is_none(), &task, &runs).map_err(message)?, &args.out, "appnp")?;
    if !args.quiet {
        say(&picture);
    }
    say(&runs.summary());
    Ok(())
}
