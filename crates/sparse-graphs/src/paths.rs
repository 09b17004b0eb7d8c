//! Shortest paths with weights, searches, and spanning trees.

use super::host::{HostRows, keep, signed};
use burn::tensor::{DType, Int, Tensor, TensorData};
use sparse_core::graph::{self, NegativeCycle, Paths, row_of};
use sparse_macros::or_panic;
use sparse_ops::extend::{Erased, Parts, check_ids, check_square, ints, read_data, record};
use sparse_ops::{CsrTensor, Fill, Kind, Result, SparseError};
use std::sync::Arc;

/// Shortest paths from some sources to all nodes.
#[derive(Clone, Debug)]
pub struct ShortestPaths {
    /// The length of the path from each source to each node, `[S, N]`, infinite where there is none. On the tape of the
    /// weights.
    pub distances: Tensor<2>,
    found: Arc<Found>,
}

#[derive(Debug)]
struct Found {
    rows: HostRows,
    /// The last element of each path, -1 for none.
    via: Vec<i64>,
    /// Whether each path is there, and within the limit.
    reached: Vec<bool>,
    nodes: usize,
    edges: usize,
}

impl ShortestPaths {
    /// The node before each node on its path, `[S, N]`; -1 for a source and where no path leads.
    pub fn predecessors(&self) -> Tensor<2, Int> {
        let ptr = self.found.rows.ptr();
        let paths = self.found.via.iter().zip(&self.found.reached);
        let before = paths.map(|(&at, &there)| if there && at >= 0 { row_of(ptr, at as usize) as i64 } else { -1 });
        ints(before.collect(), self.distances.dims(), &self.distances.device().inner())
    }

    /// The nodes of the path from source number `source` to `node`, both ends included; the node alone if it is the
    /// source or if no path leads there.
    ///
    /// # Panics
    ///
    /// If there is no such source or node.
    pub fn path(&self, source: usize, node: usize) -> Vec<usize> {
        let Found { rows, via, reached, nodes, .. } = &*self.found;
        assert!(node < *nodes, "path: the node must be in [0, {nodes}), got {node}");
        if !reached[source * nodes + node] {
            return vec![node];
        }
        let via = &via[source * nodes..][..*nodes];
        let mut path = vec![node];
        while let Ok(at) = usize::try_from(via[path[path.len() - 1]]) {
            path.push(row_of(rows.ptr(), at));
        }
        path.reverse();
        path
    }
}

/// Shortest paths in `adjacency` `[N, N]` from each of `sources` to all nodes. A stored element is an edge from its row
/// to its column, as long as its value; one with an infinite value is none. For an undirected graph store both
/// directions, and values of one for the number of edges.
///
/// Backward: an edge gets the gradients of all distances whose path it is on, `d D_st / d w_e = 1` if `e` is on the
/// path found from `s` to `t`. Where several are shortest this is a subgradient.
///
/// Without negative weights by Dijkstra's algorithm, with them by Bellman and Ford's for one source and Johnson's for
/// several; [`shortest_paths_by`] has another one. Of several shortest paths without negative weights, the one whose
/// last element comes from a nearer node and is the first such in the order of storage. Where all last elements add
/// nothing to the distance, as zeros do, first the path with the fewest of them at its end.
///
/// Cost: pattern and values are read to the host; `O(S nnz)` but for the 64 steps of a radix heap, sources in parallel,
/// and `O(N nnz)` at most once if there are negative weights; 16 bytes for each distance. In f64, then rounded to the
/// dtype of the adjacency. (SciPy's `shortest_path`, `dijkstra`, `bellman_ford`, `johnson`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CooTensor;
/// use sparse_tensor::data::shortest_paths;
///
/// let weights = Tensor::<1>::from_floats([1.0, 2.0, 5.0], &Device::flex().autodiff()).require_grad();
/// let a = CooTensor::from_edges(&[(0, 1), (1, 2), (0, 2)], weights.clone(), 3).unwrap().to_csr();
/// let paths = shortest_paths(&a, &[0]);
/// assert_eq!(paths.distances.to_data().to_vec::<f32>().unwrap(), [0.0, 1.0, 3.0]);
/// assert_eq!(paths.path(0, 2), [0, 1, 2]);
///
/// let grads = paths.distances.sum().backward();
/// assert_eq!(weights.grad(&grads).unwrap().into_data().to_vec::<f32>().unwrap(), [2.0, 1.0, 0.0]);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square; `index_out_of_range` for a source that is no node; `fill_mismatch`
/// for another fill than zero or undefined; `invalid` that names the edge for a weight that is NaN or negatively
/// infinite, or a node of a cycle with a negative sum that a source reaches (any cycle, for several sources). A cycle
/// that rounding cannot tell from 0 may be such a cycle from one source and none from several. `invalid` too for a
/// length that f16, bf16 or f32 does not hold, with the node (one beyond f64 counts as no path), and for negative
/// weights with a sum near the least f64. `overflow` for 2^32 nodes or more.
#[or_panic]
pub fn try_shortest_paths(adjacency: &CsrTensor<2>, sources: &[usize]) -> Result<ShortestPaths> {
    try_shortest_paths_within(adjacency, sources, f64::INFINITY)
}

