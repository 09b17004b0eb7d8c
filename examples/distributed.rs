//! Trains GraphSAGE on several ranks: each takes a share of every batch, and all step along the weighted mean of their
//! gradients.
//!
//! ```text
//! cargo run --release --example distributed -- --ranks 2        # ranks are threads of this process
//!
//! cargo build --release --features mpi --example distributed    # ranks are processes; needs Open MPI
//! mpirun -n 2 target/release/examples/distributed
//! mpirun -n 2 target/release/examples/distributed --help
//! ```

#[path = "shared/console.rs"]
mod console;
#[path = "shared/numbers.rs"]
mod numbers;

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor, TensorData};
use clap::Parser;
use console::{finish, progress, say};
use numbers::above_zero;
use sparse_tensor::data::{Graph, NeighborBatch, NeighborLoader, NeighborSamplerConfig, stochastic_block_model};
use sparse_tensor::nn::{SageConv, SageConvConfig};
use sparse_tensor::parallel::{Collective, all_reduce, broadcast};
use sparse_tensor::{CsrTensor, SparseError};
use std::ops::Range;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const CLASSES: usize = 5;
const FEATURES: usize = 32;
/// The neighbours of a node that each of the two layers sees.
const FAN_OUTS: [usize; 2] = [10, 10];

/// Trains GraphSAGE on a generated graph, on several ranks.
///
/// Every rank has the whole graph and a share of the training nodes. The result does not depend on which ranks are
/// threads and which are processes. The last line of the output is `test accuracy: A on N ranks, E ms/epoch`.
#[derive(Parser, Clone, Debug)]
#[command(name = "distributed")]
struct Args {
    /// Ranks that are threads of this process
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_024))]
    #[cfg(not(feature = "mpi"))]
    ranks: u32,
    /// Nodes of the graph
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    nodes: u32,
    /// Edges of a node, on average
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=50))]
    degree: u32,
    /// Rounds over the training nodes
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    epochs: u32,
    /// Nodes of a batch, which the ranks share
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    batch: u32,
    /// Size of the hidden layer
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    hidden: u32,
    /// Threads of each rank that draw batches ahead; 0 draws each batch when it is needed
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=256))]
    workers: u32,
    /// Learning rate of SGD
    #[arg(long, default_value_t = 0.3, value_parser = above_zero)]
    lr: f64,
    /// Seconds after which a silent rank is an error
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = above_zero)]
    timeout: f64,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

fn main() -> ExitCode {
    finish(run(&Args::parse()))
}

#[cfg(feature = "mpi")]
fn run(args: &Args) -> Result<(), String> {
    let timeout = Duration::try_from_secs_f64(args.timeout).map_err(|trouble| trouble.to_string())?;
    let mut ranks = sparse_tensor::parallel::Mpi::new(timeout).map_err(|trouble| trouble.to_string())?;
    train(args, &mut ranks).map_err(|trouble| format!("rank {}: {trouble}", ranks.rank()))
}

#[cfg(not(feature = "mpi"))]
fn run(args: &Args) -> Result<(), String> {
    let timeout = Duration::try_from_secs_f64(args.timeout).map_err(|trouble| trouble.to_string())?;
    let ranks = sparse_tensor::parallel::Threads::new(args.ranks as usize, timeout);
    let ranks = ranks.map_err(|trouble| trouble.to_string())?;
    std::thread::scope(|scope| {
        let run = |mut rank| scope.spawn(move || train(args, &mut rank));
        let ranks: Vec<_> = ranks.into_iter().map(run).collect();
        for rank in ranks {
            rank.join().map_err(|_| "a rank has panicked")?.map_err(|trouble| trouble.to_string())?;
        }
        Ok(())
    })
}

#[derive(Module, Debug)]
struct Sage {
    layers: Vec<SageConv>,
}

impl Sage {
    fn new(hidden: usize, device: &Device) -> Self {
        let sizes = [FEATURES, hidden, CLASSES];
        Self { layers: sizes.windows(2).map(|size| SageConvConfig::new(size[0], size[1]).init(device)).collect() }
    }

    /// Logits of the last block's targets. The targets of a block are its first sources.
    fn forward<'a>(&self, blocks: impl Iterator<Item = &'a CsrTensor<2>>, mut x: Tensor<2>) -> Tensor<2> {
        for (at, (layer, block)) in self.layers.iter().zip(blocks).enumerate() {
            let source = if at == 0 { x } else { relu(x) };
            let target = source.clone().narrow(0, 0, block.dims()[0]);
            x = layer.forward_bipartite(block, source, target);
        }
        x
    }
}

/// The part of `0 .. count` that belongs to a rank.
fn share(count: usize, rank: usize, size: usize) -> Range<usize> {
    count * rank / size..count * (rank + 1) / size
}

