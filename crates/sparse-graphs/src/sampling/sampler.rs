//! Neighbour sampling.

use super::neighbors::{NeighborBatch, Source, Values};
use super::seeds::{LinkEnds, SeedSampler, different};
use crate::host::HostRows;
use crate::host::signed;
use crate::transform::try_to_undirected;
use burn::config::Config;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use sparse_core::graph::{Draw, GraphStore, Hops, Relabel, Slices, mix, sample_hops};
use sparse_macros::or_panic;
use sparse_nn::NodePairs;
use sparse_ops::extend::{Parts, check_ids, check_square, read_data};
use sparse_ops::ops::Reduce;
use sparse_ops::{CsrTensor, Result, SparseError};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Which nodes are the neighbours of node `i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// The columns that row `i` stores: the nodes whose features `A X` sums for `i`.
    #[default]
    Rows,
    /// The rows that store column `i`: those of `A^T X`.
    Columns,
    /// Both: those of `A` made undirected ([`to_undirected`](crate::to_undirected)). The weight of an edge that
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
/// The sampler reads the pattern to the host once; [`try_init_store`](NeighborSamplerConfig::try_init_store) leaves it
/// where it is. A batch being sampled takes 4 bytes for each node of the graph,
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
    /// The matrix that the store was made of.
    adjacency: Option<CsrTensor<2>>,
    store: Arc<dyn GraphStore>,
    source: Source,
    fan_outs: Vec<usize>,
    replace: bool,
    weighted: bool,
    seed: u64,
    tables: Mutex<Vec<Relabel>>,
}

/// A matrix of a device, read to the host.
pub(super) struct HostStore {
    pub(super) rows: HostRows,
    /// Number of columns.
    pub(super) columns: usize,
    pub(super) weights: Option<Vec<f32>>,
}

impl HostStore {
    /// The pattern of a matrix was checked when it was made.
    fn slices(&self) -> Slices<'_> {
        Slices::opened(OP, self.rows.ptr(), self.rows.idx(), self.weights.as_deref()).part(0, self.columns)
    }
}

impl GraphStore for HostStore {
    fn nodes(&self) -> usize {
        self.rows.ptr().len().saturating_sub(1)
    }

    fn edges(&self) -> usize {
        self.rows.idx().len()
    }

    fn spans(&self, nodes: &[i64], out: &mut Vec<Range<usize>>) -> Result<()> {
        self.slices().spans(nodes, out)
    }

    fn columns(&self, positions: &[usize], out: &mut Vec<usize>) -> Result<()> {
        self.slices().columns(positions, out)
    }

    fn has_values(&self) -> bool {
        self.weights.is_some()
    }

    fn values(&self, positions: &[usize], out: &mut Vec<f32>) -> Result<()> {
        self.slices().values(positions, out)
    }

    fn span_values(&self, spans: &[Range<usize>], out: &mut Vec<f32>) -> Result<()> {
        self.slices().span_values(spans, out)
    }
}

/// A matrix on the host, and where the values of its edges come from.
pub(super) fn host_store(op: &'static str, adjacency: &CsrTensor<2>, weighted: bool) -> Result<(HostStore, Source)> {
    let values: Vec<f32> = read_data(adjacency.rows().clone()).convert::<f32>().iter().collect();
    if weighted && let Some(at) = values.iter().position(|weight| !(0.0..f32::INFINITY).contains(weight)) {
        let message = format!("a weight must be finite and not negative, got {} at position {at}", values[at]);
        return Err(SparseError::invalid(op, message));
    }
    let all_ones = values.iter().all(|&value| value == 1.0);
    let ones = !adjacency.is_tracked() && all_ones;
    let [_, columns] = adjacency.dims();
    let source = Source {
        device: adjacency.device(),
        dtype: adjacency.dtype(),
        nodes: columns,
        values: if ones { Values::Ones } else { Values::Tensor(adjacency.rows().clone()) },
    };
    // Equal weights are no weights.
    let weights = (weighted && !all_ones).then_some(values);
    Ok((HostStore { rows: HostRows::of(adjacency.pattern()), columns, weights }, source))
}

const OP: &str = "NeighborSampler";

impl NeighborSamplerConfig {
    /// A sampler of `adjacency` `[N, N]`. Reads its pattern and its values from the device.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the adjacency is not square; `invalid` for no fan-outs, a fan-out of 0, one of 2^31 or
    /// more with replacement, or (if weighted) a weight that is negative or not finite.
    #[or_panic]
    pub fn try_init(&self, adjacency: &CsrTensor<2>) -> Result<NeighborSampler> {
        check_square(OP, adjacency)?;
        self.check()?;
        let adjacency = match self.direction {
            Direction::Rows => adjacency.clone(),
            Direction::Columns => adjacency.try_transpose()?,
            Direction::Both => try_to_undirected(adjacency, Reduce::Amax)?,
        };
        let (store, source) = host_store(OP, &adjacency, self.weighted)?;
        Ok(self.sampler(Some(adjacency), Arc::new(store), source))
    }

    /// A sampler of the rows of a store: of a file that is larger than memory (`MappedGraph`, feature `mmap`), or of
    /// your own. For one store the samples are those of [`try_init`](Self::try_init) for the same matrix in memory.
    /// (Weights that are all 1 are an exception: `try_init` draws without weights then, as from a store without
    /// values.)
    ///
    /// Batches are on `device`, in its default dtype of floats. Values are those of the store, as constants.
    ///
    /// # Errors
    ///
    /// `invalid` for no fan-outs, a fan-out of 0, one of 2^31 or more with replacement, a store with more rows than
    /// columns, or another direction than [`Direction::Rows`]: a store has its rows only. Weights and the store's
    /// content are checked when they are read, and rows that are missing then too: a store may have some of them.
    #[or_panic]
    pub fn try_init_store(&self, store: Arc<dyn GraphStore>, device: &Device) -> Result<NeighborSampler> {
        self.check()?;
        if self.direction != Direction::Rows {
            let message = format!("store the transpose: a store is sampled by rows, got {:?}", self.direction);
            return Err(SparseError::invalid(OP, message));
        }
        if has_row(&*store, store.nodes()) {
            let message = format!("the store must have as many rows as columns, {}, got more", store.nodes());
            return Err(SparseError::invalid(OP, message));
        }
        let source = Source::of_store(&store, device);
        Ok(self.sampler(None, store, source))
    }

    fn check(&self) -> Result<()> {
        if self.fan_outs.is_empty() {
            return Err(SparseError::invalid(OP, "there must be a fan-out for each layer, got none"));
        }
        if let Some(hop) = self.fan_outs.iter().position(|&fan_out| fan_out == 0) {
            let message =
                format!("use NeighborSampler::ALL for every neighbour: a fan-out must be above 0, got 0 for hop {hop}");
            return Err(SparseError::invalid(OP, message));
        }
        if self.replace
            && let Some(fan_out) = self.fan_outs.iter().find(|&&fan_out| fan_out > i32::MAX as usize)
        {
            let message =
                format!("a fan-out with replacement must be below 2^31 (ALL is for draws without it), got {fan_out}");
            return Err(SparseError::invalid(OP, message));
        }
        Ok(())
    }

    fn sampler(&self, adjacency: Option<CsrTensor<2>>, store: Arc<dyn GraphStore>, source: Source) -> NeighborSampler {
        NeighborSampler(Arc::new(Inner {
            adjacency,
            weighted: self.weighted && store.has_values(),
            store,
            source,
            fan_outs: self.fan_outs.clone(),
            replace: self.replace,
            seed: self.seed,
            tables: Mutex::default(),
        }))
    }
}

/// Whether a store has so many rows: it knows the last one, and none after it.
pub(super) fn has_rows(store: &dyn GraphStore, rows: usize) -> bool {
    !has_row(store, rows) && (rows == 0 || has_row(store, rows - 1))
}

fn has_row(store: &dyn GraphStore, row: usize) -> bool {
    store.spans(&[row as i64], &mut vec![]).is_ok()
}

impl NeighborSampler {
    /// The fan-out that takes every neighbour.
    pub const ALL: usize = usize::MAX;

    /// The matrix whose rows are sampled: that of [`try_init`](NeighborSamplerConfig::try_init), its transpose, or both
    /// joined, as the direction says. The edge ids of a batch are positions of its stored elements. A sampler of a
    /// store has none.
    pub fn adjacency(&self) -> Option<&CsrTensor<2>> {
        self.0.adjacency.as_ref()
    }

    /// Where the rows are read from.
    pub fn store(&self) -> &Arc<dyn GraphStore> {
        &self.0.store
    }

    /// Number of nodes of the graph.
    pub fn nodes(&self) -> usize {
        self.0.source.nodes
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
        let adjacency = own.adjacency.clone().map(|adjacency| crate::host::on_device(adjacency, device));
        let (device, values) = match (&adjacency, &own.source.values) {
            (Some(adjacency), Values::Tensor(_)) => (adjacency.device(), Values::Tensor(adjacency.rows().clone())),
            (Some(adjacency), other) => (adjacency.device(), other.clone()),
            (None, other) => (crate::host::constants(device), other.clone()),
        };
        Self(Arc::new(Inner {
            adjacency,
            store: own.store.clone(),
            source: Source { device, values, ..own.source.clone() },
            fan_outs: own.fan_outs.clone(),
            replace: own.replace,
            weighted: own.weighted,
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
    /// `index_out_of_range` for a seed that is no node; `overflow` for a batch of more than 2^31 - 1 nodes or edges;
    /// what a store finds wrong where it reads: `index_out_of_range`, `invalid_row_ptr`, `invalid`.
    #[or_panic]
    pub fn try_sample(&self, seeds: &[usize], draw: u64) -> Result<NeighborBatch> {
        const OP: &str = "NeighborSampler::sample";
        let own = &self.0;
        let hops = self.try_hops(OP, seeds, draw, |seeds, how, table| {
            sample_hops(OP, &*own.store, seeds, &own.fan_outs, how, table)
        })?;
        NeighborBatch::new(&own.source, seeds, hops)
    }

    /// What is drawn from another source than the own store, on the host.
    #[cfg(feature = "mmap")]
    pub(crate) fn try_hops_from(
        &self,
        op: &'static str,
        source: &mut dyn sparse_core::graph::HopSource,
        seeds: &[usize],
        draw: u64,
    ) -> Result<Hops> {
        self.try_hops(op, seeds, draw, |seeds, how, table| {
            sparse_core::graph::sample_hops_from(op, source, seeds, &self.0.fan_outs, how, table)
        })
    }

    /// The batch of what was drawn from another source, with the value of each edge, ascending by edge (none: all are
    /// 1).
    #[cfg(feature = "mmap")]
    pub(crate) fn batch_of(&self, seeds: &[usize], hops: Hops, values: Vec<(i64, f32)>) -> Result<NeighborBatch> {
        let values = if self.0.store.has_values() { Values::Known(values) } else { Values::Ones };
        NeighborBatch::new(&Source { values, ..self.0.source.clone() }, seeds, hops)
    }

    fn try_hops(
        &self,
        op: &'static str,
        seeds: &[usize],
        draw: u64,
        sample: impl FnOnce(&[i64], Draw, &mut Relabel) -> Result<Hops>,
    ) -> Result<Hops> {
        let own = &self.0;
        check_ids(op, seeds, self.nodes())?;
        let kept = own.tables.lock().ok().and_then(|mut tables| tables.pop());
        let mut table = kept.unwrap_or_else(|| Relabel::new(self.nodes()));
        let how = Draw { replace: own.replace, weighted: own.weighted, key: mix(own.seed, draw) };
        let hops = sample(&signed(seeds), how, &mut table);
        if let Ok(mut tables) = own.tables.lock() {
            tables.push(table);
        }
        hops
    }
}

impl SeedSampler for NeighborSampler {
    type Batch = NeighborBatch;

    fn seed_nodes(&self) -> usize {
        self.nodes()
    }

    fn batch(&self, seeds: &[usize], draw: u64) -> NeighborBatch {
        self.sample(seeds, draw)
    }
}

impl LinkEnds for NeighborSampler {
    type Batch = NeighborBatch;

    fn counts(&self) -> [usize; 2] {
        [self.nodes(); 2]
    }

    fn around(&self, pairs: &[(usize, usize)], times: Option<&[i64]>, draw: u64) -> Result<(NeighborBatch, NodePairs)> {
        if times.is_some() {
            let message = "edges with times need a HeteroSampler with times, got a NeighborSampler";
            return Err(SparseError::invalid("LinkSampler::sample", message));
        }
        let nodes = different(pairs.iter().flat_map(|&(source, target)| [source, target]).collect());
        let batch = self.try_sample(&nodes, draw)?;
        let row = |node| nodes.binary_search(&node).expect("every end is a seed");
        let rows: Vec<_> = pairs.iter().map(|&(source, target)| (row(source), row(target))).collect();
        let pairs = NodePairs::new(&rows, [nodes.len(); 2], &batch.node_ids().device())?;
        Ok((batch, pairs))
    }
}

impl fmt::Debug for NeighborSampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (nodes, edges, own) = (self.nodes(), self.0.store.edges(), &self.0);
        write!(f, "NeighborSampler({nodes} nodes, {edges} edges, fan-outs {:?}, seed {})", own.fan_outs, own.seed)
    }
}
