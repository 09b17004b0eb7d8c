//! GraphSAINT: small subgraphs to train on, and weights that undo what their choice favours.

use super::loader::{drawn_by, running_sums};
use super::seeds::{SeedSampler, different};
use super::subgraph::Subgraph;
use crate::host::{HostRows, signed, unsigned};
use burn::tensor::{Tensor, TensorData};
use sparse_core::graph::{Relabel, Stream, mix, random_walks};
use sparse_macros::or_panic;
use sparse_ops::extend::check_square;
use sparse_ops::pattern::Pattern;
use sparse_ops::{CsrTensor, Result, SparseError};
use std::fmt;
use std::sync::Arc;

/// Which nodes are in a subgraph of a [`SaintSampler`]. What is drawn twice is there once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaintDraw {
    /// So many nodes, each with a probability in proportion to its number of edges (of its row).
    Nodes(usize),
    /// The ends of so many edges, each with a probability in proportion to `1 / edges of its row + 1 / edges of its
    /// column`.
    Edges(usize),
    /// The nodes of so many random walks of `length` steps, which begin at random nodes.
    Walks {
        /// Number of walks.
        roots: usize,
        /// Number of steps.
        length: usize,
    },
}

/// Draws subgraphs by nodes, by edges or by walks: some nodes and all edges between them.
///
/// A node with many edges is drawn more often than another. [`try_norms`](Self::try_norms) counts how often, and gives
/// weights for the loss of a node and for the message of an edge, with which the expectation over subgraphs is that of
/// the whole graph. Subgraphs depend on the seed and on the number of the draw. The pattern is read to the host once;
/// a draw takes 4 bytes for each node of the graph. (PyG's `GraphSAINTNodeSampler`, `GraphSAINTRandomWalkSampler`, and
/// `GraphSAINTEdgeSampler`, which draws edges without replacement.)
///
/// Source: Zeng, Zhou, Srivastava, Kannan and Prasanna, *GraphSAINT*, ICLR 2020.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{NeighborLoader, SaintDraw, SaintSampler, karate};
///
/// let graph = karate(&Device::flex());
/// let draw = SaintDraw::Walks { roots: 4, length: 2 };
/// let sampler = SaintSampler::new(&graph.adjacency, draw, 7).unwrap();
/// let norms = sampler.norms(50);
/// // Messages are weighted: the same subgraphs, with other values.
/// let sampler = sampler.with_adjacency(&graph.adjacency.with_values(norms.edges)).unwrap();
/// let steps: Vec<usize> = (0..5).collect(); // of an epoch
/// for part in NeighborLoader::new(sampler, &steps, 1).unwrap().epoch(0) {
///     let h = part.adjacency().matmul(part.features(graph.features.to_dense()));
///     let weights = part.features(norms.nodes.clone()); // of the losses of its nodes, which are summed
///     assert_eq!(weights.dims()[0], h.dims()[0]);
/// }
/// ```
#[derive(Clone)]
pub struct SaintSampler {
    adjacency: CsrTensor<2>,
    rows: Arc<HostRows>,
    draw: SaintDraw,
    /// For draws of edges: the sum of the weights of all edges up to each.
    weights: Arc<Vec<f64>>,
    seed: u64,
}

/// Weights of a [`SaintSampler`], from counts: of `S` subgraphs, `C(v)` have node `v` and `C(e)` have edge `e`.
#[derive(Clone, Debug)]
pub struct SaintNorms {
    /// Of the loss of each node, `[nodes]`: `S / (N C(v))`, where a node without a subgraph counts as 0.1.
    pub nodes: Tensor<1>,
    /// Of the message of each edge, `[edges]`, in the order of the stored elements: `C(row) / C(e)`, at most 10,000,
    /// and 0.1 where both are 0.
    pub edges: Tensor<1>,
}

impl SaintSampler {
    /// A sampler of subgraphs of the graph `[N, N]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the adjacency is not square; `invalid` for draws of nothing, or from a graph that has no
    /// edges (of walks: no nodes); `overflow` for a draw of 2^31 nodes or more.
    pub fn new(adjacency: &CsrTensor<2>, draw: SaintDraw, seed: u64) -> Result<Self> {
        const OP: &str = "SaintSampler::new";
        check_square(OP, adjacency)?;
        let (most, what, from) = match draw {
            SaintDraw::Nodes(nodes) => (nodes as u128, "edges", adjacency.nnz()),
            SaintDraw::Edges(edges) => (2 * edges as u128, "edges", adjacency.nnz()),
            SaintDraw::Walks { roots, length } => {
                ((roots as u128).saturating_mul(length as u128 + 1), "nodes", adjacency.dims()[0])
            }
        };
        if most == 0 || from == 0 {
            let message = format!("there must be something to draw, got {draw:?} from {from} {what}");
            return Err(SparseError::invalid(OP, message));
        }
        if most > Relabel::MOST as u128 {
            return Err(SparseError::overflow(OP, "the number of nodes of a draw", Relabel::MOST, most));
        }
        let rows = HostRows::of(adjacency.pattern());
        let weights = if matches!(draw, SaintDraw::Edges(_)) { edge_weights(&rows) } else { vec![] };
        Ok(Self { adjacency: adjacency.clone(), rows: Arc::new(rows), draw, weights: Arc::new(weights), seed })
    }

