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
#[path = "shared/nodes.rs"]
mod nodes;
#[path = "shared/numbers.rs"]
mod numbers;
#[path = "shared/statistics.rs"]
mod statistics;

use burn::module::Module;
use burn::nn::{Dropout, DropoutConfig};
use burn::optim::AdamConfig;
use burn::optim::decay::WeightDecayConfig;
use burn::tensor::activation::elu;
use burn::tensor::{Device, Tensor};
use clap::Parser;
use console::{finish, progress, say};
use nodes::{Classifier, Limits, Run, Task};
use numbers::{above_zero, not_negative, probability};
use sparse_tensor::data::{Graph, karate, read_folder};
use sparse_tensor::nn::{GatConv, GatConvConfig, Gatv2Conv, Gatv2ConvConfig, row_normalization, sparse_dropout};
use sparse_tensor::plot::{grid, runs, try_attention};
use sparse_tensor::{CsrTensor, SparseError};
use statistics::mean_std;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Trains a two-layer graph attention network on a graph, with its adjacency and features as sparse tensors.
///
/// Without --data the graph is Zachary's karate club. The defaults are the set-up of Veličković et al. (2018): several
/// heads side by side, then one, and dropout of the features and of the attention. A run ends when neither the loss nor
/// the accuracy on the validation nodes has improved for some epochs, and the best model is tested. The picture shows
/// the loss and, for a graph of at most 500 nodes, whom each node attends to in the second layer. The last line of the
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
        self.second.forward(&graph.adjacency, self.dropout.forward(hidden))
    }
}

/// The losses of all runs and, for a small graph, the attention of the first one.
fn draw(folder: &Path, karate: bool, task: &Task, all: &[Run<Gat>]) -> Result<PathBuf, SparseError> {
    let losses: Vec<_> = all.iter().map(|run| &run.losses).collect();
    let mut plots = vec![runs(&losses).with_title("Training loss").with_axes("epoch", "cross-entropy")];
    let graph = &task.evaluation;
    if graph.nodes() <= 500 {
        let labels: Vec<i64> = graph.labels.to_data().convert::<i64>().iter().collect();
        let plot = try_attention(&all[0].best.attention(graph), &labels)?.with_title("Attention of the second layer");
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
    let epochs = args.epochs.unwrap_or(if graph.splits.val.is_empty() { 200 } else { 2000 });
    let limits = Limits { lr: args.lr, epochs, patience: args.patience };
    let task = Task::new(Graph { features: row_normalization(&graph.features), ..graph })?;
    // Before the training, so that a typing error does not cost it.
    std::fs::create_dir_all(&args.out)
        .map_err(|trouble| format!("--out {}: cannot be made, got {trouble}", args.out.display()))?;
    let bar = progress(args.quiet, u64::from(args.seeds) * u64::from(epochs), "epochs");
    let start = Instant::now();
    let mut all = vec![];
    for seed in 0..args.seeds {
        device.seed(u64::from(seed));
        let model = Gat::new(args, task.training.features.dims()[1], task.training.classes, &device)?;
        let decay = WeightDecayConfig::new(args.weight_decay as f32);
        let optimizer = AdamConfig::new().with_epsilon(1e-8).with_weight_decay(Some(decay)).init();
        let run = task.run(limits, model, optimizer, &bar);
        if !args.quiet {
            bar.suspend(|| say(&format!("seed {seed}: test {:.4}, {} epochs", run.test, run.losses.len())));
        }
        all.push(run);
    }
    bar.finish_and_clear();
    let time = start.elapsed().as_secs_f64() * 1e3;
    let picture = draw(&args.out, args.data.is_none(), &task, &all).map_err(message)?;
    if !args.quiet {
        say(&format!("picture: {} (and as .png)", picture.display()));
    }
    let tests: Vec<f64> = all.iter().map(|run| run.test).collect();
    let epoch = time / all.iter().map(|run| run.losses.len()).sum::<usize>() as f64;
    let (seeds, (mean, std)) = (args.seeds, mean_std(&tests));
    say(&format!("test accuracy: mean {mean:.4} std {std:.4} over {seeds} seeds, {epoch:.2} ms/epoch"));
    Ok(())
}
