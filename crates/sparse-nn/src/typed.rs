//! Nodes and edges of several types: what goes into a layer for each type, and what joins the results.

use super::edge_type::EdgeType;
use super::gat::GatConv;
use super::gatv2::Gatv2Conv;
use super::gcn::GcnConv;
use super::message_passing::Edges;
use super::mlp::NodeNetwork;
use super::sage::SageConv;
use super::transformer::TransformerConv;
use super::{edge_conv::EdgeConv, gin::GinConv, gine::GineConv, nn_conv::NnConv};
use super::{eg::EgConv, film::FilmConv, gen_conv::GenConv, pna::PnaConv, res_gated::ResGatedConv};
use burn::config::Config;
use burn::module::{Module, ModuleDisplay};
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::{CsrTensor, Result, SparseError};
use std::collections::{BTreeMap, BTreeSet};

/// The features of the nodes of each type, by the name of the type: `[nodes, F]`, where types may have other numbers
/// of features. (PyG's `x_dict`.)
pub type NodeTensors = BTreeMap<String, Tensor<2>>;

/// A layer for edges of one type, as [`HeteroConv`] has them: from the features of sources and targets to new ones of
/// the targets.
///
/// Implement it for a layer of your own; the layers here that have a use for two kinds of nodes have it.
pub trait EdgeLayer: Module {
    /// The new features of the targets, `[M, F]`.
    ///
    /// # Errors
    ///
    /// Those of the layer.
    fn on_edges(&self, edges: &Edges<'_>) -> Result<Tensor<2>>;

    /// Whether the layer adds self loops or normalises a square adjacency: sources and targets must be of one type.
    fn adds_loops(&self) -> bool {
        false
    }
}

macro_rules! edge_layers {
    ($($layer:ty: |$own:ident, $edges:ident| $forward:expr $(, loops $loops:expr)?;)*) => {$(
        impl EdgeLayer for $layer {
            fn on_edges(&self, $edges: &Edges<'_>) -> Result<Tensor<2>> {
                let $own = self;
                $forward
            }
            $(
                fn adds_loops(&self) -> bool {
                    let $own = self;
                    $loops
                }
            )?
        }
    )*};
}

edge_layers! {
    GcnConv: |layer, edges| layer.try_forward(edges.adjacency(), edges.sources()), loops layer.normalize;
    SageConv: |layer, edges| layer.try_forward_bipartite(edges.adjacency(), edges.sources(), edges.targets());
    GatConv: |layer, edges| {
        layer.try_forward_bipartite(edges.adjacency(), edges.sources(), edges.targets(), edges.features())
    }, loops layer.self_loops;
    Gatv2Conv: |layer, edges| {
        layer.try_forward_bipartite(edges.adjacency(), edges.sources(), edges.targets(), edges.features())
    }, loops layer.self_loops;
    TransformerConv: |layer, edges| {
        layer.try_forward_bipartite(edges.adjacency(), edges.sources(), edges.targets(), edges.features())
    };
    FilmConv: |layer, edges| layer.try_forward(std::slice::from_ref(edges));
    ResGatedConv: |layer, edges| layer.try_forward(edges);
    PnaConv: |layer, edges| layer.try_forward(edges);
    GenConv: |layer, edges| layer.try_forward(edges);
    EgConv: |layer, edges| layer.try_forward(edges), loops layer.self_loops;
}

macro_rules! network_layers {
    ($($layer:ident: |$own:ident, $edges:ident| $forward:expr;)*) => {$(
        impl<M: NodeNetwork + ModuleDisplay> EdgeLayer for $layer<M> {
            fn on_edges(&self, $edges: &Edges<'_>) -> Result<Tensor<2>> {
                let $own = self;
                $forward
            }
        }
    )*};
}

network_layers! {
    GinConv: |layer, edges| layer.try_forward_bipartite(edges.adjacency(), edges.sources(), edges.targets());
    GineConv: |layer, edges| layer.try_forward(edges);
    EdgeConv: |layer, edges| layer.try_forward(edges);
    NnConv: |layer, edges| layer.try_forward(edges);
}

/// One of the layers that are often mixed in a [`HeteroConv`]. For others write an enum like this one, with a
/// [`EdgeLayer`] that calls them.
#[derive(Module, Debug)]
// A list of layers is short, and a module cannot be in a box.
#[allow(clippy::large_enum_variant)]
pub enum AnyLayer {
    /// A graph convolution, of a rectangular adjacency that is normalised outside.
    Gcn(GcnConv),
    /// GraphSAGE.
    Sage(SageConv),
    /// Graph attention, without self loops between two types.
    Gat(GatConv),
    /// Graph attention, the second version.
    Gatv2(Gatv2Conv),
    /// Attention as in a transformer.
    Transformer(TransformerConv),
}

macro_rules! any_layer {
    ($($variant:ident($layer:ty)),*) => {
        impl EdgeLayer for AnyLayer {
            fn on_edges(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
                match self {
                    $(Self::$variant(layer) => layer.on_edges(edges),)*
                }
            }

            fn adds_loops(&self) -> bool {
                match self {
                    $(Self::$variant(layer) => EdgeLayer::adds_loops(layer),)*
                }
            }
        }

        $(impl From<$layer> for AnyLayer {
            fn from(layer: $layer) -> Self {
                Self::$variant(layer)
            }
        })*
    };
}

any_layer!(Gcn(GcnConv), Sage(SageConv), Gat(GatConv), Gatv2(Gatv2Conv), Transformer(TransformerConv));

/// How the results of several types of edges become one.
#[derive(Config, Debug, Copy, PartialEq, Eq)]
pub enum TypeJoin {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// The largest of each element.
    Max,
    /// The smallest of each element.
    Min,
    /// Side by side, in the order of the layers.
    Concat,
}

/// A layer for each type of edge, whose results for one type of targets are joined: `out_t = join_r layer_r(edges_r)`
/// over the types `r` of edges to nodes of type `t`.
///
/// An edge type without edges in a call is left out, and so is one without a layer. Types of nodes to which no edges
/// go are not in the result. Layers may be of one kind, or [`AnyLayer`]s. (PyG's `HeteroConv`; its `to_hetero` is this
/// with copies of one layer, summed.)
///
/// Gradients are those of the layers. Cost: that of the layers, and one pass over their results.
///
/// Source: Schlichtkrull et al., *Modeling relational data with graph convolutional networks*, ESWC 2018, for the sum
/// over relations.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::nn::{AnyLayer, EdgeType, GatConvConfig, HeteroConv, SageConvConfig, TypeJoin};
///
/// let device = Device::flex();
/// let [writes, cites] = [("author", "writes", "paper"), ("paper", "cites", "paper")].map(EdgeType::from);
/// // Three authors with four features, two papers with two.
/// let by = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], &device));
/// let cited = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [0.0, 0.0]], &device));
/// let x = [("author".into(), Tensor::ones([3, 4], &device)), ("paper".into(), Tensor::ones([2, 2], &device))].into();
/// let layers: [(EdgeType, AnyLayer); 2] = [
///     (writes.clone(), SageConvConfig::new(4, 8).with_d_target(Some(2)).init(&device).into()),
///     (cites.clone(), GatConvConfig::new(2, 8).init(&device).into()),
/// ];
/// let layer = HeteroConv::new(layers, TypeJoin::Sum);
/// let out = layer.forward(&[(writes, &by), (cites, &cited)], &x);
/// assert_eq!(out["paper"].dims(), [2, 8]);
/// assert!(!out.contains_key("author"));
/// ```
#[derive(Module, Debug)]
pub struct HeteroConv<L: EdgeLayer> {
    /// The layers, in the order of [`edge_types`](Self::edge_types).
    pub layers: Vec<L>,
    #[module(skip)]
    edge_types: Vec<EdgeType>,
    #[module(skip)]
    join: TypeJoin,
}

impl<L: EdgeLayer> HeteroConv<L> {
    /// These layers of edge types.
    ///
    /// # Errors
    ///
    /// `invalid` for a type that is there twice, and for a layer that adds self loops or normalises between two types.
    #[or_panic]
    pub fn try_new(layers: impl IntoIterator<Item = (EdgeType, L)>, join: TypeJoin) -> Result<Self> {
        const OP: &str = "HeteroConv::new";
        let (edge_types, layers): (Vec<_>, Vec<_>) = layers.into_iter().unzip();
        check_once(OP, &edge_types)?;
        let looped = |(kind, layer): &(&EdgeType, &L)| layer.adds_loops() && kind.source != kind.target;
        if let Some((kind, _)) = edge_types.iter().zip(&layers).find(looped) {
            let message = format!(
                "{kind}: a layer between two types must add no self loops and not normalise, got one that does"
            );
            return Err(SparseError::invalid(OP, message));
        }
        Ok(Self { layers, edge_types, join })
    }

