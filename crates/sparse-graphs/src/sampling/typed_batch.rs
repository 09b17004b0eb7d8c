//! A batch of sampled neighbours of several types.

use super::neighbors::{Source, blocks};
use super::node_map::NodeMap;
use crate::hetero::about;
use crate::host::take;
use burn::tensor::{Device, Int, Tensor};
use sparse_core::graph::HopEdges;
use sparse_macros::or_panic;
use sparse_nn::{EdgeType, NodeTensors};
use sparse_ops::extend::index_below;
use sparse_ops::{CsrTensor, Kind, Result, SparseError};
use std::collections::BTreeMap;

/// What a [`HeteroSampler`](crate::HeteroSampler) drew around some seeds: for each layer an adjacency of each type of
/// edges, and the nodes of each type.
///
/// Local ids are counted for each type on its own: the nodes that hop `h` found come after those of hop `h - 1`, and
/// the seeds are the first of their type. The block of layer `l` of `L` and of edges from type `s` to type `t` is
/// `[counts(t)[L - 1 - l], counts(s)[L - l]]`, targets by sources, as in
/// [`NeighborBatch`](crate::NeighborBatch). A layer takes features of the sources of all types, and its results are the
/// features that the next layer takes. So each type that a later layer reads from must be a target of edges: give the
/// graph edges in both directions ([`HeteroGraph::with_reverse`](crate::HeteroGraph::with_reverse)).
#[derive(Clone, Debug)]
pub struct HeteroBatch {
    nodes: BTreeMap<String, BatchNodes>,
    edges: Vec<(EdgeType, BatchEdges)>,
    seed_type: String,
    seeds: Vec<usize>,
}

/// The nodes of a type.
#[derive(Clone, Debug)]
pub(super) struct BatchNodes {
    ids: Vec<usize>,
    /// Of each node, in the disjoint form.
    trees: Vec<usize>,
    /// After each hop.
    pub(super) counts: Vec<usize>,
    /// Number of nodes of the graph.
    all: usize,
    tensor: Tensor<1, Int>,
}

impl BatchNodes {
    pub(super) fn new(ids: Vec<usize>, trees: Vec<usize>, counts: Vec<usize>, all: usize, device: &Device) -> Self {
        let tensor = index_below(&ids, all, device);
        Self { ids, trees, counts, all, tensor }
    }
}

/// The edges of a type: the block of each layer, and where they are in the graph.
#[derive(Clone, Debug)]
pub(super) struct BatchEdges {
    pub(super) blocks: Vec<CsrTensor<2>>,
    pub(super) ids: Vec<usize>,
}

/// The rows of a block, while they are drawn.
#[derive(Default)]
pub(super) struct Rows {
    counts: Vec<usize>,
    cols: Vec<i32>,
    pub(super) edges: Vec<usize>,
    times: Vec<u32>,
}

impl Rows {
    /// Appends a row for each of `nodes`. `local` gives the local id of a column that was drawn for a node.
    pub(super) fn take(&mut self, nodes: &[i64], parts: Vec<HopEdges>, mut local: impl FnMut(i64, usize) -> i32) {
        let mut nodes = nodes.iter();
        for HopEdges { drawn, columns } in parts {
            let mut columns = columns.into_iter();
            for (&count, &node) in drawn.counts.iter().zip(&mut nodes) {
                self.cols.extend(columns.by_ref().take(count).map(|column| local(node, column)));
            }
            self.counts.extend(drawn.counts);
            self.edges.extend(drawn.positions);
            self.times.extend(drawn.times);
        }
    }

    /// The blocks, with the columns of each row in order.
    pub(super) fn finish(self, source: &Source, sizes: &[[usize; 2]]) -> Result<BatchEdges> {
        let mut order: Vec<usize> = (0..self.cols.len()).collect();
        let mut ptr = vec![0i32];
        let mut end = 0;
        for count in self.counts {
            order[end..end + count].sort_unstable_by_key(|&at| self.cols[at]);
            end += count;
            ptr.push(end as i32);
        }
        let cols = order.iter().map(|&at| self.cols[at]).collect();
        let ids: Vec<usize> = order.iter().map(|&at| self.edges[at]).collect();
        let times = order.iter().filter_map(|&at| self.times.get(at).copied()).collect();
        Ok(BatchEdges { blocks: blocks(ptr, cols, source.drawn(&ids, times)?, sizes), ids })
    }
}

impl HeteroBatch {
    /// `seeds` as they were given, if equal ones are one node.
    pub(super) fn new(
        nodes: BTreeMap<String, BatchNodes>,
        edges: Vec<(EdgeType, BatchEdges)>,
        seed_type: &str,
        seeds: Option<&[usize]>,
    ) -> Self {
        let different = nodes[seed_type].counts[0];
        let seeds = seeds.map_or_else(|| (0..different).collect(), |seeds| NodeMap::relabel(seeds).1);
        Self { nodes, edges, seed_type: seed_type.into(), seeds }
    }

    /// For each layer, the input layer first, the adjacency of each type of edges, `[targets, sources]`: what
    /// [`HeteroConv::forward`](sparse_nn::HeteroConv::forward) takes. Values are those of the graph (with replacement:
    /// times the number of draws).
    pub fn blocks(&self) -> impl Iterator<Item = Vec<(EdgeType, &CsrTensor<2>)>> {
        let layers = self.nodes[&self.seed_type].counts.len() - 1;
        (0..layers)
            .map(|layer| self.edges.iter().map(|(kind, own)| (kind.clone(), &own.blocks[layer])).collect::<Vec<_>>())
    }

