//! Neighbour sampling.

use super::neighbors::NeighborBatch;
use crate::data::host::{HostRows, check_ids, invalid, signed};
use crate::data::transform::try_to_undirected;
use crate::ops::graph::check_square;
use crate::tensor::sparse::CsrTensor;
use burn::config::Config;
use serde::{Deserialize, Serialize};
use sparse_burn::{Reduce, read_data};
use sparse_core::Result;
use sparse_core::graph::{Draw, Hops, Relabel, mix, sample_hops};
use sparse_macros::or_panic;
use std::fmt;
use std::sync::{Arc, Mutex};

/// Which nodes are the neighbours of node `i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// The columns that row `i` stores: the nodes whose features `A X` sums for `i`.
    #[default]
    Rows,
    /// The rows that store column `i`: those of `A^T X`.
    Columns,
    /// Both: those of `A` made undirected ([`to_undirected`](crate::data::to_undirected)). The weight of an edge that
    /// `A` has in both directions is the larger one.
    Both,
}

/// Configuration of a [`NeighborSampler`].
#[derive(Config, Debug)]
pub struct NeighborSamplerConfig {
    /// How many neighbours of a node are drawn in each hop, beginning at the seeds; one number for each layer of the
    /// model. [`NeighborSampler::ALL`] takes every neighbour.
    pub fan_outs: Vec<usize>,
    /// Whether a neighbour may be drawn more than once.
    #[config(default = false)]
    pub replace: bool,
    /// Whether a neighbour's probability is in proportion to its edge's value. Otherwise all are drawn alike.
    #[config(default = false)]
    pub weighted: bool,
    /// Which nodes are neighbours.
    #[config(default = "Direction::Rows")]
    pub direction: Direction,
    /// What the draws depend on.
    #[config(default = 0)]
    pub seed: u64,
}

/// Draws a few neighbours of each node, hop by hop, so that a step of training touches a small part of a large graph.
///
/// From the seeds of a batch, hop `h` draws `fan_outs[h]` neighbours of each node that hop `h - 1` reached first (all
/// of them, if it has fewer). A node is expanded once, in the hop that follows the one in which it was reached. This is
/// PyG's `NeighborLoader`. The result is a [`NeighborBatch`] with a rectangular adjacency for each layer.
///
/// - Uniform draws without replacement: every subset has the same probability; `O(fan-out)` for each node.
/// - Weighted draws without replacement: one after the other in proportion to the weights that are left, as PyTorch's
///   `multinomial`; `O(degree)`. Neighbours of weight 0 are never drawn.
/// - With replacement: an edge that was drawn `t` times is stored once, with `t` times its value. So sums and
///   row-normalised means over the batch are those over the draws.
///
/// Draws depend on the seed of the configuration, the number of the draw, the hop and the node: the bits are the same
/// for any number of threads. Only stored elements are edges; a fill is ignored. A node without neighbours has an empty
/// row.
///
/// The sampler reads the pattern to the host once. A batch being sampled takes 4 bytes for each node of the graph,
/// which later batches use again. Clones share all this.
///
/// Source: Hamilton, Ying and Leskovec, *Inductive representation learning on large graphs*, NeurIPS 2017.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{NeighborSamplerConfig, karate};
///
/// let graph = karate(&Device::flex());
/// let sampler = NeighborSamplerConfig::new(vec![5, 3]).with_seed(1).init(&graph.adjacency);
/// let batch = sampler.sample(&[0, 33], 0);
/// // The input layer first: its targets are the sources of the next layer.
/// let [first, second] = [0, 1].map(|layer| batch.blocks()[layer].dims());
/// assert_eq!((second[0], first[0], first[1]), (2, second[1], batch.nodes().len()));
/// ```
#[derive(Clone)]
pub struct NeighborSampler(Arc<Inner>);

struct Inner {
    adjacency: CsrTensor<2>,
    rows: Arc<HostRows>,
    fan_outs: Vec<usize>,
    replace: bool,
    weights: Option<Arc<Vec<f32>>>,
    /// Whether all values are 1 and untracked, so that those of a batch need not be read.
    ones: bool,
    seed: u64,
    tables: Mutex<Vec<Relabel>>,
}

