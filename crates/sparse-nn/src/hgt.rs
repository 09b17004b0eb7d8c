//! The heterogeneous graph transformer.

use super::attention::by_head;
use super::edge_type::EdgeType;
use super::features::apply;
use super::han::{check_types, head_width, mapped, maps, number};
use super::typed::{NodeTensors, nodes_of, of_types, targets};
use burn::config::Config;
use burn::module::{Initializer, Module, Param};
use burn::nn::{Dropout, DropoutConfig, Linear};
use burn::tensor::activation::{gelu, sigmoid};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, Parts, Scores, attend, cat_rows};
use sparse_ops::ops::try_concat;
use sparse_ops::{CsrTensor, Fill, Result, SparseError};
use std::collections::BTreeMap;

/// Configuration of a [`HgtConv`].
#[derive(Config, Debug)]
pub struct HgtConvConfig {
    /// Number of input features of each type of nodes.
    pub d_input: BTreeMap<String, usize>,
    /// Number of output features of a node, of all heads together.
    pub d_output: usize,
    /// The types of edges.
    pub edge_types: Vec<EdgeType>,
    /// Number of heads, which divides `d_output`.
    #[config(default = 1)]
    pub heads: usize,
}

/// The convolution of a heterogeneous graph transformer: each node attends to its neighbours over the edges of all
/// types at once.
///
/// `m_i = sum_{r, j in N_r(i)} alpha_ij^r V_r v_j`, for each head on its own, with
/// `alpha_ij^r = softmax_{r, j}(p_r <q_i, K_r k_j> / sqrt(d_output / heads))`, where `k`, `q` and `v` are linear maps
/// of the features by the type of the node. Then `out_i = W_t gelu(m_i) + b_t`, and if the type has as many input
/// features as the layer has outputs, `out_i` becomes `g out_i + (1 - g) x_i` with the trained `g = sigmoid(s_t)`.
///
/// The values of the adjacencies are not read. The result has all types of nodes that edges of the layer go to, also
/// those to which none go in a call. (PyG's `HGTConv`.)
///
/// Gradients reach the weights and the features. Cost: `O(nnz * d_output)` and, for each type of edges,
/// `O(N * d_output^2 / heads)` time; memory of `O(N * d_output)` for each type of edges, and `O(nnz * heads)`. The
/// adjacencies to one type are joined once and kept with their patterns.
///
/// Source: Hu et al., *Heterogeneous graph transformer*, WWW 2020.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::nn::{EdgeType, HgtConvConfig};
///
/// let device = Device::flex();
/// let [writes, cites] = [("author", "writes", "paper"), ("paper", "cites", "paper")].map(EdgeType::from);
/// let by = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], &device));
/// let cited = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [0.0, 0.0]], &device));
/// let widths = [("author".to_string(), 4), ("paper".to_string(), 8)].into();
/// let layer = HgtConvConfig::new(widths, 8, vec![writes.clone(), cites.clone()]).with_heads(2).init(&device);
/// let x = [("author".into(), Tensor::ones([3, 4], &device)), ("paper".into(), Tensor::ones([2, 8], &device))].into();
/// assert_eq!(layer.forward(&[(writes, &by), (cites, &cited)], &x)["paper"].dims(), [2, 8]);
/// ```
#[derive(Module, Debug)]
pub struct HgtConv {
    /// `k`, `q` and `v` side by side, `[d_input, 3 * d_output]` of each type of nodes, in the order of their names
    /// (PyG's `kqv_lin`).
    pub key_query_value: Vec<Linear>,
    /// `W_t` and `b_t` of each type of nodes (PyG's `out_lin`).
    pub output: Vec<Linear>,
    /// `s_t`, `[1]` of each type of nodes that has as many input features as the layer has outputs.
    pub skip: Vec<Option<Param<Tensor<1>>>>,
    /// `K_r`, `[heads, d_output / heads, d_output / heads]` of each type of edges, from the right (PyG's `k_rel`).
    pub key: Vec<Param<Tensor<3>>>,
    /// `V_r`, likewise (PyG's `v_rel`).
    pub value: Vec<Param<Tensor<3>>>,
    /// `p_r`, `[heads]` of each type of edges (PyG's `p_rel`).
    pub prior: Vec<Param<Tensor<1>>>,
    none: Dropout,
    #[module(skip)]
    node_types: Vec<String>,
    #[module(skip)]
    edge_types: Vec<EdgeType>,
}

