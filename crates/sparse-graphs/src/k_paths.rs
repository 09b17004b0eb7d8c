//! Several shortest paths between two nodes, and trees of predecessors.

use super::host::{HostRows, keep};
use super::paths::{check_count, in_dtype, path_weights};
use burn::tensor::{Int, Tensor, TensorData};
use sparse_core::graph::{self, NegativeCycle, path_length};
use sparse_macros::or_panic;
use sparse_ops::extend::{Erased, Parts, check_ids, check_square, read_data, record};
use sparse_ops::{CsrTensor, Kind, Result, SparseError};

/// The shortest paths from one node to another, shortest first.
#[derive(Clone, Debug)]
pub struct KShortestPaths {
    /// The length of each path, `[K]` or fewer. On the tape of the weights.
    pub lengths: Tensor<1>,
    /// The nodes of each path, both ends included.
    pub paths: Vec<Vec<usize>>,
}

/// The `count` shortest paths in `adjacency` `[N, N]` from `source` to `target` in which no node is twice; fewer, if
/// there are fewer. Edges and weights are as in [`shortest_paths`](super::shortest_paths).
///
/// Backward: an edge gets the gradients of the lengths of all paths that it is on.
///
/// Weights may be negative. Cost: pattern and values are read to the host; a search from the target over the graph, and
/// then one towards it for each node of each path, which rarely sees much more than the path it finds. In f64, then
/// rounded to the dtype of the adjacency. (SciPy's `yen`; Yen 1971 with Lawler's rule.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CooTensor;
/// use sparse_tensor::data::k_shortest_paths;
///
/// let weights = Tensor::<1>::from_floats([1.0, 2.0, 5.0], &Device::flex());
/// let a = CooTensor::from_edges(&[(0, 1), (1, 2), (0, 2)], weights, 3).unwrap().to_csr();
/// let found = k_shortest_paths(&a, 0, 2, 5);
/// assert_eq!(found.lengths.into_data().to_vec::<f32>().unwrap(), [3.0, 5.0]);
/// assert_eq!(found.paths, [vec![0, 1, 2], vec![0, 2]]);
/// ```
///
/// # Errors
///
/// Those of [`try_shortest_paths`](super::try_shortest_paths); of cycles with a negative sum, those from which paths
/// lead to the target.
#[or_panic]
pub fn try_k_shortest_paths(
    adjacency: &CsrTensor<2>,
    source: usize,
    target: usize,
    count: usize,
) -> Result<KShortestPaths> {
    const OP: &str = "k_shortest_paths";
    check_square(OP, adjacency)?;
    let nodes = adjacency.dims()[0];
    check_ids(OP, &[source, target], nodes)?;
    check_count(OP, nodes)?;
    let rows = HostRows::of(adjacency.pattern());
    let weights = path_weights(OP, adjacency, &rows)?;
    let found = graph::k_shortest_paths(rows.ptr(), rows.idx(), &weights, [source, target], count).map_err(
        |NegativeCycle(node)| {
            let message = format!("a cycle must not have a negative length, got one through node {node}");
            SparseError::invalid(OP, message)
        },
    )?;
    let ends = |path: &Vec<usize>| path.iter().map(|&at| rows.idx().at(at)).collect::<Vec<_>>();
    let paths = found.iter().map(|path| [vec![source], ends(path)].concat()).collect();
    let lengths: Vec<f64> = found.iter().map(|path| path_length(&weights, path)).collect();
    let values = adjacency.rows();
    let (plain, dtype, edges) = (values.device().inner(), values.dtype(), weights.len());
    let data = in_dtype(OP, TensorData::new(lengths, [found.len()]), dtype, |_| target)?;
    let lengths = Tensor::<1>::from_data(data, (&plain, dtype));
    let lengths = record(lengths, [Erased::from(values)], (found, edges), |(found, edges), grad: Tensor<1>, _| {
        let (options, edges) = ((grad.device(), grad.dtype()), *edges);
        let mut grads = vec![0.0; edges];
        for (path, grad) in found.iter().zip(read_data(grad).convert::<f64>().iter::<f64>()) {
            path.iter().for_each(|&at| grads[at] += grad);
        }
        let data = TensorData::new(grads, [edges, 1]).convert_dtype(options.1);
        [Some(Tensor::<2>::from_data(data, (&options.0, options.1)).into())]
    });
    Ok(KShortestPaths { lengths, paths })
}

/// The stored elements of `adjacency` `[N, N]` that lead from the predecessor of each node to it: the tree of a search
/// or of shortest paths. `predecessors` `[N]` has -1 for a node without one. Values keep their gradients. Cost: pattern
/// and predecessors are read to the host; `O(N log(nnz))`. (SciPy's `reconstruct_path`, `breadth_first_tree`,
/// `depth_first_tree`.)
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{SearchBy, karate, predecessor_tree, search_order};
///
/// let graph = karate(&Device::flex()).adjacency;
/// let found = search_order(&graph, 0, SearchBy::Breadth);
/// assert_eq!(predecessor_tree(&graph, &found.predecessors).nnz(), 33);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square; `invalid` if there are not as many predecessors as nodes, or for
/// one that has no edge to its node.
#[or_panic]
pub fn try_predecessor_tree<K: Kind>(
    adjacency: &CsrTensor<2, K>,
    predecessors: &Tensor<1, Int>,
) -> Result<CsrTensor<2, K>> {
    const OP: &str = "predecessor_tree";
    check_square(OP, adjacency)?;
    let nodes = adjacency.dims()[0];
    let before: Vec<i64> = read_data(predecessors.clone().inner()).convert::<i64>().iter().collect();
    if before.len() != nodes {
        let message = format!("there must be a predecessor for each of {nodes} nodes, got {}", before.len());
        return Err(SparseError::invalid(OP, message));
    }
    let rows = HostRows::of(adjacency.pattern());
    let (ptr, idx) = (rows.ptr(), rows.idx());
    let mut kept = Vec::with_capacity(nodes);
    for (node, before) in before.into_iter().enumerate().filter(|(_, before)| *before != -1) {
        let span = usize::try_from(before).ok().filter(|&row| row < nodes).map(|row| ptr.at(row)..ptr.at(row + 1));
        let (mut low, end) = span.map_or((0, 0), |span| (span.start, span.end));
        let mut high = end;
        // Columns ascend in a row.
        while low < high {
            let middle = low.midpoint(high);
            if idx.at(middle) < node { low = middle + 1 } else { high = middle }
        }
        if low == end || idx.at(low) != node {
            let message = format!("a predecessor must have an edge to its node, got {before} for node {node}");
            return Err(SparseError::invalid(OP, message));
        }
        kept.push(low);
    }
    kept.sort_unstable();
    Ok(keep(adjacency, &rows, &kept))
}
