//! The command line.

use crate::numbers::{above_zero, not_negative, probability};
use clap::Parser;
use std::path::PathBuf;

/// Trains GraphSAGE in batches of nodes, each with a few sampled neighbours, so that the graph may be large.
///
/// Without --data the graph is generated: blocks of nodes with more edges inside than between them, and noisy features.
/// --data takes the files of a graph as they are downloaded and unpacked; an .npz file is one of Shchur et al. (2018),
/// of which 20 nodes of each class are for training and 30 for validation. Worker threads draw the batches ahead. After
/// each epoch the model is measured on the whole graph, with all neighbours; the one with the best validation accuracy
/// is tested. The picture shows the loss, and the predictions of the first run for at most 3000 of the nodes: the
/// principal components of the logits, in the colours of the true classes. The last line of the output is `test
/// accuracy: mean M std S over N seeds, E ms/epoch, waiting for batches W %, peak memory G GB`. An epoch is the
/// training alone.
#[derive(Parser, Debug)]
#[command(name = "graphsage")]
pub(crate) struct Args {
    /// Graph: a folder of plain text, Planetoid's raw folder, OGB's folder, or .npz
    #[arg(long, value_name = "PATH", conflicts_with = "generate")]
    pub(crate) data: Option<PathBuf>,
    /// Size of the generated graph; an edge counts once
    #[arg(long, num_args = 2, value_names = ["NODES", "EDGES"], default_values_t = [4_000, 20_000])]
    #[arg(value_parser = clap::value_parser!(u64).range(10..=1_000_000_000))]
    pub(crate) generate: Vec<u64>,
    /// Blocks of the generated graph, which are its classes
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub(crate) blocks: u32,
    /// Features of the generated nodes
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) features: u32,
    /// Number of runs, each from its own seed
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) seeds: u32,
    /// Epochs of a run [default: 10, with --data 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) epochs: Option<u32>,
    /// Nodes in a batch [default: 256, with --data 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) batch: Option<u32>,
    /// How many neighbours each hop draws, from the nodes of the batch outwards; a number for each layer
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [10, 10])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) fan_outs: Vec<u32>,
    /// Threads that draw batches ahead; 0 draws each batch when it is needed
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=1_024))]
    pub(crate) workers: u32,
    /// Size of the hidden layers
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) hidden: u32,
    /// Learning rate of Adam
    #[arg(long, default_value_t = 0.01, value_parser = above_zero)]
    pub(crate) lr: f64,
    /// Dropout of the features and of the hidden layers
    #[arg(long, default_value_t = 0.5, value_parser = probability)]
    pub(crate) dropout: f64,
    /// L2 penalty
    #[arg(long, default_value_t = 5e-4, value_parser = not_negative)]
    pub(crate) weight_decay: f64,
    /// Folder for the picture, graphsage.svg and graphsage.png
    #[arg(long, value_name = "DIR", default_value = "target/graphsage")]
    pub(crate) out: PathBuf,
    /// Print the last line only
    #[arg(long)]
    pub(crate) quiet: bool,
}

impl Args {
    pub(crate) fn epochs(&self) -> u32 {
        self.epochs.unwrap_or(if self.data.is_some() { 60 } else { 10 })
    }

    pub(crate) fn batch(&self) -> usize {
        self.batch.unwrap_or(if self.data.is_some() { 32 } else { 256 }) as usize
    }
}
