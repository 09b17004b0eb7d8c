//! What a graph looks like, which nodes matter, and how heat flows through it: algorithms and a sparse linear system.
//!
//! ```text
//! cargo run --release --example pagerank                       # Zachary's karate club
//! cargo run --release --example pagerank -- --nodes 100000     # a generated graph
//! cargo run --release --example pagerank -- --data edges.csv   # a line "from,to" or "from,to,weight" for each edge
//! cargo run --release --example pagerank -- --data graph.mtx   # Matrix Market, also .mtx.gz
//! cargo run --release --example pagerank -- --data graph.npz   # a sparse matrix of SciPy
//! ```
//!
//! The picture shows the degrees, the adjacency in two orders, and for a small graph the flow of rank.

#[path = "shared/adjacency.rs"]
mod adjacency;
#[path = "shared/console.rs"]
mod console;
#[path = "shared/data.rs"]
mod data;
#[path = "shared/picture.rs"]
mod picture;

use adjacency::{is_labelled, open};
use burn::tensor::{Device, Int, Tensor};
use clap::Parser;
use console::{finish, say};
use picture::{make_folder, save};
use sparse_tensor::data::{
    Connection, PageRankConfig, Reordering, bfs_levels, connected_components, degree_histogram, karate,
    stochastic_block_model, triangle_counts, try_to_undirected,
};
use sparse_tensor::io::edge_list::Options;
use sparse_tensor::ops::Reduce;
use sparse_tensor::plot::{Plot, grid, histogram, try_attention, try_spy};
use sparse_tensor::solve::{Method, SolverConfig};
use sparse_tensor::{CsrTensor, SparseError};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Nodes and edges that are printed.
const SHOWN: usize = 5;
/// Nodes of a graph that is drawn with its edges.
const LARGEST: usize = 500;

/// Ranks the nodes of a graph, counts its components and triangles, and lets heat flow through it.
///
/// PageRank follows the edges from node to node; for everything else edges count in both directions. The heat `x`
/// solves `(D - A + I) x = b` with the weights `A`, the degrees `D` and a source `b` of 1 at the first node of the
/// ranking. The solution has a gradient: it says which edges, if they were stronger, would bring the most heat to the
/// node that is farthest away. The picture shows the degrees, the adjacency as it was given and in the reverse
/// Cuthill-McKee order, which brings neighbours together, and for at most 500 nodes the rank that flows along each
/// edge. The last line of the output is `PageRank T ms; first node N rank R; components C; triangles K; heat S ms,
/// residual E`.
#[derive(Parser, Debug)]
#[command(name = "pagerank")]
struct Args {
    /// An edge list (a line "from to" or "from to weight" for each edge; csv, tsv or spaces, also .gz), a matrix (.mtx,
    /// .mtx.gz, or .npz of SciPy) with the edges from a node in its row, or a graph with features and labels: a folder
    /// of plain text (with adjacency.mtx), of Planetoid or of OGB, or an .npz file with adj_indices, attr_indices and
    /// labels
    #[arg(long, value_name = "PATH", conflicts_with = "nodes")]
    data: Option<PathBuf>,
    /// The nodes of the edge list are names, or numbers with gaps
    #[arg(long, requires = "data")]
    names: bool,
    /// Generate a graph of so many nodes, in communities of 100
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    nodes: Option<u32>,
    /// The probability to follow an edge instead of jumping, in [0, 1]
    #[arg(long, default_value_t = 0.85)]
    damping: f64,
    /// Folder for the picture, pagerank.svg and pagerank.png
    #[arg(long, value_name = "DIR", default_value = "target/pagerank")]
    out: PathBuf,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

/// A graph with directed edges, and the names of its nodes if they have any.
struct Input {
    adjacency: CsrTensor<2>,
    names: Vec<String>,
}

impl Input {
    fn new(args: &Args, device: &Device) -> Result<Self, String> {
        if let Some(path) = &args.data {
            if is_labelled(path) {
                return Ok(Self { adjacency: data::open(path, args.quiet, device)?.adjacency, names: vec![] });
            }
            let options = if args.names { Options::new().with_names() } else { Options::new() };
            let opened = open(path, &options, args.quiet, device).and_then(|opened| opened.into_graph(device));
            let (adjacency, names) = opened.map_err(message)?;
            return Ok(Self { adjacency, names });
        }
        let adjacency = match args.nodes {
            None => karate(device).adjacency,
            Some(nodes) => {
                let nodes = nodes as usize;
                let sizes: Vec<usize> = (0..nodes).step_by(100).map(|first| (nodes - first).min(100)).collect();
                stochastic_block_model(&sizes, 0.1, 2.0 / nodes as f64, 0, device).map_err(message)?.adjacency
            }
        };
        Ok(Self { adjacency, names: vec![] })
    }

