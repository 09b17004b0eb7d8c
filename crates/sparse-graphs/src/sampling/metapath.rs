//! Random walks over the types of a path.

use crate::hetero::{HeteroGraph, about};
use crate::host::HostRows;
use burn::tensor::{Device, Int, Tensor, TensorData};
use sparse_core::graph::{Stream, mix};
use sparse_macros::or_panic;
use sparse_nn::EdgeType;
use sparse_ops::extend::{check_ids, index_dtype_for};
use sparse_ops::{Result, SparseError};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Random walks over a [`HeteroGraph`] that follow a path of types of edges, for embeddings of its nodes
/// (metapath2vec).
///
/// Each step follows an edge of the next type of the path from its source to its target, all with the same
/// probability; values do not count. After the last type comes the first. A node is written as its number among those
/// of all types, which are in the order of their names, as in [`HeteroGraph::to_homogeneous`]. A walk that comes to a
/// node without edges of the next type ends; the rest has the number of all nodes. So a table of embeddings needs
/// [`rows`](Self::rows), one more than there are nodes.
///
/// Walks depend on the seed, the number of the draw and the place in the list of starts. The patterns are read to the
/// host once. Cost: a random read for each step.
///
/// Source: Dong, Chawla and Swami, *metapath2vec*, KDD 2017. (PyG's `MetaPath2Vec` is this and the loss below.)
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor, activation::log_sigmoid};
/// use sparse_tensor::data::{MetapathWalks, hetero_block_model};
/// use sparse_tensor::nn::{EdgeType, RowAdamConfig, RowOptimizer, RowTableConfig};
///
/// let device = Device::flex().autodiff();
/// let likes = EdgeType::new("user", "likes", "item");
/// let relations = [(likes.clone(), 600, 0.9), (likes.reversed(), 600, 0.9)];
/// let graph = hetero_block_model(&[("user", 40), ("item", 30)], 2, &relations, 7, &device).unwrap();
/// let walks = MetapathWalks::new(&graph, &[likes.clone(), likes.reversed()], 1).unwrap();
/// let starts: Vec<usize> = (0..40).collect();
///
/// let mut table = RowTableConfig::new(walks.rows(), 8).init(&device);
/// let mut optimizer = RowAdamConfig::new().init(&table);
/// for draw in 0..5 {
///     let walk = walks.sample(&starts, 4, draw); // [40, 5]
///     let others = Tensor::<2>::random([40, 4], Distribution::Uniform(0.0, 70.0), &device).int().inner();
///     let (x, read) = table.select(Tensor::cat(vec![walk, others], 1).flatten(0, 1));
///     let x = x.reshape([40, 9, 8]);
///     let score = |from, count| (x.clone().narrow(1, 0, 1) * x.clone().narrow(1, from, count)).sum_dim(2);
///     let loss = -(log_sigmoid(score(1, 4)).mean() + log_sigmoid(-score(5, 4)).mean());
///     table = optimizer.step(0.05, table, read.grad(&loss.backward()).unwrap());
/// }
/// let users = table.weight.val().slice([walks.range("user")]);
/// assert_eq!(users.dims(), [40, 8]);
/// ```
#[derive(Clone)]
pub struct MetapathWalks {
    steps: Arc<Vec<Step>>,
    /// The first type, and the numbers of the nodes of each.
    first: String,
    ranges: BTreeMap<String, Range<usize>>,
    device: Device,
    closed: bool,
    seed: u64,
}

/// The edges of a type by source.
struct Step {
    rows: HostRows,
    /// The number of the first node of the targets' type.
    start: usize,
}

