//! Classifies graphs by a graph isomorphism network (GIN).
//!
//! Each graph is a random tree with one of two motifs of five nodes and six edges joined to it: the "house" (a square
//! with a triangle on it) or the complete bipartite graph K(2, 3). Both motifs have nodes of degrees 3, 3, 2, 2, 2. So
//! neither sizes nor degrees tell the classes apart; who is joined to whom does.
//!
//! ```text
//! cargo run --release --example gin
//! cargo run --release --example gin -- --layers 1           # sees degrees only, and guesses
//! cargo run --release --example gin -- --help
//! ```
//!
//! The picture shows the loss, and what the network has learned of each test graph.

#[path = "shared/console.rs"]
mod console;
#[path = "shared/numbers.rs"]
mod numbers;
#[path = "shared/picture.rs"]
mod picture;
#[path = "shared/statistics.rs"]
mod statistics;

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Int, Tensor, TensorData};
use clap::Parser;
use console::{finish, progress, say};
use indicatif::ProgressBar;
use numbers::above_zero;
use picture::{make_folder, save};
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use sparse_tensor::data::{GraphBatch, random_split};
use sparse_tensor::nn::{GinConv, GinConvConfig, Mlp, MlpConfig, global_add_pool};
use sparse_tensor::ops::IndexPlan;
use sparse_tensor::plot::{Plot, grid, runs, try_embedding, try_pca};
use sparse_tensor::{CsrTensor, SparseError};
use statistics::mean_std;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// A square of nodes 0 to 3, and node 4 joined to nodes 0 and 1.
const HOUSE: [(usize, usize); 6] = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)];
/// Nodes 0 and 1, both joined to nodes 2, 3 and 4.
const BIPARTITE: [(usize, usize); 6] = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)];

/// Trains a graph isomorphism network to tell graphs apart by a motif that is hidden in them.
///
/// Three fifths of the graphs are for training, one fifth for validation and one for testing. The model with the best
/// validation accuracy is tested. The picture shows the loss and, for the best model of the first run, the sums over
/// the nodes of each test graph by their two principal components. The last line of the output is `test accuracy: mean
/// M std S over N seeds, E ms/epoch`; an epoch is the training and the validation.
#[derive(Parser, Debug)]
#[command(name = "gin")]
struct Args {
    /// Number of graphs
    #[arg(long, value_name = "N", default_value_t = 500)]
    #[arg(value_parser = clap::value_parser!(u32).range(10..=10_000_000))]
    graphs: u32,
    /// The most nodes of a tree, which has at least half of them
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    nodes: u32,
    /// Number of runs, each from its own seed
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    seeds: u32,
    /// Epochs of a run
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    epochs: u32,
    /// Graphs in a batch
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    batch: u32,
    /// Layers of the network
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=64))]
    layers: u32,
    /// Features of a node in each layer
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    hidden: u32,
    /// Learning rate of Adam
    #[arg(long, default_value_t = 0.01, value_parser = above_zero)]
    lr: f64,
    /// Folder for the picture, gin.svg and gin.png
    #[arg(long, value_name = "DIR", default_value = "target/gin")]
    out: PathBuf,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

/// Some graphs as one, with their classes.
struct Batch {
    adjacency: CsrTensor<2>,
    graphs: IndexPlan,
    classes: Tensor<1, Int>,
}

impl Batch {
    fn new(graphs: &[(CsrTensor<2>, i64)], device: &Device) -> Result<Self, SparseError> {
        let adjacencies: Vec<CsrTensor<2>> = graphs.iter().map(|(adjacency, _)| adjacency.clone()).collect();
        let classes: Vec<i64> = graphs.iter().map(|&(_, class)| class).collect();
        let batch = GraphBatch::new(&adjacencies)?;
        Ok(Self {
            adjacency: batch.adjacency().clone(),
            graphs: IndexPlan::new(batch.graph_ids(), batch.graphs())?,
            classes: Tensor::from_data(TensorData::new(classes, [graphs.len()]), device),
        })
    }
}

/// Layers of GIN. The sums over the nodes of a graph, after each layer, go to a linear map.
#[derive(Module, Debug)]
struct Gin {
    layers: Vec<GinConv<Mlp>>,
    out: Linear,
}

impl Gin {
    fn new(args: &Args, device: &Device) -> Self {
        let (hidden, count) = (args.hidden as usize, args.layers as usize);
        let layer = |at| {
            let mlp = MlpConfig::new(vec![if at == 0 { 1 } else { hidden }, hidden, hidden]);
            GinConvConfig::new().init(mlp.init(device), device)
        };
        Self { layers: (0..count).map(layer).collect(), out: LinearConfig::new(count * hidden, 2).init(device) }
    }

    /// The sums over the nodes of each graph, of all layers beside each other. All nodes start with the same feature.
    fn sums(&self, batch: &Batch) -> Tensor<2> {
        let mut x = Tensor::ones([batch.adjacency.dims()[0], 1], &batch.adjacency.device());
        let mut pooled = vec![];
        for layer in &self.layers {
            x = relu(layer.forward(&batch.adjacency, x));
            pooled.push(global_add_pool(x.clone(), &batch.graphs));
        }
        Tensor::cat(pooled, 1)
    }

    /// Logits `[graphs, 2]`.
    fn forward(&self, batch: &Batch) -> Tensor<2> {
        self.out.forward(self.sums(batch))
    }

