//! Tells graphs apart that message passing cannot: eigenvectors of the Laplacian say where a node is.
//!
//! The graphs are circular skip links: a ring of 41 nodes, and a second edge of each node that skips as many nodes as
//! its class says. All nodes have four neighbours, and no layer that starts with equal features sees a difference.
//!
//! ```text
//! cargo run --release --features direct --example positional_encoding
//! cargo run --release --features direct --example positional_encoding -- --epochs 30 --seeds 1    # seconds
//! cargo run --release --features direct --example positional_encoding -- --help
//! ```
//!
//! The picture shows encodings of two graphs, the accuracy, and what the network has learned of each test graph.

#[path = "shared/console.rs"]
mod console;
#[path = "shared/numbers.rs"]
mod numbers;
#[path = "shared/picture.rs"]
mod picture;

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Distribution, Int, Tensor, TensorData};
use clap::Parser;
use console::{finish, progress, say};
use numbers::above_zero;
use picture::{make_folder, save};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{SeedableRng, seq::SliceRandom};
use sparse_tensor::data::{GraphBatch, random_walk_encoding};
use sparse_tensor::nn::{GinConv, GinConvConfig, Mlp, MlpConfig, global_mean_pool, try_symmetric_normalization};
use sparse_tensor::ops::IndexPlan;
use sparse_tensor::plot::{Plot, curves, grid, heatmap, try_embedding, try_pca};
use sparse_tensor::solve::EigshConfig;
use sparse_tensor::{CsrTensor, SparseError};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Nodes of a graph, and how far the second edge of a node reaches: a class for each (Murphy et al. 2019).
const NODES: usize = 41;
const SKIPS: [usize; 10] = [2, 3, 4, 5, 6, 9, 11, 12, 13, 16];
/// What nodes get beside a feature that is 1 for all.
const ENCODINGS: [&str; 3] = ["no encoding", "random walks", "Laplacian"];

/// Classifies circular skip links by a graph isomorphism network (GIN), with and without positional encodings.
///
/// The encodings are the eigenvectors of the smallest eigenvalues of `I - D^-1/2 A D^-1/2`, but for the first one, and
/// their signs are drawn anew in each epoch (Dwivedi et al. 2020). Beside it: the probabilities that a random walk is
/// back. The graphs of a class are the same graph, with nodes numbered in another order, and so with another basis for
/// equal eigenvalues. The test is on orders that the network has not seen, after the last epoch. The last line of the
/// output is `test accuracy: no encoding A, random walks B, Laplacian C, over N seeds; T ms for the eigenvectors of a
/// graph, E ms/epoch`.
#[derive(Parser, Debug)]
#[command(name = "positional_encoding")]
struct Args {
    /// Graphs of each class, for training and as many for testing
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    graphs: u32,
    /// Numbers of an encoding
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=40))]
    size: u32,
    /// Number of runs, each from its own seed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    seeds: u32,
    /// Epochs of a run
    #[arg(long, value_name = "N", default_value_t = 150, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    epochs: u32,
    /// Learning rate of Adam
    #[arg(long, default_value_t = 0.005, value_parser = above_zero)]
    lr: f64,
    /// Folder for the picture, positional_encoding.svg and positional_encoding.png
    #[arg(long, value_name = "DIR", default_value = "target/positional_encoding")]
    out: PathBuf,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

/// Three layers of GIN, the means over the nodes of a graph, and a linear map.
#[derive(Module, Debug)]
struct Network {
    layers: Vec<GinConv<Mlp>>,
    out: Linear,
}

impl Network {
    fn new(features: usize, device: &Device) -> Self {
        let layer = |size| GinConvConfig::new().init(MlpConfig::new(vec![size, 64, 64]).init(device), device);
        let layers = [features, 64, 64].map(layer).into();
        Self { layers, out: LinearConfig::new(64, SKIPS.len()).init(device) }
    }

    /// Features `[graphs, 64]`.
    fn pooled(&self, set: &Set, x: Tensor<2>) -> Tensor<2> {
        let x = self.layers.iter().fold(x, |x, layer| relu(layer.forward(set.batch.adjacency(), x)));
        global_mean_pool(x, &set.graphs)
    }

    fn logits(&self, set: &Set, x: Tensor<2>) -> Tensor<2> {
        self.out.forward(self.pooled(set, x))
    }
}