    /// The edge types that have a layer.
    pub fn edge_types(&self) -> &[EdgeType] {
        &self.edge_types
    }

    /// The adjacency of each edge type, `[M, N]`, and the features of each type of nodes, to new features of the
    /// targets. As [`Edges::of_types`]: of a sampled neighbourhood the first nodes of a type are the targets.
    ///
    /// # Errors
    ///
    /// `invalid` for an edge type that is there twice, for nodes without features or with others than the adjacency
    /// needs, what a layer refuses, and results that cannot be joined. It names the type.
    #[or_panic]
    pub fn try_forward(&self, adjacencies: &[(EdgeType, &CsrTensor<2>)], x: &NodeTensors) -> Result<NodeTensors> {
        const OP: &str = "HeteroConv::forward";
        let own: Vec<_> = adjacencies.iter().filter(|(kind, _)| self.edge_types.contains(kind)).cloned().collect();
        self.run(OP, &of_types(OP, &own, x)?)
    }

    /// The same for edges that have features of their own: those of [`Edges::of_types`], some with
    /// [`Edges::with_features`].
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward).
    #[or_panic]
    pub fn try_forward_edges(&self, edges: &[(EdgeType, Edges<'_>)]) -> Result<NodeTensors> {
        self.run("HeteroConv::forward_edges", edges)
    }

    fn run(&self, op: &'static str, edges: &[(EdgeType, Edges<'_>)]) -> Result<NodeTensors> {
        check_once(op, edges.iter().map(|(kind, _)| kind))?;
        let mut results: BTreeMap<&str, Vec<Tensor<2>>> = BTreeMap::new();
        for (kind, layer) in self.edge_types.iter().zip(&self.layers) {
            let Some((_, edges)) = edges.iter().find(|(other, _)| other == kind) else { continue };
            let out = layer.on_edges(edges).map_err(|trouble| about(op, kind, trouble))?;
            let outs = results.entry(&kind.target).or_default();
            if let Some(first) = outs.first()
                && (first.dims()[0] != out.dims()[0]
                    || self.join != TypeJoin::Concat && first.dims()[1] != out.dims()[1])
            {
                let message = format!(
                    "{kind}: results of one type must have one shape, got {:?} and {:?}",
                    first.dims(),
                    out.dims()
                );
                return Err(SparseError::invalid(op, message));
            }
            outs.push(out);
        }
        Ok(results.into_iter().map(|(name, outs)| (name.into(), self.join.of(outs))).collect())
    }
}