    /// The share of the graphs whose class has the larger logit.
    fn accuracy(&self, batch: &Batch) -> f64 {
        let right = self.forward(batch).argmax(1).squeeze_dim::<1>(1).equal(batch.classes.clone());
        f64::from(right.float().mean().into_scalar::<f32>())
    }
}

/// What a run leaves.
struct Run {
    /// The mean loss of each epoch.
    losses: Vec<f32>,
    /// The model with the best validation accuracy, and its test accuracy.
    best: Gin,
    accuracy: f64,
    test: Batch,
}

/// A random tree, the motif of `class`, and an edge between a random node of each.
fn generate(args: &Args, class: i64, rng: &mut impl RngExt, device: &Device) -> Result<CsrTensor<2>, SparseError> {
    let most = args.nodes as usize;
    let tree = rng.random_range(most.div_ceil(2)..=most);
    let mut edges: Vec<(usize, usize)> = (1..tree).map(|node| (node, rng.random_range(0..node))).collect();
    let motif = if class == 0 { HOUSE } else { BIPARTITE };
    edges.extend(motif.map(|(a, b)| (tree + a, tree + b)));
    edges.push((rng.random_range(0..tree), tree + rng.random_range(0..5)));
    let both: Vec<(usize, usize)> = edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
    CsrTensor::from_edges(&both, Tensor::<1>::ones([both.len()], device), tree + 5)
}

/// Trains from one seed.
fn train(args: &Args, seed: u64, device: &Device, bar: &ProgressBar) -> Result<Run, SparseError> {
    device.seed(seed);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let plain = device.clone().inner();
    let mut sets = [vec![], vec![], vec![]];
    let splits = random_split(args.graphs as usize, 0.6, 0.2, seed)?;
    for (set, (ids, device)) in
        sets.iter_mut().zip([(&splits.train, device), (&splits.val, &plain), (&splits.test, &plain)])
    {
        for &id in ids {
            let class = id as i64 % 2;
            set.push((generate(args, class, &mut rng, device)?, class));
        }
    }
    let [mut training, val, test] = sets;
    let [val, test] = [Batch::new(&val, &plain)?, Batch::new(&test, &plain)?];
    let mut model = Gin::new(args, device);
    // With Burn's epsilon of 1e-5, as the figures of the book were measured. PyTorch's is 1e-8.
    let mut optimizer = AdamConfig::new().init();
    let cross_entropy = CrossEntropyLossConfig::new().init(device);
    let mut highest = f64::NEG_INFINITY;
    let mut run = Run { losses: vec![], best: model.valid(), accuracy: 0.0, test };
    for _ in 0..args.epochs {
        training.shuffle(&mut rng);
        let mut losses = vec![];
        for graphs in training.chunks(args.batch as usize) {
            let batch = Batch::new(graphs, device)?;
            let loss = cross_entropy.forward(model.forward(&batch), batch.classes.clone());
            let grads = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(args.lr, model, grads);
            losses.push(loss.inner());
        }
        run.losses.push(Tensor::cat(losses, 0).mean().into_scalar::<f32>());
        let valid = model.valid();
        let accuracy = valid.accuracy(&val);
        if accuracy > highest {
            (highest, run.accuracy, run.best) = (accuracy, valid.accuracy(&run.test), valid);
        }
        bar.inc(1);
        bar.set_message(format!("seed {seed}  validation {accuracy:.3}"));
    }
    Ok(run)
}

/// The losses of all runs, and the test graphs of the first one.
fn draw(all: &[Run]) -> Result<Plot, SparseError> {
    let losses: Vec<_> = all.iter().map(|run| &run.losses).collect();
    let loss = runs(&losses).with_title("Training loss").with_axes("epoch", "cross-entropy");
    let Run { best, test, .. } = &all[0];
    let classes: Vec<i64> = test.classes.to_data().convert::<i64>().iter().collect();
    let graphs = try_embedding(try_pca(best.sums(test))?, &classes)?
        .with_title("Test graphs, as the network sees them")
        .with_axes("first principal component", "second principal component")
        .with_names(&["with a house", "with K(2, 3)"]);
    Ok(grid(&[loss, graphs], 2))
}

fn main() -> ExitCode {
    finish(run(&Args::parse()))
}

fn run(args: &Args) -> Result<(), String> {
    let device = Device::default().autodiff();
    make_folder(&args.out)?;
    let bar = progress(args.quiet, u64::from(args.seeds) * u64::from(args.epochs), "epochs");
    let start = Instant::now();
    let mut all = vec![];
    for seed in 0..args.seeds {
        let run = train(args, u64::from(seed), &device, &bar).map_err(|trouble| trouble.to_string())?;
        if !args.quiet {
            bar.suspend(|| say(&format!("seed {seed}: test {:.4}", run.accuracy)));
        }
        all.push(run);
    }
    bar.finish_and_clear();
    let epoch = start.elapsed().as_secs_f64() * 1e3 / f64::from(args.seeds) / f64::from(args.epochs);
    let saved = save(&draw(&all).map_err(|trouble| trouble.to_string())?, &args.out, "gin")?;
    if !args.quiet {
        say(&saved);
    }
    let tests: Vec<f64> = all.iter().map(|run| run.accuracy).collect();
    let (seeds, (mean, std)) = (args.seeds, mean_std(&tests));
    say(&format!("test accuracy: mean {mean:.4} std {std:.4} over {seeds} seeds, {epoch:.2} ms/epoch"));
    Ok(())
}
