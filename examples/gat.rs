//! Trains a graph attention network: the softmax over the neighbours of each node is one over sparse rows.
//!
//! The picture shows the loss of each run and, for a graph of at most 500 nodes, whom each node attends to.
//!
//! ```text
//! cargo run --release --example gat                      # Zachary's karate club
//! cargo run --release --example gat -- --data PATH       # a graph in files: plain text, Planetoid, OGB, .npz
//! cargo run --release --example gat -- --v2              # attention of the second kind
//! cargo run --release --example gat -- --help
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

use burn::module::Module;
use burn::nn::{Dropout, DropoutConfig};
use burn::optim::AdamConfig;
use burn::optim::decay::WeightDecayConfig;
use burn::tensor::{Device, Tensor};
use clap::Parser;
use console::{finish, say};
use nodes::{Classifier, Limits, Runs, Task, open_or_karate};
use numbers::{above_zero, not_negative, probability};
use picture::{make_folder, save};
use sparse_tensor::data::Graph;
use sparse_tensor::nn::{GatConv, GatConvConfig, Gatv2Conv, Gatv2ConvConfig, dropout, elu, sparse_dropout};
use sparse_tensor::plot::{Plot, grid, try_attention};
use sparse_tensor::{CsrTensor, SparseError};
use std::path::PathBuf;
use std::process::ExitCode;

/// Trains a two-layer graph attention network on a graph, with its adjacency and features as sparse tensors.
///
/// Without --data the graph is Zachary's karate club. --data takes the files of a graph as they are downloaded and
/// unpacked; an .npz file is one of Shchur et al. (2018), of which 20 nodes of each class are for training and 30 for
/// validation. The defaults are the set-up of Veličković et al. (2018): several heads side by side, then one, and
/// dropout of the features and of the attention. A run ends when neither the loss nor the accuracy on the validation
/// nodes has improved for some epochs, and the best model is tested. The picture shows the loss and, for a graph of at
/// most 500 nodes, whom each node attends to in the second layer. The last line of the output is `test accuracy: mean M
/// std S over N seeds, E ms/epoch`.
#[derive(Parser, Debug)]
#[command(name = "gat")]
struct Args {
    /// Graph: a folder of plain text, Planetoid's raw folder, OGB's folder, or .npz
    #[arg(long, value_name = "PATH")]
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
    #[arg(long, default_value_t = 0.005, value_parser = above_zero)]
    lr: f64,
    /// Dropout of the features, of the hidden layer and of the attention
    #[arg(long, default_value_t = 0.6, value_parser = probability)]
    dropout: f64,
    /// L2 penalty
    #[arg(long, default_value_t = 5e-4, value_parser = not_negative)]
    weight_decay: f64,
    /// Folder for the picture, gat.svg and gat.png
    #[arg(long, value_name = "DIR", default_value = "target/gat")]
    out: PathBuf,
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
        layer.map_err(message)
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

    fn attention(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> CsrTensor<3> {
        match self {
            Self::V1(layer) => layer.attention(adjacency, x),
            Self::V2(layer) => layer.attention(adjacency, x),
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

    /// The attention of the second layer, `[nodes, nodes, heads]`.
    fn attention(&self, graph: &Graph) -> CsrTensor<3> {
        let hidden = elu(self.first.forward_sparse(&graph.adjacency, &graph.features), 1.0);
        self.second.attention(&graph.adjacency, hidden)
    }
}

impl Classifier for Gat {
    fn logits(&self, graph: &Graph) -> Tensor<2> {
        let features = match graph.features.device().is_autodiff() {
            true => sparse_dropout(&graph.features, self.dropout.prob),
            false => graph.features.clone(),
        };
        let hidden = elu(self.first.forward_sparse(&graph.adjacency, &features), 1.0);
        self.second.forward(&graph.adjacency, dropout(hidden, &self.dropout))
    }
}

/// The losses of all runs and, for a small graph, the attention of the first one.
fn draw(karate: bool, task: &Task, runs: &Runs<Gat>) -> Result<Plot, SparseError> {
    let mut plots = vec![runs.plot()];
    let graph = &task.evaluation;
    if graph.nodes() <= 500 {
        let plot = try_attention(&runs.first().attention(graph), &task.labels)?;
        plots.push(task.label(plot.with_title("Attention of the second layer"), karate));
    }
    Ok(grid(&plots, 2))
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
    let epochs = args.epochs.unwrap_or(if graph.splits.val.is_empty() { 200 } else { 2000 });
    let limits = Limits { seeds: args.seeds, lr: args.lr, epochs, patience: args.patience };
    let task = Task::new(graph)?;
    let runs = task.runs(limits, args.quiet, |graph| {
        let model = Gat::new(args, graph.features.dims()[1], graph.labels.classes(), &device)?;
        let decay = WeightDecayConfig::new(args.weight_decay as f32);
        Ok((model, AdamConfig::new().with_epsilon(1e-8).with_weight_decay(Some(decay)).init()))
    })?;
    let picture = save(&draw(args.data.is_none(), &task, &runs).map_err(message)?, &args.out, "gat")?;
    if !args.quiet {
        say(&picture);
    }
    say(&runs.summary());
    Ok(())
}
