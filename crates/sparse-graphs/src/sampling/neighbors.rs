//! A batch of sampled neighbours.

use super::node_map::NodeMap;
use super::subgraph::Subgraph;
use crate::host::prefix;
use crate::host::take;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use sparse_core::graph::{Ahead, GraphStore, Hops};
use sparse_macros::or_panic;
use sparse_ops::extend::{Parts, index_below, narrow_index};
use sparse_ops::pattern::CsrPattern;
use sparse_ops::{CsrTensor, Fill, Kind, Result, SparseError};
use std::sync::Arc;

/// What the batches of a graph have in common.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) device: Device,
    pub(super) dtype: DType,
    /// Number of nodes of the graph.
    pub(super) nodes: usize,
    pub(super) values: Values,
}

/// Where the values of a batch's edges come from.
#[derive(Clone)]
pub(super) enum Values {
    /// All are 1 and untracked, so they need not be read.
    Ones,
    /// Those of a tensor `[nnz, 1]`.
    Tensor(Tensor<2>),
    /// Those of a store, as constants.
    Store(Arc<dyn GraphStore>),
    /// Those of edges that came with the sample, ascending by edge.
    #[cfg(feature = "mmap")]
    Known(Vec<(i64, f32)>),
}

impl Source {
    /// Batches of a store: on `device`, in its default dtype of floats, with the values of the store as constants.
    pub(super) fn of_store(store: &Arc<dyn GraphStore>, device: &Device) -> Self {
        let values = if store.has_values() { Values::Store(store.clone()) } else { Values::Ones };
        let dtype = Tensor::<1>::empty([0], device).dtype();
        Self { device: device.clone(), dtype, nodes: store.nodes(), values }
    }

    /// The values of these edges `[edges, 1]`, unless all are 1.
    fn values(&self, edges: &[usize]) -> Result<Option<Tensor<2>>> {
        Ok(match &self.values {
            Values::Ones => None,
            Values::Tensor(values) => Some(take(values.clone(), &index_below(edges, values.dims()[0], &self.device))),
            Values::Store(store) => {
                let mut values = Vec::with_capacity(edges.len());
                store.ask(Ahead::Values(edges));
                store.values(edges, &mut values)?;
                Some(self.constants(values))
            }
            #[cfg(feature = "mmap")]
            Values::Known(known) => {
                let value = |edge: &usize| {
                    let found = known.binary_search_by_key(&(*edge as i64), |&(edge, _)| edge);
                    known[found.expect("an edge comes with its value")].1
                };
                Some(self.constants(edges.iter().map(value).collect()))
            }
        })
    }

    /// The values of these edges `[edges, 1]`, times how often each was drawn (none: once).
    pub(super) fn drawn(&self, edges: &[usize], times: Vec<u32>) -> Result<Tensor<2>> {
        let (nnz, options) = (edges.len(), (&self.device, self.dtype));
        let times = (!times.is_empty()).then(|| self.constants(times.into_iter().map(|count| count as f32).collect()));
        Ok(match (self.values(edges)?, times) {
            (Some(values), Some(times)) => values * times,
            (Some(values), None) => values,
            (None, Some(times)) => times,
            // Burn's fusion drops operations on empty zeros and ones.
            (None, None) if nnz == 0 => Tensor::empty([0, 1], options),
            (None, None) => Tensor::ones([nnz, 1], options),
        })
    }

    fn constants(&self, values: Vec<f32>) -> Tensor<2> {
        let nnz = values.len();
        let data = TensorData::new(values, [nnz, 1]).convert_dtype(self.dtype);
        Tensor::from_data(data, (&self.device, self.dtype))
    }
}

