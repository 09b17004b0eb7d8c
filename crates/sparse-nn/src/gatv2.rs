//! Graph attention of the second kind.

use super::attention::{Attended, attention_forwards, attention_from_scores, check_inputs, edge_weights, join_heads};
use super::features::{Features, check_dropout, check_square, glorot, glorot_linear, invalid, with_bias, zeros};
use super::gatv2_scores::gatv2_scores;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Scores, attend};
use sparse_ops::pattern::CsrPattern;
use sparse_ops::{CsrTensor, Result};

/// Configuration of a [`Gatv2Conv`].
#[derive(Config, Debug)]
pub struct Gatv2ConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of each head.
    pub d_output: usize,
    /// Number of heads.
    #[config(default = 1)]
    pub heads: usize,
    /// Whether the heads stand side by side in the result. If not, it is their mean.
    #[config(default = true)]
    pub concat: bool,
    /// The slope of the leaky ReLU below 0.
    #[config(default = 0.2)]
    pub negative_slope: f64,
    /// The probability with which the weight of an edge is dropped in training.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// Whether each node attends to itself. A self loop of the adjacency is replaced; the edge features of a loop are
    /// the mean of those of the other edges to its node.
    #[config(default = true)]
    pub self_loops: bool,
    /// Number of features of an edge.
    #[config(default = "None")]
    pub d_edge: Option<usize>,
    /// Whether targets go through the weight of the sources.
    #[config(default = false)]
    pub share_weights: bool,
    /// Whether a linear map of the input is added.
    #[config(default = false)]
    pub residual: bool,
    /// Whether biases are added: inside, and to the result.
    #[config(default = true)]
    pub bias: bool,
}

/// Graph attention where each node ranks its neighbours in its own way: `out_i = sum_{j in N(i)} alpha_ij W x_j + b`,
/// for each head on its own, with `alpha_ij = softmax_j(<a, leaky_relu(U x_i + W x_j + V e_ij)>)`.
///
/// `W` and `U` have biases. Only the pattern of the adjacency `[M, N]` is read, not its values. `e_ij` are the features
/// of the edges, in the order of the stored elements; without them that term is missing. The result is
/// `[M, heads * d_output]`, or `[M, d_output]` if the heads are averaged. (PyG's `GATv2Conv`.)
///
/// Gradients reach the weights, the features of the nodes and those of the edges. Cost:
/// `O(nnz * heads * d_output + N * d_input * heads * d_output)` time. The sums inside the ReLU are formed for some
/// edges at a time, and again in the backward pass. So besides the features of the nodes the memory is
/// `O(nnz * heads)`, and `O(nnz * d_edge)` for edge features with self loops.
///
/// Source: Brody, Alon, Yahav, *How attentive are graph attention networks?*, ICLR 2022.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::{data::karate, nn::Gatv2ConvConfig};
///
/// let device = Device::flex();
/// let graph = karate(&device);
/// let layer = Gatv2ConvConfig::new(34, 8).with_heads(4).with_concat(false).init(&device);
/// assert_eq!(layer.forward_sparse(&graph.adjacency, &graph.features).dims(), [34, 8]);
/// ```
#[derive(Module, Debug)]
pub struct Gatv2Conv {
    /// `W`, `[d_input, heads * d_output]` (PyG's `lin_l`).
    pub source: Linear,
    /// `U`, unless it is `W` (PyG's `lin_r`).
    pub target: Option<Linear>,
    /// `a`, `[heads, d_output]` (PyG's `att`).
    pub attention: Param<Tensor<2>>,
    /// `V`, `[d_edge, heads * d_output]` (PyG's `lin_edge`).
    pub edge: Option<Linear>,
    /// The linear map of the input that is added (PyG's `res`).
    pub residual: Option<Linear>,
    /// `[heads * d_output]`, or `[d_output]` if the heads are averaged.
    pub bias: Option<Param<Tensor<1>>>,
    /// Dropout of the weights of edges.
    pub dropout: Dropout,
    concat: bool,
    negative_slope: f64,
    self_loops: bool,
}

impl Gatv2ConvConfig {
    /// A layer on `device`. Weights start from Glorot's uniform distribution, the biases inside
    /// as Burn's `Linear` does, and the last bias at 0.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 heads, and for a dropout outside `[0, 1)`.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<Gatv2Conv> {
        const OP: &str = "Gatv2ConvConfig::init";
        if self.heads == 0 {
            return invalid(OP, "heads must be at least 1, got 0".into());
        }
        check_dropout(OP, self.dropout)?;
        let (width, shape) = (self.heads * self.d_output, [self.heads, self.d_output]);
        let out = if self.concat { width } else { self.d_output };
        let linear = || Linear {
            weight: glorot([self.d_input, width], [self.d_input, width], device),
            ..LinearConfig::new(self.d_input, width).with_bias(self.bias).init(device)
        };
        Ok(Gatv2Conv {
            source: linear(),
            target: (!self.share_weights).then(linear),
            attention: glorot(shape, shape, device),
            edge: self.d_edge.map(|d_edge| glorot_linear(d_edge, width, device)),
            residual: self.residual.then(|| glorot_linear(self.d_input, out, device)),
            bias: self.bias.then(|| zeros(out, device)),
            dropout: DropoutConfig::new(self.dropout).init(),
            concat: self.concat,
            negative_slope: self.negative_slope,
            self_loops: self.self_loops,
        })
    }
}

attention_forwards! {
    Gatv2Conv,
    "With self loops, target `i` also attends to source `i`, so the targets must be the first sources, in order."
}

attention_from_scores! {
    /// The weights `alpha_ij` of dense features, without dropout: as [`GatConv::attention`](super::GatConv::attention).
    Gatv2Conv
}

impl Gatv2Conv {
    /// The edges with self loops, `W x` of the sources, and the score of each edge `[nnz, heads]`.
    fn scores(
        &self,
        op: &'static str,
        adjacency: &CsrTensor<2>,
        [source, target]: [Features<'_>; 2],
        edges: Option<Tensor<2>>,
    ) -> Result<(CsrPattern, Tensor<2>, Tensor<2>)> {
        let [d_input, _] = self.source.weight.lazy_shape().dims();
        let d_edge = self.edge.as_ref().map(|edge| edge.weight.lazy_shape().dims::<2>()[0]);
        check_inputs(op, adjacency, (&source, &target), d_input, (edges.as_ref(), d_edge))?;
        let attended = Attended::new(op, adjacency, edges, self.self_loops)?;
        let from = source.linear(op, &self.source)?;
        let to = target.linear(op, self.target.as_ref().unwrap_or(&self.source))?;
        let edges = match (attended.features, &self.edge) {
            (Some(features), Some(edge)) => Some((features, edge.weight.val())),
            _ => None,
        };
        let vectors = self.attention.val();
        let scores = gatv2_scores(&attended.pattern, [to, from.clone()], vectors, edges, self.negative_slope);
        Ok((attended.pattern, from, scores))
    }
}
