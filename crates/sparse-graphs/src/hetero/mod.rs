//! Graphs whose nodes and edges have types.

pub(crate) mod block_model;
#[cfg(feature = "safetensors")]
mod file;
pub(crate) mod homogeneous;
pub(crate) mod split;

use super::graph::Splits;
use super::labelled::LabelledNodes;
use super::labels::Labels;
use super::transform::try_to_undirected;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use core::fmt::{Display, Formatter};
use sparse_macros::or_panic;
use sparse_nn::{EdgeType, NodeTensors};
use sparse_ops::ops::Reduce;
use sparse_ops::{CsrTensor, Result, SparseError};
use std::collections::{BTreeMap, BTreeSet};

/// The nodes of one type.
#[derive(Clone, Debug, Default)]
pub struct TypedNodes {
    /// How many there are.
    pub count: usize,
    /// `[count, features]`.
    pub features: Option<Tensor<2>>,
    /// The class of every node.
    pub labels: Option<Labels>,
    /// The nodes for training, validation and testing.
    pub splits: Splits,
}

impl TypedNodes {
    /// Nodes without features and classes.
    pub fn new(count: usize) -> Self {
        Self { count, ..Self::default() }
    }

    /// Nodes with features, `[nodes, features]`.
    pub fn of(features: Tensor<2>) -> Self {
        Self { count: features.dims()[0], features: Some(features), ..Self::default() }
    }
}

/// A graph whose nodes and edges have types: for each type of nodes what they have, and for each type of edges an
/// adjacency.
///
/// The adjacency of edges from nodes of type `s` to nodes of type `t` is `[nodes of t, nodes of s]`, as the layers of
/// `nn` take it: rows are targets. Types are sorted by their names. [`HeteroConv`](sparse_nn::HeteroConv),
/// [`HanConv`](sparse_nn::HanConv) and [`HgtConv`](sparse_nn::HgtConv) take [`edges`](Self::edges) and
/// [`features`](Self::features). (PyG's `HeteroData`.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CooTensor, data::{HeteroGraph, TypedNodes}, ops::Reduce};
///
/// let device = Device::flex();
/// // Author 0 wrote papers 0 and 1, author 2 paper 1: targets come first.
/// let ones = Tensor::<1>::ones([3], &device);
/// let writes = CooTensor::from_edges(&[(0, 0), (1, 0), (1, 2)], ones, [2, 3]).unwrap().to_csr();
/// let graph = HeteroGraph::default()
///     .with_nodes("author", TypedNodes::new(3))
///     .with_nodes("paper", TypedNodes::of(Tensor::ones([2, 4], &device)))
///     .with_edges(("author", "writes", "paper"), writes)
///     .with_reverse(Reduce::Amax);
/// assert_eq!(
///     graph.to_string(),
///     "author: 3 nodes\n\
///      paper: 2 nodes, 4 features\n\
///      author-writes-paper: 3 edges\n\
///      paper-rev_writes-author: 3 edges"
/// );
/// ```
#[derive(Clone, Debug, Default)]
pub struct HeteroGraph {
    nodes: BTreeMap<String, TypedNodes>,
    edges: BTreeMap<EdgeType, CsrTensor<2>>,
}

impl HeteroGraph {
    /// The graph with these nodes of a type, in place of those of that type, if there are any.
    ///
    /// # Errors
    ///
    /// `invalid` for features or labels that are not one for each node, a node of a split that there is not, or another
    /// number of nodes than edges of the graph need. It names the type.
    #[or_panic]
    pub fn try_with_nodes(mut self, name: impl Into<String>, nodes: TypedNodes) -> Result<Self> {
        const OP: &str = "HeteroGraph::with_nodes";
        let (name, count) = (name.into(), nodes.count);
        let features = nodes.features.as_ref().map(|features| ("features", features.dims()[0]));
        let labels = nodes.labels.as_ref().map(|labels| ("labels", labels.len()));
        for (what, got) in features.into_iter().chain(labels) {
            if got != count {
                return Err(about(OP, &name, format!("{what} must be those of {count} nodes, got {got}")));
            }
        }
        let splits = [&nodes.splits.train, &nodes.splits.val, &nodes.splits.test];
        if let Some(node) = splits.into_iter().flatten().find(|&&node| node >= count) {
            return Err(about(OP, &name, format!("a node of a split must be in [0, {count}), got {node}")));
        }
        for (kind, adjacency) in &self.edges {
            for (end, size) in [&kind.target, &kind.source].into_iter().zip(adjacency.dims()) {
                if *end == name && size != count {
                    return Err(about(OP, &name, format!("{kind} has edges of {size} nodes, got {count} nodes")));
                }
            }
        }
        self.nodes.insert(name, nodes);
        Ok(self)
    }

