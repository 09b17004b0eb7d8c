//! Random graphs and grids.

use super::graph::{Graph, undirected, with_ends};
use super::host::check_probability;
use super::labels::Labels;
use super::sbm::{MOST_EDGES, check_size, inside, pairs};
use super::split::random_split;
use burn::tensor::Device;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use sparse_ops::{CsrTensor, Result, SparseError};

/// A random graph of Erdős and Rényi, `G(n, p)`: each pair of `nodes` nodes is joined with probability `p`.
///
/// The adjacency `[nodes, nodes]` is symmetric, with values 1 and without self loops. The same seed gives the same
/// graph on every machine. Cost: `O(nodes + edges)`; absent pairs are skipped and not drawn. (PyG's
/// `erdos_renyi_graph`, which draws every pair.)
///
/// Source: Gilbert, *Random graphs*, 1959; the jumps: Batagelj and Brandes, 2005.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::erdos_renyi;
///
/// let graph = erdos_renyi(1_000_000, 1e-6, 7, &Device::flex()).unwrap();
/// assert!((graph.nnz() as f64 / 2.0 - 500_000.0).abs() < 4_000.0);
/// ```
///
/// # Errors
///
/// `invalid` for a probability outside `[0, 1]`; `overflow` for more than a billion nodes or edges to be expected.
pub fn erdos_renyi(nodes: usize, p: f64, seed: u64, device: &Device) -> Result<CsrTensor<2>> {
    const OP: &str = "erdos_renyi";
    check_probability(OP, "p", p)?;
    let expected = pairs(nodes as f64) * p;
    check_size(OP, nodes as f64, expected)?;
    let mut edges = Vec::with_capacity(expected as usize);
    inside(&mut Xoshiro256PlusPlus::seed_from_u64(seed), p, nodes, |a, b| edges.push((a, b)));
    Ok(undirected(&edges, nodes, device))
}

/// A random graph of Barabási and Albert: it starts as a star of `attach + 1` nodes, and each further node is joined to
/// `attach` different ones, with probabilities in proportion to their degrees at that time.
///
/// So it has `attach * (nodes - attach)` undirected edges, and for large graphs a share
/// `2 m (m + 1) / (k (k + 1) (k + 2))` of the nodes has degree `k >= m = attach`. The adjacency is symmetric, with
/// values 1 and without self loops. The same seed gives the same graph on every machine. Cost: `O(edges * log(edges))`.
/// (NetworkX's `barabasi_albert_graph`. PyG's has a few edges less where a draw repeats.)
///
/// Source: Barabási and Albert, *Emergence of scaling in random networks*, 1999; degrees: Bollobás et al., 2001.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::barabasi_albert;
///
/// assert_eq!(barabasi_albert(300, 5, 7, &Device::flex()).unwrap().nnz(), 2 * 5 * 295);
/// ```
///
/// # Errors
///
/// `invalid` unless `0 < attach < nodes`; `overflow` for more than a billion nodes or edges.
pub fn barabasi_albert(nodes: usize, attach: usize, seed: u64, device: &Device) -> Result<CsrTensor<2>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Ok(undirected(&preferential("barabasi_albert", nodes, attach, &mut rng)?, nodes, device))
}