    fn name(&self, node: usize) -> String {
        self.names.get(node).cloned().unwrap_or_else(|| node.to_string())
    }
}

/// Degrees, adjacency and, for a small graph, the flow of rank. `both` has the edges in both directions.
fn draw(graph: &Input, both: &CsrTensor<2>, ranks: &[f64], first: &[usize]) -> Result<Plot, SparseError> {
    let order = Reordering::reverse_cuthill_mckee(both)?;
    let (given, ordered) = (try_spy(both)?, try_spy(&order.try_adjacency(both)?)?);
    let mut plots = vec![
        histogram(&degree_histogram(both)).with_title("Degrees").with_axes("degree", "nodes"),
        given.with_title("Adjacency as given").with_axes("node", "node"),
        ordered.with_title("In reverse Cuthill-McKee order").with_axes("place", "place"),
    ];
    if ranks.len() <= LARGEST {
        // A node gives its rank away along its edges, by their weights.
        let rank: Vec<f32> = ranks.iter().map(|&rank| rank as f32).collect();
        let rank = Tensor::<1>::from_floats(rank.as_slice(), &both.device());
        let weights = graph.adjacency.try_row_sums()?;
        let share = (rank / weights.clone()).mask_fill(weights.equal_elem(0.0), 0.0);
        let flow = graph.adjacency.try_mul_dense(share.unsqueeze_dim(1))?.try_transpose()?;
        // With both directions of each edge.
        let flow = flow.try_add(&both.mul_scalar(0.0))?;
        let mean = 1.0 / ranks.len() as f64;
        let classes: Vec<i64> = ranks.iter().map(|&rank| i64::from(rank < mean)).collect();
        let plot = try_attention(&flow, &classes)?
            .with_title("PageRank")
            .with_axes("half a line: how much rank the node at this end gets from the other", "")
            .with_names(&["rank above the mean", "below"])
            .with_rings(&first[..SHOWN.min(first.len())], "highest ranks");
        plots.push(plot);
    }
    let columns = if plots.len() == 4 { 2 } else { 3 };
    Ok(grid(&plots, columns).with_size(640, 500))
}

fn message(trouble: SparseError) -> String {
    trouble.to_string()
}

fn main() -> ExitCode {
    finish(run(&Args::parse()))
}

fn run(args: &Args) -> Result<(), String> {
    make_folder(&args.out)?;
    let device = Device::default().autodiff();
    let graph = Input::new(args, &device)?;
    let (plot, line) = study(args, &graph, &device).map_err(message)?;
    let saved = save(&plot, &args.out, "pagerank")?;
    if !args.quiet {
        say(&saved);
    }
    say(&line);
    Ok(())
}

/// The picture, and the last line.
fn study(args: &Args, graph: &Input, device: &Device) -> Result<(Plot, String), SparseError> {
    let tell = |line: String| {
        if !args.quiet {
            say(&line)
        }
    };
    let nodes = graph.adjacency.dims()[0];
    if graph.adjacency.nnz() == 0 {
        let message = format!("the graph must have edges, got {nodes} nodes and none");
        return Err(SparseError::Invalid { op: "pagerank", message });
    }
    let both = try_to_undirected(&graph.adjacency, Reduce::Amax)?.try_remove_self_loops()?;
    let (components, triangles) = (connected_components(&both, Connection::Weak), triangle_counts(&both));
    let (count, corners) = (components.count, numbers(triangles.clone()));
    let total = corners.iter().sum::<i64>() / 3;
    tell(format!("{nodes} nodes, {} edges, components: {count}, triangles: {total}", both.nnz() / 2));
    for (low, nodes) in by_doubling(&degree_histogram(&both)) {
        let high = (2 * low).saturating_sub(1);
        let degrees = if low < high { format!("degrees {low} to {high}") } else { format!("degree {low}") };
        tell(format!("  {degrees}: {nodes} nodes"));
    }

    let start = Instant::now();
    let ranks = PageRankConfig::new().with_damping(args.damping).try_ranks(&graph.adjacency, None)?;
    let ranks: Vec<f64> = ranks.into_data().convert::<f64>().iter().collect();
    let rank_ms = start.elapsed().as_secs_f64() * 1e3;
    let first = best(&ranks);
    for &node in first.iter().take(SHOWN) {
        tell(format!("  node {}: rank {:.3e}, in {} triangles", graph.name(node), ranks[node], corners[node]));
    }

    let (source, target) = (first[0], farthest(&both, first[0]));
    let edges = both.clone().require_grad();
    let mut heat = vec![0.0f32; nodes];
    heat[source] = 1.0;
    let b = Tensor::<1>::from_floats(heat.as_slice(), device);
    let start = Instant::now();
    let system = CsrTensor::try_from_diagonal(edges.try_row_sums()?.add_scalar(1.0))?.try_sub(&edges)?;
    let x = SolverConfig::new(Method::Cg).try_solve(&system, b.clone())?;
    let solve_ms = start.elapsed().as_secs_f64() * 1e3;
    let residual = (system.try_matmul(x.clone())? - b).abs().max().into_scalar::<f32>();
    let there = x.narrow(0, target, 1);
    let (from, to) = (graph.name(source), graph.name(target));
    tell(format!("heat from node {from} at node {to}, which is farthest: {:.3e}", there.clone().into_scalar::<f32>()));
    let grads = there.sum().backward();
    let gradient = edges.grad(&grads).expect("the heat depends on the edges");
    // An edge is stored in both directions.
    let gradient = gradient.try_add(&gradient.try_transpose()?)?.triu(1);
    let (rows, cols, values) = gradient.to_triplets::<f64>();
    for at in best(&values).into_iter().take(SHOWN) {
        let (row, col) = (graph.name(rows[at]), graph.name(cols[at]));
        tell(format!("  a stronger edge {row} - {col}: {:+.3e}", values[at]));
    }
    let line = format!(
        "PageRank {rank_ms:.2} ms; first node {from} rank {:.3e}; components {count}; triangles {total}; heat \
         {solve_ms:.2} ms, residual {residual:.1e}",
        ranks[source]
    );
    Ok((draw(graph, &both, &ranks, &first)?, line))
}

fn numbers(list: Tensor<1, Int>) -> Vec<i64> {
    list.into_data().convert::<i64>().iter().collect()
}

/// Positions by falling number.
fn best(numbers: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[b].total_cmp(&numbers[a]));
    order
}

/// The node with the most edges between it and `source`, among those that can be reached.
fn farthest(adjacency: &CsrTensor<2>, source: usize) -> usize {
    bfs_levels(adjacency, &[source]).argmax(0).into_scalar::<i64>() as usize
}

/// Numbers of nodes with degrees in `[low, 2 low)`, `low` first.
fn by_doubling(counts: &[usize]) -> Vec<(usize, usize)> {
    let mut found = vec![(0, counts[0])];
    let mut low = 1;
    while low < counts.len() {
        found.push((low, counts[low..counts.len().min(2 * low)].iter().sum()));
        low *= 2;
    }
    found.retain(|&(_, nodes)| nodes > 0);
    found
}
