//! Learns which features tell neighbours apart, by gradients through the propagation of labels: a linear system.
//!
//! The picture shows what is predicted with all features alike and with the learned ones, the loss, and the weights.
//!
//! ```text
//! cargo run --release --example label_propagation                    # three spirals among useless features
//! cargo run --release --example label_propagation -- --data PATH     # a graph in files: plain text, OGB, .npz ..
//! cargo run --release --example label_propagation -- --help
//! ```

#[path = "shared/console.rs"]
mod console;
#[path = "shared/data.rs"]
mod data;
#[path = "shared/numbers.rs"]
mod numbers;
#[path = "shared/picture.rs"]
mod picture;

use burn::module::Param;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Distribution, Tensor, TensorData};
use clap::Parser;
use console::{finish, progress, say};
use numbers::{above_zero, not_negative};
use picture::{make_folder, save};
use sparse_tensor::data::{Graph, Labels, Splits, knn_graph, random_split_per_class, try_to_undirected};
use sparse_tensor::extend::read_at;
use sparse_tensor::ops::Reduce;
use sparse_tensor::plot::{Plot, curves, grid, try_embedding, try_pca};
use sparse_tensor::solve::{Hints, Method, SolverConfig, jacobi};
use sparse_tensor::{CsrTensor, SparseError};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Classes, useless features, neighbours and labels of each class of the generated graph.
const SPIRALS: usize = 3;
const USELESS: usize = 4;
const NEIGHBOURS: usize = 10;
/// How widely the useless features are spread.
const WIDTH: f64 = 1.6;
const LABELLED: usize = 10;
/// Parts of the labelled nodes. Each is held out once in an epoch.
const PARTS: usize = 5;

/// Learns the metric of label propagation.
///
/// An edge has the weight `w_ij = exp(- sum_f s_f^2 (x_if - x_jf)^2)`. The labels `Y` of some nodes spread to all by
/// the solution of `(D - W + C + e I) P = C Y`, where `D` has the sums of the rows of `W` and `C` a 1 for each node
/// with a label (Zhu, Ghahramani and Lafferty 2003). The scales `s` of the features are trained: in each epoch every
/// labelled node is held out once, with a fifth of the others, and its cross-entropy has a gradient by one more solve,
/// however many iterations the propagation took. The last line of the output is `loss A to B; test accuracy C with
/// equal scales, D with learned ones, E ms/epoch`.
#[derive(Parser, Debug)]
#[command(name = "label_propagation")]
struct Args {
    /// Graph: a folder of plain text, Planetoid's raw folder, OGB's folder, or .npz
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Nodes of the generated graph
    #[arg(long, value_name = "N", default_value_t = 900, value_parser = clap::value_parser!(u32).range(60..=100_000))]
    nodes: u32,
    /// Steps of training
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    epochs: u32,
    /// Learning rate of Adam
    #[arg(long, default_value_t = 0.03, value_parser = above_zero)]
    lr: f64,
    /// How fast a label fades on its way: `e` above
    #[arg(long, default_value_t = 1e-3, value_parser = not_negative)]
    fading: f64,
    /// Folder for the picture, label_propagation.svg and label_propagation.png
    #[arg(long, value_name = "DIR", default_value = "target/label_propagation")]
    out: PathBuf,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

/// Points on three spirals, with useless features beside their coordinates, and the nearest neighbours of each in all
/// features.
fn spirals(nodes: usize, device: &Device) -> Result<Graph, SparseError> {
    device.seed(0);
    let noise: Vec<f64> = Tensor::<2>::random([nodes, 3 + USELESS], Distribution::Default, device)
        .into_data()
        .convert::<f64>()
        .iter()
        .collect();
    let (mut list, mut labels) = (vec![], vec![]);
    for (node, noise) in noise.chunks(3 + USELESS).enumerate() {
        let (class, along) = (node % SPIRALS, noise[0].sqrt());
        let angle = 4.5 * along + std::f64::consts::TAU * class as f64 / SPIRALS as f64;
        let radius = 0.1 + along;
        list.extend([radius * angle.cos() + 0.06 * (noise[1] - 0.5), radius * angle.sin() + 0.06 * (noise[2] - 0.5)]);
        list.extend(noise[3..].iter().map(|noise| WIDTH * (noise - 0.5)));
        labels.push(class as i64);
    }
    let points = Tensor::<2>::from_data(TensorData::new(list, [nodes, 2 + USELESS]).convert::<f32>(), device);
    let graph = knn_graph(points.clone().inner(), NEIGHBOURS, None);
    let train = random_split_per_class(&labels, LABELLED, 0, 0, 0)?.train;
    let test = (0..nodes).filter(|node| !train.contains(node)).collect();
    Ok(Graph {
        adjacency: try_to_undirected(&graph, Reduce::Amax)?.to_device(device),
        features: CsrTensor::try_from_dense(points)?,
        labels: Labels::from_list(&labels, None, device)?,
        splits: Splits { train, val: vec![], test },
    })
}

/// A graph made ready once.
struct Task {
    graph: Graph,
    /// `(x_if - x_jf)^2` for each edge, `[edges, features]`, so that their sum is 1 in the mean.
    differences: Tensor<2>,
    fading: f64,
}

impl Task {
    fn new(graph: Graph, fading: f64) -> Result<Self, SparseError> {
        let graph = Graph { adjacency: graph.adjacency.try_remove_self_loops()?, ..graph };
        let (pattern, features) = (graph.adjacency.pattern(), graph.features.try_to_dense()?);
        let differences = (read_at(pattern, 0, features.clone()) - read_at(pattern, 1, features)).square();
        let mean = differences.clone().sum_dim(1).mean();
        Ok(Self { differences: differences / mean.unsqueeze_dim(1), graph, fading })
    }

