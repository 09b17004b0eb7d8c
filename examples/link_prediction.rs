//! Predicts missing links: a graph convolutional network embeds nodes, and inner products score pairs of them.
//!
//! ```text
//! cargo run --release --example link_prediction                       # a generated graph of five communities
//! cargo run --release --example link_prediction -- --data edges.csv   # a line "from,to" for each edge
//! cargo run --release --example link_prediction -- --data DIR         # a folder of plain text, Cora for one
//! ```

#[path = "shared/console.rs"]
mod console;
#[path = "shared/numbers.rs"]
mod numbers;
#[path = "shared/statistics.rs"]
mod statistics;

use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::{log_sigmoid, relu};
use burn::tensor::{Device, Tensor};
use clap::Parser;
use console::{finish, progress, say};
use indicatif::ProgressBar;
use numbers::above_zero;
use sparse_tensor::data::{random_edge_split, read_folder, roc_auc, stochastic_block_model, to_undirected};
use sparse_tensor::io::edge_list::{self, Options};
use sparse_tensor::nn::{
    GcnConv, GcnConvConfig, NodePairs, dot_decoder, row_normalization, symmetric_normalization, try_negative_sampling,
};
use sparse_tensor::ops::Reduce;
use sparse_tensor::{CsrTensor, SparseError};
use statistics::mean_std;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Steps of training between two looks at the validation edges.
const LOOK: u32 = 5;

/// Trains a graph auto-encoder (Kipf and Welling 2016) to tell the edges of a graph from pairs without an edge.
///
/// A tenth of the edges is for testing and a twentieth for validation. While it trains the encoder sees the other edges
/// alone; for the test it sees those for validation too. In each step as many pairs that are no training edge are drawn
/// as there are training edges. The model with the best validation AUC is tested. The AUC
/// is the probability that an edge has a higher score than a pair without one; 0.5 is chance. The last line of the
/// output is `test AUC: mean M std S over N seeds, E ms/epoch`.
#[derive(Parser, Debug)]
#[command(name = "link_prediction")]
struct Args {
    /// An edge list (a line "from to" for each edge), or a folder with adjacency.mtx, features.mtx and the other files
    /// of a graph
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Number of runs, each with its own split and start
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: u32,
    /// Steps of training in a run
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    epochs: u32,
    /// Features of the hidden layer
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    hidden: u32,
    /// Length of an embedding
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    embedding: u32,
    /// Learning rate of Adam
    #[arg(long, default_value_t = 0.01, value_parser = above_zero)]
    lr: f64,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

/// Two graph convolutions.
#[derive(Module, Debug)]
struct Encoder {
    first: GcnConv,
    second: GcnConv,
}

impl Encoder {
    fn new(args: &Args, features: usize, device: &Device) -> Self {
        let hidden = args.hidden as usize;
        let first = GcnConvConfig::new(features, hidden).init(device);
        Self { first, second: GcnConvConfig::new(hidden, args.embedding as usize).init(device) }
    }