/// The block of each layer, the input layer first, of one sample: `sizes` has for each hop how many nodes are targets
/// and sources. A block is the first rows of the one before.
pub(super) fn blocks(ptr: Vec<i32>, cols: Vec<i32>, values: Tensor<2>, sizes: &[[usize; 2]]) -> Vec<CsrTensor<2>> {
    let (device, options, nnz) = (values.device(), (&values.device(), values.dtype()), cols.len());
    let ends: Vec<usize> = sizes.iter().map(|&[rows, _]| ptr.get(rows).map_or(nnz, |&end| end as usize)).collect();
    let (ptr, cols) = (narrow_index(ptr, &device), narrow_index(cols, &device));
    let block = |([targets, sources], &end): (&[usize; 2], &usize)| {
        let pattern = CsrPattern::new_unchecked(prefix(&ptr, targets + 1), prefix(&cols, end), &[*targets, *sources]);
        let values = match end {
            all if all == nnz => values.clone(),
            0 => Tensor::empty([0, 1], options),
            some => values.clone().narrow(0, 0, some),
        };
        CsrTensor::from_parts(pattern, values, vec![], Fill::Zero)
    };
    sizes.iter().zip(&ends).rev().map(block).collect()
}

/// What a [`NeighborSampler`](crate::NeighborSampler) drew around some seeds: a rectangular adjacency for each
/// layer, and the nodes.
///
/// Local ids count the seeds first, then the nodes that each hop found. So the nodes after hop `h` are the first
/// `counts()[h]` ones. The block of the layer `l` of `L` is a matrix `[counts()[L - 1 - l], counts()[L - l]]`, targets
/// by sources: the targets are the first sources. A layer takes the features of the sources and gives those of the
/// targets, and the last block's targets are the seeds:
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::{NeighborSamplerConfig, karate};
/// use sparse_tensor::nn::row_normalization;
///
/// let graph = karate(&Device::flex());
/// let sampler = NeighborSamplerConfig::new(vec![4, 4]).init(&graph.adjacency);
/// let batch = sampler.sample(&[7, 3], 0);
/// let mut x = batch.features(Tensor::<2>::ones([34, 8], &Device::flex()));
/// for block in batch.blocks() {
///     let own = x.clone().narrow(0, 0, block.dims()[0]);
///     // The mean of the neighbours beside the node itself, as in GraphSAGE; the weights of the layer are left out.
///     x = own + row_normalization(block).matmul(x);
/// }
/// assert_eq!(x.dims(), [2, 8]);
/// assert_eq!(batch.labels(graph.labels.tensor()).dims(), [2]);
/// ```
///
/// The edges of all layers are those of one sample, as in PyG's `NeighborLoader` with `trim_to_layer`: an inner block
/// is the first rows of the outer one.
#[derive(Clone, Debug)]
pub struct NeighborBatch {
    blocks: Vec<CsrTensor<2>>,
    nodes: NodeMap,
    ids: Tensor<1, Int>,
    counts: Vec<usize>,
    edges: Vec<usize>,
    seeds: Vec<usize>,
    graph_nodes: usize,
}

impl NeighborBatch {
    pub(super) fn new(source: &Source, seeds: &[usize], hops: Hops) -> Result<Self> {
        let (device, graph_nodes) = (&source.device, source.nodes);
        let Hops { nodes, counts, ptr, cols, edges, times } = hops;
        let nodes = NodeMap::new(nodes.into_iter().map(|node| node as usize).collect());
        let edges: Vec<usize> = edges.into_iter().map(|edge| edge as usize).collect();
        let seeds = if seeds.len() == counts[0] { (0..seeds.len()).collect() } else { NodeMap::relabel(seeds).1 };
        let values = source.drawn(&edges, times)?;
        let sizes: Vec<[usize; 2]> = counts.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        let ids = index_below(nodes.ids(), graph_nodes, device);
        Ok(Self { blocks: blocks(ptr, cols, values, &sizes), nodes, ids, counts, edges, seeds, graph_nodes })
    }

    /// The adjacency of each layer, `[targets, sources]`, that of the input layer first. Values are those of the
    /// sampled adjacency (with replacement: times the number of draws).
    pub fn blocks(&self) -> &[CsrTensor<2>] {
        &self.blocks
    }

    /// The nodes of the batch, the seeds first.
    pub fn nodes(&self) -> &NodeMap {
        &self.nodes
    }

    /// The global ids of the nodes as an index tensor `[nodes]`, on the device of the adjacency.
    pub fn node_ids(&self) -> Tensor<1, Int> {
        self.ids.clone()
    }

