//! Message passing: what layers of one's own are made of.

use super::aggregation::Aggregate;
use super::features::{check_square, check_width};
use super::segments::edge_softmax;
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::{Parts, read_at, same_elements, with_diagonal};
use sparse_ops::ops::Reduce;
use sparse_ops::pattern::CsrPattern;
use sparse_ops::{CsrTensor, Result, SparseError};

/// A layer that sends messages along edges:
///
/// `out_i = update(aggregate_{j in N(i)} message(x_i, x_j, e_ij))`.
///
/// Implement [`message`](Self::message), and the other two where the defaults do not fit; then call
/// [`propagate`](Self::propagate). Messages are rows `[nnz, F']`, one for each stored element of the adjacency, so this
/// takes `nnz * F'` memory. A sum of neighbours needs no messages: [`matmul`](sparse_ops::SparseTensor::matmul) and
/// [`matmul_reduce`](sparse_ops::SparseTensor::matmul_reduce) are faster there.
///
/// Gradients reach everything that `message` and `update` use. (PyG's `MessagePassing`.)
///
/// Source: Gilmer et al., *Neural message passing for quantum chemistry*, ICML 2017.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::{Edges, MessagePassing};
/// use sparse_tensor::{CsrTensor, Result, ops::Reduce};
///
/// /// EdgeConv without its network: the largest difference to a neighbour.
/// struct Differences;
///
/// impl MessagePassing for Differences {
///     fn message(&self, edges: &Edges) -> Result<Tensor<2>> {
///         Ok(edges.source() - edges.target())
///     }
///
///     fn aggregate(&self, edges: &Edges, messages: Tensor<2>) -> Result<Tensor<2>> {
///         edges.try_aggregate(messages, Reduce::Amax)
///     }
/// }
///
/// let device = Device::flex();
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0; 3]], &device));
/// let x = Tensor::<2>::from_floats([[1.0], [5.0], [9.0]], &device);
/// let out = Differences.propagate(&Edges::new(&a, x)).unwrap();
/// assert_eq!(out.into_data().iter::<f32>().collect::<Vec<_>>(), [8.0, -4.0, 0.0]);
/// ```
pub trait MessagePassing {
    /// The message of each edge, `[nnz, F']`.
    ///
    /// # Errors
    ///
    /// Those of the operations in it.
    fn message(&self, edges: &Edges<'_>) -> Result<Tensor<2>>;

    /// The messages of each target as one row, `[M, F']`. Default: their sum.
    ///
    /// # Errors
    ///
    /// As [`Edges::try_aggregate`].
    fn aggregate(&self, edges: &Edges<'_>, messages: Tensor<2>) -> Result<Tensor<2>> {
        edges.try_aggregate(messages, Reduce::Add)
    }

    /// The new features of the targets, from the aggregated messages. Default: the messages.
    ///
    /// # Errors
    ///
    /// Those of the operations in it.
    fn update(&self, _edges: &Edges<'_>, aggregated: Tensor<2>) -> Result<Tensor<2>> {
        Ok(aggregated)
    }

    /// `update(aggregate(message))`.
    ///
    /// # Errors
    ///
    /// Those of the three steps.
    fn propagate(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        let messages = self.message(edges)?;
        let aggregated = self.aggregate(edges, messages)?;
        self.update(edges, aggregated)
    }
}

/// The edges of a graph with the features at both ends, for [`MessagePassing`].
///
/// The edge from node `j` to node `i` is the stored element `(i, j)` of the adjacency `[M, N]`: rows are targets and
/// columns are sources, so that `A X` sums over the neighbours. (PyG's `adj_t`; its `edge_index` has the source
/// first.) Edges are in the order of the stored elements.
#[derive(Clone, Debug)]
pub struct Edges<'a> {
    adjacency: &'a CsrTensor<2>,
    source: Tensor<2>,
    target: Tensor<2>,
    features: Option<Tensor<2>>,
}

impl<'a> Edges<'a> {
    /// The edges of a square adjacency `[N, N]` whose nodes have the features `x` `[N, F]`.
    ///
    /// # Errors
    ///
    /// As [`try_bipartite`](Self::try_bipartite).
    #[or_panic]
    pub fn try_new(adjacency: &'a CsrTensor<2>, x: Tensor<2>) -> Result<Self> {
        Self::checked("Edges::new", adjacency, x.clone(), x)
    }

    /// The edges of an adjacency `[M, N]` from sources `[N, F]` to targets `[M, G]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the features do not have a row for each node; `dtype_mismatch`, `unsupported_dtype`,
    /// `device_mismatch`.
    #[or_panic]
    pub fn try_bipartite(adjacency: &'a CsrTensor<2>, source: Tensor<2>, target: Tensor<2>) -> Result<Self> {
        Self::checked("Edges::bipartite", adjacency, source, target)
    }

    fn checked(op: &'static str, adjacency: &'a CsrTensor<2>, source: Tensor<2>, target: Tensor<2>) -> Result<Self> {
        for (axis, x) in [(1, &source), (0, &target)] {
            check_rows(op, adjacency, axis, x)?;
            same_elements(op, adjacency.rows(), x)?;
        }
        Ok(Self { adjacency, source, target, features: None })
    }