/// A circular skip link, with its nodes in this order.
fn skip_link(skip: usize, order: &[usize], device: &Device) -> Result<CsrTensor<2>, SparseError> {
    let pairs = (0..NODES).flat_map(|node| [(node, (node + 1) % NODES), (node, (node + skip) % NODES)]);
    let edges: Vec<(usize, usize)> =
        pairs.map(|(a, b)| (order[a], order[b])).flat_map(|(a, b)| [(a, b), (b, a)]).collect();
    CsrTensor::from_edges(&edges, Tensor::<1>::ones([edges.len()], device), NODES)
}

/// The eigenvectors `[nodes, size]` of the smallest eigenvalues of the normalised Laplacian, without the first one,
/// whose entries are all alike. They are scaled to entries of about 1.
fn laplacian_encoding(adjacency: &CsrTensor<2>, size: usize) -> Result<Tensor<2>, SparseError> {
    let nodes = adjacency.dims()[0];
    let laplacian =
        CsrTensor::eye(nodes, &adjacency.device()).try_sub(&try_symmetric_normalization(adjacency, false)?)?;
    let pairs = EigshConfig::new(size + 1).try_solve(&laplacian)?;
    Ok(pairs.vectors.narrow(1, 1, size) * (nodes as f64).sqrt())
}

/// Graphs of all classes as one, with their encodings.
struct Set {
    batch: GraphBatch,
    graphs: IndexPlan,
    classes: Tensor<1, Int>,
    /// As in `ENCODINGS`, each `[nodes, any]`.
    encodings: [Tensor<2>; 3],
    /// For the eigenvectors of a graph.
    ms: f64,
}

impl Set {
    fn new(args: &Args, rng: &mut Xoshiro256PlusPlus, device: &Device) -> Result<Self, SparseError> {
        let (size, mut order) = (args.size as usize, (0..NODES).collect::<Vec<_>>());
        let classes: Vec<i64> = (0..i64::from(args.graphs) * 10).map(|graph| graph % 10).collect();
        let mut draw = |&class: &i64| {
            order.shuffle(rng);
            skip_link(SKIPS[class as usize], &order, device)
        };
        let graphs: Vec<_> = classes.iter().map(&mut draw).collect::<Result<_, _>>()?;
        let walks = graphs.iter().map(|graph| random_walk_encoding(graph, size)).collect();
        let clock = Instant::now();
        let vectors = graphs.iter().map(|graph| laplacian_encoding(graph, size)).collect::<Result<_, _>>()?;
        let ms = clock.elapsed().as_secs_f64() * 1e3 / graphs.len() as f64;
        let none = Tensor::zeros([graphs.len() * NODES, 0], device);
        let batch = GraphBatch::new(&graphs)?;
        Ok(Self {
            graphs: IndexPlan::new(batch.graph_ids(), batch.graphs())?,
            classes: Tensor::from_data(TensorData::new(classes, [graphs.len()]), device),
            encodings: [none, Tensor::cat(walks, 0), Tensor::cat(vectors, 0)],
            batch,
            ms,
        })
    }

    /// A feature that is 1, and an encoding: of eigenvectors with random signs for each graph, if `flip` says so.
    fn features(&self, encoding: usize, flip: bool) -> Tensor<2> {
        let x = self.encodings[encoding].clone();
        let ones = Tensor::ones([x.dims()[0], 1], &x.device());
        if !flip || encoding != 2 {
            return Tensor::cat(vec![ones, x], 1);
        }
        let coins = Tensor::random([self.batch.graphs(), x.dims()[1]], Distribution::Bernoulli(0.5), &x.device());
        Tensor::cat(vec![ones, x * self.graphs.select(coins * 2.0 - 1.0, 0)], 1)
    }
}

/// What a run leaves: the accuracy on the test graphs after each epoch, and the network.
struct Run {
    accuracies: Vec<f64>,
    network: Network,
}

