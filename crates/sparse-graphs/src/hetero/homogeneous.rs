//! A graph of types as one graph, and back.

use super::{HeteroGraph, TypedNodes, about};
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_nn::EdgeType;
use sparse_ops::extend::{cat_rows, same_elements};
use sparse_ops::ops::try_concat;
use sparse_ops::{CsrTensor, Result, SparseError};

/// A graph with one list of nodes, where types are numbers: what [`RgcnConv`](sparse_nn::RgcnConv) and
/// [`RgatConv`](sparse_nn::RgatConv) take.
#[derive(Clone, Debug)]
pub struct HomogeneousGraph {
    /// The names of the types of nodes.
    pub node_types: Vec<String>,
    /// The number of the type of each node.
    pub types: Vec<usize>,
    /// The names of the relations. One may stand for several types of edges.
    pub relations: Vec<String>,
    /// `[nodes, nodes]` of each relation; rows are targets.
    pub adjacencies: Vec<CsrTensor<2>>,
    /// `[nodes, features]`.
    pub features: Option<Tensor<2>>,
}

impl HeteroGraph {
    /// The graph as one. Nodes are in the order of their types, by name, and each type of edges is a relation, in
    /// order. There are features if all types of nodes have as many. Labels and splits are left out. (PyG's
    /// `to_homogeneous`.)
    ///
    /// Gradients reach the values and the features. Cost: for each relation a pass over its edges and all nodes.
    ///
    /// # Errors
    ///
    /// `fill_mismatch` for an adjacency with another fill than 0; `dtype_mismatch`, `device_mismatch`.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CsrTensor, data::{HeteroGraph, TypedNodes}};
    ///
    /// let writes = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0, 1.0]], &Device::flex()));
    /// let graph = HeteroGraph::default()
    ///     .with_nodes("author", TypedNodes::new(3))
    ///     .with_nodes("paper", TypedNodes::new(1))
    ///     .with_edges(("author", "writes", "paper"), writes);
    /// let one = graph.to_homogeneous();
    /// assert_eq!((one.types, one.relations), (vec![0, 0, 0, 1], vec!["writes".to_string()]));
    /// assert_eq!(one.adjacencies[0].dims(), [4, 4]);
    /// ```
    #[or_panic]
    pub fn try_to_homogeneous(&self) -> Result<HomogeneousGraph> {
        let (mut starts, mut types) = (std::collections::BTreeMap::new(), vec![]);
        for (at, (name, nodes)) in self.nodes.iter().enumerate() {
            starts.insert(name, types.len());
            types.extend(std::iter::repeat_n(at, nodes.count));
        }
        let placed = |(kind, adjacency): (&EdgeType, &CsrTensor<2>)| {
            place(adjacency, [starts[&kind.target], starts[&kind.source]], types.len())
        };
        let adjacencies = self.edges.iter().map(placed).collect::<Result<_>>()?;
        let features: Option<Vec<_>> = self.nodes.values().map(|nodes| nodes.features.clone()).collect();
        let features = features.filter(|all| {
            let width = all.first().map(|x| x.dims()[1]);
            width.is_some() && all.iter().all(|x| Some(x.dims()[1]) == width)
        });
        if let Some(all) = &features {
            all.iter().try_for_each(|x| same_elements("HeteroGraph::to_homogeneous", &all[0], x))?;
        }
        Ok(HomogeneousGraph {
            node_types: self.nodes.keys().cloned().collect(),
            types,
            relations: self.edges.keys().map(|kind| kind.relation.clone()).collect(),
            adjacencies,
            features: features.map(cat_rows),
        })
    }
}

/// The matrix as the block of `[all, all]` that starts at `row` and `col`.
fn place(matrix: &CsrTensor<2>, [row, col]: [usize; 2], all: usize) -> Result<CsrTensor<2>> {
    let [rows, cols] = matrix.dims();
    let zeros = |rows, cols| CsrTensor::<2>::zeros([rows, cols], (&matrix.device(), matrix.dtype()));
    let wide = try_concat(&[zeros(rows, col), matrix.clone(), zeros(rows, all - col - cols)], 1)?;
    try_concat(&[zeros(row, all), wide, zeros(all - row - rows, all)], 0)
}

impl HomogeneousGraph {
    /// The graph with types: nodes of a type keep their order, and the edges of a relation between nodes of two types
    /// are edges of a type. Types without edges are not there. (PyG's `to_heterogeneous`.)
    ///
    /// Gradients reach the values and the features. Cost: for each relation and each pair of types a selection of rows
    /// and columns.
    ///
    /// # Errors
    ///
    /// `invalid` for numbers of types that have no name, other numbers of relations, adjacencies or features than there
    /// must be, a name of a type that is there twice, and two relations of one name between the same types.
    #[or_panic]
    pub fn try_to_heterogeneous(&self) -> Result<HeteroGraph> {
        const OP: &str = "HomogeneousGraph::to_heterogeneous";
        self.check(OP)?;
        let of_type = |at: usize| -> Vec<usize> {
            self.types.iter().enumerate().filter(|&(_, &own)| own == at).map(|(node, _)| node).collect()
        };
        let nodes: Vec<Vec<usize>> = (0..self.node_types.len()).map(of_type).collect();
        let mut graph = HeteroGraph::default();
        for (name, own) in self.node_types.iter().zip(&nodes) {
            let features = self.features.as_ref().map(|x| {
                let ids = sparse_ops::extend::index_below(own, self.types.len(), &x.device());
                crate::host::take(x.clone(), &ids)
            });
            graph = graph.try_with_nodes(name, TypedNodes { features, ..TypedNodes::new(own.len()) })?;
        }
        for (relation, adjacency) in self.relations.iter().zip(&self.adjacencies) {
            for (target, rows) in self.node_types.iter().zip(&nodes) {
                let to = adjacency.try_select(0, rows)?;
                for (source, cols) in self.node_types.iter().zip(&nodes) {
                    let part = to.try_select(1, cols)?;
                    let kind = EdgeType::new(source, relation, target);
                    if part.nnz() > 0 && graph.edges.contains_key(&kind) {
                        return Err(about(OP, kind, "edges of one type must be of one relation, got two of this name"));
                    }
                    if part.nnz() > 0 {
                        graph = graph.try_with_edges(kind, part)?;
                    }
                }
            }
        }
        Ok(graph)
    }

    fn check(&self, op: &'static str) -> Result<()> {
        let (nodes, kinds) = (self.types.len(), self.node_types.len());
        let invalid = |message: String| Err(SparseError::invalid(op, message));
        if let Some(node) = self.types.iter().position(|&own| own >= kinds) {
            return invalid(format!("a type must be in [0, {kinds}), got {} for node {node}", self.types[node]));
        }
        if let Some(name) = self.node_types.iter().enumerate().find(|(at, name)| self.node_types[..*at].contains(name))
        {
            return invalid(format!("{}: a type of nodes must be listed once, got it again", name.1));
        }
        let [expected, got] = [self.relations.len(), self.adjacencies.len()];
        if expected != got {
            return invalid(format!("there must be an adjacency for each of {expected} relations, got {got}"));
        }
        for (relation, adjacency) in self.relations.iter().zip(&self.adjacencies) {
            if adjacency.dims() != [nodes, nodes] {
                let got = adjacency.dims();
                return invalid(format!("{relation}: the adjacency must be of {nodes} nodes, got {got:?}"));
            }
        }
        match self.features.as_ref().map(|x| x.dims()[0]).filter(|&rows| rows != nodes) {
            Some(rows) => invalid(format!("features must have a row for each of {nodes} nodes, got {rows}")),
            None => Ok(()),
        }
    }
}
