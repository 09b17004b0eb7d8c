//! Several graphs as one.

use burn::tensor::{Int, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, check_square, index_below, nothing};
use sparse_ops::ops::try_block_diag;
use sparse_ops::{CsrTensor, Kind, Result, SparseError};
use std::ops::Range;

/// Several graphs as one block-diagonal graph, with the number of the graph that each node is in.
///
/// A layer runs over all graphs at once and moves nothing between them. A pooling by graph id then gives one row for
/// each graph. (PyG's `Batch.from_data_list`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, data::GraphBatch, ops::{IndexPlan, Reduce}};
///
/// let device = Device::flex();
/// let triangle = CsrTensor::from_dense(Tensor::ones([3, 3], &device) - Tensor::<2>::eye(3, &device));
/// let pair = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [1.0, 0.0]], &device));
/// let batch = GraphBatch::new(&[triangle, pair]).unwrap();
/// let x = batch.join_rows(&[Tensor::<2>::ones([3, 1], &device), Tensor::ones([2, 1], &device)]);
/// let h = batch.adjacency().matmul(x);
/// // The sum over the nodes of each graph.
/// let plan = IndexPlan::new(batch.graph_ids(), batch.graphs()).unwrap();
/// let pooled = plan.put(Tensor::zeros([2, 1], &device), 0, h, Reduce::Add, true);
/// assert_eq!(pooled.into_data().iter::<f32>().collect::<Vec<_>>(), [6.0, 2.0]);
/// ```
#[derive(Clone, Debug)]
pub struct GraphBatch {
    adjacency: CsrTensor<2>,
    graph_ids: Tensor<1, Int>,
    /// Where the nodes of each graph start, and the number of all nodes.
    starts: Vec<usize>,
}

impl GraphBatch {
    /// The graphs of square adjacencies `[n_k, n_k]`, in this order. A graph may have no nodes.
    ///
    /// Gradients reach the values of each adjacency. Cost: a copy of patterns and values.
    ///
    /// # Errors
    ///
    /// `empty_input` for no graphs; `shape_mismatch` for an adjacency that is not square; as
    /// [`try_block_diag`](sparse_ops::ops::try_block_diag()).
    pub fn new(adjacencies: &[CsrTensor<2>]) -> Result<Self> {
        const OP: &str = "GraphBatch::new";
        if adjacencies.is_empty() {
            return Err(SparseError::empty_input(OP, "a batch must have at least one graph, got none"));
        }
        adjacencies.iter().try_for_each(|part| check_square(OP, part))?;
        let adjacency = try_block_diag(adjacencies)?;
        let mut starts = vec![0];
        starts.extend(adjacencies.iter().scan(0, |end, part| {
            *end += part.dims()[0];
            Some(*end)
        }));
        Ok(Self::from_parts(adjacency, starts))
    }

    /// A batch from its block-diagonal adjacency.
    pub(super) fn from_parts(adjacency: CsrTensor<2>, starts: Vec<usize>) -> Self {
        let ids: Vec<usize> =
            starts.windows(2).enumerate().flat_map(|(id, ends)| std::iter::repeat_n(id, ends[1] - ends[0])).collect();
        let graph_ids = index_below(&ids, starts.len() - 1, &adjacency.device());
        Self { adjacency, graph_ids, starts }
    }

    /// The block-diagonal adjacency of all graphs.
    pub fn adjacency(&self) -> &CsrTensor<2> {
        &self.adjacency
    }

    /// The number of the graph of each node, `[nodes]`; ascending.
    pub fn graph_ids(&self) -> Tensor<1, Int> {
        self.graph_ids.clone()
    }

    /// Number of graphs.
    pub fn graphs(&self) -> usize {
        self.starts.len() - 1
    }

    /// The nodes of a graph.
    ///
    /// # Panics
    ///
    /// If there is no such graph.
    pub fn nodes_of(&self, graph: usize) -> Range<usize> {
        assert!(graph < self.graphs(), "GraphBatch::nodes_of: the graph must be below {}, got {graph}", self.graphs());
        self.starts[graph]..self.starts[graph + 1]
    }

    /// The rows of all graphs, one after the other: from `[n_k, ..]` of each graph to `[nodes, ..]`.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there is not one tensor for each graph, with a row for each of its nodes; `shape_mismatch`
    /// if the other dims differ.
    #[or_panic]
    pub fn try_join_rows<const D: usize, K: Kind>(&self, parts: &[Tensor<D, K>]) -> Result<Tensor<D, K>> {
        const OP: &str = "GraphBatch::join_rows";
        if parts.len() != self.graphs() {
            return Err(SparseError::length_mismatch(OP, "the list of parts", self.graphs(), parts.len()));
        }
        let first = parts[0].dims();
        for (graph, part) in parts.iter().enumerate() {
            let (dims, expected) = (part.dims(), self.nodes_of(graph).len());
            if dims[0] != expected {
                return Err(SparseError::length_mismatch(OP, "a part", expected, dims[0]));
            }
            if dims[1..] != first[1..] {
                let rule = "the parts must have the same dims after the first";
                return Err(SparseError::shape_mismatch(OP, rule, first, dims));
            }
        }
        // Some devices cannot concatenate empty tensors.
        let mut full: Vec<_> = parts.iter().filter(|part| part.dims()[0] > 0).cloned().collect();
        Ok(match full.len() {
            0 => parts[0].clone(),
            1 => full.remove(0),
            _ => Tensor::cat(full, 0),
        })
    }

    /// The rows of each graph: from `[nodes, ..]` to `[n_k, ..]` of each graph. The inverse of
    /// [`try_join_rows`](Self::try_join_rows).
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there is not a row for each node.
    #[or_panic]
    pub fn try_split_rows<const D: usize, K: Kind>(&self, rows: Tensor<D, K>) -> Result<Vec<Tensor<D, K>>> {
        let (dims, expected) = (rows.dims(), self.adjacency.dims()[0]);
        if dims[0] != expected {
            return Err(SparseError::length_mismatch("GraphBatch::split_rows", "the list of rows", expected, dims[0]));
        }
        let part = |graph| {
            let range = self.nodes_of(graph);
            let mut shape = dims;
            shape[0] = range.len();
            // Burn refuses to narrow to size 0.
            if range.is_empty() {
                return nothing(shape, rows.dtype(), &[&rows]);
            }
            rows.clone().narrow(0, range.start, range.len()).reshape(Exact(shape))
        };
        Ok((0..self.graphs()).map(part).collect())
    }

    /// The adjacency of each graph; edges between graphs are left out. `adjacency` has the size of that of the batch:
    /// it may be its own, or one that was computed from it.
    ///
    /// # Errors
    ///
    /// `invalid` if it has another size.
    #[or_panic]
    pub fn try_split_adjacency(&self, adjacency: &CsrTensor<2>) -> Result<Vec<CsrTensor<2>>> {
        const OP: &str = "GraphBatch::split_adjacency";
        if adjacency.dims() != self.adjacency.dims() {
            let (expected, got) = (self.adjacency.dims(), adjacency.dims());
            let message = format!("the adjacency must have the size {expected:?} of the batch, got {got:?}");
            return Err(SparseError::invalid(OP, message));
        }
        let part = |graph| {
            let range = self.nodes_of(graph);
            adjacency.try_narrow(0, range.start, range.len())?.try_narrow(1, range.start, range.len())
        };
        (0..self.graphs()).map(part).collect()
    }
}
