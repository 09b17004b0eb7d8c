//! Subgraphs of chosen nodes.

use super::node_map::NodeMap;
use crate::host::HostRows;
use crate::host::signed;
use crate::host::take;
use crate::host::unsigned;
use burn::tensor::Tensor;
use sparse_core::graph::{Induced, Relabel, bfs_levels, induced};
use sparse_macros::or_panic;
use sparse_ops::extend::{Parts, check_ids, check_square, index_below, narrow_index};
use sparse_ops::pattern::CsrPattern;
use sparse_ops::{CsrTensor, Kind, Result, SparseError};

/// Some nodes of a graph with edges between them.
#[derive(Clone, Debug)]
pub struct Subgraph {
    adjacency: CsrTensor<2>,
    nodes: NodeMap,
    edges: Vec<usize>,
}

impl Subgraph {
    pub(super) fn new(adjacency: CsrTensor<2>, nodes: NodeMap, edges: Vec<usize>) -> Self {
        Self { adjacency, nodes, edges }
    }

    /// The subgraph of `nodes`, which are different and in range. `labels` has their local ids.
    pub(super) fn induced(
        op: &'static str,
        adjacency: &CsrTensor<2>,
        rows: &HostRows,
        nodes: Vec<usize>,
        labels: &Relabel,
    ) -> Result<Self> {
        let Induced { ptr, cols, edges } = induced(op, rows.ptr(), rows.idx(), &signed(&nodes), labels)?;
        let device = adjacency.device();
        let edges = unsigned(edges);
        let values = take(adjacency.rows().clone(), &index_below(&edges, adjacency.nnz(), &device));
        let shape = [nodes.len(); 2];
        let pattern = CsrPattern::new_unchecked(narrow_index(ptr, &device), narrow_index(cols, &device), &shape);
        let own = CsrTensor::from_parts(pattern, values, vec![], adjacency.fill().clone());
        Ok(Self::new(own, NodeMap::new(nodes), edges))
    }

    /// The edges, `[nodes, nodes]` in local ids, with the values and the fill of the graph. Gradients reach the graph's
    /// values.
    pub fn adjacency(&self) -> &CsrTensor<2> {
        &self.adjacency
    }

    /// The nodes: local ids and global ids.
    pub fn nodes(&self) -> &NodeMap {
        &self.nodes
    }

    /// The position of each edge among the stored elements of the graph.
    pub fn edge_ids(&self) -> &[usize] {
        &self.edges
    }

    /// The rows of `x` `[nodes of the graph, ..]` that belong to the nodes here.
    ///
    /// # Errors
    ///
    /// `index_out_of_range` if `x` has no row for a node.
    #[or_panic]
    pub fn try_features<const D: usize, K: Kind>(&self, x: Tensor<D, K>) -> Result<Tensor<D, K>> {
        check_ids("Subgraph::features", self.nodes.ids(), x.dims()[0])?;
        let ids = self.nodes.tensor(&x.device());
        Ok(take(x, &ids))
    }
}

/// The subgraph of `nodes` and all edges between them. Local id `k` is `nodes[k]`.
///
/// Cost: the pattern is read to the host; then the degrees of the nodes. (PyG's `subgraph`.)
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{induced_subgraph, karate};
///
/// let graph = karate(&Device::flex());
/// let part = induced_subgraph(&graph.adjacency, &[0, 1, 2, 3]);
/// // These four members all know each other.
/// assert_eq!((part.adjacency().dims(), part.adjacency().nnz()), ([4, 4], 12));
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square; `index_out_of_range` for what is no node; `invalid` for a node that
/// is listed twice; `overflow` for more than 2^31 - 1 nodes or edges.
#[or_panic]
pub fn try_induced_subgraph(adjacency: &CsrTensor<2>, nodes: &[usize]) -> Result<Subgraph> {
    const OP: &str = "induced_subgraph";
    check_square(OP, adjacency)?;
    let all = adjacency.dims()[0];
    check_ids(OP, nodes, all)?;
    if nodes.len() > Relabel::MOST {
        return Err(SparseError::overflow(OP, "the number of nodes of a subgraph", Relabel::MOST, nodes.len()));
    }
    let labels = Relabel::of(&signed(nodes), all);
    if let Some((position, node)) =
        nodes.iter().enumerate().find(|&(local, &node)| labels.find(node) != Some(local as u32))
    {
        let message = format!("a node must be listed once, got {node} twice, first at position {position}");
        return Err(SparseError::invalid(OP, message));
    }
    Subgraph::induced(OP, adjacency, &HostRows::of(adjacency.pattern()), nodes.to_vec(), &labels)
}

/// The subgraph of all nodes within `hops` edges of `seeds`, following edges from row to column. The nodes ascend, and
/// all edges between them are kept.
///
/// [`NodeMap::to_local`] of the seeds gives their rows. Cost: the pattern is read to the host; then the degrees of the
/// nodes that are found. For the other direction, pass the transpose. (PyG's `k_hop_subgraph`.)
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{k_hop_subgraph, karate};
///
/// let graph = karate(&Device::flex());
/// let part = k_hop_subgraph(&graph.adjacency, &[16], 1);
/// assert_eq!(part.nodes().ids(), [5, 6, 16]);
/// assert_eq!(part.nodes().find(16), Some(2));
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square; `index_out_of_range` for a seed that is no node; `overflow` for
/// more than 2^31 - 1 nodes or edges.
#[or_panic]
pub fn try_k_hop_subgraph(adjacency: &CsrTensor<2>, seeds: &[usize], hops: usize) -> Result<Subgraph> {
    const OP: &str = "k_hop_subgraph";
    check_square(OP, adjacency)?;
    let all = adjacency.dims()[0];
    check_ids(OP, seeds, all)?;
    let rows = HostRows::of(adjacency.pattern());
    let levels = bfs_levels(rows.ptr(), rows.idx(), &signed(seeds), hops);
    let nodes: Vec<usize> = (0..all).filter(|&node| levels[node] >= 0).collect();
    if nodes.len() > Relabel::MOST {
        return Err(SparseError::overflow(OP, "the number of nodes of a subgraph", Relabel::MOST, nodes.len()));
    }
    let labels = Relabel::of(&signed(&nodes), all);
    Subgraph::induced(OP, adjacency, &rows, nodes, &labels)
}