/// What a rank does. Only rank 0 prints.
fn train(args: &Args, ranks: &mut impl Collective) -> Result<(), SparseError> {
    let device = Device::flex().autodiff();
    let (rank, size) = (ranks.rank(), ranks.size());
    let (graph, features) = generate(args, &device)?;
    let quiet = args.quiet || rank > 0;
    let mut nodes = graph.splits.train.clone();
    // Training nodes come by class; each rank needs all classes.
    nodes.sort_by_key(|node| node.wrapping_mul(0x9e37_79b9) % 1_000_003);
    let count = nodes.len();
    let batch = |rank| share(args.batch as usize, rank, size).len().max(1);
    let steps = (0..size).map(|rank| share(count, rank, size).len().div_ceil(batch(rank))).max().unwrap_or(0);
    // The same on all ranks, so each knows the weights of all.
    let items = |rank: usize, step: usize| {
        let own = share(count, rank, size).len();
        own.saturating_sub(step * batch(rank)).min(batch(rank))
    };
    let sampler = NeighborSamplerConfig::new(FAN_OUTS.to_vec()).try_init(&graph.adjacency)?;
    let loader = NeighborLoader::new(sampler, &nodes[share(count, rank, size)], batch(rank))?;
    let loader = loader.with_workers(args.workers as usize).with_seed(rank as u64);

    let mut model = broadcast(ranks, Sage::new(args.hidden as usize, &device), 0)?;
    let mut optimizer = SgdConfig::new().init();
    let bar = progress(quiet, u64::from(args.epochs) * steps as u64, "batches");
    let start = Instant::now();
    for epoch in 0..args.epochs {
        let mut batches = loader.epoch(u64::from(epoch));
        let mut last = 0.0;
        for step in 0..steps {
            let (grads, loss) = match batches.next() {
                Some(batch) => gradients(&model, &graph, &features, &batch),
                // This rank has seen its nodes; others have not.
                None => (GradientsParams::new(), Tensor::zeros([1], &device.clone().inner())),
            };
            let grads = all_reduce(ranks, grads, &model, items(rank, step) as f64)?;
            model = optimizer.step(args.lr, model, grads);
            if step + 1 == steps {
                let weights: Vec<f64> = (0..size).map(|rank| items(rank, step) as f64).collect();
                last = ranks.mean(loss, &weights)?.into_scalar::<f32>();
            }
            bar.inc(1);
        }
        if !quiet {
            bar.suspend(|| say(&format!("epoch {}: loss of the last batch {last:.4}", epoch + 1)));
        }
    }
    let time = start.elapsed().as_secs_f64() * 1e3 / f64::from(args.epochs);
    bar.finish_and_clear();
    if rank == 0 {
        let graph = graph.valid();
        let logits = model.valid().forward([&graph.adjacency; 2].into_iter(), features.inner());
        let accuracy = graph.labelled(&graph.splits.test)?.accuracy(logits);
        say(&format!("test accuracy: {accuracy:.4} on {size} ranks, {time:.2} ms/epoch"));
    }
    Ok(())
}

/// The gradients of the mean loss over the seeds of a batch, and this loss.
fn gradients(model: &Sage, graph: &Graph, features: &Tensor<2>, batch: &NeighborBatch) -> (GradientsParams, Tensor<1>) {
    let logits = model.forward(batch.blocks().iter(), batch.features(features.clone()));
    let labels = batch.labels(graph.labels.tensor());
    let loss = CrossEntropyLossConfig::new().init(&logits.device()).forward(logits, labels);
    (GradientsParams::from_grads(loss.backward(), model), loss.inner())
}

/// A stochastic block model, whose blocks are the classes. Features are noise around a centre of the class: the same
/// numbers on every rank.
fn generate(args: &Args, device: &Device) -> Result<(Graph, Tensor<2>), SparseError> {
    let nodes = args.nodes as usize;
    let sizes: Vec<usize> = (0..CLASSES).map(|at| (nodes + at) / CLASSES).collect();
    // Seven of ten edges stay inside of a block.
    let inside = 0.7 * f64::from(args.degree) * CLASSES as f64 / nodes as f64;
    let outside = 0.3 * f64::from(args.degree) / (nodes as f64 * (1.0 - 1.0 / CLASSES as f64));
    let graph = stochastic_block_model(&sizes, inside.min(1.0), outside.min(1.0), 0, device)?;
    let centre = |at: usize, class: i64| if at % CLASSES == class as usize { 0.3 } else { 0.0 };
    let classes = graph.labels.to_vec();
    let noise = |node: usize, at: usize| {
        let mixed =
            (node * FEATURES + at).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d);
        (mixed % 20_001) as f32 / 10_000.0 - 1.0
    };
    let features: Vec<f32> = (classes.iter().enumerate())
        .flat_map(|(node, &class)| (0..FEATURES).map(move |at| noise(node, at) + centre(at, class)))
        .collect();
    let features = Tensor::from_data(TensorData::new(features, [nodes, FEATURES]), device);
    Ok((graph, features))
}
