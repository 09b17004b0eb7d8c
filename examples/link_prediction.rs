//! Predicts missing links: a graph convolutional network embeds nodes, and inner products score pairs of them.
//!
//! ```text
//! cargo run --release --example link_prediction                       # a generated graph of five communities
//! cargo run --release --example link_prediction -- --data edges.csv   # a line "from,to" for each edge; also .gz
//! cargo run --release --example link_prediction -- --data graph.mtx   # Matrix Market, also .mtx.gz
//! cargo run --release --example link_prediction -- --data graph.npz   # a sparse matrix of SciPy
//! cargo run --release --example link_prediction -- --data DIR         # a graph with features and labels, Cora for one
//! ```
//!
//! The picture shows the loss, and where the network has put the nodes.

#[path = "shared/adjacency.rs"]
mod adjacency;
#[path = "shared/console.rs"]
mod console;
#[path = "shared/data.rs"]
mod data;
#[path = "shared/numbers.rs"]
mod numbers;
#[path = "shared/picture.rs"]
mod picture;
#[path = "shared/statistics.rs"]
mod statistics;

use adjacency::{is_labelled, open};
use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::{log_sigmoid, relu};
use burn::tensor::{Device, Int, Tensor};
use clap::Parser;
use console::{finish, progress, say};
use indicatif::ProgressBar;
use numbers::above_zero;
use picture::{make_folder, save};
use sparse_tensor::data::{Graph, random_edge_split, roc_auc, stochastic_block_model, try_to_undirected};
use sparse_tensor::io::edge_list::Options;
use sparse_tensor::nn::{
    GcnConv, GcnConvConfig, NodePairs, dot_decoder, symmetric_normalization, try_negative_sampling,
};
use sparse_tensor::ops::Reduce;
use sparse_tensor::plot::{Plot, grid, runs, try_embedding, try_pca};
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
/// as there are training edges. The model with the best validation AUC is tested. The AUC is the probability that an
/// edge has a higher score than a pair without one; 0.5 is chance. The picture shows the loss, and the embeddings of
/// the nodes by the best model of the first run, in the colours of their classes if these are known. The network has
/// not seen the classes. The last line of the output is `test AUC: mean M std S over N seeds, E ms/epoch`.
#[derive(Parser, Debug)]
#[command(name = "link_prediction")]
struct Args {
    /// An edge list (a line "from to" for each edge; csv, tsv or spaces, also .gz), a matrix (.mtx, .mtx.gz, or .npz of
    /// SciPy), or a graph with features and labels: a folder of plain text (with adjacency.mtx), of Planetoid or of
    /// OGB, or an .npz file with adj_indices, attr_indices and labels
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
    /// Folder for the picture, link_prediction.svg and link_prediction.png
    #[arg(long, value_name = "DIR", default_value = "target/link_prediction")]
    out: PathBuf,
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

struct Input {
    /// Symmetric and without self loops.
    adjacency: CsrTensor<2>,
    features: CsrTensor<2>,
    /// The class of each node; empty if classes are not known.
    labels: Vec<i64>,
}

impl Input {
    fn new(args: &Args, device: &Device) -> Result<Self, String> {
        match args.data.as_deref() {
            None => Ok(Self::of(stochastic_block_model(&[100; 5], 0.15, 0.005, 0, device).map_err(message)?)),
            Some(path) if is_labelled(path) => Ok(Self::of(data::open(path, args.quiet, device)?)),
            Some(path) => {
                let adjacency = edges(path, args.quiet, device).map_err(message)?;
                // Without features each node has one of its own.
                let features = CsrTensor::try_eye(adjacency.dims()[0], device).map_err(message)?;
                Ok(Self { adjacency, features, labels: vec![] })
            }
        }
    }

