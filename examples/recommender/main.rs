//! Learns what to recommend: a table of users and a table of items, factorised from what users took.
//!
//! ```text
//! cargo run --release --example recommender                          # generated users with a hidden taste
//! cargo run --release --example recommender -- --data ratings.csv    # a line "user,item" for each; also .gz
//! cargo run --release --example recommender -- --data ratings.npz    # a matrix [users, items] of SciPy; also .mtx
//! cargo run --release --example recommender -- --dense               # the same with dense gradients, timed beside
//! cargo run --release --example recommender -- --rows 10000000 --dim 64 --epochs 2
//! ```
//!
//! The picture shows the loss, and how many users took an item.

#[path = "../shared/adjacency.rs"]
mod adjacency;
#[path = "../shared/console.rs"]
mod console;
mod log;
#[path = "../shared/memory.rs"]
mod memory;
mod models;
#[path = "../shared/numbers.rs"]
mod numbers;
#[path = "../shared/picture.rs"]
mod picture;

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};
use clap::Parser;
use console::{finish, progress, say};
use log::Log;
use memory::peak_memory;
use models::{DenseModel, Model, RowModel};
use numbers::above_zero;
use picture::{make_folder, save};
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use sparse_tensor::data::try_recall_at_k;
use sparse_tensor::plot::{curves, grid, histogram};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Users on whom the recall is measured.
const TESTED: usize = 2_000;
/// Length of the list that is recommended.
const TOP: usize = 10;

/// Factorises what users took into two tables of embeddings, with row-sparse gradients.
///
/// Without --data there are users with a hidden taste: each likes one of the groups of items. A user's score for an
/// item is the inner product of their rows, and the loss says that an item that was taken has a higher score than one
/// drawn at random (BPR, Rendle et al. 2009). Some of the items that a user took are kept for the test. A step reads
/// and changes only the rows of its batch. The picture shows the loss of each step, with --dense beside that of the
/// dense training, and the popularity of the items: how many of them were taken by so many users. The last line of the
/// output is `test recall@10: R (chance C), row-sparse step T ms`, followed by `, dense step T ms, ratio Qx` with
/// --dense.
#[derive(Parser, Debug)]
#[command(name = "recommender")]
struct Args {
    /// File with a line "user item" for each item that a user took, both as numbers (csv, tsv or spaces, also .gz), or
    /// a matrix [users, items] with an element for each (.mtx, .mtx.gz, or .npz of SciPy)
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Rows of the table of generated users. 2,000 of them, spread over the table, took items
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=1 << 31))]
    rows: u64,
    /// Elements of a row
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    dim: u32,
    /// Passes over the training data
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    epochs: u32,
    /// Pairs of a user and an item in a step
    #[arg(long, value_name = "N", default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    batch: u32,
    /// Learning rate of Adam
    #[arg(long, default_value_t = 0.01, value_parser = above_zero)]
    lr: f64,
    /// Seed of the data, the split, the tables and the batches
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Afterwards train Burn's Embedding with Burn's Adam in the same way, and compare the steps
    #[arg(long)]
    dense: bool,
    /// At most so many steps with dense gradients
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    dense_steps: u32,
    /// Folder for the picture, recommender.svg and recommender.png
    #[arg(long, value_name = "DIR", default_value = "target/recommender")]
    out: PathBuf,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

fn main() -> ExitCode {
    finish(run(&Args::parse()))
}