    /// The logarithm of what reaches each node, `[nodes, classes]`, from the nodes with a label.
    fn spread(&self, scales: Tensor<1>, labelled: &[usize]) -> Result<Tensor<2>, SparseError> {
        let Graph { adjacency, labels, .. } = &self.graph;
        let distances = self.differences.clone().matmul(scales.square().unsqueeze_dim(1));
        let weights = adjacency.try_with_values(distances.neg().exp().flatten::<1>(0, 1))?;
        let mut known = vec![0.0f32; labels.len()];
        labelled.iter().for_each(|&node| known[node] = 1.0);
        let known = Tensor::<1>::from_floats(known.as_slice(), &adjacency.device());
        let diagonal = weights.try_row_sums()? + known.clone().add_scalar(self.fading);
        let system = CsrTensor::try_from_diagonal(diagonal)?.try_sub(&weights)?;
        let preconditioner = jacobi(&system);
        let hints = Hints { preconditioner: Some(&preconditioner), ..Hints::default() };
        let solver = SolverConfig::new(Method::Cg).with_relative(1e-4);
        let found = solver.try_solve_with(&system, labels.one_hot() * known.unsqueeze_dim(1), hints)?;
        // What is less than the tolerance counts as nothing.
        Ok(found.x.clamp_min(1e-5).log())
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    finish(make_folder(&args.out).and_then(|()| run(&args)))
}

fn run(args: &Args) -> Result<(), String> {
    let device = Device::default().autodiff();
    let graph = match &args.data {
        Some(path) => data::open(path, args.quiet, &device)?,
        None => spirals(args.nodes as usize, &device).map_err(text)?,
    };
    let Splits { train, test, .. } = &graph.splits;
    if train.len() < PARTS || test.is_empty() {
        return Err(format!(
            "the graph must have at least {PARTS} training nodes and a test node, got {}",
            train.len()
        ));
    }
    if !args.quiet {
        let (nodes, edges, labelled) = (graph.nodes(), graph.edges(), train.len());
        say(&format!("{nodes} nodes, {edges} edges, {} features, {labelled} labels", graph.features.dims()[1]));
    }
    let (page, line) = learn(args, graph, &device).map_err(text)?;
    let saved = save(&page, &args.out, "label_propagation")?;
    if !args.quiet {
        say(&saved);
    }
    say(&line);
    Ok(())
}

/// The picture, and the last line.
fn learn(args: &Args, graph: Graph, device: &Device) -> Result<(Plot, String), SparseError> {
    let task = Task::new(graph, args.fading)?;
    let Splits { train, test, .. } = &task.graph.splits;
    let tested = task.graph.labelled(test)?;
    let part = |part: usize, inside: bool| -> Vec<usize> {
        let nodes = train.iter().enumerate().filter(|(at, _)| (at % PARTS == part) == inside);
        nodes.map(|(_, &node)| node).collect()
    };
    let mut scales = Param::from_tensor(Tensor::<1>::ones([task.differences.dims()[1]], device));
    let before = task.spread(scales.val(), train)?;
    let mut adam = AdamConfig::new().with_epsilon(1e-8).init();
    let bar = progress(args.quiet, u64::from(args.epochs), "epochs");
    let mut losses = vec![];
    let clock = Instant::now();
    for epoch in 0..args.epochs {
        let mut loss = Tensor::<1>::zeros([1], device);
        for held_out in 0..PARTS {
            let targets = task.graph.labelled(&part(held_out, true))?;
            loss = loss + targets.try_cross_entropy(task.spread(scales.val(), &part(held_out, false))?)?;
        }
        let loss = loss / PARTS as f64;
        losses.push(loss.clone().into_scalar::<f32>());
        let grads = GradientsParams::from_grads(loss.backward(), &scales);
        scales = adam.step(args.lr, scales, grads);
        bar.inc(1);
        bar.set_message(format!("epoch {epoch}: loss {:.3}", losses[losses.len() - 1]));
    }
    let time = clock.elapsed().as_secs_f64() * 1e3 / f64::from(args.epochs);
    bar.finish_and_clear();
    let after = task.spread(scales.val(), train)?;
    let (first, last) = (losses[0], losses[losses.len() - 1]);
    let [equal, learned] = [tested.try_accuracy(before.clone())?, tested.try_accuracy(after.clone())?];
    let line = format!(
        "loss {first:.3} to {last:.3}; test accuracy {equal:.3} with equal scales, {learned:.3} with learned ones, \
         {time:.1} ms/epoch"
    );
    let place = match args.data {
        Some(_) => try_pca(task.graph.features.try_to_dense()?)?,
        None => task.graph.features.try_to_dense()?.narrow(1, 0, 2),
    };
    let drawn = |logits: Tensor<2>, title: &str| -> Result<Plot, SparseError> {
        let predicted: Vec<i64> = logits.argmax(1).into_data().convert::<i64>().iter().collect();
        let plot = try_embedding(place.clone(), &predicted)?.with_title(title).with_rings(train, "label given");
        Ok(plot.with_axes("first coordinate", "second coordinate"))
    };
    let weights: Vec<f32> = scales.val().square().into_data().iter().collect();
    let plots = [
        drawn(before, &format!("Equal scales: {:.0} % right", 100.0 * equal))?,
        drawn(after, &format!("Learned scales: {:.0} % right", 100.0 * learned))?,
        curves(&[("loss", losses)]).with_title("Cross-entropy of labels held out").with_axes("epoch", ""),
        curves(&[("weight", weights)]).with_title("What a feature counts").with_axes("feature", "square of its scale"),
    ];
    Ok((grid(&plots, 2).with_size(520, 440), line))
}

fn text(trouble: SparseError) -> String {
    trouble.to_string()
}
