//! Graph attention of the second kind.

use super::attention::{Attended, AttentionLayer, Call, attention_forwards, check_loops, widths};
use super::features::{Features, glorot, glorot_linear, zeros};
use super::gatv2_scores::gatv2_scores;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::Scores;
use sparse_ops::{CsrTensor, Result, SparseError};

/// Configuration of a [`Gatv2Conv`].
#[derive(Config, Debug)]
pub struct Gatv2ConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of each head.
    pub d_output: usize,
    /// Number of input features of a target, if it is another one. Then the layer has neither self loops nor shared
    /// weights.
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
    pub(super) self_loops: bool,
    d_target: usize,
}

impl Gatv2ConvConfig {
    /// A layer on `device`. Weights start from Glorot's uniform distribution, the biases inside
    /// as Burn's `Linear` does, and the last bias at 0.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 heads, for a dropout outside `[0, 1)`, and for self loops or shared weights where targets have
    /// another number of features.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<Gatv2Conv> {
        let shape = [self.heads, self.d_output];
        const OP: &str = "Gatv2ConvConfig::init";
        let [width, out] = widths(OP, shape, self.concat, self.dropout)?;
        check_loops(OP, self.self_loops, self.d_input, self.d_target)?;
        let d_target = self.d_target.unwrap_or(self.d_input);
        if self.share_weights && d_target != self.d_input {
            let message = "use with_share_weights(false): targets have another number of features than sources";
            return Err(SparseError::invalid(OP, message));
        }
        let linear = |d_input| Linear {
            weight: glorot([d_input, width], [d_input, width], device),
            ..LinearConfig::new(d_input, width).with_bias(self.bias).init(device)
        };
        Ok(Gatv2Conv {
            source: linear(self.d_input),
            target: (!self.share_weights).then(|| linear(d_target)),
            attention: glorot(shape, shape, device),
            edge: self.d_edge.map(|d_edge| glorot_linear(d_edge, width, device)),
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

impl Gatv2Conv {
    attention_forwards!("Gatv2Conv");

    /// The weights `alpha_ij` of dense features, without dropout: as [`GatConv::attention`](super::GatConv::attention).
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward).
    #[or_panic]
    pub fn try_attention(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Result<CsrTensor<3>> {
        self.weights(Call::square("Gatv2Conv::attention", adjacency, Features::Dense(x), None)?)
    }
}

impl AttentionLayer for Gatv2Conv {
    fn scores(&self, call: &Call<'_>) -> Result<(Attended, Scores)> {
        let heads = self.attention.lazy_shape().dims::<2>()[0];
        let mut to = call.attended(&self.source, self.d_target, &self.edge, heads, self.self_loops)?;
        let target = call.target.linear(call.op, self.target.as_ref().unwrap_or(&self.source))?;
        let (ends, edges) = ([target, to.value.clone()], to.features.take());
        let scores = gatv2_scores(&to.pattern, ends, self.attention.val(), edges, self.negative_slope);
        Ok((to, Scores::Given(scores)))
    }

    fn result(&self, call: &Call<'_>, to: Attended, scores: Scores) -> Result<Tensor<2>> {
        call.add_own(to.sums(scores, self.concat, &self.dropout)?, &self.residual, &self.bias)
    }
}