fn run(args: &Args) -> Result<(), String> {
    let device = Device::default().autodiff();
    make_folder(&args.out)?;
    let log = match &args.data {
        Some(path) => Log::read(path, args.seed, args.quiet)?,
        None => Log::generate(args.rows as usize, args.seed)?,
    };
    let (users, items) = (log.users, log.items);
    if !args.quiet {
        let (train, test) = (log.train.len(), log.test.len());
        say(&format!("{users} users, {items} items, {train} pairs to train on, {test} to test"));
    }
    device.seed(args.seed);
    let rows = RowModel::new(users, items, args.dim as usize, &device);
    let (rows, row_step, losses) = train(args, &log, rows, usize::MAX, &device);
    let mut all = vec![(RowModel::NAME, losses)];
    let recall = recall(&log, &rows, &device)?;
    drop(rows);
    if !args.quiet {
        let table = users as f64 * f64::from(args.dim) * 4.0 / 1e9;
        let peak = peak_memory().map_or_else(|| "unknown".into(), |peak| format!("{peak:.2} GB"));
        say(&format!("table of users {table:.2} GB; the most memory so far, with the state of Adam: {peak}"));
    }
    let mut line = format!("test recall@{TOP}: {recall:.4} (chance {:.4})", log.chance(TOP));
    line += &format!(", row-sparse step {:.3} ms", milliseconds(row_step));
    if args.dense {
        device.seed(args.seed);
        let dense = DenseModel::new(users, items, args.dim as usize, &device);
        let (_, dense_step, losses) = train(args, &log, dense, args.dense_steps as usize, &device);
        let ratio = dense_step.as_secs_f64() / row_step.as_secs_f64();
        line += &format!(", dense step {:.3} ms, ratio {ratio:.1}x", milliseconds(dense_step));
        all.push((DenseModel::NAME, losses));
    }
    let losses = curves(&all).with_title("Training loss").with_axes("step", "BPR loss");
    let popularity =
        histogram(&log.popularity()).with_title("Popularity of the items").with_axes("users who took it", "items");
    let saved = save(&grid(&[losses, popularity], 2), &args.out, "recommender")?;
    if !args.quiet {
        say(&saved);
    }
    say(&line);
    Ok(())
}

/// Trains for all epochs, or for `most` steps. The median time of a step and the loss of each are returned as well.
fn train<M: Model>(args: &Args, log: &Log, mut model: M, most: usize, device: &Device) -> (M, Duration, Vec<f32>) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(args.seed);
    let (mut pairs, batch) = (log.train.clone(), args.batch as usize);
    let steps = (pairs.len().div_ceil(batch) * args.epochs as usize).min(most);
    let bar = progress(args.quiet, steps as u64, "steps");
    let (mut times, mut losses) = (Vec::with_capacity(steps), Vec::with_capacity(steps));
    for epoch in 1..=args.epochs {
        pairs.shuffle(&mut rng);
        let before = losses.len();
        for pairs in pairs.chunks(batch).take(steps - times.len()) {
            let users = pairs.iter().map(|&(user, _)| log.row(user));
            let taken = pairs.iter().map(|&(_, item)| item);
            // The items that were taken, then an item at random for each.
            let drawn = pairs.iter().map(|_| rng.random_range(0..log.items));
            let (users, items) = (ids(users, device), ids(taken.chain(drawn), device));
            let start = Instant::now();
            let loss;
            (model, loss) = model.step(args.lr, users, items);
            times.push(start.elapsed());
            losses.push(loss);
            bar.inc(1);
        }
        let of_epoch = &losses[before..];
        if of_epoch.is_empty() {
            break;
        }
        let loss = of_epoch.iter().sum::<f32>() / of_epoch.len() as f32;
        if !args.quiet {
            bar.suspend(|| say(&format!("{} epoch {epoch}: loss {loss:.4}", M::NAME)));
        }
    }
    bar.finish_and_clear();
    times.sort_unstable();
    (model, times[times.len() / 2], losses)
}

/// Recall of the test items among those that the model would recommend to the first users.
fn recall(log: &Log, model: &RowModel, device: &Device) -> Result<f64, String> {
    let plain = device.clone().inner();
    let tested = log.active().min(TESTED);
    let (users, _) = model.users.valid().select(ids((0..tested).map(|user| log.row(user)), &plain));
    let (items, _) = model.items.valid().select(ids(0..log.items, &plain));
    let [train, test] = [&log.train, &log.test].map(|pairs| log.matrix(pairs, tested, &plain));
    let recall = try_recall_at_k(users.matmul(items.transpose()), &test?, Some(&train?), TOP);
    recall.map_err(|trouble| trouble.to_string())
}

fn ids(list: impl Iterator<Item = usize>, device: &Device) -> Tensor<1, Int> {
    let list: Vec<i64> = list.map(|id| id as i64).collect();
    Tensor::from_ints(list.as_slice(), device)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