impl HgtConvConfig {
    /// A layer on `device`. Linear maps start as Burn's `Linear` does, and so do the maps of edge types; `p` and `s`
    /// start at 1.
    ///
    /// # Errors
    ///
    /// `invalid` for heads that do not divide `d_output`, and an edge type that is there twice or has a type of nodes
    /// without `d_input`.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<HgtConv> {
        const OP: &str = "HgtConvConfig::init";
        let (heads, each) = (self.heads, head_width(OP, self.heads, self.d_output)?);
        check_types(OP, &self.d_input, &self.edge_types)?;
        let bound = 1.0 / (each.max(1) as f64).sqrt();
        let uniform = Initializer::Uniform { min: -bound, max: bound };
        let relations = || self.edge_types.iter().map(|_| uniform.init([heads, each, each], device)).collect();
        let outputs = self.d_input.keys().map(|name| (name.clone(), self.d_output)).collect();
        let skips =
            self.d_input.values().map(|&width| (width == self.d_output).then(|| Initializer::Ones.init([1], device)));
        Ok(HgtConv {
            key_query_value: maps(&self.d_input, 3 * self.d_output, device),
            output: maps(&outputs, self.d_output, device),
            skip: skips.collect(),
            key: relations(),
            value: relations(),
            prior: self.edge_types.iter().map(|_| Initializer::Ones.init([heads], device)).collect(),
            none: DropoutConfig::new(0.0).init(),
            node_types: self.d_input.keys().cloned().collect(),
            edge_types: self.edge_types.clone(),
        })
    }
}

/// A type of edges to the targets in hand.
struct Part<'a> {
    relation: usize,
    adjacency: &'a CsrTensor<2>,
    source: String,
}

impl HgtConv {
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
        const OP: &str = "HgtConv::forward";
        let all = mapped(OP, &self.node_types, &self.key_query_value, x)?;
        // Checks that the nodes fit.
        of_types(OP, adjacencies, &all)?;
        let mut parts: BTreeMap<&str, Vec<Part<'_>>> = BTreeMap::new();
        for kind in self.edge_types.iter().filter(|kind| all.contains_key(&kind.target)) {
            parts.entry(&kind.target).or_default();
        }
        for (kind, adjacency) in adjacencies {
            let relation = number(OP, &self.edge_types, kind)?;
            let part = Part { relation, adjacency, source: kind.source.clone() };
            parts.entry(&kind.target).or_default().push(part);
        }
        let one = |(name, parts): (&str, Vec<Part<'_>>)| {
            let x = nodes_of(OP, x, name)?;
            let own = parts.first().map_or_else(|| x.clone(), |part| targets(x, part.adjacency));
            let at = self.node_types.binary_search(&name.to_string()).expect("its features were mapped");
            let out = apply(OP, gelu(self.attended(OP, name, &parts, &all, own.dims()[0])?), &self.output[at])?;
            let Some(skip) = &self.skip[at] else { return Ok((name.to_string(), out)) };
            let gate = sigmoid(skip.val()).reshape(Exact([1, 1]));
            Ok((name.to_string(), out * gate.clone() + own * gate.neg().add_scalar(1.0)))
        };
        parts.into_iter().map(one).collect()
    }

    /// `m`, `[rows, d_output]`.
    fn attended(
        &self,
        op: &'static str,
        name: &str,
        parts: &[Part<'_>],
        all: &NodeTensors,
        rows: usize,
    ) -> Result<Tensor<2>> {
        let width = |x: &Tensor<2>| x.dims()[1] / 3;
        let Some(first) = parts.first() else {
            let x = nodes_of(op, all, name)?;
            return Ok(Tensor::zeros([rows, width(x)], (&x.device(), x.dtype())));
        };
        if let Some(part) = parts.iter().find(|part| part.adjacency.dims()[0] != rows) {
            let (kind, got) = (&self.edge_types[part.relation], part.adjacency.dims()[0]);
            let message = format!("{kind}: all edge types must have the same {rows} targets, got {got}");
            return Err(SparseError::invalid(op, message));
        }
        let mine = nodes_of(op, all, name)?;
        let query = targets(mine, first.adjacency).narrow(1, width(mine), width(mine));
        let (mut graphs, mut keys, mut values) = (vec![], vec![], vec![]);
        for Part { relation, adjacency, source } in parts {
            let x = nodes_of(op, all, source)?;
            let [key, value] = [0, 2].map(|at| x.clone().narrow(1, at * width(x), width(x)));
            let heads = self.prior[*relation].lazy_shape().dims::<1>()[0];
            let prior = self.prior[*relation].val().reshape(Exact([heads, 1, 1]));
            keys.push(by_relation(key, self.key[*relation].val() * prior));
            values.push(by_relation(value, self.value[*relation].val()));
            // Only patterns count: values and fills may be any.
            let none = Tensor::<2>::zeros([adjacency.nnz(), 1], (&x.device().inner(), x.dtype()));
            graphs.push(CsrTensor::<2>::from_parts(adjacency.pattern().clone(), none, vec![], Fill::Zero));
        }
        let graph = try_concat(&graphs, 1)?;
        let [heads, each, _] = self.key[first.relation].lazy_shape().dims();
        let scores = Scores::Products { query, key: cat_rows(keys), scale: 1.0 / (each.max(1) as f64).sqrt() };
        let out = attend(graph.pattern(), scores, heads, cat_rows(values), &self.none);
        Ok(out.reshape(Exact([rows, heads * each])))
    }
}

/// The heads of `x` `[N, H * C]`, each times its matrix of `weight` `[H, C, C]`.
fn by_relation(x: Tensor<2>, weight: Tensor<3>) -> Tensor<2> {
    let shape = x.dims();
    let heads = weight.dims()[0];
    by_head(x, heads).swap_dims(0, 1).matmul(weight).swap_dims(0, 1).reshape(Exact(shape))
}
