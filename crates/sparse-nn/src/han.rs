//! Attention to neighbours of each type, and to the types.

use super::activation::leaky_relu;
use super::attention::{head_scores, joined, widths};
use super::edge_type::EdgeType;
use super::features::{apply, glorot};
use super::typed::{NodeTensors, check_once, of_types};
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig};
use burn::tensor::activation::{relu, softmax, tanh};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Scores, attend, read_ends, wide};
use sparse_ops::{CsrTensor, Result, SparseError};
use std::collections::BTreeMap;

/// Configuration of a [`HanConv`].
#[derive(Config, Debug)]
pub struct HanConvConfig {
    /// Number of input features of each type of nodes.
    pub d_input: BTreeMap<String, usize>,
    /// Number of output features of a node, of all heads together.
    pub d_output: usize,
    /// The types of edges, such as those along meta paths.
    pub edge_types: Vec<EdgeType>,
    /// Number of heads, which divides `d_output`.
    #[config(default = 1)]
    pub heads: usize,
    /// The slope of the leaky ReLU below 0.
    #[config(default = 0.2)]
    pub negative_slope: f64,
    /// The probability with which the weight of an edge is dropped in training.
    #[config(default = 0.0)]
    pub dropout: f64,
}

/// A heterogeneous graph attention network: attention to the neighbours over the edges of each type `r`, then to the
/// types.
///
/// `z_i^r = relu(sum_j alpha_ij^r h_j)`, for each head on its own, with `h = W_t x + b_t` of each type `t` of nodes and
/// `alpha_ij^r = softmax_j(leaky_relu(<s_r, h_j> + <d_r, h_i>))`; then `out_i = sum_r beta_r z_i^r`, where
/// `beta_r = softmax_r(<q, mean_i tanh(K z_i^r + c)>)` over the types of edges to nodes of the type of `i`.
///
/// The values of the adjacencies are not read, and no self loops are added. A meta path such as movie-actor-movie is
/// the product of two adjacencies, `to_movie.matmul(&to_actor)`, made once. Types of nodes to which no edges go
/// are not in the result. (PyG's `HANConv`.)
///
/// Gradients reach the weights and the features. Cost:
/// `O(nnz * d_output + N * d_input * d_output)` time; memory of `O(N * d_output)` for each type of edges, and
/// `O(nnz * heads)`.
///
/// Source: Wang et al., *Heterogeneous graph attention network*, WWW 2019.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::nn::{EdgeType, HanConvConfig};
///
/// let device = Device::flex();
/// let writes = EdgeType::new("author", "writes", "paper");
/// let by = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], &device));
/// let widths = [("author".to_string(), 4), ("paper".to_string(), 2)].into();
/// let layer = HanConvConfig::new(widths, 8, vec![writes.clone()]).with_heads(2).init(&device);
/// let x = [("author".into(), Tensor::ones([3, 4], &device)), ("paper".into(), Tensor::ones([2, 2], &device))].into();
/// assert_eq!(layer.forward(&[(writes, &by)], &x)["paper"].dims(), [2, 8]);
/// ```
#[derive(Module, Debug)]
pub struct HanConv {
    /// `W_t` and `b_t` of each type of nodes, in the order of their names (PyG's `proj`).
    pub projections: Vec<Linear>,
    /// `s_r`, `[heads, d_output / heads]` of each type of edges (PyG's `lin_src`).
    pub source: Vec<Param<Tensor<2>>>,
    /// `d_r`, likewise (PyG's `lin_dst`).
    pub target: Vec<Param<Tensor<2>>>,
    /// `K` and `c`, `[d_output, d_output]` (PyG's `k_lin`).
    pub key: Linear,
    /// `q`, `[1, d_output]`.
    pub query: Param<Tensor<2>>,
    /// Dropout of the weights of edges.
    pub dropout: Dropout,
    negative_slope: f64,
    #[module(skip)]
    node_types: Vec<String>,
    #[module(skip)]
    edge_types: Vec<EdgeType>,
}

impl HanConvConfig {
    /// A layer on `device`. Linear maps start as Burn's `Linear` does, attention from Glorot's uniform distribution.
    ///
    /// # Errors
    ///
    /// `invalid` for heads that do not divide `d_output`, a dropout outside `[0, 1)`, an edge type that is there twice
    /// or has a type of nodes without `d_input`.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<HanConv> {
        const OP: &str = "HanConvConfig::init";
        let each = head_width(OP, self.heads, self.d_output)?;
        widths(OP, [self.heads, each], true, self.dropout)?;
        check_types(OP, &self.d_input, &self.edge_types)?;
        let vectors = || {
            let shape = [self.heads, each];
            self.edge_types.iter().map(|_| glorot(shape, shape, device)).collect()
        };
        let query = [1, self.d_output];
        Ok(HanConv {
            projections: maps(&self.d_input, self.d_output, device),
            source: vectors(),
            target: vectors(),
            key: LinearConfig::new(self.d_output, self.d_output).init(device),
            query: glorot(query, query, device),
            dropout: DropoutConfig::new(self.dropout).init(),
            negative_slope: self.negative_slope,
            node_types: self.d_input.keys().cloned().collect(),
            edge_types: self.edge_types.clone(),
        })
    }
}

