//! Clusters of a graph as batches.

use super::subgraph::Subgraph;
use crate::host::HostRows;
use crate::host::signed;
use crate::host::unsigned;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use sparse_core::graph::{Relabel, TwoWay, mix, partition};
use sparse_ops::extend::check_square;
use sparse_ops::{CsrTensor, Result, SparseError};
use std::fmt;
use std::sync::Arc;

/// A partition of a graph into clusters with few edges between them, and batches of whole clusters (Cluster-GCN).
///
/// Clusters grow one after the other, each time by the node with the largest share of its edges inside; then nodes move
/// to the cluster that most of their neighbours are in, as long as clusters keep between 90 % and 110 % of the mean
/// size. Values and the direction of edges do not count. The result is the same on every machine. Cost: `O(nnz log
/// nnz)`, sequential. METIS, which PyG uses, also coarsens the graph and cuts fewer edges; this needs no dependency.
///
/// Source: Chiang et al., *Cluster-GCN: an efficient algorithm for training deep and large graph convolutional
/// networks*, KDD 2019; Karypis and Kumar 1998 (greedy graph growing); Ugander and Backstrom, *Balanced label
/// propagation for partitioning massive graphs*, WSDM 2013.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{ClusterPartition, stochastic_block_model};
///
/// let graph = stochastic_block_model(&[50, 50, 50], 0.3, 0.01, 1, &Device::flex()).unwrap();
/// let clusters = ClusterPartition::new(&graph.adjacency, 6).unwrap();
/// let batches: Vec<_> = clusters.batches(2, 0, 0).unwrap().collect();
/// assert_eq!(batches.len(), 3);
/// assert_eq!(batches.iter().map(|batch| batch.nodes().len()).sum::<usize>(), 150);
/// ```
#[derive(Clone)]
pub struct ClusterPartition(Arc<Inner>);

struct Inner {
    adjacency: CsrTensor<2>,
    rows: HostRows,
    assignment: Vec<usize>,
    members: Vec<Vec<usize>>,
}

impl ClusterPartition {
    /// Partitions the nodes of `adjacency` `[N, N]` into `clusters` clusters. Reads the pattern to the host.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the adjacency is not square; `invalid` if there are no clusters, or more than nodes;
    /// `overflow` for more than 2^31 - 1 nodes.
    pub fn new(adjacency: &CsrTensor<2>, clusters: usize) -> Result<Self> {
        const OP: &str = "ClusterPartition::new";
        check_square(OP, adjacency)?;
        let nodes = adjacency.dims()[0];
        if clusters == 0 || clusters > nodes {
            let message = format!("the number of clusters must be in [1, {nodes}], got {clusters}");
            return Err(SparseError::invalid(OP, message));
        }
        let rows = HostRows::of(adjacency.pattern());
        let assignment = unsigned(partition(&TwoWay::new(OP, rows.ptr(), rows.idx())?, clusters));
        let mut members = vec![Vec::new(); clusters];
        for (node, &cluster) in assignment.iter().enumerate() {
            members[cluster].push(node);
        }
        Ok(Self(Arc::new(Inner { adjacency: adjacency.clone(), rows, assignment, members })))
    }

    /// The cluster of each node.
    pub fn assignment(&self) -> &[usize] {
        &self.0.assignment
    }

    /// The nodes of each cluster, ascending.
    pub fn members(&self) -> &[Vec<usize>] {
        &self.0.members
    }

    /// Number of stored elements that join nodes of different clusters.
    pub fn cut_edges(&self) -> usize {
        let Inner { rows, assignment, .. } = &*self.0;
        let (ptr, idx) = (rows.ptr(), rows.idx());
        let cut = |node: usize| {
            (ptr.at(node)..ptr.at(node + 1)).filter(|&at| assignment[idx.at(at)] != assignment[node]).count()
        };
        (0..assignment.len()).map(cut).sum()
    }

    /// The subgraphs of an epoch: clusters in a random order, `per_batch` of them at a time, with all edges between
    /// their nodes. The nodes of a batch ascend. The order depends on the seed and the number of the epoch. A batch of
    /// more than 2^31 - 1 edges panics.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 clusters in a batch.
    pub fn batches(&self, per_batch: usize, seed: u64, epoch: u64) -> Result<impl Iterator<Item = Subgraph> + use<>> {
        const OP: &str = "ClusterPartition::batches";
        if per_batch == 0 {
            return Err(SparseError::invalid(OP, "the number of clusters in a batch must be above 0, got 0"));
        }
        let mut order: Vec<usize> = (0..self.0.members.len()).collect();
        order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(mix(seed, epoch)));
        let own = self.0.clone();
        let mut at = 0usize;
        Ok(std::iter::from_fn(move || {
            let end = order.len().min(at.saturating_add(per_batch));
            let chosen = order.get(at..end).filter(|chosen| !chosen.is_empty())?;
            at += chosen.len();
            let mut nodes: Vec<usize> =
                chosen.iter().flat_map(|&cluster| own.members[cluster].iter().copied()).collect();
            nodes.sort_unstable();
            let labels = Relabel::of(&signed(&nodes), own.assignment.len());
            let part = Subgraph::induced(OP, &own.adjacency, &own.rows, nodes, &labels);
            Some(part.unwrap_or_else(|trouble| panic!("{trouble}")))
        }))
    }
}

impl fmt::Debug for ClusterPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterPartition({} nodes, {} clusters)", self.assignment().len(), self.members().len())
    }
}