    /// Number of nodes after each hop, beginning with the number of different seeds.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// For each edge of the first block its position among the stored elements of
    /// [`NeighborSampler::adjacency`](crate::NeighborSampler::adjacency), or of the store. The edges of the other
    /// blocks are the first ones.
    pub fn edge_ids(&self) -> &[usize] {
        &self.edges
    }

    /// The local id of each seed, in the order in which they were given: `0, 1, ..` if no seed is repeated.
    pub fn seeds(&self) -> &[usize] {
        &self.seeds
    }

    /// The features `[nodes, ..]` of the batch's nodes, from those of all nodes of the graph. The gradient of a node is
    /// the sum over its places, in a fixed order.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if `x` does not have a row for each node of the graph.
    #[or_panic]
    pub fn try_features<const D: usize, K: Kind>(&self, x: Tensor<D, K>) -> Result<Tensor<D, K>> {
        self.check("NeighborBatch::features", "the features", self.graph_nodes, x.dims()[0])?;
        Ok(take(x, &self.ids))
    }

    /// The labels `[seeds, ..]` of the seeds, from those of all nodes of the graph.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if `labels` does not have an entry for each node of the graph.
    #[or_panic]
    pub fn try_labels<const D: usize, K: Kind>(&self, labels: Tensor<D, K>) -> Result<Tensor<D, K>> {
        self.check("NeighborBatch::labels", "the labels", self.graph_nodes, labels.dims()[0])?;
        let seeds: Vec<usize> = self.seeds.iter().map(|&seed| self.nodes.ids()[seed]).collect();
        Ok(take(labels, &index_below(&seeds, self.graph_nodes, &self.ids.device())))
    }

    /// The rows of the model's output `[different seeds, ..]`, one for each seed as given: the same tensor if no seed
    /// is repeated.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if `out` does not have a row for each different seed.
    #[or_panic]
    pub fn try_seed_rows<const D: usize, K: Kind>(&self, out: Tensor<D, K>) -> Result<Tensor<D, K>> {
        self.check("NeighborBatch::seed_rows", "the output", self.counts[0], out.dims()[0])?;
        if self.seeds.len() == self.counts[0] {
            return Ok(out);
        }
        let seeds = index_below(&self.seeds, self.counts[0], &self.ids.device());
        Ok(take(out, &seeds))
    }

    /// The sample as one square graph, with empty rows for the nodes that the last hop found. Models that treat all
    /// layers alike can use it.
    pub fn subgraph(&self) -> Subgraph {
        let (outer, nodes) = (&self.blocks[0], self.nodes.len());
        let pattern = outer.pattern();
        let [rows, nnz] = [outer.dims()[0], outer.nnz()];
        let row_ptr = match nodes - rows {
            0 => pattern.row_ptr().clone(),
            more => {
                let rest = narrow_index(vec![nnz as i32; more], &self.ids.device());
                Tensor::cat(vec![pattern.row_ptr().clone(), rest], 0)
            }
        };
        let pattern = CsrPattern::new_unchecked(row_ptr, pattern.col_idx().clone(), &[nodes, nodes]);
        let adjacency = CsrTensor::from_parts(pattern, outer.rows().clone(), vec![], outer.fill().clone());
        Subgraph::new(adjacency, self.nodes.clone(), self.edges.clone())
    }

    /// [`features`](Self::try_features) from a store of rows, such as a file that is larger than memory. They are
    /// constants on `device`. Needs the feature `mmap`.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if the store does not have a row for each node of the graph; those of
    /// [`FeatureStore::gather`](crate::FeatureStore::try_gather).
    #[cfg(feature = "mmap")]
    #[or_panic]
    pub fn try_stored_features<const D: usize, K: Kind>(
        &self,
        store: &crate::mapped::features::FeatureStore,
        device: &Device,
    ) -> Result<Tensor<D, K>> {
        self.check("NeighborBatch::stored_features", "the features", self.graph_nodes, store.rows())?;
        store.try_gather(self.nodes.ids(), device)
    }

    fn check(&self, op: &'static str, what: &'static str, expected: usize, got: usize) -> Result<()> {
        if expected == got { Ok(()) } else { Err(SparseError::length_mismatch(op, what, expected, got)) }
    }
}