impl TypeJoin {
    /// One tensor of several, of which there is at least one.
    fn of(self, outs: Vec<Tensor<2>>) -> Tensor<2> {
        let count = outs.len();
        let fold = |join: fn(Tensor<2>, Tensor<2>) -> Tensor<2>, outs: Vec<_>| {
            outs.into_iter().reduce(join).expect("a type in the result has an output")
        };
        match self {
            _ if count == 1 => fold(|a, _| a, outs),
            Self::Sum => fold(|a, b| a + b, outs),
            // Not div_scalar: in Burn 0.22 its gradient is rounded to f32.
            Self::Mean => fold(|a, b| a + b, outs).mul_scalar(1.0 / count as f64),
            Self::Max => fold(Tensor::max_pair, outs),
            Self::Min => fold(Tensor::min_pair, outs),
            Self::Concat => Tensor::cat(outs, 1),
        }
    }
}

impl<'a> Edges<'a> {
    /// The edges of each type, from the adjacencies `[M, N]` and the features of the nodes of each type.
    ///
    /// The sources have the `N` rows of their type. Of the targets the first `M` rows are taken: there may be more in a
    /// sampled neighbourhood, whose nodes begin with those that were asked for.
    ///
    /// # Errors
    ///
    /// `invalid` for an edge type that is there twice, or nodes without features, too few of them, or of another dtype
    /// or device; it names the type.
    #[or_panic]
    pub fn try_of_types(
        adjacencies: &[(EdgeType, &'a CsrTensor<2>)],
        x: &NodeTensors,
    ) -> Result<Vec<(EdgeType, Self)>> {
        of_types("Edges::of_types", adjacencies, x)
    }
}

/// [`Edges::try_of_types`] for an operation of this name.
pub(super) fn of_types<'a>(
    op: &'static str,
    adjacencies: &[(EdgeType, &'a CsrTensor<2>)],
    x: &NodeTensors,
) -> Result<Vec<(EdgeType, Edges<'a>)>> {
    check_once(op, adjacencies.iter().map(|(kind, _)| kind))?;
    let one = |(kind, adjacency): &(EdgeType, &'a CsrTensor<2>)| {
        let source = nodes_of(op, x, &kind.source)?.clone();
        let target = targets(nodes_of(op, x, &kind.target)?, adjacency);
        let edges = Edges::try_bipartite(adjacency, source, target).map_err(|trouble| about(op, kind, trouble))?;
        Ok((kind.clone(), edges))
    };
    adjacencies.iter().map(one).collect()
}

/// The rows of the targets of an adjacency: the first of their type, or all if those are too few.
pub(super) fn targets(x: &Tensor<2>, adjacency: &CsrTensor<2>) -> Tensor<2> {
    let (rows, [all, width]) = (adjacency.dims()[0], x.dims());
    match rows {
        // Burn refuses to narrow to size 0.
        0 => Tensor::zeros([0, width], (&x.device(), x.dtype())),
        _ if rows < all => x.clone().narrow(0, 0, rows),
        _ => x.clone(),
    }
}

/// The features of a type of nodes.
pub(super) fn nodes_of<'x>(op: &'static str, x: &'x NodeTensors, name: &str) -> Result<&'x Tensor<2>> {
    x.get(name).ok_or_else(|| {
        let got: Vec<_> = x.keys().collect();
        SparseError::invalid(op, format!("{name}: nodes of this type must have features, got those of {got:?}"))
    })
}

/// Checks that each type is there once.
pub(super) fn check_once<'k>(op: &'static str, kinds: impl IntoIterator<Item = &'k EdgeType>) -> Result<()> {
    let mut met = BTreeSet::new();
    match kinds.into_iter().find(|kind| !met.insert(*kind)) {
        None => Ok(()),
        Some(kind) => Err(SparseError::invalid(op, format!("{kind}: an edge type must be listed once, got it again"))),
    }
}

/// An error about one type.
pub(super) fn about(op: &'static str, kind: &EdgeType, trouble: SparseError) -> SparseError {
    SparseError::invalid(op, format!("{kind}: {trouble}"))
}