    /// The same edges with features of their own, `[nnz, D]`.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there is not one row for each edge; `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_with_features(mut self, features: Tensor<2>) -> Result<Self> {
        const OP: &str = "Edges::with_features";
        check_edges(OP, self.adjacency, "the edge features", &features)?;
        same_elements(OP, self.adjacency.rows(), &features)?;
        self.features = Some(features);
        Ok(self)
    }

    /// The adjacency.
    pub fn adjacency(&self) -> &CsrTensor<2> {
        self.adjacency
    }

    /// Number of edges.
    pub fn len(&self) -> usize {
        self.adjacency.nnz()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `x_j`: the features of the source of each edge, `[nnz, F]`.
    pub fn source(&self) -> Tensor<2> {
        read_at(self.adjacency.pattern(), 1, self.source.clone())
    }

    /// `x_i`: the features of the target of each edge, `[nnz, G]`.
    pub fn target(&self) -> Tensor<2> {
        read_at(self.adjacency.pattern(), 0, self.target.clone())
    }

    /// The features of the source nodes themselves, `[N, F]`.
    pub fn sources(&self) -> Tensor<2> {
        self.source.clone()
    }

    /// The features of the target nodes themselves, `[M, G]`.
    pub fn targets(&self) -> Tensor<2> {
        self.target.clone()
    }

    /// `e_ij`: the features of each edge, if [`with_features`](Self::with_features) gave them.
    pub fn features(&self) -> Option<Tensor<2>> {
        self.features.clone()
    }

    /// The values of the adjacency, `[nnz, 1]`.
    pub fn weights(&self) -> Tensor<2> {
        self.adjacency.rows().clone()
    }

    /// Rows of the sources `x` `[N, F]`, read at each edge: `[nnz, F]`. Backward: sums over each source's edges.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_read_source(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.read("Edges::read_source", 1, x)
    }

    /// Rows of the targets `x` `[M, F]`, read at each edge: `[nnz, F]`. Backward: sums over each target's edges.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_read_target(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.read("Edges::read_target", 0, x)
    }

    /// The pattern of the adjacency, and if asked for with a self loop for each node, which are of one kind then.
    pub(super) fn pattern(&self, op: &'static str, self_loops: bool) -> Result<CsrPattern> {
        let pattern = self.adjacency.pattern();
        if !self_loops {
            return Ok(pattern.clone());
        }
        check_square(op, self.adjacency)?;
        self.adjacency.check_dim(op, pattern.rows())?;
        Ok(with_diagonal(pattern).0)
    }

    /// The features of the edges, for a layer that needs them.
    pub(super) fn need_features(&self, op: &'static str) -> Result<Tensor<2>> {
        let message = "use Edges::with_features: the layer needs features of the edges";
        self.features().ok_or_else(|| SparseError::invalid(op, message))
    }

    /// The features of the edges for a layer that was made for this number of them, or for none.
    pub(super) fn features_of(&self, op: &'static str, d_edge: Option<usize>) -> Result<Option<Tensor<2>>> {
        let Some(width) = d_edge else {
            let message = "use with_d_edge in the configuration: the layer has no edge features";
            return if self.features.is_none() { Ok(None) } else { Err(SparseError::invalid(op, message)) };
        };
        let features = self.need_features(op)?;
        check_width(op, features.dims(), width)?;
        Ok(Some(features))
    }

    fn read(&self, op: &'static str, axis: usize, x: Tensor<2>) -> Result<Tensor<2>> {
        check_rows(op, self.adjacency, axis, &x)?;
        same_elements(op, self.adjacency.rows(), &x)?;
        Ok(read_at(self.adjacency.pattern(), axis, x))
    }

    /// Softmax of scores `[nnz, H]` over the edges of each target, for each column on its own: attention. Backward: as
    /// [`softmax`](SparseTensor::softmax).
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there is not one row for each edge; `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_softmax(&self, scores: Tensor<2>) -> Result<Tensor<2>> {
        const OP: &str = "Edges::softmax";
        check_edges(OP, self.adjacency, "the scores", &scores)?;
        same_elements(OP, self.adjacency.rows(), &scores)?;
        Ok(edge_softmax(self.adjacency.pattern(), scores)?.rows().clone())
    }

    /// The messages `[nnz, F]` of the edges to each target as one row, `[M, F']`: by a [`Reduce`] (add, mul, mean, amax
    /// or amin), an [`Aggregator`](super::Aggregator), or a type of your own. A target without edges gets 0 from a
    /// [`Reduce`]; [`Aggregation`](super::Aggregation) says what it gets there.
    ///
    /// Gradients of a [`Reduce`] are those of [`put_along_axis`](sparse_ops::ops::put_along_axis()).
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there is not one message for each edge; `invalid` for [`Reduce::Assign`];
    /// `dtype_mismatch`, `device_mismatch`; those of the aggregation.
    #[or_panic]
    pub fn try_aggregate(&self, messages: Tensor<2>, how: impl Aggregate) -> Result<Tensor<2>> {
        const OP: &str = "Edges::aggregate";
        check_edges(OP, self.adjacency, "the messages", &messages)?;
        same_elements(OP, self.adjacency.rows(), &messages)?;
        how.aggregate(self.adjacency.pattern(), messages)
    }
}

/// Checks that `x` has a row for each node along an axis of the adjacency.
fn check_rows(op: &'static str, adjacency: &CsrTensor<2>, axis: usize, x: &Tensor<2>) -> Result<()> {
    let (graph, own) = (adjacency.dims(), x.dims());
    if graph[axis] == own[0] {
        return Ok(());
    }
    let rule = match axis {
        0 => "the adjacency {left} must have a row for each row of the target features {right}",
        _ => "the adjacency {left} must have a column for each row of the source features {right}",
    };
    Err(SparseError::shape_mismatch(op, rule, graph, own))
}

/// Checks that `rows` has one row for each stored element.
pub(super) fn check_edges(
    op: &'static str,
    adjacency: &CsrTensor<2>,
    what: &'static str,
    rows: &Tensor<2>,
) -> Result<()> {
    let (expected, got) = (adjacency.nnz(), rows.dims()[0]);
    if expected == got { Ok(()) } else { Err(SparseError::length_mismatch(op, what, expected, got)) }
}
