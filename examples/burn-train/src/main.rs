//! Trains models of sparse tensors with burn-train: metrics, checkpoints, resuming, early stopping, progress.
//!
//! ```text
//! cargo run --release -p sparse-example-burn-train                        # a data set of sparse rows
//! cargo run --release -p sparse-example-burn-train -- neighbors           # a graph, by sampled neighbours
//! cargo run --release -p sparse-example-burn-train -- neighbors --epochs 60 --resume
//! cargo run --release -p sparse-example-burn-train -- --help
//! ```
//!
//! With `--features tui` a terminal shows Burn's dashboard. In your own crate you may turn on Burn's feature `train`
//! and write `burn::train` for `burn_train`.

mod checkpoints;
#[path = "../../shared/console.rs"]
mod console;
#[cfg(test)]
mod devices;
mod display;
mod neighbors;
#[path = "../../shared/numbers.rs"]
mod numbers;
mod rows;
#[cfg(test)]
mod tests;
mod training;

use burn::tensor::Device;
use clap::{Parser, ValueEnum};
use console::{finish, say};
use numbers::above_zero;
use std::path::PathBuf;
use std::process::ExitCode;
use training::{Outcome, Settings};

/// Trains a model of sparse tensors with burn-train.
///
/// The task `rows` classifies generated documents: each is a sparse row of word counts, and a Batcher joins them to a
/// CSR tensor. The task `neighbors` classifies the nodes of a generated graph with GraphSAGE, on neighbours that
/// worker threads sample. The model of the epoch with the smallest validation loss is tested. The last line of the
/// output is `test accuracy: A at epoch B of E`.
#[derive(Parser, Clone, Debug)]
#[command(name = "burn-train")]
struct Args {
    /// What is trained
    #[arg(value_enum, default_value = "rows")]
    task: Task,
    /// Epochs in all, those before --resume included
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    epochs: u32,
    /// Stop after this many epochs without a smaller validation loss
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    patience: u32,
    /// Documents, or nodes, of a batch
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    batch_size: u32,
    /// Learning rate of Adam
    #[arg(long, default_value_t = 0.01, value_parser = above_zero)]
    lr: f64,
    /// Threads that make batches ahead. With two or more, `rows` takes batches as they come: results vary
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=256))]
    workers: u32,
    /// Seed of the model and of the order of the data
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Folder for checkpoints and metrics, in a folder for each task. A run without --resume replaces those there
    #[arg(long, value_name = "DIR", default_value = "target/burn-train")]
    out: PathBuf,
    /// Go on from the last checkpoint
    #[arg(long)]
    resume: bool,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Task {
    /// Documents as sparse rows
    Rows,
    /// Nodes of a graph, by sampled neighbours
    Neighbors,
}

fn main() -> ExitCode {
    finish(run(&Args::parse()).map(|outcome| {
        let Outcome { accuracy, best, epochs } = outcome;
        say(&format!("test accuracy: {accuracy:.4} at epoch {best} of {epochs}"));
    }))
}

fn run(args: &Args) -> Result<Outcome, String> {
    let folder = args.out.join(match args.task {
        Task::Rows => "rows",
        Task::Neighbors => "neighbors",
    });
    let device = Device::flex().autodiff();
    device.seed(args.seed);
    let settings = Settings {
        done: if args.resume { checkpoints::last(&folder)? } else { checkpoints::clear(&folder)? },
        folder,
        epochs: args.epochs as usize,
        patience: args.patience as usize,
        batch_size: args.batch_size as usize,
        lr: args.lr,
        workers: args.workers as usize,
        seed: args.seed,
        quiet: args.quiet,
        device,
    };
    if settings.done >= settings.epochs {
        let done = settings.done;
        return Err(format!("use --epochs with more than {done}: {done} epochs are trained already"));
    }
    if !args.quiet && settings.done > 0 {
        say(&format!("resumed after epoch {} from {}", settings.done, settings.folder.display()));
    }
    let outcome = match args.task {
        Task::Rows => rows::run(&settings)?,
        Task::Neighbors => neighbors::run(&settings)?,
    };
    if !args.quiet && outcome.epochs < settings.epochs {
        say(&format!("stopped early: no smaller validation loss in {} epochs", settings.patience));
    }
    Ok(outcome)
}
