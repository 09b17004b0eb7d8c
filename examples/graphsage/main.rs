//! Trains GraphSAGE on sampled neighbours.
//!
//! The picture shows the loss of each run, and the predictions of the first one in the plane in which they differ most.
//!
//! ```text
//! cargo run --release --example graphsage                                   # a small generated graph
//! cargo run --release --example graphsage -- --data PATH                    # plain text, Planetoid, OGB, .npz
//! cargo run --release --example graphsage -- --generate 1000000 20000000 --epochs 1 --seeds 1
//! cargo run --release --example graphsage -- --help
//! ```

mod args;
#[path = "../shared/console.rs"]
mod console;
#[path = "../shared/data.rs"]
mod data;
#[path = "../shared/memory.rs"]
mod memory;
mod model;
#[path = "../shared/numbers.rs"]
mod numbers;
#[path = "../shared/picture.rs"]
mod picture;
#[path = "../shared/statistics.rs"]
mod statistics;
mod train;

use args::Args;
use burn::tensor::{Device, Distribution, Tensor};
use clap::Parser;
use console::{finish, progress, say};
use data::open;
use memory::peak_memory;
use picture::{make_folder, save};
use sparse_tensor::SparseError;
use sparse_tensor::data::{Graph, stochastic_block_model};
use sparse_tensor::plot::{self, Plot, grid, try_embedding, try_pca};
use statistics::mean_std;
use std::process::ExitCode;
use std::time::Duration;
use train::{Run, Task};

/// The share of the generated edges that stay inside a block.
const INSIDE: f64 = 0.7;

fn main() -> ExitCode {
    finish(run(&Args::parse()))
}

fn run(args: &Args) -> Result<(), String> {
    make_folder(&args.out)?;
    let device = Device::default().autodiff();
    let (graph, features) = match &args.data {
        Some(path) => {
            let graph = open(path, args.quiet, &device)?;
            let features = graph.features.to_dense();
            (graph, features)
        }
        None => generate(args, &device)?,
    };
    if !args.quiet {
        let (nodes, edges, [_, width]) = (graph.nodes(), graph.edges(), features.dims());
        let (train, classes) = (graph.splits.train.len(), graph.labels.classes());
        say(&format!("{nodes} nodes, {edges} edges, {width} features, {classes} classes; {train} nodes for training"));
    }
    let task = Task::new(args, &graph, features, &device)?;
    let steps = u64::from(args.seeds) * u64::from(args.epochs()) * task.batches() as u64;
    let bar = progress(args.quiet, steps, "batches");
    let mut runs: Vec<Run> = Vec::new();
    for seed in 0..args.seeds {
        let run = task.run(args, u64::from(seed), &bar);
        if !args.quiet {
            bar.suspend(|| say(&format!("seed {seed}: test {:.4}", run.test)));
        }
        runs.push(run);
    }
    bar.finish_and_clear();
    let picture = save(&draw(&task, &runs).map_err(|trouble| trouble.to_string())?, &args.out, "graphsage")?;
    if !args.quiet {
        say(&picture);
    }
    let tests: Vec<f64> = runs.iter().map(|run| run.test).collect();
    let (mean, std) = mean_std(&tests);
    let time: Duration = runs.iter().map(|run| run.time).sum();
    let waited: Duration = runs.iter().map(|run| run.waited).sum();
    let seeds = args.seeds;
    let epoch = time.as_secs_f64() * 1e3 / f64::from(seeds) / f64::from(args.epochs());
    let share = 100.0 * waited.as_secs_f64() / time.as_secs_f64().max(f64::MIN_POSITIVE);
    let memory = peak_memory().map_or("unknown".into(), |peak| format!("{peak:.2} GB"));
    say(&format!(
        "test accuracy: mean {mean:.4} std {std:.4} over {seeds} seeds, {epoch:.2} ms/epoch, \
         waiting for batches {share:.0} %, peak memory {memory}"
    ));
    Ok(())
}

/// The losses of all runs, and the predictions of the first one.
fn draw(task: &Task, runs: &[Run]) -> Result<Plot, SparseError> {
    let losses: Vec<_> = runs.iter().map(|run| &run.losses).collect();
    let loss = plot::runs(&losses).with_title("Training loss").with_axes("epoch", "cross-entropy");
    let predictions = try_embedding(try_pca(runs[0].logits.clone())?, &task.shown_labels)?
        .with_title("Predictions")
        .with_axes("first principal component", "second principal component");
    Ok(grid(&[loss, predictions], 2))
}

/// A stochastic block model, whose blocks are the classes. The features of a node are noise around a random centre of
/// its block.
fn generate(args: &Args, device: &Device) -> Result<(Graph, Tensor<2>), String> {
    let [nodes, edges] = [args.generate[0], args.generate[1]].map(|count| count as f64);
    let blocks = args.blocks as usize;
    let sizes: Vec<usize> = (0..blocks).map(|at| (args.generate[0] as usize + at) / blocks).collect();
    let inside: f64 = sizes.iter().map(|&size| size as f64 * (size as f64 - 1.0) / 2.0).sum();
    let outside = nodes * (nodes - 1.0) / 2.0 - inside;
    let [p_in, p_out] = [INSIDE * edges / inside, (1.0 - INSIDE) * edges / outside];
    if p_in > 1.0 || p_out > 1.0 {
        return Err(format!("--generate: use fewer edges, got {edges} between {nodes} nodes in {blocks} blocks"));
    }
    let graph = stochastic_block_model(&sizes, p_in, p_out, 0, device).map_err(|trouble| trouble.to_string())?;
    device.seed(0);
    let width = args.features as usize;
    let centres = Tensor::<2>::random([blocks, width], Distribution::Normal(0.0, 0.25), device);
    let noise = Tensor::<2>::random([graph.nodes(), width], Distribution::Normal(0.0, 1.0), device);
    let features = noise + centres.select(0, graph.labels.tensor());
    Ok((graph, features))
}