    /// The sampler of the same subgraphs with the values of another adjacency of the same pattern.
    ///
    /// # Errors
    ///
    /// `invalid` for another pattern.
    pub fn with_adjacency(&self, adjacency: &CsrTensor<2>) -> Result<Self> {
        let shared = adjacency.pattern().is_same(self.adjacency.pattern());
        if !shared && (adjacency.dims() != self.adjacency.dims() || !self.rows.same(&HostRows::of(adjacency.pattern())))
        {
            let message = "the adjacency must have the pattern of the sampler's, got another one";
            return Err(SparseError::invalid("SaintSampler::with_adjacency", message));
        }
        Ok(Self { adjacency: adjacency.clone(), ..self.clone() })
    }

    /// A subgraph, whose nodes ascend. The same `draw` gives the same one.
    ///
    /// # Errors
    ///
    /// `overflow` for more than 2^31 - 1 edges.
    #[or_panic]
    pub fn try_sample(&self, draw: u64) -> Result<Subgraph> {
        let nodes = self.nodes(mix(self.seed, draw));
        let labels = Relabel::of(&signed(&nodes), self.adjacency.dims()[0]);
        Subgraph::induced("SaintSampler::sample", &self.adjacency, &self.rows, nodes, &labels)
    }

    /// The weights, from so many subgraphs that their nodes are `coverage` times those of the graph. PyG's
    /// `sample_coverage`; 50 in the paper.
    ///
    /// Cost: that of the draws without their values, on one thread.
    ///
    /// # Errors
    ///
    /// `invalid` for a coverage of 0.
    #[or_panic]
    pub fn try_norms(&self, coverage: usize) -> Result<SaintNorms> {
        if coverage == 0 {
            return Err(SparseError::invalid("SaintSampler::norms", "the coverage must be above 0, got 0"));
        }
        let count = self.adjacency.dims()[0];
        let (ptr, idx) = (self.rows.ptr(), self.rows.idx());
        let (mut of_nodes, mut of_edges) = (vec![0u32; count], vec![0u32; self.adjacency.nnz()]);
        let mut last = vec![u64::MAX; count];
        let (mut samples, mut sum) = (0u64, 0usize);
        while sum < coverage.saturating_mul(count) {
            // Other draws than those of the training.
            let nodes = self.nodes(mix(!self.seed, samples));
            nodes.iter().for_each(|&node| last[node] = samples);
            for &node in &nodes {
                of_nodes[node] += 1;
                for at in ptr.at(node)..ptr.at(node + 1) {
                    of_edges[at] += u32::from(last[idx.at(at)] == samples);
                }
            }
            (samples, sum) = (samples + 1, sum + nodes.len());
        }
        let node = |&own: &u32| (samples as f64 / f64::from(own).max(0.1) / count as f64) as f32;
        let edge = |node: usize, at: usize| match (of_nodes[node], of_edges[at]) {
            (0, 0) => 0.1,
            (own, edge) => (f64::from(own) / f64::from(edge)).min(1e4) as f32,
        };
        let edges = (0..count).flat_map(|node| (ptr.at(node)..ptr.at(node + 1)).map(move |at| (node, at)));
        let edges: Vec<f32> = edges.map(|(node, at)| edge(node, at)).collect();
        let tensor = |list: Vec<f32>| {
            let shape = [list.len()];
            Tensor::from_data(TensorData::new(list, shape), &self.adjacency.device())
        };
        Ok(SaintNorms { nodes: tensor(of_nodes.iter().map(node).collect()), edges: tensor(edges) })
    }

    fn nodes(&self, key: u64) -> Vec<usize> {
        let (ptr, idx, count) = (self.rows.ptr(), self.rows.idx(), self.adjacency.dims()[0]);
        let mut stream = Stream::new(key);
        let row = |at: usize| first(count, |row| ptr.at(row + 1) > at);
        different(match self.draw {
            SaintDraw::Nodes(nodes) => (0..nodes).map(|_| row(stream.below(self.adjacency.nnz()))).collect(),
            SaintDraw::Edges(edges) => {
                let all = *self.weights.last().expect("there are edges");
                let mut edge = |_| {
                    let at = drawn_by(&self.weights, stream.unit() * all);
                    [row(at), idx.at(at)]
                };
                (0..edges).flat_map(&mut edge).collect()
            }
            SaintDraw::Walks { roots, length } => {
                let roots: Vec<i64> = (0..roots).map(|_| stream.below(count) as i64).collect();
                unsigned(random_walks(ptr, idx, &roots, length, None, key))
            }
        })
    }
}

/// Sums of `1 / edges of the row + 1 / edges of the column`.
fn edge_weights(rows: &HostRows) -> Vec<f64> {
    let (ptr, idx) = (rows.ptr(), rows.idx());
    let out: Vec<usize> = rows.degrees().collect();
    let mut into = vec![0usize; out.len()];
    (0..idx.len()).for_each(|at| into[idx.at(at)] += 1);
    let weight = |row: usize, at: usize| 1.0 / out[row] as f64 + 1.0 / into[idx.at(at)] as f64;
    let edges = (0..out.len()).flat_map(|row| (ptr.at(row)..ptr.at(row + 1)).map(move |at| (row, at)));
    running_sums(edges.map(|(row, at)| weight(row, at)))
}

/// The first of `0..count` for which `holds`; it holds for all after it.
fn first(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Its seeds number the steps of an epoch.
impl SeedSampler for SaintSampler {
    type Batch = Subgraph;

    fn seed_nodes(&self) -> usize {
        usize::MAX
    }

    fn batch(&self, _: &[usize], draw: u64) -> Subgraph {
        self.sample(draw)
    }
}

impl fmt::Debug for SaintSampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [nodes, _] = self.adjacency.dims();
        write!(f, "SaintSampler({nodes} nodes, {:?}, seed {})", self.draw, self.seed)
    }
}
