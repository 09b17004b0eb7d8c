//! Graphs of `petgraph`.

use super::matrix::from_valued;
use super::read::{Lines, by_columns, by_rows};
use crate::base::kind::Kind;
use crate::pattern::layout::Pattern;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Device, Element, TensorCreationOptions};
use petgraph::EdgeType;
use petgraph::graph::{EdgeIndex, Graph, IndexType, NodeIndex};
use petgraph::visit::EdgeRef;
use sparse_core::{Result, SparseError};

impl<P: Pattern, K: Kind> SparseTensor<P, 2, K> {
    /// The adjacency `[n, n]` of a graph of `petgraph` with `n` nodes; `weight` gives the value of an edge. Needs the
    /// feature `petgraph`.
    ///
    /// An edge from node `i` to node `j` is the element at row `i` and column `j`, as in
    /// [`from_edges`](Self::from_edges). In layers a row is the node that receives, so they take the transpose. An
    /// undirected edge is in both rows, with one value; a self loop is one element. Parallel edges are kept by COO and
    /// summed by CSR.
    ///
    /// `options` are as for [`from_matrix`](Self::from_matrix), which has the rules for values, too. Other graphs of
    /// petgraph become a `Graph` first: `Graph::from(stable_graph)`, `graph_map.into_graph()`.
    ///
    /// Cost: a pass over the edges, which are copied to the device; for CSR a sort.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use petgraph::graph::UnGraph;
    /// use sparse_tensor::CsrTensor;
    ///
    /// let path = UnGraph::<(), ()>::from_edges([(0u32, 1u32), (1, 2)]);
    /// let a = CsrTensor::<2>::from_petgraph(&path, |()| 1.0f32, &Device::flex()).unwrap();
    /// assert_eq!(a.to_triplets::<f32>(), (vec![0, 1, 1, 2], vec![1, 0, 2, 1], vec![1.0; 4]));
    /// ```
    ///
    /// # Errors
    ///
    /// `dtype_mismatch`, `unsupported_dtype` and `overflow` as [`from_matrix`](Self::from_matrix).
    pub fn from_petgraph<N, W, Ty: EdgeType, Ix: IndexType, E: Element>(
        graph: &Graph<N, W, Ty, Ix>,
        mut weight: impl FnMut(&W) -> E,
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Self> {
        let entries = graph.edge_references().flat_map(|edge| {
            let (from, to, value) = (edge.source().index(), edge.target().index(), weight(edge.weight()));
            let back = (!graph.is_directed() && from != to).then_some((to, from, value));
            std::iter::once((from, to, value)).chain(back)
        });
        from_valued("from_petgraph", entries, [graph.node_count(); 2], options.into())
    }
}

/// [`from_petgraph`](SparseTensor::from_petgraph) onto the default device, for edges whose weights are numbers.
impl<N, E, Ty, Ix, P, K> TryFrom<&Graph<N, E, Ty, Ix>> for SparseTensor<P, 2, K>
where
    E: Element,
    Ty: EdgeType,
    Ix: IndexType,
    P: Pattern,
    K: Kind,
{
    type Error = SparseError;

    fn try_from(graph: &Graph<N, E, Ty, Ix>) -> Result<Self> {
        Self::from_petgraph(graph, |&weight| weight, &Device::default())
    }
}

/// The graph of an adjacency: a node for each row, and an edge from node `i` to node `j` for each element at row `i`
/// and column `j`. Duplicates are summed.
///
/// The edges of a directed graph are in the order of the elements of CSR, so edge `k` has value `k`. An undirected
/// graph has an edge for each element with `i <= j`, in the same order.
///
/// # Errors
///
/// `shape_mismatch` if the adjacency is not square; `invalid` if the graph is undirected and the adjacency is not
/// symmetric; `overflow` if `Ix` does not hold the numbers of nodes and edges; `dtype_mismatch` if `E` does not hold
/// every number of the dtype; `fill_mismatch` and `undefined_fill` for a fill other than zero; `would_densify` for more
/// than [the limit](crate::Limits) of nodes that almost all have no edges.
impl<E, Ty, Ix, P, K> TryFrom<&SparseTensor<P, 2, K>> for Graph<(), E, Ty, Ix>
where
    E: Element,
    Ty: EdgeType,
    Ix: IndexType,
    P: Pattern,
    K: Kind,
{
    type Error = SparseError;

    fn try_from(tensor: &SparseTensor<P, 2, K>) -> Result<Self> {
        const OP: &str = "petgraph::Graph::try_from";
        let [nodes, cols] = tensor.dims();
        if nodes != cols {
            let rule = "an adjacency must be square, got {left}";
            return Err(SparseError::ShapeMismatch { op: OP, rule, left: vec![nodes, cols], right: vec![] });
        }
        let Lines { ptr, idx, values } = by_rows::<_, _, E>(OP, tensor)?;
        if !Ty::is_directed() {
            let columns = by_columns::<_, _, E>(OP, tensor)?;
            // NaN is like itself.
            let same = values.iter().zip(&columns.values).all(|(a, b)| a.eq(b) || !a.eq(a) && !b.eq(b));
            if (&ptr, &idx) != (&columns.ptr, &columns.idx) || !same {
                let message = "use a directed graph, or data::to_undirected: the adjacency of an undirected graph must \
                               be symmetric, got one that is not";
                return Err(SparseError::Invalid { op: OP, message: message.into() });
            }
        }
        let row = |row: usize| (ptr[row]..ptr[row + 1]).map(move |at| (row, at));
        let edges = (0..nodes).flat_map(row).filter(|&(row, at)| Ty::is_directed() || row <= idx[at]);
        let count = if Ty::is_directed() { idx.len() } else { edges.clone().count() };
        // The largest number marks the end of a list of edges.
        let limit = <Ix as IndexType>::max().index();
        for (what, got) in [("the number of nodes", nodes), ("the number of edges", count)] {
            if got > limit {
                return Err(SparseError::Overflow { op: OP, what, limit: limit as u128, got: got as u128 });
            }
        }
        let mut graph = Graph::with_capacity(nodes, count);
        for _ in 0..nodes {
            graph.add_node(());
        }
        for (row, at) in edges {
            let _: EdgeIndex<Ix> = graph.add_edge(NodeIndex::new(row), NodeIndex::new(idx[at]), values[at]);
        }
        Ok(graph)
    }
}
