//! ShaDow: a small graph around each seed.

use super::seeds::SeedSampler;
use super::typed::{HeteroSampler, HeteroSamplerConfig};
use crate::batch::GraphBatch;
use crate::hetero::{HeteroGraph, TypedNodes};
use crate::host::{HostRows, take};
use burn::tensor::Tensor;
use sparse_core::graph::Relabel;
use sparse_macros::or_panic;
use sparse_ops::extend::{Parts, check_ids, index_below};
use sparse_ops::pattern::CsrPattern;
use sparse_ops::{CsrTensor, Kind, Result, SparseError};
use std::collections::HashMap;
use std::sync::Arc;

/// Draws a graph of its own for each seed: nodes around it, and all edges between them.
///
/// So a model may have more layers than hops, and a seed does not see the neighbours of another. From each seed `hops`
/// hops draw up to `fan_out` neighbours of each node without replacement, as a disjoint [`HeteroSampler`] does. Cost of
/// a batch: that of these draws and the degrees of all their nodes. (PyG's `ShaDowKHopSampler`.)
///
/// Source: Zeng and others, *Decoupling the depth and scope of graph neural networks*, NeurIPS 2021.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{NeighborLoader, ShadowSampler, karate};
///
/// let graph = karate(&Device::flex());
/// let sampler = ShadowSampler::new(&graph.adjacency, 2, 5, 7).unwrap();
/// for batch in NeighborLoader::new(sampler, &[0, 16, 33], 2).unwrap().epoch(0) {
///     let near = batch.graphs();
///     let h = batch.features(graph.features.to_dense());
///     let h = near.adjacency().matmul(near.adjacency().matmul(near.adjacency().matmul(h)));
///     let seeds = batch.seed_rows(h); // beside a pooling by `near.graph_ids()`
///     assert_eq!(seeds.dims()[0], near.graphs());
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ShadowSampler {
    sampler: HeteroSampler,
    adjacency: CsrTensor<2>,
    rows: Arc<HostRows>,
}

impl ShadowSampler {
    /// A sampler of the graph `[N, N]`. Edges are followed from row to column. [`NeighborSampler::ALL`] as `fan_out`
    /// takes all neighbours.
    ///
    /// [`NeighborSampler::ALL`]: super::sampler::NeighborSampler::ALL
    ///
    /// # Errors
    ///
    /// `invalid` for no hops, or if the adjacency is not square.
    pub fn new(adjacency: &CsrTensor<2>, hops: usize, fan_out: usize, seed: u64) -> Result<Self> {
        let graph = HeteroGraph::default()
            .try_with_nodes("node", TypedNodes::new(adjacency.dims()[0]))?
            .try_with_edges(("node", "to", "node"), adjacency.clone())?;
        let config = HeteroSamplerConfig::new(vec![fan_out; hops]).with_disjoint(true).with_seed(seed);
        let rows = Arc::new(HostRows::of(adjacency.pattern()));
        Ok(Self { sampler: config.try_init(&graph, "node")?, adjacency: adjacency.clone(), rows })
    }