    /// The global ids of the nodes of a type.
    ///
    /// # Errors
    ///
    /// `invalid` for a type that the graph does not have.
    #[or_panic]
    pub fn try_node_ids(&self, name: &str) -> Result<&[usize]> {
        Ok(&self.named("HeteroBatch::node_ids", name)?.ids)
    }

    /// Number of nodes of a type after each hop, beginning with the number of different seeds.
    ///
    /// # Errors
    ///
    /// `invalid` for a type that the graph does not have.
    #[or_panic]
    pub fn try_counts(&self, name: &str) -> Result<&[usize]> {
        Ok(&self.named("HeteroBatch::counts", name)?.counts)
    }

    /// In the disjoint form the tree of each node of a type: the place of its seed. Otherwise empty. (PyG's `batch`.)
    ///
    /// # Errors
    ///
    /// `invalid` for a type that the graph does not have.
    #[or_panic]
    pub fn try_trees(&self, name: &str) -> Result<&[usize]> {
        Ok(&self.named("HeteroBatch::trees", name)?.trees)
    }

    /// For each edge of a type in the first block its position among the stored elements of the adjacency of
    /// [`HeteroSampler::graph`](crate::HeteroSampler::graph).
    ///
    /// # Errors
    ///
    /// `invalid` for a type that the graph does not have.
    #[or_panic]
    pub fn try_edge_ids(&self, edge_type: impl Into<EdgeType>) -> Result<&[usize]> {
        let kind = edge_type.into();
        let own = self.edges.iter().find(|(other, _)| *other == kind).ok_or_else(|| {
            let known: Vec<_> = self.edges.iter().map(|(kind, _)| kind.to_string()).collect();
            let message = format!("a type of edges must be one of {known:?}, got {kind}");
            SparseError::invalid("HeteroBatch::edge_ids", message)
        })?;
        Ok(&own.1.ids)
    }

    /// The type of the seeds.
    pub fn seed_type(&self) -> &str {
        &self.seed_type
    }

    /// The local id of each seed, in the order in which they were given: `0, 1, ..` if no seed is repeated, and in the
    /// disjoint form.
    pub fn seeds(&self) -> &[usize] {
        &self.seeds
    }

    /// The features of the batch's nodes of each type, from those of all nodes of the graph. A type without nodes in
    /// the batch has no rows, and may have no features. The gradient of a node is the sum over its places.
    ///
    /// # Errors
    ///
    /// `invalid` for a type without features or with those of another number of nodes; it names the type.
    #[or_panic]
    pub fn try_features(&self, x: &NodeTensors) -> Result<NodeTensors> {
        const OP: &str = "HeteroBatch::features";
        let mut out = NodeTensors::new();
        for (name, own) in &self.nodes {
            match x.get(name) {
                Some(x) if x.dims()[0] == own.all => {
                    out.insert(name.clone(), take(x.clone(), &own.tensor));
                }
                Some(x) => {
                    let message = format!("features must be those of {} nodes, got {}", own.all, x.dims()[0]);
                    return Err(about(OP, name, message));
                }
                None if own.ids.is_empty() => (),
                None => return Err(about(OP, name, "nodes of this type must have features, got none")),
            }
        }
        Ok(out)
    }

    /// The labels `[seeds, ..]` of the seeds, from those of all nodes of their type.
    ///
    /// # Errors
    ///
    /// `invalid` if `labels` does not have an entry for each node of the type; it names the type.
    #[or_panic]
    pub fn try_labels<const D: usize, K: Kind>(&self, labels: Tensor<D, K>) -> Result<Tensor<D, K>> {
        const OP: &str = "HeteroBatch::labels";
        let (own, got) = (&self.nodes[&self.seed_type], labels.dims()[0]);
        if got != own.all {
            return Err(about(OP, &self.seed_type, format!("labels must be those of {} nodes, got {got}", own.all)));
        }
        let seeds: Vec<usize> = self.seeds.iter().map(|&seed| own.ids[seed]).collect();
        let device = labels.device();
        Ok(take(labels, &index_below(&seeds, own.all, &device)))
    }

    /// The rows of the model's output for the seeds' type `[different seeds, ..]`, one for each seed as given. In the
    /// output of a layer that keeps all nodes, the seeds are the first rows.
    ///
    /// # Errors
    ///
    /// `invalid` if `out` has no row for a seed; it names the type.
    #[or_panic]
    pub fn try_seed_rows<const D: usize, K: Kind>(&self, out: Tensor<D, K>) -> Result<Tensor<D, K>> {
        const OP: &str = "HeteroBatch::seed_rows";
        let (own, got) = (self.nodes[&self.seed_type].counts[0], out.dims()[0]);
        if got < own {
            return Err(about(OP, &self.seed_type, format!("the output must have rows of {own} seeds, got {got}")));
        }
        let device = out.device();
        Ok(take(out, &index_below(&self.seeds, got, &device)))
    }

    fn named(&self, op: &'static str, name: &str) -> Result<&BatchNodes> {
        self.nodes.get(name).ok_or_else(|| {
            let known: Vec<_> = self.nodes.keys().collect();
            SparseError::invalid(op, format!("a type of nodes must be one of {known:?}, got {name:?}"))
        })
    }
}