/// [`shortest_paths`] of at most this length. The search ends there.
///
/// # Errors
///
/// Those of [`try_shortest_paths`]; `invalid` for a limit that is NaN.
#[or_panic]
pub fn try_shortest_paths_within(adjacency: &CsrTensor<2>, sources: &[usize], limit: f64) -> Result<ShortestPaths> {
    try_shortest_paths_by(adjacency, sources, limit, PathMethod::default())
}

/// How shortest paths are found. For weights from 0 on each gives the same bits: distances, paths and gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum PathMethod {
    /// Dijkstra's algorithm; with negative weights that of Bellman and Ford for one source, and Johnson's for several.
    #[default]
    Usual,
    /// Delta-stepping, for weights from 0 on and one source or several: node `v` waits in bucket
    /// `floor(distance(v) / width)`, and all nodes of the first bucket are taken at once, by all threads if there are
    /// fewer sources than threads.
    ///
    /// `width` is positive and finite; without one it is `4 * mean weight / max(edges / nodes, 1)`. A small one makes
    /// this Dijkstra's algorithm (as long as distances are below 2^64 widths), a large one Bellman and Ford's.
    ///
    /// Cost: `O(N + nnz)` a source for random weights, and at worst `O(N nnz)`, where Dijkstra's stays at `O(nnz)`: if
    /// one width does not suit the graph, as with weights of far sizes. 16 bytes a node for each source in work.
    ///
    /// Use it where the weights are of similar sizes. Measured with two threads and random weights: of 1M nodes with 5M
    /// edges between random ones it took 0.18 s from one source and 1.9 s from 16, Dijkstra's algorithm 0.44 and 3.3 s;
    /// on a grid of 1000 x 1000 it took 0.13 and 0.93 s, Dijkstra's 0.16 and 1.2 s.
    ///
    /// Source: Meyer and Sanders, *Delta-stepping: a parallelizable shortest path algorithm*, 2003.
    DeltaStepping {
        /// The width of a bucket.
        width: Option<f64>,
    },
}