impl MetapathWalks {
    /// Walks along `path`, types of edges of which each begins where the one before ends.
    ///
    /// # Errors
    ///
    /// `invalid` for no path, a type that the graph does not have, and one that begins elsewhere; it names the type.
    pub fn new(graph: &HeteroGraph, path: &[EdgeType], seed: u64) -> Result<Self> {
        const OP: &str = "MetapathWalks::new";
        let (Some(first), Some(last)) = (path.first(), path.last()) else {
            return Err(SparseError::invalid(OP, "a path must have a type of edges, got none"));
        };
        let (mut ranges, mut end) = (BTreeMap::new(), 0);
        for name in graph.node_types() {
            let start = end;
            end += graph.try_nodes_of(name)?.count;
            ranges.insert(name.to_string(), start..end);
        }
        let (mut steps, mut at) = (vec![], &first.source);
        for kind in path {
            let adjacency = graph.edges_of(OP, kind)?;
            if kind.source != *at {
                let message = format!("a type of a path must begin where the one before ends, at {at:?}");
                return Err(about(OP, kind, format!("{message}, got {:?}", kind.source)));
            }
            let rows = HostRows::of(adjacency.try_transpose()?.pattern());
            steps.push(Step { rows, start: ranges[&kind.target].start });
            at = &kind.target;
        }
        let device = graph.edges_of(OP, first)?.device().inner();
        let closed = first.source == last.target;
        Ok(Self { steps: Arc::new(steps), first: first.source.clone(), ranges, device, closed, seed })
    }

    /// How many rows a table for these walks needs: one for each node of all types, and one for the rest of a walk that
    /// ended.
    pub fn rows(&self) -> usize {
        self.nodes() + 1
    }

    fn nodes(&self) -> usize {
        self.ranges.values().map(|own| own.end).max().unwrap_or_default()
    }

    /// The numbers of the nodes of a type.
    ///
    /// # Errors
    ///
    /// `invalid` for a type that the graph does not have.
    #[or_panic]
    pub fn try_range(&self, name: &str) -> Result<Range<usize>> {
        self.ranges.get(name).cloned().ok_or_else(|| {
            let known: Vec<_> = self.ranges.keys().collect();
            let message = format!("a type of nodes must be one of {known:?}, got {name:?}");
            SparseError::invalid("MetapathWalks::range", message)
        })
    }

    /// A walk of `length` steps from each of `starts`, nodes of the first type, which may repeat: `[starts, length +
    /// 1]`, the start first. `draw` numbers the calls: another number gives other walks.
    ///
    /// # Errors
    ///
    /// `invalid` for a start that is no node of its type, which it names, for walks that are longer than a path
    /// that does not end where it begins, or of more nodes than memory can hold.
    #[or_panic]
    pub fn try_sample(&self, starts: &[usize], length: usize, draw: u64) -> Result<Tensor<2, Int>> {
        const OP: &str = "MetapathWalks::sample";
        let own = &self.ranges[&self.first];
        check_ids(OP, starts, own.len()).map_err(|trouble| about(OP, &self.first, trouble))?;
        let steps = self.steps.len();
        if length > steps && !self.closed {
            let message =
                format!("a walk along a path that does not end where it begins must have up to {steps} steps");
            return Err(SparseError::invalid(OP, format!("{message}, got {length}")));
        }
        let (width, mut walks) = (length.saturating_add(1), Vec::<i64>::new());
        if walks.try_reserve_exact(starts.len().saturating_mul(width)).is_err() || length == usize::MAX {
            let message = format!("walks must fit in memory, got {} of {length} steps", starts.len());
            return Err(SparseError::invalid(OP, message));
        }
        let (key, none) = (mix(self.seed, draw), self.nodes());
        for (place, &start) in starts.iter().enumerate() {
            let (mut stream, mut node) = (Stream::new(mix(key, place as u64)), Some(start));
            walks.push((own.start + start) as i64);
            for step in 0..length {
                let Step { rows, start } = &self.steps[step % steps];
                node = node.and_then(|node| {
                    let span = rows.ptr().at(node)..rows.ptr().at(node + 1);
                    (!span.is_empty()).then(|| rows.idx().at(span.start + stream.below(span.len())))
                });
                walks.push(node.map_or(none, |node| start + node) as i64);
            }
        }
        let dtype = index_dtype_for(self.rows());
        let data = TensorData::new(walks, [starts.len(), width]).convert_dtype(dtype);
        Ok(Tensor::from_data(data, (&self.device, dtype)))
    }
}

impl fmt::Debug for MetapathWalks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (nodes, steps) = (self.nodes(), self.steps.len());
        write!(f, "MetapathWalks({nodes} nodes, a path of {steps} types of edges, seed {})", self.seed)
    }
}
