//! Convolution and attention on edges of many nodes.

use super::activation::leaky_relu;
use super::attention::{by_head, head_scores, joined, widths};
use super::dropout::dropout;
use super::features::{Features, apply, glorot, glorot_linear, with_bias, zeros};
use super::normalization::inverse;
use super::segments::{edge_softmax, node_softmax};
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Dropout, DropoutConfig, Linear};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, Parts, expand, read_ends, same_elements};
use sparse_ops::{CsrTensor, Result, SparseError};

/// Over what the attention of a [`HypergraphConv`] sums to 1.
#[derive(Config, Debug, Copy, PartialEq, Eq)]
pub enum HypergraphAttention {
    /// Over the nodes of each hyperedge.
    Nodes,
    /// Over the hyperedges of each node.
    Hyperedges,
}

/// Configuration of a [`HypergraphConv`].
#[derive(Config, Debug)]
pub struct HypergraphConvConfig {
    /// Number of input features of a node, and of a hyperedge if there is attention.
    pub d_input: usize,
    /// Number of output features of each head.
    pub d_output: usize,
    /// Whether there is attention, and over what it sums to 1.
    #[config(default = "None")]
    pub attention: Option<HypergraphAttention>,
    /// Number of heads of the attention.
    #[config(default = 1)]
    pub heads: usize,
    /// Whether the heads stand side by side in the result. If not, it is their mean.
    #[config(default = true)]
    pub concat: bool,
    /// The slope of the leaky ReLU below 0.
    #[config(default = 0.2)]
    pub negative_slope: f64,
    /// The probability with which an attention weight is dropped in training.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// Whether a bias is added; it starts at 0.
    #[config(default = true)]
    pub bias: bool,
}

/// A convolution on a hypergraph: from nodes to hyperedges and back, `D^-1 H E B^-1 H^T X W + b`.
///
/// The incidence `H` `[N, M]` has a row for each node and a column for each hyperedge; `E` is the diagonal matrix of
/// the weights of hyperedges, `B` that of the sums of columns of `H`, and `D` that of the weighted sums of its rows. A
/// sum of 0 gives 0. With attention both `H` are multiplied by `softmax(leaky_relu(<a, [W x_i, W y_e]>))`, for each
/// head, where `y_e` are features of the hyperedges.
///
/// Gradients reach the weights, the features, and without attention the values of `H`. (PyG's `HypergraphConv`, which
/// has `E` in `D` only, unlike its documentation and the paper.)
///
/// Cost: two sparse products; the memory besides the features is `O(nnz * heads)` with attention.
///
/// Source: Bai, Zhang, Torr, *Hypergraph convolution and hypergraph attention*, Pattern Recognition, 2021.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, nn::HypergraphConvConfig};
///
/// let device = Device::flex();
/// // Three nodes; the first hyperedge has all of them.
/// let incidence = CsrTensor::<2>::from_dense(Tensor::from_floats([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0]], &device));
/// let layer = HypergraphConvConfig::new(4, 8).init(&device);
/// assert_eq!(layer.forward(&incidence, Tensor::ones([3, 4], &device), None, None).dims(), [3, 8]);
/// ```
#[derive(Module, Debug)]
pub struct HypergraphConv {
    /// `W`, `[d_input, heads * d_output]` (PyG's `lin`).
    pub linear: Linear,
    /// `a`, `[heads, 2 * d_output]`, for nodes and then for hyperedges (PyG's `att`).
    pub attention: Option<Param<Tensor<2>>>,
    /// `[heads * d_output]`, or `[d_output]` if the heads are averaged.
    pub bias: Option<Param<Tensor<1>>>,
    /// Dropout of the attention.
    pub dropout: Dropout,
    heads: usize,
    concat: bool,
    over_nodes: bool,
    negative_slope: f64,
}

