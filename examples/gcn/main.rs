//! Trains a graph convolutional network through sparse tensors.
//!
//! The picture shows the loss of each run, what the hidden layer of the first one makes of the nodes, and the
//! adjacency.
//!
//! ```text
//! cargo run --release --example gcn                      # Zachary's karate club
//! cargo run --release --example gcn -- --data PATH       # a graph in files: plain text, Planetoid, OGB, .npz
//! cargo run --release --example gcn -- --help
//! # On a device of another machine, where the example `server` runs:
//! cargo run --release --features remote --example gcn -- --backend remote --server ws://127.0.0.1:3000
//! ```

mod args;
#[path = "../shared/console.rs"]
mod console;
#[path = "../shared/data.rs"]
mod data;
mod draw;
mod model;
#[path = "../shared/numbers.rs"]
mod numbers;
#[path = "../shared/picture.rs"]
mod picture;
#[path = "../shared/statistics.rs"]
mod statistics;
mod train;

use args::Args;
use clap::Parser;
use console::{finish, progress, say};
use data::open;
use draw::draw;
use picture::{make_folder, save};
use sparse_tensor::data::{Graph, karate};
use statistics::mean_std;
use std::process::ExitCode;
use std::time::Duration;
use train::{Run, Task};

fn main() -> ExitCode {
    finish(run(&Args::parse()))
}

fn run(args: &Args) -> Result<(), String> {
    let device = args.device()?;
    make_folder(&args.out)?;
    let graph = match &args.data {
        Some(path) => open(path, args.quiet, &device)?,
        None => karate(&device),
    };
    let task = Task::new(&graph, &device)?;
    if !args.quiet {
        say(&describe(args, &graph));
    }
    let seeds = args.seeds.unwrap_or(if args.data.is_some() { 10 } else { 20 });
    let bar = progress(args.quiet, u64::from(seeds) * u64::from(args.epochs), "epochs");
    let mut runs: Vec<Run> = Vec::new();
    for seed in 0..seeds {
        let mut count = 0;
        let run = task.run(args, u64::from(seed), |epoch| {
            count += 1;
            // Drawing is not what the epochs' time is about.
            if count % 10 == 0 {
                bar.inc(10);
                let (loss, train, val) = (epoch.loss, epoch.train, epoch.val);
                bar.set_message(format!("seed {seed}  loss {loss:.4}  train {train:.3}  val {val:.3}"));
            }
        });
        bar.inc(count % 10);
        if !args.quiet {
            bar.suspend(|| say(&summary(args, seed, &run, &task)));
        }
        runs.push(run);
    }
    bar.finish_and_clear();
    let page = draw(args.data.is_none(), &graph, &task, &runs).map_err(|trouble| trouble.to_string())?;
    let picture = save(&page, &args.out, "gcn")?;
    if !args.quiet {
        say(&picture);
    }
    let tests: Vec<f64> = runs.iter().map(|run| run.best.test).collect();
    let (mean, std) = mean_std(&tests);
    let time: Duration = runs.iter().map(|run| run.time).sum();
    let epoch = time.as_secs_f64() * 1e3 / (f64::from(seeds) * f64::from(args.epochs));
    say(&format!("test accuracy: mean {mean:.4} std {std:.4} over {seeds} seeds, {epoch:.2} ms/epoch"));
    Ok(())
}

fn describe(args: &Args, graph: &Graph) -> String {
    let name = args.data.as_ref().map_or("karate club".into(), |path| path.display().to_string());
    let (nodes, edges, classes) = (graph.nodes(), graph.edges(), graph.labels.classes());
    let [_, features] = graph.features.dims();
    let splits = &graph.splits;
    let (train, val, test) = (splits.train.len(), splits.val.len(), splits.test.len());
    let stored = graph.features.nnz();
    format!(
        "{name}: {nodes} nodes, {edges} edges, {features} features ({stored} stored), {classes} classes; \
         {train} train, {val} validation, {test} test"
    )
}

fn summary(args: &Args, seed: u32, run: &Run, task: &Task) -> String {
    let loss = run.losses.last().copied().unwrap_or(f32::NAN);
    let epoch = run.time.as_secs_f64() * 1e3 / f64::from(args.epochs);
    let val = if task.splits.val.is_empty() { String::new() } else { format!("validation {:.3}, ", run.best.val) };
    format!("seed {seed}: loss {loss:.4}, {val}test {:.4}, {epoch:.2} ms/epoch", run.best.test)
}