impl NeighborSamplerConfig {
    /// A sampler of `adjacency` `[N, N]`. Reads its pattern and its values from the device.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the adjacency is not square; `invalid` for no fan-outs, a fan-out of 0, one of 2^31 or
    /// more with replacement, or (if weighted) a weight that is negative or not finite.
    #[or_panic]
    pub fn try_init(&self, adjacency: &CsrTensor<2>) -> Result<NeighborSampler> {
        const OP: &str = "NeighborSampler";
        check_square(OP, adjacency)?;
        if self.fan_outs.is_empty() {
            return invalid(OP, "there must be a fan-out for each layer, got none".into());
        }
        if let Some(hop) = self.fan_outs.iter().position(|&fan_out| fan_out == 0) {
            let message =
                format!("use NeighborSampler::ALL for every neighbour: a fan-out must be above 0, got 0 for hop {hop}");
            return invalid(OP, message);
        }
        if self.replace
            && let Some(fan_out) = self.fan_outs.iter().find(|&&fan_out| fan_out > i32::MAX as usize)
        {
            let message =
                format!("a fan-out with replacement must be below 2^31 (ALL is for draws without it), got {fan_out}");
            return invalid(OP, message);
        }
        let adjacency = match self.direction {
            Direction::Rows => adjacency.clone(),
            Direction::Columns => adjacency.try_transpose()?,
            Direction::Both => try_to_undirected(adjacency, Reduce::Amax)?,
        };
        let values: Vec<f32> = read_data(adjacency.values.clone()).convert::<f32>().iter().collect();
        if self.weighted
            && let Some(at) = values.iter().position(|weight| !(0.0..f32::INFINITY).contains(weight))
        {
            let message = format!("a weight must be finite and not negative, got {} at position {at}", values[at]);
            return invalid(OP, message);
        }
        let ones = !adjacency.is_tracked() && values.iter().all(|&value| value == 1.0);
        Ok(NeighborSampler(Arc::new(Inner {
            rows: Arc::new(HostRows::of(adjacency.pattern())),
            adjacency,
            fan_outs: self.fan_outs.clone(),
            replace: self.replace,
            // Equal weights are no weights.
            weights: (self.weighted && !values.iter().all(|&value| value == 1.0)).then(|| Arc::new(values)),
            ones,
            seed: self.seed,
            tables: Mutex::default(),
        })))
    }
}

impl NeighborSampler {
    /// The fan-out that takes every neighbour.
    pub const ALL: usize = usize::MAX;

    /// The matrix whose rows are sampled: that of [`try_init`](NeighborSamplerConfig::try_init), its transpose, or both
    /// joined, as the direction says. The edge ids of a batch are positions of its stored elements.
    pub fn adjacency(&self) -> &CsrTensor<2> {
        &self.0.adjacency
    }

    /// Number of nodes of the graph.
    pub fn nodes(&self) -> usize {
        self.0.adjacency.dims()[0]
    }

    /// Number of hops.
    pub fn hops(&self) -> usize {
        self.0.fan_outs.len()
    }

    /// The sampler whose batches are on another device, with that device's autodiff association. What the host holds is
    /// shared.
    #[cfg(feature = "dataset")]
    pub(super) fn on_device(&self, device: &burn::tensor::Device) -> Self {
        let own = &self.0;
        Self(Arc::new(Inner {
            adjacency: crate::data::host::on_device(own.adjacency.clone(), device),
            rows: own.rows.clone(),
            fan_outs: own.fan_outs.clone(),
            replace: own.replace,
            weights: own.weights.clone(),
            ones: own.ones,
            seed: own.seed,
            tables: Mutex::default(),
        }))
    }

    /// A batch around `seeds`. `draw` numbers the batches: another number gives other neighbours.
    ///
    /// Seeds may repeat; a repeated seed is one node of the batch. A batch without seeds has no nodes.
    ///
    /// # Errors
    ///
    /// `index_out_of_range` for a seed that is no node; `overflow` for a batch of more than 2^31 - 1 nodes or edges.
    #[or_panic]
    pub fn try_sample(&self, seeds: &[usize], draw: u64) -> Result<NeighborBatch> {
        Ok(NeighborBatch::new(&self.0.adjacency, self.0.ones, seeds, self.try_hops(seeds, draw)?))
    }

    /// What [`try_sample`](Self::try_sample) draws, on the host.
    fn try_hops(&self, seeds: &[usize], draw: u64) -> Result<Hops> {
        const OP: &str = "NeighborSampler::sample";
        let own = &self.0;
        check_ids(OP, seeds, self.nodes())?;
        let kept = own.tables.lock().ok().and_then(|mut tables| tables.pop());
        let mut table = kept.unwrap_or_else(|| Relabel::new(self.nodes()));
        let how = Draw {
            replace: own.replace,
            weights: own.weights.as_ref().map(|list| list.as_slice()),
            key: mix(own.seed, draw),
        };
        let hops = sample_hops(OP, own.rows.ptr(), own.rows.idx(), &signed(seeds), &own.fan_outs, how, &mut table)?;
        if let Ok(mut tables) = own.tables.lock() {
            tables.push(table);
        }
        Ok(hops)
    }
}

impl fmt::Debug for NeighborSampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (nodes, edges, own) = (self.nodes(), self.0.adjacency.nnz(), &self.0);
        write!(f, "NeighborSampler({nodes} nodes, {edges} edges, fan-outs {:?}, seed {})", own.fan_outs, own.seed)
    }
}