fn preferential(
    op: &'static str,
    nodes: usize,
    attach: usize,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<Vec<(usize, usize)>> {
    if attach == 0 || attach >= nodes {
        let message = format!("attach must be in [1, {nodes}), the number of nodes, got {attach}");
        return Err(SparseError::invalid(op, message));
    }
    check_size(op, nodes as f64, attach as f64 * (nodes - attach) as f64)?;
    let mut edges: Vec<(usize, usize)> = (0..attach).map(|node| (node, attach)).collect();
    // Each node as often as it has edges.
    let mut ends: Vec<usize> = edges.iter().flat_map(|&(a, b)| [a, b]).collect();
    // The last node that chose a node: a second choice of it is drawn again.
    let mut chosen = vec![0; nodes];
    for node in attach + 1..nodes {
        let (before, all) = (edges.len(), ends.len());
        while edges.len() < before + attach {
            let other = ends[rng.random_range(0..all)];
            if std::mem::replace(&mut chosen[other], node) != node {
                edges.push((other, node));
            }
        }
        ends.extend(edges[before..].iter().flat_map(|&(a, b)| [a, b]));
    }
    Ok(edges)
}

/// The grid of `height` rows and `width` columns, each node joined to those left, right, above and below it. Node
/// `row * width + column` is at that place.
///
/// The adjacency is symmetric, with values 1 and without self loops: PyG's `grid` also joins a node to itself and along
/// diagonals.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::grid_2d;
///
/// assert_eq!(grid_2d(3, 4, &Device::flex()).unwrap().nnz(), 2 * (3 * 3 + 2 * 4));
/// ```
///
/// # Errors
///
/// `overflow` for more than a billion nodes or edges.
pub fn grid_2d(height: usize, width: usize, device: &Device) -> Result<CsrTensor<2>> {
    let size = height as f64 * width as f64;
    check_size("grid_2d", size, if size > MOST_EDGES { size } else { 2.0 * size - (height + width) as f64 })?;
    let nodes = height * width;
    let right = (0..nodes).filter(|node| (node + 1) % width != 0).map(|node| (node, node + 1));
    let edges: Vec<_> = right.chain((width..nodes).map(|node| (node - width, node))).collect();
    Ok(undirected(&edges, nodes, device))
}

/// The edges of a house: two walls and a floor (nodes 0 to 3), and the roof (node 4).
const HOUSE: [(usize, usize); 6] = [(0, 1), (0, 3), (0, 4), (1, 4), (1, 2), (2, 3)];

/// The class of each node of a house: top of a wall, its bottom, roof.
const PLACES: [i64; 5] = [1, 1, 2, 2, 3];

/// BA-Shapes, on which explanations of models are measured: a graph of [`barabasi_albert`] with `houses` houses of five
/// nodes, each joined by one edge between random nodes to another node of that graph.
///
/// So an edge is one of a house if both of its ends are at least `base`. These edges are what explains a node of a
/// house: [`roc_auc`](super::roc_auc()) of them by the edges of an [`Explanation`](super::Explanation).
///
/// The classes are 0 for a node of the first graph, whose nodes come first, and 1, 2 or 3 for the top of a wall, its
/// bottom, or the roof of a house. So a model must find the houses by structure alone: the one feature is 1 for every
/// node. A random tenth of the nodes is for validation, another one for testing, and the rest for training. The same
/// seed gives the same graph on every machine.
///
/// The paper has `ba_shapes(300, 5, 80, ..)` and also adds random edges; PyG's
/// `ExplainerDataset(BAGraph(300, 5), HouseMotif(), 80)` does not, as here.
///
/// Source: Ying et al., *GNNExplainer: Generating Explanations for Graph Neural Networks*, NeurIPS 2019.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::ba_shapes;
///
/// let graph = ba_shapes(300, 5, 80, 7, &Device::flex()).unwrap();
/// assert_eq!((graph.nodes(), graph.edges(), graph.labels.classes()), (700, 5 * 295 + 80 * 7, 4));
/// ```
///
/// # Errors
///
/// As [`barabasi_albert`]; `invalid` for more houses than nodes to join them to.
pub fn ba_shapes(base: usize, attach: usize, houses: usize, seed: u64, device: &Device) -> Result<Graph> {
    const OP: &str = "ba_shapes";
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    if houses > base {
        let message = format!("there must be at most one house for each of {base} nodes, got {houses}");
        return Err(SparseError::invalid(OP, message));
    }
    let mut edges = preferential(OP, base, attach, &mut rng)?;
    let mut hosts: Vec<usize> = (0..base).collect();
    hosts.shuffle(&mut rng);
    let (mut nodes, mut labels) = (base, vec![0; base]);
    for &host in &hosts[..houses] {
        edges.extend(HOUSE.map(|(a, b)| (nodes + a, nodes + b)));
        edges.push((host, nodes + rng.random_range(0..PLACES.len())));
        labels.extend(PLACES);
        nodes += PLACES.len();
    }
    let column: Vec<_> = (0..nodes).map(|node| (node, 0)).collect();
    Ok(Graph {
        adjacency: undirected(&edges, nodes, device),
        features: with_ends(&column, [nodes, 1], device),
        labels: Labels::from_list(&labels, 4, device)?,
        splits: random_split(nodes, 0.8, 0.1, seed)?,
    })
}