impl HypergraphConvConfig {
    /// A layer on `device`. Weights start from Glorot's uniform distribution.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 heads, several without attention, and for a dropout outside `[0, 1)`.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<HypergraphConv> {
        const OP: &str = "HypergraphConvConfig::init";
        let [width, out] = widths(OP, [self.heads, self.d_output], self.concat, self.dropout)?;
        if self.attention.is_none() && self.heads > 1 {
            return Err(SparseError::invalid(OP, "use with_attention: heads are those of the attention"));
        }
        let shape = [self.heads, 2 * self.d_output];
        Ok(HypergraphConv {
            linear: glorot_linear(self.d_input, width, device),
            attention: self.attention.map(|_| glorot(shape, shape, device)),
            bias: self.bias.then(|| zeros(out, device)),
            dropout: DropoutConfig::new(self.dropout).init(),
            heads: self.heads,
            concat: self.concat,
            over_nodes: self.attention == Some(HypergraphAttention::Nodes),
            negative_slope: self.negative_slope,
        })
    }
}

const OP: &str = "HypergraphConv::forward";

impl HypergraphConv {
    /// `incidence [N, M]`, `x [N, d_input]`, the weights `[M]` of the hyperedges if they are not 1, and their features
    /// `[M, d_input]` if there is attention, to `[N, heads * d_output]`, or `[N, d_output]` if the heads are averaged.
    ///
    /// # Errors
    ///
    /// `invalid` for features of hyperedges in a layer without attention, or the other way round; `length_mismatch` if
    /// there is not one weight for each hyperedge; `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`,
    /// `device_mismatch`.
    #[or_panic]
    pub fn try_forward(
        &self,
        incidence: &CsrTensor<2>,
        x: Tensor<2>,
        weights: Option<Tensor<1>>,
        hyperedges: Option<Tensor<2>>,
    ) -> Result<Tensor<2>> {
        let [nodes, count] = incidence.dims();
        let d_input = self.linear.weight.lazy_shape().dims::<2>()[0];
        Features::Dense(x.clone()).check_targets(OP, incidence, d_input)?;
        let weights = weights.unwrap_or_else(|| Tensor::ones([count], (&x.device(), x.dtype())));
        same_elements(OP, &x, &weights)?;
        if weights.dims()[0] != count {
            return Err(SparseError::length_mismatch(OP, "the weights", count, weights.dims()[0]));
        }
        let weights: Tensor<2> = weights.reshape(Exact([count, 1]));
        let of_nodes = incidence.try_matmul(weights.clone())?.reshape(Exact([nodes]));
        let of_nodes = inverse(of_nodes, |sum| sum);
        let of_edges = inverse(incidence.try_col_sums()?, |sum| sum) * weights;
        let x = apply(OP, x, &self.linear)?;
        let values = incidence.rows().clone();
        let values = match self.weights(incidence, &x, hyperedges)? {
            Some(weights) => expand(values, weights.dims()) * weights,
            None => values,
        };
        let (pattern, fill, heads) = (incidence.pattern().clone(), incidence.fill().clone(), self.heads);
        let graph = CsrTensor::<3>::from_parts(pattern, values, vec![heads], fill);
        let width = x.dims()[1];
        let up = graph.try_swap_dims(0, 1)?.try_matmul(by_head(x, heads))?.reshape(Exact([count, width]));
        let up = up * expand(of_edges, [count, width]);
        let down = graph.try_matmul(by_head(up, heads))?.reshape(Exact([nodes, width]));
        let out = joined(down * expand(of_nodes, [nodes, width]), heads, self.concat);
        Ok(with_bias(out, &self.bias))
    }

    /// The attention of each element and head, `[nnz, heads]`.
    fn weights(&self, incidence: &CsrTensor<2>, x: &Tensor<2>, y: Option<Tensor<2>>) -> Result<Option<Tensor<2>>> {
        let (vector, y) = match (&self.attention, y) {
            (Some(vector), Some(y)) => (vector.val(), y),
            (None, None) => return Ok(None),
            _ => return Err(SparseError::invalid(OP, "hyperedges have features if and only if there is attention")),
        };
        Features::Dense(y.clone()).check(OP, incidence, y.dims()[1])?;
        let (pattern, each) = (incidence.pattern(), vector.dims()[1] / 2);
        let of_nodes = head_scores(x.clone(), vector.clone().narrow(1, 0, each));
        let of_edges = head_scores(apply(OP, y, &self.linear)?, vector.narrow(1, each, each));
        let scores = leaky_relu(read_ends(pattern, of_nodes, of_edges), self.negative_slope);
        let softmax = if self.over_nodes { node_softmax(pattern, scores)? } else { edge_softmax(pattern, scores)? };
        Ok(Some(dropout(softmax.rows().clone(), &self.dropout)))
    }
}
