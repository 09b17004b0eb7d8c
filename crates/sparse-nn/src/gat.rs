//! Graph attention.

use super::activation::leaky_relu;
use super::attention::{Attended, AttentionLayer, Call, attention_forwards, check_loops, head_scores, widths};
use super::features::{Features, glorot, glorot_linear, zeros};
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Dropout, DropoutConfig, Linear};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Scores, read_ends};
use sparse_ops::{CsrTensor, Result};

/// Configuration of a [`GatConv`].
#[derive(Config, Debug)]
pub struct GatConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of each head.
    pub d_output: usize,
    /// Number of input features of a target, if targets have a weight of their own. If it is another one, the layer
    /// cannot have self loops.
    #[config(default = "None")]
    pub d_target: Option<usize>,
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
    /// Whether a linear map of the input is added.
    #[config(default = false)]
    pub residual: bool,
    /// Whether a bias is added; it starts at 0.
    #[config(default = true)]
    pub bias: bool,
}

/// Graph attention: `out_i = sum_{j in N(i)} alpha_ij W x_j + b`, for each head on its own, with
/// `alpha_ij = softmax_j(leaky_relu(<s, W x_j> + <t, W x_i> + <u, V e_ij>))`.
///
/// Only the pattern of the adjacency `[M, N]` is read, not its values. `e_ij` are the features of the edges, in the
/// order of the stored elements; without them the last term is missing. The result is `[M, heads * d_output]`, or
/// `[M, d_output]` if the heads are averaged. (PyG's `GATConv`.)
///
/// Gradients reach the weights, the features of the nodes and those of the edges. Cost:
/// `O(nnz * heads * d_output + N * d_input * heads * d_output)` time. Besides the features of the nodes the memory is
/// `O(nnz * heads)`, and `O(nnz * d_edge)` for edge features with self loops.
///
/// Source: Veličković et al., *Graph attention networks*, ICLR 2018.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::{data::karate, nn::GatConvConfig};
///
/// let device = Device::flex();
/// let graph = karate(&device);
/// let layer = GatConvConfig::new(34, 8).with_heads(4).init(&device);
/// assert_eq!(layer.forward_sparse(&graph.adjacency, &graph.features).dims(), [34, 32]);
/// ```
#[derive(Module, Debug)]
pub struct GatConv {
    /// `W`, `[d_input, heads * d_output]` (PyG's `lin`, or `lin_src`).
    pub linear: Linear,
    /// The map of the targets, `[d_target, heads * d_output]`, if it is not `W` (PyG's `lin_dst`).
    pub target_linear: Option<Linear>,
    /// `s`, `[heads, d_output]` (PyG's `att_src`).
    pub source: Param<Tensor<2>>,
    /// `t`, `[heads, d_output]` (PyG's `att_dst`).
    pub target: Param<Tensor<2>>,
    /// `V`, `[d_edge, heads * d_output]` (PyG's `lin_edge`).
    pub edge: Option<Linear>,
    /// `u`, `[heads, d_output]` (PyG's `att_edge`).
    pub edge_attention: Option<Param<Tensor<2>>>,
    /// The linear map of the input that is added (PyG's `res`).
    pub residual: Option<Linear>,
    /// `[heads * d_output]`, or `[d_output]` if the heads are averaged.
    pub bias: Option<Param<Tensor<1>>>,
    /// Dropout of the weights of edges.
    pub dropout: Dropout,
    concat: bool,
    negative_slope: f64,
    pub(super) self_loops: bool,
    d_target: usize,
}

impl GatConvConfig {
    /// A layer on `device`. Weights start from Glorot's uniform distribution.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 heads, for a dropout outside `[0, 1)`, and for self loops of targets with another number of
    /// features.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<GatConv> {
        let shape = [self.heads, self.d_output];
        const OP: &str = "GatConvConfig::init";
        let [width, out] = widths(OP, shape, self.concat, self.dropout)?;
        check_loops(OP, self.self_loops, self.d_input, self.d_target)?;
        let d_target = self.d_target.unwrap_or(self.d_input);
        Ok(GatConv {
            linear: glorot_linear(self.d_input, width, device),
            target_linear: self.d_target.map(|d_target| glorot_linear(d_target, width, device)),
            source: glorot(shape, shape, device),
            target: glorot(shape, shape, device),
            edge: self.d_edge.map(|d_edge| glorot_linear(d_edge, width, device)),
            edge_attention: self.d_edge.map(|_| glorot(shape, shape, device)),
            residual: self.residual.then(|| glorot_linear(d_target, out, device)),
            bias: self.bias.then(|| zeros(out, device)),
            dropout: DropoutConfig::new(self.dropout).init(),
            concat: self.concat,
            negative_slope: self.negative_slope,
            self_loops: self.self_loops,
            d_target,
        })
    }
}

impl GatConv {
    attention_forwards!("GatConv");

    /// The weights `alpha_ij` of dense features, without dropout: `adjacency [N, N]`, `x [N, d_input]`. The result
    /// `[N, N, heads]` has the heads as a dense dim. It stores the edges and, if the layer has them, the self loops.
    /// The elements of a row sum to 1. Differentiable. (PyG's `return_attention_weights`.)
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{data::karate, nn::GatConvConfig};
    ///
    /// let device = Device::flex();
    /// let layer = GatConvConfig::new(2, 8).with_heads(4).init(&device);
    /// let weights = layer.attention(&karate(&device).adjacency, Tensor::ones([34, 2], &device));
    /// // 156 edges and 34 self loops. Node 9 has two neighbours and itself. All nodes are alike: each gets a third.
    /// assert_eq!((weights.dims(), weights.nnz()), ([34, 34, 4], 190));
    /// let third = weights.to_dense().slice([9..10, 9..10, 0..1]).into_scalar::<f32>();
    /// assert!((third - 1.0 / 3.0).abs() < 1e-6);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward).
    #[or_panic]
    pub fn try_attention(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Result<CsrTensor<3>> {
        self.weights(Call::square("GatConv::attention", adjacency, Features::Dense(x), None)?)
    }
}

impl AttentionLayer for GatConv {
    fn scores(&self, call: &Call<'_>) -> Result<(Attended, Scores)> {
        let heads = self.source.lazy_shape().dims::<2>()[0];
        let mut to = call.attended(&self.linear, self.d_target, &self.edge, heads, self.self_loops)?;
        // Of the targets only their scores are needed: <t, W x> is a product with [d_target, heads] numbers.
        let of_targets = self.target_linear.as_ref().unwrap_or(&self.linear).weight.val();
        let target = call.target.times(call.op, head_scores(of_targets, self.target.val()))?;
        let mut scores = read_ends(&to.pattern, target, head_scores(to.value.clone(), self.source.val()));
        if let (Some((features, weight)), Some(vectors)) = (to.features.take(), &self.edge_attention) {
            scores = scores + features.matmul(head_scores(weight, vectors.val()));
        }
        Ok((to, Scores::Given(leaky_relu(scores, self.negative_slope))))
    }

    fn result(&self, call: &Call<'_>, to: Attended, scores: Scores) -> Result<Tensor<2>> {
        call.add_own(to.sums(scores, self.concat, &self.dropout)?, &self.residual, &self.bias)
    }
}