    fn of(graph: Graph) -> Self {
        let labels = graph.labels.to_vec();
        Self { adjacency: graph.adjacency, features: graph.features, labels }
    }
}

/// The edges of a file in both directions, without self loops.
fn edges(path: &Path, quiet: bool, device: &Device) -> Result<CsrTensor<2>, SparseError> {
    let (edges, _) = open(path, &Options::new(), quiet, device)?.into_graph(device)?;
    try_to_undirected(&edges, Reduce::Amax)?.try_remove_self_loops()
}

/// Pairs that have an edge and pairs that have none.
struct Examples {
    edges: NodePairs,
    others: NodePairs,
}

impl Examples {
    fn auc(&self, embeddings: &Tensor<2>) -> f64 {
        let scores =
            [&self.edges, &self.others].map(|pairs| dot_decoder(embeddings.clone(), embeddings.clone(), pairs));
        let [ones, zeros] = [(1, &scores[0]), (0, &scores[1])]
            .map(|(label, scores)| Tensor::<1, Int>::full(scores.dims(), label, &scores.device()));
        roc_auc(Tensor::cat(vec![ones, zeros], 0), Tensor::cat(scores.to_vec(), 0))
    }
}

/// What a run leaves.
struct Run {
    losses: Vec<f32>,
    /// The test AUC of the model with the best validation AUC, and its embeddings.
    auc: f64,
    embeddings: Tensor<2>,
}

/// Trains from one seed.
fn train(args: &Args, input: &Input, seed: u64, bar: &ProgressBar) -> Result<Run, SparseError> {
    let Input { adjacency, features, .. } = input;
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
    let others = try_negative_sampling(adjacency, val.len() + test.len(), seed)?.indices();
    let part = |from, count| NodePairs::from_indices(others.clone().narrow(1, from, count), shape);
    let (val_others, test_others) = (part(0, val.len())?, part(val.len(), test.len())?);
    let val = Examples { edges: val, others: val_others };
    let test = Examples { edges: test, others: test_others };
    // What the encoder may see: the training edges, and for the test those for validation too.
    let [seen, seen_in_test] = [&split.train, &split.train_val].map(|seen| symmetric_normalization(seen, true));
    let (seen_plain, features_plain) = (seen.clone().valid(), features.clone().valid());
    let seen_in_test = seen_in_test.valid();

    device.seed(seed);
    let mut model = Encoder::new(args, features.dims()[1], &device);
    let mut optimizer = AdamConfig::new().with_epsilon(1e-8).init();
    let mut highest = f64::NEG_INFINITY;
    let mut run = Run { losses: vec![], auc: 0.0, embeddings: Tensor::zeros([0, 2], &plain) };
    for epoch in 1..=args.epochs {
        let z = model.forward(&seen, features);
        let drawn = try_negative_sampling(&split.train, edges.len(), seed ^ (u64::from(epoch) << 32))?;
        let scores = |pairs| dot_decoder(z.clone(), z.clone(), pairs);
        let loss = log_sigmoid(scores(&edges)).mean().neg() - log_sigmoid(scores(&drawn).neg()).mean();
        let grads = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(args.lr, model, grads);
        run.losses.push(loss.into_scalar::<f32>());
        if epoch % LOOK == 0 || epoch == args.epochs {
            let model = model.valid();
            let auc = val.auc(&model.forward(&seen_plain, &features_plain));
            if auc > highest {
                (highest, run.embeddings) = (auc, model.forward(&seen_in_test, &features_plain));
                run.auc = test.auc(&run.embeddings);
            }
            bar.set_message(format!("seed {seed}  validation {auc:.3}"));
        }
        bar.inc(1);
    }
    Ok(run)
}

/// The losses of all runs, and the nodes as the first one has embedded them.
fn draw(all: &[Run], labels: &[i64], blocks: bool) -> Result<Plot, SparseError> {
    let losses: Vec<_> = all.iter().map(|run| &run.losses).collect();
    let loss = runs(&losses).with_title("Training loss").with_axes("epoch", "loss of edges and other pairs");
    let nodes = try_embedding(try_pca(all[0].embeddings.clone())?, labels)?
        .with_title("Embeddings of the nodes")
        .with_axes("first principal component", "second principal component");
    let names: Vec<String> = (0..5).map(|block| format!("block {block}")).collect();
    Ok(grid(&[loss, if blocks { nodes.with_names(&names) } else { nodes }], 2))
}

fn message(trouble: SparseError) -> String {
    trouble.to_string()
}

fn main() -> ExitCode {
    finish(run(&Args::parse()))
}

fn run(args: &Args) -> Result<(), String> {
    let device = Device::default().autodiff();
    make_folder(&args.out)?;
    let input = Input::new(args, &device)?;
    if !args.quiet {
        let Input { adjacency, features, .. } = &input;
        let (nodes, edges, count) = (adjacency.dims()[0], adjacency.nnz() / 2, features.dims()[1]);
        say(&format!("{nodes} nodes, {edges} edges, {count} features"));
    }
    let bar = progress(args.quiet, u64::from(args.seeds) * u64::from(args.epochs), "epochs");
    let start = Instant::now();
    let mut all = vec![];
    for seed in 0..args.seeds {
        let run = train(args, &input, u64::from(seed), &bar).map_err(message)?;
        if !args.quiet {
            bar.suspend(|| say(&format!("seed {seed}: test AUC {:.4}", run.auc)));
        }
        all.push(run);
    }
    bar.finish_and_clear();
    let epoch = start.elapsed().as_secs_f64() * 1e3 / f64::from(args.seeds) / f64::from(args.epochs);
    let plot = draw(&all, &input.labels, args.data.is_none()).map_err(message)?;
    let saved = save(&plot, &args.out, "link_prediction")?;
    if !args.quiet {
        say(&saved);
    }
    let tests: Vec<f64> = all.iter().map(|run| run.auc).collect();
    let (seeds, (mean, std)) = (args.seeds, mean_std(&tests));
    say(&format!("test AUC: mean {mean:.4} std {std:.4} over {seeds} seeds, {epoch:.2} ms/epoch"));
    Ok(())
}