    /// Embeddings `[nodes, embedding]`. The adjacency is normalised.
    fn forward(&self, adjacency: &CsrTensor<2>, features: &CsrTensor<2>) -> Tensor<2> {
        let hidden = relu(self.first.forward_sparse(adjacency, features));
        self.second.forward(adjacency, hidden)
    }
}

/// The symmetric adjacency without self loops, and features.
fn read(data: Option<&Path>, device: &Device) -> Result<(CsrTensor<2>, CsrTensor<2>), SparseError> {
    match data {
        None => {
            let graph = stochastic_block_model(&[100; 5], 0.15, 0.005, 0, device)?;
            Ok((graph.adjacency, graph.features))
        }
        Some(path) if path.is_dir() => {
            let graph = read_folder(path, device)?;
            Ok((graph.adjacency, row_normalization(&graph.features)))
        }
        Some(path) => {
            let edges = edge_list::read(path, &Options::new())?.to_csr(device)?;
            let adjacency = to_undirected(&edges, Reduce::Amax).try_remove_self_loops()?;
            // Without features each node has one of its own.
            let features = CsrTensor::try_eye(adjacency.dims()[0], device)?;
            Ok((adjacency, features))
        }
    }
}

/// Pairs that have an edge and pairs that have none.
struct Examples {
    edges: NodePairs,
    others: NodePairs,
}

impl Examples {
    fn auc(&self, embeddings: &Tensor<2>) -> f64 {
        let scores = |pairs| dot_decoder(embeddings.clone(), embeddings.clone(), pairs);
        roc_auc(scores(&self.edges), scores(&self.others))
    }
}

/// Trains from one seed. The test AUC of the model with the best validation AUC.
fn train(
    args: &Args,
    (adjacency, features): (&CsrTensor<2>, &CsrTensor<2>),
    seed: u64,
    bar: &ProgressBar,
) -> Result<f64, SparseError> {
    let (device, shape) = (features.device(), adjacency.dims());
    let plain = device.clone().inner();
    let split = random_edge_split(adjacency, 0.05, 0.1, true, seed)?;
    let edges = NodePairs::from_indices(split.train_edges, shape)?;
    let [val, test] = [split.val_edges, split.test_edges].map(|edges| NodePairs::from_indices(edges, shape));
    let (val, test) = (val?, test?);
    if val.is_empty() {
        let message = format!("the graph must have at least 20 edges, got {}", edges.len() + test.len());
        return Err(SparseError::Invalid { op: "link_prediction", message });
    }
    let others = try_negative_sampling(adjacency, val.len() + test.len(), seed)?;
    let (val_others, test_others) = others.split_at(val.len());
    let val = Examples { edges: val, others: NodePairs::new(val_others, shape, &plain)? };
    let test = Examples { edges: test, others: NodePairs::new(test_others, shape, &plain)? };
    // What the encoder may see: the training edges, and for the test those for validation too.
    let [seen, seen_in_test] = [&split.train, &split.train_val].map(|seen| symmetric_normalization(seen, true));
    let (seen_plain, features_plain) = (seen.clone().valid(), features.clone().valid());
    let seen_in_test = seen_in_test.valid();

    device.seed(seed);
    let mut model = Encoder::new(args, features.dims()[1], &device);
    let mut optimizer = AdamConfig::new().with_epsilon(1e-8).init();
    let mut best = (f64::NEG_INFINITY, 0.0);
    for epoch in 1..=args.epochs {
        let z = model.forward(&seen, features);
        let drawn = try_negative_sampling(&split.train, edges.len(), seed ^ (u64::from(epoch) << 32))?;
        let drawn = NodePairs::new(&drawn, shape, &device)?;
        let scores = |pairs| dot_decoder(z.clone(), z.clone(), pairs);
        let loss = log_sigmoid(scores(&edges)).mean().neg() - log_sigmoid(scores(&drawn).neg()).mean();
        let grads = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(args.lr, model, grads);
        if epoch % LOOK == 0 || epoch == args.epochs {
            let model = model.valid();
            let auc = val.auc(&model.forward(&seen_plain, &features_plain));
            if auc > best.0 {
                best = (auc, test.auc(&model.forward(&seen_in_test, &features_plain)));
            }
            bar.set_message(format!("seed {seed}  validation {auc:.3}"));
        }
        bar.inc(1);
    }
    Ok(best.1)
}

fn main() -> ExitCode {
    let args = Args::parse();
    finish(run(&args).map_err(|trouble| trouble.to_string()))
}

fn run(args: &Args) -> Result<(), SparseError> {
    let device = Device::default().autodiff();
    let (adjacency, features) = read(args.data.as_deref(), &device)?;
    if !args.quiet {
        let (nodes, edges, count) = (adjacency.dims()[0], adjacency.nnz() / 2, features.dims()[1]);
        say(&format!("{nodes} nodes, {edges} edges, {count} features"));
    }
    let bar = progress(args.quiet, u64::from(args.seeds) * u64::from(args.epochs), "epochs");
    let start = Instant::now();
    let mut tests = vec![];
    for seed in 0..args.seeds {
        let test = train(args, (&adjacency, &features), u64::from(seed), &bar)?;
        if !args.quiet {
            bar.suspend(|| say(&format!("seed {seed}: test AUC {test:.4}")));
        }
        tests.push(test);
    }
    bar.finish_and_clear();
    let epoch = start.elapsed().as_secs_f64() * 1e3 / f64::from(args.seeds) / f64::from(args.epochs);
    let (seeds, (mean, std)) = (args.seeds, mean_std(&tests));
    say(&format!("test AUC: mean {mean:.4} std {std:.4} over {seeds} seeds, {epoch:.2} ms/epoch"));
    Ok(())
}