/// [`shortest_paths_within`] a limit, which may be infinite, by a method.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{PathMethod, karate, shortest_paths_by};
///
/// let a = karate(&Device::flex()).adjacency;
/// let found = shortest_paths_by(&a, &[0], f64::INFINITY, PathMethod::DeltaStepping { width: None });
/// assert_eq!(found.path(0, 33), [0, 8, 33]);
/// ```
///
/// # Errors
///
/// Those of [`try_shortest_paths_within`]. Of delta-stepping, `invalid` for a width that is not positive and finite,
/// and for a negative weight, with its edge.
#[or_panic]
pub fn try_shortest_paths_by(
    adjacency: &CsrTensor<2>,
    sources: &[usize],
    limit: f64,
    method: PathMethod,
) -> Result<ShortestPaths> {
    const OP: &str = "shortest_paths";
    check_square(OP, adjacency)?;
    let nodes = adjacency.dims()[0];
    check_ids(OP, sources, nodes)?;
    if limit.is_nan() {
        return Err(SparseError::invalid(OP, "the limit must be a number, got NaN"));
    }
    check_count(OP, nodes)?;
    let rows = HostRows::of(adjacency.pattern());
    let weights = path_weights(OP, adjacency, &rows)?;
    let (ptr, idx, from) = (rows.ptr(), rows.idx(), signed(sources));
    let Paths { distances, via } = match method {
        PathMethod::Usual => {
            graph::shortest_paths(ptr, idx, &weights, &from, limit).map_err(|NegativeCycle(node)| {
                let message = format!("a cycle must not have a negative length, got one through node {node}");
                SparseError::invalid(OP, message)
            })?
        }
        PathMethod::DeltaStepping { width } => {
            check_width(OP, width)?;
            if let Some(at) = weights.iter().position(|weight| *weight < 0.0) {
                let what = "for delta-stepping a weight must be from 0 on";
                return Err(bad_weight(OP, what, &rows, &weights, at));
            }
            graph::delta_stepping(ptr, idx, &weights, &from, limit, width)
        }
    };
    let values = adjacency.rows();
    let (plain, dtype) = (values.device().inner(), values.dtype());
    let reached: Vec<bool> = distances.iter().map(|distance| distance.is_finite()).collect();
    let found = Arc::new(Found { rows, via, reached, nodes, edges: weights.len() });
    let data = in_dtype(OP, TensorData::new(distances, [sources.len(), nodes]), dtype, |at| at % nodes)?;
    let distances = Tensor::<2>::from_data(data, (&plain, dtype));
    let distances = record(distances, [Erased::from(values)], found.clone(), |found, grad: Tensor<2>, _| {
        let options = (grad.device(), grad.dtype());
        let own = read_data(grad).convert::<f64>();
        let own = own.iter::<f64>().zip(&found.reached).map(|(grad, &there)| if there { grad } else { 0.0 });
        let own: Vec<f64> = own.collect();
        let grads = graph::path_gradients(found.rows.ptr(), found.edges, &found.via, &own);
        let data = TensorData::new(grads, [found.edges, 1]).convert_dtype(options.1);
        [Some(Tensor::<2>::from_data(data, (&options.0, options.1)).into())]
    });
    Ok(ShortestPaths { distances, found })
}

/// The nodes that a search from `source` reaches, in the order in which it reaches them, and the node before each node
/// `[N]`, -1 for the source and where it does not come.
#[derive(Clone, Debug)]
pub struct SearchOrder {
    /// Node ids, at most `N`.
    pub order: Tensor<1, Int>,
    /// `[N]`.
    pub predecessors: Tensor<1, Int>,
}

/// Which nodes a search takes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchBy {
    /// The nearest.
    #[default]
    Breadth,
    /// Those behind the last one.
    Depth,
}

/// The nodes of `adjacency` `[N, N]` in the order of a search from `source`, which follows stored elements from row to
/// column, and its tree. Cost: the pattern is read to the host; `O(N + nnz)`. (SciPy's `breadth_first_order`,
/// `depth_first_order`; their trees are the edges from [`SearchOrder::predecessors`].)
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{SearchBy, karate, search_order};
///
/// let found = search_order(&karate(&Device::flex()).adjacency, 33, SearchBy::Depth);
/// assert_eq!(found.order.dims(), [34]);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square; `index_out_of_range` for a source that is no node.
#[or_panic]
pub fn try_search_order<K: Kind>(adjacency: &CsrTensor<2, K>, source: usize, by: SearchBy) -> Result<SearchOrder> {
    const OP: &str = "search_order";
    check_square(OP, adjacency)?;
    check_ids(OP, &[source], adjacency.dims()[0])?;
    let rows = HostRows::of(adjacency.pattern());
    let search = match by {
        SearchBy::Breadth => graph::breadth_first,
        SearchBy::Depth => graph::depth_first,
    };
    let (order, before) = search(rows.ptr(), rows.idx(), source);
    let device = adjacency.device().inner();
    let sizes = [order.len(), before.len()];
    Ok(SearchOrder { order: ints(order, [sizes[0]], &device), predecessors: ints(before, [sizes[1]], &device) })
}

