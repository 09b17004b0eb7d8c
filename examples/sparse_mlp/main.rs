//! Trains a network of which a tenth of the weights exist, and its dense counterpart, step by step beside each other.
//!
//! ```text
//! cargo run --release --example sparse_mlp                         # RigL at 90 % sparsity
//! cargo run --release --example sparse_mlp -- --method magnitude   # starts dense, and is pruned
//! cargo run --release --example sparse_mlp -- --sparsity 0.98 --hidden 1024
//! ```
//!
//! The picture shows both losses, and which weights of the first layer exist in the end.

#[path = "../shared/console.rs"]
mod console;
mod dense;
#[path = "../shared/numbers.rs"]
mod numbers;
#[path = "../shared/picture.rs"]
mod picture;
mod sparse;
#[path = "../shared/statistics.rs"]
mod statistics;
mod task;

use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor};
use clap::Parser;
use console::{finish, progress, say};
use dense::Dense;
use numbers::above_zero;
use picture::{make_folder, save};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use sparse::{Method, Sparse};
use sparse_tensor::plot::{curves, grid};
use statistics::mean_std;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use task::{CLASSES, FEATURES, Part, Task};

/// Trains a classifier with sparse weights whose pattern changes, and one with dense weights.
///
/// Both have two hidden layers and see the same batches of a generated task: points around random centres, in a space
/// where most of the features say nothing. The last layer is dense in both; the share of weights that are stored counts
/// it. The picture shows both losses, as means of the runs, and the pattern of the first layer after the first run: the
/// first 32 features are those that say something. The last line of the output is `test accuracy: sparse S dense D,
/// difference P points over N seeds, sparsity Q; step: sparse A ms, dense B ms`.
#[derive(Parser, Debug)]
#[command(name = "sparse_mlp")]
struct Args {
    /// How the pattern changes
    #[arg(long, value_enum, default_value_t = Method::Rigl)]
    method: Method,
    /// The share of all weights that are not stored at the end, in (0, 1)
    #[arg(long, default_value_t = 0.9)]
    sparsity: f64,
    /// Units of each hidden layer
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    hidden: u32,
    /// Passes over the training points
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    epochs: u32,
    /// Points in a step
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    batch: u32,
    /// Number of runs, each with its own task and start
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: u32,
    /// Learning rate of Adam
    #[arg(long, default_value_t = 0.004, value_parser = above_zero)]
    lr: f64,
    /// Folder for the picture, sparse_mlp.svg and sparse_mlp.png
    #[arg(long, value_name = "DIR", default_value = "target/sparse_mlp")]
    out: PathBuf,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

/// The mean cross-entropy.
fn loss(logits: Tensor<2>, classes: Tensor<1, Int>) -> Tensor<1> {
    log_softmax(logits, 1).gather(1, classes.unsqueeze_dim(1)).mean().neg()
}

/// The share of points whose class has the largest logit.
fn accuracy(logits: Tensor<2>, classes: &Tensor<1, Int>) -> f64 {
    let right = logits.argmax(1).equal(classes.clone().unsqueeze_dim(1)).int().sum().into_scalar::<i64>();
    right as f64 / classes.dims()[0] as f64
}

fn main() -> ExitCode {
    finish(run(&Args::parse()))
}

fn run(args: &Args) -> Result<(), String> {
    let device = Device::default().autodiff();
    make_folder(&args.out)?;
    let steps = task::TRAIN.div_ceil(args.batch as usize) * args.epochs as usize;
    let bar = progress(args.quiet, steps as u64 * u64::from(args.seeds), "steps");
    let (mut accuracies, mut times, mut sparsity) = ([vec![], vec![]], [vec![], vec![]], 0.0);
    // The mean loss of each epoch over all steps and runs.
    let mut losses = [vec![0.0; args.epochs as usize], vec![0.0; args.epochs as usize]];
    let share = f64::from(args.epochs) / (steps as f64 * f64::from(args.seeds));
    let mut pattern = None;
    for seed in 0..u64::from(args.seeds) {
        let task = Task::generate(seed);
        device.seed(seed);
        let sizes = [FEATURES, args.hidden as usize, args.hidden as usize, CLASSES];
        let mut sparse = Sparse::new(sizes, args.method, args.sparsity, steps, seed, &device)?;
        let mut dense = Dense::new(sizes, &device);
        let mut order: Vec<usize> = (0..task::TRAIN).collect();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        for epoch in 0..args.epochs as usize {
            order.shuffle(&mut rng);
            for chosen in order.chunks(args.batch as usize) {
                let batch = task.train.batch(chosen, &device);
                let (time, (next, sparse_loss)) = timed(&device, || sparse.step(args.lr, batch.clone()));
                sparse = next;
                times[0].push(time);
                let (time, (next, dense_loss)) = timed(&device, || dense.step(args.lr, batch));
                dense = next;
                times[1].push(time);
                for (losses, loss) in losses.iter_mut().zip([sparse_loss, dense_loss]) {
                    losses[epoch] += share * loss.into_scalar::<f64>();
                }
                bar.inc(1);
            }
        }
        let Part { points, classes } = task.test.all(&device.clone().inner());
        let of_seed = [sparse.logits(points.clone()), dense.logits(points)].map(|logits| accuracy(logits, &classes));
        if !args.quiet {
            let [sparse, dense] = of_seed;
            bar.suspend(|| say(&format!("seed {seed}: test accuracy sparse {sparse:.4} dense {dense:.4}")));
        }
        accuracies.iter_mut().zip(of_seed).for_each(|(all, one)| all.push(one));
        sparsity = sparse.sparsity();
        if pattern.is_none() {
            pattern = Some(sparse.picture().map_err(|trouble| trouble.to_string())?);
        }
    }
    bar.finish_and_clear();
    let [of_sparse, of_dense] = &losses;
    let loss = curves(&[("sparse", of_sparse), ("dense", of_dense)]).with_title("Training loss");
    let mut plots = vec![loss.with_axes("epoch", "cross-entropy")];
    plots.extend(pattern);
    let saved = save(&grid(&plots, 2).with_size(640, 400), &args.out, "sparse_mlp")?;
    if !args.quiet {
        say(&saved);
    }
    let [(sparse, sparse_std), (dense, dense_std)] = accuracies.map(|all| mean_std(&all));
    let [sparse_ms, dense_ms] = times.map(median_ms);
    let (seeds, points) = (args.seeds, 100.0 * (sparse - dense));
    let measured = format!("step: sparse {sparse_ms:.3} ms, dense {dense_ms:.3} ms");
    say(&format!(
        "test accuracy: sparse {sparse:.4} std {sparse_std:.4} dense {dense:.4} std {dense_std:.4}, difference \
         {points:+.2} points over {seeds} seeds, sparsity {sparsity:.3}; {measured}"
    ));
    Ok(())
}

/// The time of a step, to its end on the device too.
fn timed<T>(device: &Device, step: impl FnOnce() -> T) -> (Duration, T) {
    let _ = device.sync();
    let start = Instant::now();
    let result = step();
    let _ = device.sync();
    (start.elapsed(), result)
}

fn median_ms(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}
