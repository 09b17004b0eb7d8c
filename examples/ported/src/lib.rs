//! What all programs share: the command line, the data, and loops of training.

mod graphs;
mod links;
mod nodes;

use clap::Parser;
use sparse_tensor::CsrTensor;
use sparse_tensor::data::{GeomFeatures, GeomGraph, Graph, read_folder, read_geom_gcn};
use sparse_tensor::nn::{dropout, row_normalization, sparse_dropout};
use std::env;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use burn::nn::DropoutConfig;
use burn::optim::AdamConfig;
use burn::optim::decay::WeightDecayConfig;
use burn::tensor::{Device, Tensor};

pub use graphs::{Batch, Sample, fit_graphs};
pub use links::{Pairs, encode};
pub use nodes::{Fitted, fit, fit_steps};

/// Anything that goes wrong.
pub type Trouble = Box<dyn std::error::Error>;

#[derive(Parser)]
struct Args {
    /// Number of runs, each from its own seed; of a set with folds or splits, each with its own
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    seeds: u64,
    /// A data set of the same kind, in place of the program's own: cora, citeseer; texas, wisconsin, cornell, film;
    /// MUTAG, PROTEINS, IMDB-BINARY ..
    #[arg(long, value_name = "NAME")]
    data: Option<String>,
    /// One seed and two epochs, to see whether the program works
    #[arg(long)]
    quick: bool,
}

/// One run of a program.
pub struct Run {
    /// From 0.
    pub seed: u64,
    /// Where the run computes, with gradients.
    pub device: Device,
    quick: bool,
    data: Option<String>,
}

/// Runs `program` from each seed. It gives the measure `what`: one number, or one for each epoch. Of several epochs
/// the one with the best mean over all runs counts, as in the papers on graph classification.
pub fn run(what: &str, program: impl Fn(&Run) -> Result<Vec<f64>, Trouble>) -> ExitCode {
    match try_run(&Args::parse(), what, program) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(trouble) => {
            eprintln!("error: {trouble}");
            ExitCode::FAILURE
        }
    }
}

fn try_run(args: &Args, what: &str, program: impl Fn(&Run) -> Result<Vec<f64>, Trouble>) -> Result<String, Trouble> {
    let (start, seeds) = (Instant::now(), if args.quick { 1 } else { args.seeds });
    let mut curves = vec![];
    for seed in 0..seeds {
        let run = Run { seed, device: Device::flex().autodiff(), quick: args.quick, data: args.data.clone() };
        run.device.seed(seed);
        let curve = program(&run)?;
        let last = curve.last().ok_or("a run must give a number")?;
        println!("seed {seed}: {last:.4}, {:.0} s", start.elapsed().as_secs_f64());
        curves.push(curve);
    }
    let at = |epoch: usize| mean_std(&curves.iter().map(|curve| curve[epoch]).collect::<Vec<_>>());
    let epochs = curves[0].len();
    let best = (0..epochs).max_by(|&a, &b| at(a).0.total_cmp(&at(b).0)).unwrap_or(0);
    let ((mean, std), (last, last_std)) = (at(best), at(epochs - 1));
    let note = match epochs {
        1 => String::new(),
        _ => format!(" (epoch {} of {epochs}; the last one: {last:.4} std {last_std:.4})", best + 1),
    };
    let seconds = start.elapsed().as_secs_f64();
    Ok(format!("{what}: mean {mean:.4} std {std:.4} over {seeds} seeds{note}, {seconds:.0} s"))
}

/// The mean, and the standard deviation of a sample (0 for a single number).
fn mean_std(numbers: &[f64]) -> (f64, f64) {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let squares: f64 = numbers.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, (squares / numbers.len().saturating_sub(1).max(1) as f64).sqrt())
}

impl Run {
    /// `all` epochs, or two of a quick run.
    pub fn epochs(&self, all: usize) -> usize {
        if self.quick { all.min(2) } else { all }
    }

    /// A graph with its nodes in three splits, and features as they are: `cora` or `citeseer`, or, with edges made
    /// undirected, a graph of [`geom`](Self::geom) and its split of this run.
    pub fn graph(&self, name: &str) -> Result<Graph, Trouble> {
        match self.data.as_deref().unwrap_or(name) {
            name @ ("cora" | "citeseer") => Ok(read_folder(folder(name)?, &self.device)?),
            name => Ok(self.geom(name)?.to_graph(self.split())?),
        }
    }

    /// The same with rows of features that sum to 1.
    pub fn normal_graph(&self, name: &str) -> Result<Graph, Trouble> {
        let graph = self.graph(name)?;
        Ok(Graph { features: row_normalization(&graph.features), ..graph })
    }

    /// A directed graph of Geom-GCN: `texas`, `wisconsin`, `cornell` or `film`.
    pub fn geom(&self, name: &str) -> Result<GeomGraph, Trouble> {
        let name = self.data.as_deref().unwrap_or(name);
        let features = if name == "film" { GeomFeatures::Ids } else { GeomFeatures::Values };
        Ok(read_geom_gcn(folder(&format!("geom/{name}"))?, features, &self.device)?)
    }

    /// Which of ten splits or folds this run has.
    pub fn split(&self) -> usize {
        (self.seed % 10) as usize
    }
}

/// A folder in `SPARSE_DATA_DIR`.
fn folder(name: &str) -> Result<PathBuf, Trouble> {
    let data = env::var_os("SPARSE_DATA_DIR").ok_or_else(|| {
        format!("SPARSE_DATA_DIR must name the folder of the data, which has `{name}`; see README.md")
    })?;
    let path = PathBuf::from(data).join(name);
    match path.is_dir() {
        true => Ok(path),
        false => Err(format!("{}: there is no such folder; README.md says what goes into it", path.display()).into()),
    }
}

/// PyTorch's Adam with an L2 penalty.
pub fn adam(decay: f32) -> AdamConfig {
    let penalty = (decay > 0.0).then(|| WeightDecayConfig::new(decay));
    AdamConfig::new().with_epsilon(1e-8).with_weight_decay(penalty)
}

/// Dropout in training, that is, on an autodiff device.
pub fn drop<const D: usize>(x: Tensor<D>, p: f64) -> Tensor<D> {
    dropout(x, &DropoutConfig::new(p).init())
}

/// The same of stored values.
pub fn drop_sparse(x: &CsrTensor<2>, p: f64) -> CsrTensor<2> {
    if x.device().is_autodiff() { sparse_dropout(x, p) } else { x.clone() }
}