impl HanConv {
    /// The adjacency of each type of edges, `[M, N]`, and the features of each type of nodes, to `[M, d_output]` of the
    /// types of targets. As [`Edges::of_types`](super::Edges::of_types): of a sampled neighbourhood the first nodes of
    /// a type are the targets.
    ///
    /// # Errors
    ///
    /// `invalid` for a type that the layer does not have or that is there twice, and nodes that do not fit an
    /// adjacency; it names the type. `shape_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, adjacencies: &[(EdgeType, &CsrTensor<2>)], x: &NodeTensors) -> Result<NodeTensors> {
        const OP: &str = "HanConv::forward";
        let hidden = mapped(OP, &self.node_types, &self.projections, x)?;
        let mut results: BTreeMap<String, Vec<Tensor<2>>> = BTreeMap::new();
        for (kind, edges) in of_types(OP, adjacencies, &hidden)? {
            let at = number(OP, &self.edge_types, &kind)?;
            let (pattern, value) = (edges.adjacency().pattern(), edges.sources());
            let (source, target) = (self.source[at].val(), self.target[at].val());
            let heads = source.dims()[0];
            let scores = read_ends(pattern, head_scores(edges.targets(), target), head_scores(value.clone(), source));
            let scores = Scores::Given(leaky_relu(scores, self.negative_slope));
            let out = relu(joined(attend(pattern, scores, heads, value, &self.dropout), heads, true));
            results.entry(kind.target).or_default().push(out);
        }
        results.into_iter().map(|(name, outs)| Ok((name.clone(), self.joined(OP, &name, outs)?))).collect()
    }

    /// `sum_r beta_r z^r`.
    fn joined(&self, op: &'static str, name: &str, outs: Vec<Tensor<2>>) -> Result<Tensor<2>> {
        let [rows, _] = outs[0].dims();
        if let Some(other) = outs.iter().find(|out| out.dims()[0] != rows) {
            let got = other.dims()[0];
            let message = format!("{name}: all edge types must have the same targets, got {rows} and {got} of them");
            return Err(SparseError::invalid(op, message));
        }
        if rows == 0 {
            return Ok(outs[0].clone());
        }
        let dtype = outs[0].dtype();
        let query = wide(self.query.val());
        let score = |out: &Tensor<2>| {
            let mean = wide(tanh(apply(op, out.clone(), &self.key)?)).mean_dim(0);
            Ok((mean * query.clone()).sum_dim(1))
        };
        let scores = outs.iter().map(score).collect::<Result<Vec<_>>>()?;
        let shares = softmax(Tensor::cat(scores, 1), 1).cast(dtype);
        let parts = outs.into_iter().enumerate().map(|(at, out)| out * shares.clone().narrow(1, at, 1));
        Ok(parts.reduce(|a, b| a + b).expect("a type in the result has an output"))
    }
}

/// The width of a head.
pub(super) fn head_width(op: &'static str, heads: usize, d_output: usize) -> Result<usize> {
    if heads > 0 && d_output.is_multiple_of(heads) {
        return Ok(d_output / heads);
    }
    Err(SparseError::invalid(op, format!("heads must divide d_output, got {heads} for {d_output}")))
}

/// Checks the types of a configuration.
pub(super) fn check_types(op: &'static str, d_input: &BTreeMap<String, usize>, edge_types: &[EdgeType]) -> Result<()> {
    check_once(op, edge_types)?;
    for kind in edge_types {
        if let Some(name) = [&kind.source, &kind.target].into_iter().find(|name| !d_input.contains_key(*name)) {
            let got: Vec<_> = d_input.keys().collect();
            let message = format!("{kind}: d_input must have the nodes of type {name}, got {got:?}");
            return Err(SparseError::invalid(op, message));
        }
    }
    Ok(())
}

/// A linear map of each type of nodes, in the order of their names.
pub(super) fn maps(d_input: &BTreeMap<String, usize>, d_output: usize, device: &Device) -> Vec<Linear> {
    d_input.values().map(|&width| LinearConfig::new(width, d_output).init(device)).collect()
}

/// What the linear maps make of the features of each type.
pub(super) fn mapped(op: &'static str, node_types: &[String], maps: &[Linear], x: &NodeTensors) -> Result<NodeTensors> {
    let one = |(name, x): (&String, &Tensor<2>)| {
        let Ok(at) = node_types.binary_search(name) else {
            let message = format!("{name}: nodes must be of a type that the layer has, {node_types:?}, got another");
            return Err(SparseError::invalid(op, message));
        };
        let out = apply(op, x.clone(), &maps[at]);
        Ok((name.clone(), out.map_err(|trouble| SparseError::invalid(op, format!("{name}: {trouble}")))?))
    };
    x.iter().map(one).collect()
}

/// The number of an edge type.
pub(super) fn number(op: &'static str, edge_types: &[EdgeType], kind: &EdgeType) -> Result<usize> {
    edge_types.iter().position(|other| other == kind).ok_or_else(|| {
        let known: Vec<_> = edge_types.iter().map(EdgeType::to_string).collect();
        SparseError::invalid(op, format!("{kind}: edges must be of a type that the layer has, {known:?}, got another"))
    })
}