    /// The graphs of `seeds`, which may repeat. The same `draw` gives the same batch.
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for a seed that is no node; `empty_input` for no seeds; `overflow` for more than 2^31 - 1
    /// nodes or edges of all graphs.
    #[or_panic]
    pub fn try_sample(&self, seeds: &[usize], draw: u64) -> Result<ShadowBatch> {
        const OP: &str = "ShadowSampler::sample";
        if seeds.is_empty() {
            return Err(SparseError::empty_input(OP, "a batch must have at least one seed, got none"));
        }
        check_ids(OP, seeds, self.sampler.nodes())?;
        let drawn = self.sampler.try_sample(seeds, draw)?;
        // The nodes graph by graph, in each as they were drawn: the seed first.
        let mut graphs = vec![vec![]; seeds.len()];
        for (&node, &tree) in drawn.try_node_ids("node")?.iter().zip(drawn.try_trees("node")?) {
            graphs[tree].push(node);
        }
        let (ptr, idx) = (self.rows.ptr(), self.rows.idx());
        let (mut starts, mut row_ptr, mut cols, mut edges) = (vec![0], vec![0], vec![], vec![]);
        for nodes in &graphs {
            let first = starts[starts.len() - 1];
            let local: HashMap<_, _> = nodes.iter().zip(first..).map(|(&node, local)| (node, local)).collect();
            for &node in nodes {
                let own = (ptr.at(node)..ptr.at(node + 1)).filter_map(|at| Some((*local.get(&idx.at(at))?, at)));
                let mut own: Vec<(usize, usize)> = own.collect();
                own.sort_unstable();
                cols.extend(own.iter().map(|&(col, _)| col));
                edges.extend(own.iter().map(|&(_, at)| at));
                row_ptr.push(cols.len());
            }
            starts.push(first + nodes.len());
            for (what, got) in [("the number of nodes", first + nodes.len()), ("the number of edges", cols.len())] {
                if got > Relabel::MOST {
                    return Err(SparseError::overflow(OP, what, Relabel::MOST, got));
                }
            }
        }
        let (device, nodes) = (self.adjacency.device(), graphs.concat());
        let row_ptr = index_below(&row_ptr, cols.len() + 1, &device);
        let cols = index_below(&cols, nodes.len(), &device);
        let pattern = CsrPattern::new_unchecked(row_ptr, cols, &[nodes.len(); 2]);
        let values = take(self.adjacency.rows().clone(), &index_below(&edges, self.adjacency.nnz(), &device));
        let adjacency = CsrTensor::from_parts(pattern, values, vec![], self.adjacency.fill().clone());
        Ok(ShadowBatch { graphs: GraphBatch::from_parts(adjacency, starts), nodes, edges, all: self.sampler.nodes() })
    }
}

impl SeedSampler for ShadowSampler {
    type Batch = ShadowBatch;

    fn seed_nodes(&self) -> usize {
        self.sampler.nodes()
    }

    fn batch(&self, seeds: &[usize], draw: u64) -> ShadowBatch {
        self.sample(seeds, draw)
    }
}

/// A graph for each seed of a [`ShadowSampler`].
#[derive(Clone, Debug)]
pub struct ShadowBatch {
    graphs: GraphBatch,
    nodes: Vec<usize>,
    edges: Vec<usize>,
    all: usize,
}

impl ShadowBatch {
    /// The graphs as one, with the values and the fill of the whole graph. Gradients reach the graph's values.
    pub fn graphs(&self) -> &GraphBatch {
        &self.graphs
    }

    /// The node of the whole graph that each node here is; the first of each graph is its seed.
    pub fn node_ids(&self) -> &[usize] {
        &self.nodes
    }

    /// The position of each edge among the stored elements of the whole graph.
    pub fn edge_ids(&self) -> &[usize] {
        &self.edges
    }

    /// The rows of `x` `[nodes of the whole graph, ..]` that belong to the nodes here.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if `x` does not have a row for each node of the whole graph.
    #[or_panic]
    pub fn try_features<const D: usize, K: Kind>(&self, x: Tensor<D, K>) -> Result<Tensor<D, K>> {
        let got = x.dims()[0];
        if got != self.all {
            return Err(SparseError::length_mismatch("ShadowBatch::features", "the list of rows", self.all, got));
        }
        let ids = index_below(&self.nodes, self.all, &x.device());
        Ok(take(x, &ids))
    }

    /// The rows of the seeds, `[seeds, ..]`, of a model's output for all nodes here.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if `out` does not have a row for each node here.
    #[or_panic]
    pub fn try_seed_rows<const D: usize, K: Kind>(&self, out: Tensor<D, K>) -> Result<Tensor<D, K>> {
        let (expected, got) = (self.nodes.len(), out.dims()[0]);
        if got != expected {
            return Err(SparseError::length_mismatch("ShadowBatch::seed_rows", "the list of rows", expected, got));
        }
        let seeds: Vec<usize> = (0..self.graphs.graphs()).map(|graph| self.graphs.nodes_of(graph).start).collect();
        let seeds = index_below(&seeds, got, &out.device());
        Ok(take(out, &seeds))
    }
}
