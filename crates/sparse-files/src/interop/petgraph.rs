//! Graphs of `petgraph`.

use super::from_sparse::FromSparse;
use super::read::{Lines, by_columns, by_rows};
use burn::tensor::{Element, TensorCreationOptions};
use petgraph::EdgeType;
use petgraph::graph::{EdgeIndex, Graph, IndexType, NodeIndex};
use petgraph::visit::EdgeRef;
use sparse_ops::extend::from_entries;
use sparse_ops::pattern::Pattern;
use sparse_ops::{Kind, Result, SparseError, SparseTensor};

/// The adjacency of a graph, with what `weight` gives for each edge.
pub(super) fn adjacency<N, W, Ty: EdgeType, Ix: IndexType, E: Element, P: Pattern, K: Kind>(
    graph: &Graph<N, W, Ty, Ix>,
    mut weight: impl FnMut(&W) -> E,
    options: TensorCreationOptions,
) -> Result<SparseTensor<P, 2, K>> {
    let entries = graph.edge_references().flat_map(|edge| {
        let (from, to, value) = (edge.source().index(), edge.target().index(), weight(edge.weight()));
        let back = (!graph.is_directed() && from != to).then_some((to, from, value));
        std::iter::once((from, to, value)).chain(back)
    });
    from_entries("from_petgraph", entries, [graph.node_count(); 2], options)
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
/// than [the limit](sparse_ops::Limits) of nodes that almost all have no edges.
impl<E, Ty, Ix> FromSparse for Graph<(), E, Ty, Ix>
where
    E: Element,
    Ty: EdgeType,
    Ix: IndexType,
{
    fn from_sparse<P: Pattern, K: Kind>(tensor: &SparseTensor<P, 2, K>) -> Result<Self> {
        const OP: &str = "petgraph::Graph::from_sparse";
        let [nodes, cols] = tensor.dims();
        if nodes != cols {
            return Err(SparseError::shape_mismatch(OP, "an adjacency must be square, got {left}", [nodes, cols], []));
        }
        let Lines { ptr, idx, values } = by_rows::<_, _, E>(OP, tensor)?;
        if !Ty::is_directed() {
            let columns = by_columns::<_, _, E>(OP, tensor)?;
            // NaN is like itself.
            let same = values.iter().zip(&columns.values).all(|(a, b)| a.eq(b) || !a.eq(a) && !b.eq(b));
            if (&ptr, &idx) != (&columns.ptr, &columns.idx) || !same {
                let message = "use a directed graph, or data::to_undirected: the adjacency of an undirected graph must \
                               be symmetric, got one that is not";
                return Err(SparseError::invalid(OP, message));
            }
        }
        let row = |row: usize| (ptr[row]..ptr[row + 1]).map(move |at| (row, at));
        let edges = (0..nodes).flat_map(row).filter(|&(row, at)| Ty::is_directed() || row <= idx[at]);
        let count = if Ty::is_directed() { idx.len() } else { edges.clone().count() };
        // The largest number marks the end of a list of edges.
        let limit = <Ix as IndexType>::max().index();
        for (what, got) in [("the number of nodes", nodes), ("the number of edges", count)] {
            if got > limit {
                return Err(SparseError::overflow(OP, what, limit, got));
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