fn train(args: &Args, encoding: usize, [training, test]: [&Set; 2], device: &Device, heard: impl Fn()) -> Run {
    let known = test.features(encoding, false);
    let mut network = Network::new(known.dims()[1], device);
    let mut adam = AdamConfig::new().with_epsilon(1e-8).init();
    let cross_entropy = CrossEntropyLossConfig::new().init(device);
    let mut accuracies = vec![];
    for _ in 0..args.epochs {
        let logits = network.logits(training, training.features(encoding, true));
        let loss = cross_entropy.forward(logits, training.classes.clone());
        let grads = GradientsParams::from_grads(loss.backward(), &network);
        network = adam.step(args.lr, network, grads);
        let guess = network.valid().logits(test, known.clone()).argmax(1).squeeze_dim::<1>(1);
        accuracies.push(guess.equal(test.classes.clone()).float().mean().into_scalar::<f64>());
        heard();
    }
    Run { accuracies, network: network.valid() }
}

fn main() -> ExitCode {
    let args = Args::parse();
    finish(make_folder(&args.out).and_then(|()| run(&args)))
}

fn run(args: &Args) -> Result<(), String> {
    let (page, line) = compare(args).map_err(|trouble| trouble.to_string())?;
    let saved = save(&page, &args.out, "positional_encoding")?;
    if !args.quiet {
        say(&saved);
    }
    say(&line);
    Ok(())
}

/// The picture, and the last line.
fn compare(args: &Args) -> Result<(Plot, String), SparseError> {
    let device = Device::default().autodiff();
    let plain = device.clone().inner();
    let bar = progress(args.quiet, u64::from(args.seeds) * u64::from(args.epochs) * 3, "epochs");
    let (mut finals, mut first, mut ms, mut seconds) = ([0.0; 3], None, 0.0, 0.0);
    for seed in 0..u64::from(args.seeds) {
        device.seed(seed);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (training, test) = (Set::new(args, &mut rng, &device)?, Set::new(args, &mut rng, &plain)?);
        let clock = Instant::now();
        let runs = [0, 1, 2].map(|encoding| train(args, encoding, [&training, &test], &device, || bar.inc(1)));
        (ms, seconds) = (ms + test.ms, seconds + clock.elapsed().as_secs_f64());
        let tests = [0, 1, 2].map(|at: usize| runs[at].accuracies[args.epochs as usize - 1]);
        tests.iter().zip(&mut finals).for_each(|(test, sum)| *sum += test / f64::from(args.seeds));
        if !args.quiet {
            let [none, walks, vectors] = tests;
            let line = format!("seed {seed}: no encoding {none:.3}, random walks {walks:.3}, Laplacian {vectors:.3}");
            bar.suspend(|| say(&line));
        }
        first.get_or_insert((runs, test));
    }
    bar.finish_and_clear();

    let order: Vec<usize> = (0..NODES).collect();
    let encodings = |class: usize| -> Result<_, SparseError> {
        let encoding = laplacian_encoding(&skip_link(SKIPS[class], &order, &plain)?, args.size as usize)?;
        let title = format!("Encodings of the graph that skips {}", SKIPS[class]);
        Ok(heatmap(encoding.transpose(), Some((-1.5, 1.5))).with_title(&title).with_axes("node on the ring", "vector"))
    };
    let mut plots = vec![encodings(0)?, encodings(9)?];
    if let Some((runs, test)) = first {
        let series: Vec<_> = ENCODINGS.iter().zip(&runs).map(|(name, run)| (*name, &run.accuracies)).collect();
        plots.push(curves(&series).with_title("Accuracy on test graphs, first run").with_axes("epoch", "accuracy"));
        let points = try_pca(runs[2].network.pooled(&test, test.features(2, false)))?;
        let classes: Vec<i64> = test.classes.to_data().convert::<i64>().iter().collect();
        let names = SKIPS.map(|skip| format!("skips {skip}"));
        plots.push(try_embedding(points, &classes)?.with_title("Test graphs, with the Laplacian").with_names(&names));
    }
    let ([none, walks, vectors], seeds) = (finals, f64::from(args.seeds));
    let (graph, epoch) = (ms / seeds, seconds * 1e3 / seeds / 3.0 / f64::from(args.epochs));
    let line = format!(
        "test accuracy: no encoding {none:.3}, random walks {walks:.3}, Laplacian {vectors:.3}, over {seeds} seeds; \
         {graph:.2} ms for the eigenvectors of a graph, {epoch:.2} ms/epoch"
    );
    Ok((grid(&plots, 2).with_size(480, 400), line))
}