    /// The graph with edges of a type: `adjacency` `[nodes of the target type, nodes of the source type]`. They replace
    /// those of that type, if there are any.
    ///
    /// # Errors
    ///
    /// `invalid` for a type of nodes that the graph does not have, or an adjacency of another shape; it names the type.
    #[or_panic]
    pub fn try_with_edges(mut self, edge_type: impl Into<EdgeType>, adjacency: CsrTensor<2>) -> Result<Self> {
        const OP: &str = "HeteroGraph::with_edges";
        let kind = edge_type.into();
        let count = |name| Ok(self.named(name).map_err(|message| about(OP, &kind, message))?.count);
        let (targets, sources) = (count(&kind.target)?, count(&kind.source)?);
        if adjacency.dims() != [targets, sources] {
            let (rows, cols, got) = (&kind.target, &kind.source, adjacency.dims());
            let message = format!(
                "the adjacency must have a row for each of {targets} nodes of type {rows} and a column for each of \
                 {sources} of type {cols}, got {got:?}"
            );
            return Err(about(OP, &kind, message));
        }
        self.edges.insert(kind, adjacency);
        Ok(self)
    }

    /// The types of nodes, by name.
    pub fn node_types(&self) -> impl Iterator<Item = &str> {
        self.nodes.keys().map(String::as_str)
    }

    /// The types of edges, in order.
    pub fn edge_types(&self) -> impl Iterator<Item = &EdgeType> {
        self.edges.keys()
    }

    /// The nodes of a type.
    ///
    /// # Errors
    ///
    /// `invalid` for a type that the graph does not have.
    #[or_panic]
    pub fn try_nodes_of(&self, name: &str) -> Result<&TypedNodes> {
        const OP: &str = "HeteroGraph::nodes_of";
        self.named(name).map_err(|message| SparseError::invalid(OP, message))
    }

    /// The adjacency of a type of edges, `[targets, sources]`.
    ///
    /// # Errors
    ///
    /// `invalid` for a type that the graph does not have.
    #[or_panic]
    pub fn try_adjacency(&self, edge_type: impl Into<EdgeType>) -> Result<&CsrTensor<2>> {
        self.edges_of("HeteroGraph::adjacency", &edge_type.into())
    }

    /// All adjacencies with their types, as layers and samplers take them. (PyG's `edge_index_dict`.)
    pub fn edges(&self) -> Vec<(EdgeType, &CsrTensor<2>)> {
        self.edges.iter().map(|(kind, adjacency)| (kind.clone(), adjacency)).collect()
    }

    /// The features of the nodes of each type. (PyG's `x_dict`.)
    ///
    /// # Errors
    ///
    /// `invalid` if there are nodes without features; it names their types.
    #[or_panic]
    pub fn try_features(&self) -> Result<NodeTensors> {
        let without: Vec<_> = self.nodes.iter().filter(|(_, nodes)| nodes.features.is_none()).collect();
        if !without.is_empty() {
            let names: Vec<_> = without.into_iter().map(|(name, _)| name).collect();
            let message = format!("use with_nodes: all types of nodes must have features, got {names:?} without");
            return Err(SparseError::invalid("HeteroGraph::features", message));
        }
        let features = |(name, nodes): (&String, &TypedNodes)| Some((name.clone(), nodes.features.clone()?));
        Ok(self.nodes.iter().filter_map(features).collect())
    }

    /// The nodes `nodes` of a type, for instance a split, with their classes: as
    /// [`Graph::labelled`](super::Graph::labelled).
    ///
    /// # Errors
    ///
    /// `invalid` for a type that the graph does not have or whose nodes have no labels, and for a node without a known
    /// class; `index_out_of_range` for what is no node.
    pub fn labelled(&self, name: &str, nodes: &[usize]) -> Result<LabelledNodes> {
        const OP: &str = "HeteroGraph::labelled";
        let own = self.named(name).map_err(|message| SparseError::invalid(OP, message))?;
        let Some(labels) = &own.labels else {
            return Err(about(OP, name, "the nodes must have labels, got none"));
        };
        LabelledNodes::of(OP, labels, nodes, &labels.tensor().device())
    }

    /// The graph on another device, with its autodiff association. Each adjacency has a pattern of its own there.
    pub fn to_device(&self, device: &Device) -> Self {
        self.map(|x| x.to_device(device), |labels| labels.to_device(device), |edges| edges.clone().to_device(device))
    }

    /// The same graph without an autodiff association, for evaluation. The patterns are shared.
    pub fn valid(&self) -> Self {
        self.map(Tensor::inner, Labels::valid, Module::valid)
    }

    fn map(
        &self,
        features: impl Fn(Tensor<2>) -> Tensor<2>,
        labels: impl Fn(&Labels) -> Labels,
        edges: impl Fn(&CsrTensor<2>) -> CsrTensor<2>,
    ) -> Self {
        let nodes = |(name, nodes): (&String, &TypedNodes)| {
            let own = TypedNodes {
                count: nodes.count,
                features: nodes.features.clone().map(&features),
                labels: nodes.labels.as_ref().map(&labels),
                splits: nodes.splits.clone(),
            };
            (name.clone(), own)
        };
        Self {
            nodes: self.nodes.iter().map(nodes).collect(),
            edges: self.edges.iter().map(|(kind, adjacency)| (kind.clone(), edges(adjacency))).collect(),
        }
    }