/// The stored elements of `adjacency` `[N, N]` that are a spanning tree of each weak component with the least sum of
/// values: `N` less the number of components, where an infinite value joins nothing. Elements join their row and column
/// in either direction, so each edge is there once; of equal ones the first is taken, so the result is unique. Values
/// keep their gradients. Cost: pattern and values are read to the host; `O(nnz log(nnz))` (Kruskal 1956). (SciPy's
/// `minimum_spanning_tree`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CooTensor;
/// use sparse_tensor::data::minimum_spanning_tree;
///
/// let weights = Tensor::<1>::from_floats([1.0, 5.0, 2.0], &Device::flex());
/// let a = CooTensor::from_edges(&[(0, 1), (0, 2), (1, 2)], weights, 3).unwrap().to_csr();
/// assert_eq!(minimum_spanning_tree(&a).sum().into_scalar::<f32>(), 3.0);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square; `fill_mismatch` for another fill than zero or undefined; `invalid`
/// that names the edge for a value that is NaN or negatively infinite.
#[or_panic]
pub fn try_minimum_spanning_tree(adjacency: &CsrTensor<2>) -> Result<CsrTensor<2>> {
    const OP: &str = "minimum_spanning_tree";
    check_square(OP, adjacency)?;
    let rows = HostRows::of(adjacency.pattern());
    let weights = weights(OP, adjacency, &rows)?;
    let kept = graph::minimum_spanning_forest(rows.ptr(), rows.idx(), &weights);
    Ok(keep(adjacency, &rows, &kept))
}

/// Kernels number nodes in 32 bits.
pub(super) fn check_count(op: &'static str, nodes: usize) -> Result<()> {
    match u32::try_from(nodes) {
        Ok(_) => Ok(()),
        Err(_) => Err(SparseError::overflow(op, "the number of nodes", u32::MAX, nodes)),
    }
}

/// The values of the stored elements as weights of edges.
pub(super) fn weights(op: &'static str, adjacency: &CsrTensor<2>, rows: &HostRows) -> Result<Vec<f64>> {
    if !matches!(adjacency.fill(), Fill::Zero | Fill::Undefined) {
        return Err(SparseError::wrong_fill(op, "zero or undefined", adjacency.fill(), "use with_fill"));
    }
    let weights: Vec<f64> = read_data(adjacency.rows().clone().inner()).convert::<f64>().iter().collect();
    match weights.iter().position(|weight| weight.is_nan() || *weight == f64::NEG_INFINITY) {
        None => Ok(weights),
        Some(at) => Err(bad_weight(op, "a weight must be a number", rows, &weights, at)),
    }
}

/// The same, where lengths of paths and differences of potentials have a float, or are those of no path.
pub(super) fn path_weights(op: &'static str, adjacency: &CsrTensor<2>, rows: &HostRows) -> Result<Vec<f64>> {
    let weights = weights(op, adjacency, rows)?;
    let least: f64 = weights.iter().filter(|weight| **weight < 0.0).sum();
    match least < f64::MIN / 4.0 {
        false => Ok(weights),
        true => {
            let message = format!("the sum of the negative weights must be far from the least float, got {least:e}");
            Err(SparseError::invalid(op, message))
        }
    }
}

/// Lengths of paths in a dtype. Infinite ones are of no path. `node` is where length `at` leads.
pub(super) fn in_dtype(
    op: &'static str,
    lengths: TensorData,
    dtype: DType,
    node: impl Fn(usize) -> usize,
) -> Result<TensorData> {
    if dtype == DType::F64 {
        return Ok(lengths);
    }
    let data = lengths.clone().convert_dtype(dtype);
    let narrow = data.clone().convert::<f64>();
    let lost = |(whole, own): (f64, f64)| whole.is_finite() && !own.is_finite();
    match lengths.iter::<f64>().zip(narrow.iter::<f64>()).position(lost) {
        None => Ok(data),
        Some(at) => {
            let length = lengths.iter::<f64>().nth(at).unwrap_or_default();
            let (dtype, node) = (format!("{dtype:?}").to_lowercase(), node(at));
            let message = format!("a length must fit {dtype}, got {length} to node {node}: use f32 or f64");
            Err(SparseError::invalid(op, message))
        }
    }
}

fn bad_weight(op: &'static str, what: &str, rows: &HostRows, weights: &[f64], at: usize) -> SparseError {
    let (row, col) = (row_of(rows.ptr(), at), rows.idx().at(at));
    SparseError::invalid(op, format!("{what}, got {} for the edge ({row}, {col})", weights[at]))
}

fn check_width(op: &'static str, width: Option<f64>) -> Result<()> {
    match width {
        Some(width) if width.is_nan() || width <= 0.0 || width.is_infinite() => {
            Err(SparseError::invalid(op, format!("the width of a bucket must be positive and finite, got {width}")))
        }
        _ => Ok(()),
    }
}