    /// The nodes of these types, and the edges between them. (PyG's `node_type_subgraph`.)
    ///
    /// # Errors
    ///
    /// `invalid` for a type that the graph does not have.
    #[or_panic]
    pub fn try_select_nodes(&self, names: &[&str]) -> Result<Self> {
        const OP: &str = "HeteroGraph::select_nodes";
        for name in names {
            self.named(name).map_err(|message| SparseError::invalid(OP, message))?;
        }
        let kept = |name: &String| names.contains(&name.as_str());
        let mut own = self.clone();
        own.nodes.retain(|name, _| kept(name));
        own.edges.retain(|kind, _| kept(&kind.source) && kept(&kind.target));
        Ok(own)
    }

    /// The edges of these types, and the nodes of the types that they join. (PyG's `edge_type_subgraph`.)
    ///
    /// # Errors
    ///
    /// `invalid` for a type that the graph does not have.
    #[or_panic]
    pub fn try_select_edges(&self, edge_types: &[EdgeType]) -> Result<Self> {
        for kind in edge_types {
            self.edges_of("HeteroGraph::select_edges", kind)?;
        }
        let ends: BTreeSet<&String> = edge_types.iter().flat_map(|kind| [&kind.source, &kind.target]).collect();
        let mut own = self.clone();
        own.nodes.retain(|name, _| ends.contains(name));
        own.edges.retain(|kind, _| edge_types.contains(kind));
        Ok(own)
    }

    /// The graph with each edge in both directions. Edges within one type are joined with their reverse, as
    /// [`to_undirected`](super::to_undirected()) does by `reduce`; edges between two types get a type of their own,
    /// [`EdgeType::reversed`]. (PyG's `ToUndirected`.)
    ///
    /// # Errors
    ///
    /// `invalid` if the graph already has a reversed type.
    #[or_panic]
    pub fn try_with_reverse(&self, reduce: Reduce) -> Result<Self> {
        const OP: &str = "HeteroGraph::with_reverse";
        let mut edges = BTreeMap::new();
        for (kind, adjacency) in &self.edges {
            if kind.source == kind.target {
                edges.insert(kind.clone(), try_to_undirected(adjacency, reduce)?);
                continue;
            }
            let reversed = kind.reversed();
            if self.edges.contains_key(&reversed) {
                let message = format!("the graph must not have the reversed type, got {reversed} in it");
                return Err(about(OP, kind, message));
            }
            edges.insert(reversed, adjacency.try_transpose()?);
            edges.insert(kind.clone(), adjacency.clone());
        }
        Ok(Self { nodes: self.nodes.clone(), edges })
    }

    /// The graph with the edges turned round. Types between two types of nodes are [reversed](EdgeType::reversed).
    pub(crate) fn try_transposed(&self) -> Result<Self> {
        let transposed = |(kind, adjacency): (&EdgeType, &CsrTensor<2>)| {
            let kind = if kind.source == kind.target { kind.clone() } else { kind.reversed() };
            Ok((kind, adjacency.try_transpose()?))
        };
        Ok(Self { nodes: self.nodes.clone(), edges: self.edges.iter().map(transposed).collect::<Result<_>>()? })
    }

    fn named(&self, name: &str) -> Result<&TypedNodes, String> {
        self.nodes.get(name).ok_or_else(|| {
            let known: Vec<_> = self.nodes.keys().collect();
            format!("a type of nodes must be one of {known:?}, got {name:?}")
        })
    }

    pub(crate) fn edges_of(&self, op: &'static str, kind: &EdgeType) -> Result<&CsrTensor<2>> {
        self.edges.get(kind).ok_or_else(|| {
            let known: Vec<_> = self.edges.keys().map(EdgeType::to_string).collect();
            SparseError::invalid(op, format!("a type of edges must be one of {known:?}, got {kind}"))
        })
    }
}

/// An error about a type of nodes or edges.
pub(crate) fn about(op: &'static str, name: impl Display, message: impl Display) -> SparseError {
    SparseError::invalid(op, format!("{name}: {message}"))
}

impl Display for HeteroGraph {
    /// A line for each type, without an end of line after the last.
    fn fmt(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        let nodes = self.nodes.iter().map(|(name, nodes)| {
            let features = nodes.features.as_ref().map(|x| format!(", {} features", x.dims()[1]));
            let classes = nodes.labels.as_ref().map(|labels| format!(", {} classes", labels.classes()));
            format!("{name}: {} nodes{}{}", nodes.count, features.unwrap_or_default(), classes.unwrap_or_default())
        });
        let edges = self.edges.iter().map(|(kind, adjacency)| format!("{kind}: {} edges", adjacency.nnz()));
        f.write_str(&nodes.chain(edges).collect::<Vec<_>>().join("\n"))
    }
}
