//! Graph attention that learns which edges exist.

use super::activation::leaky_relu;
use super::attention::{Attended, head_scores, widths};
use super::features::{apply, check_square, glorot, glorot_linear, with_bias, zeros};
use super::link::{NodePairs, try_dot_decoder};
use super::message_passing::Edges;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Dropout, DropoutConfig, Linear};
use burn::tensor::activation::{log_sigmoid, sigmoid};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::Result;
use sparse_ops::extend::{Scores, read_ends, sum_dim};

/// Configuration of a [`SuperGatConv`].
#[derive(Config, Debug)]
pub struct SuperGatConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of each head.
    pub d_output: usize,
    /// Number of heads.
    #[config(default = 1)]
    pub heads: usize,
    /// Whether the score of an edge is the scaled product `l_ij / sqrt(d_output)` alone (the paper's SD). If not, it is
    /// that of GAT times `sigmoid(l_ij)` (the paper's MX).
    #[config(default = false)]
    pub scaled_dot: bool,
    /// Whether the heads stand side by side in the result. If not, it is their mean.
    #[config(default = true)]
    pub concat: bool,
    /// The slope of the leaky ReLU below 0.
    #[config(default = 0.2)]
    pub negative_slope: f64,
    /// The probability with which the weight of an edge is dropped in training.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// Whether each node attends to itself.
    #[config(default = true)]
    pub self_loops: bool,
    /// Whether a bias is added; it starts at 0.
    #[config(default = true)]
    pub bias: bool,
}

/// Graph attention with a loss of its own, by which it learns which edges exist: `out_i = sum_j alpha_ij h_j + b`, for
/// each head, with `h = W x` and `alpha_ij = softmax_j(leaky_relu((<s, h_j> + <t, h_i>) sigmoid(l_ij)))`,
/// `l_ij = <h_i, h_j>`; or `leaky_relu(l_ij / sqrt(d_output))`.
///
/// The loss is the binary cross-entropy of `l_ij` (or the scaled one), averaged over heads, for edges and for pairs
/// without one. Only the pattern of the adjacency is read. Gradients reach the weights and the features. (PyG's
/// `SuperGATConv`, which draws the pairs in the layer; here [`negative_sampling`](super::negative_sampling) draws
/// them.)
///
/// Cost: `O(nnz * heads * d_output + N * d_input * heads * d_output)` time; besides the features of the nodes the
/// memory is `O(nnz * heads)`.
///
/// Source: Kim and Oh, *How to find your friendly neighborhood: graph attention design with self-supervision*, ICLR
/// 2021.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{Edges, SuperGatConvConfig, negative_sampling}};
///
/// let device = Device::flex();
/// let graph = karate(&device).adjacency;
/// let layer = SuperGatConvConfig::new(2, 8).with_heads(4).init(&device);
/// let edges = Edges::new(&graph, Tensor::ones([34, 2], &device));
/// let (out, loss) = layer.forward_with_loss(&edges, &negative_sampling(&graph, 80, 1));
/// assert_eq!(out.dims(), [34, 32]);
/// assert!(loss.into_scalar::<f32>() > 0.0);
/// ```
#[derive(Module, Debug)]
pub struct SuperGatConv {
    /// `W`, `[d_input, heads * d_output]` (PyG's `lin`).
    pub linear: Linear,
    /// `s`, `[heads, d_output]`, unless `scaled_dot` (PyG's `att_l`).
    pub source: Option<Param<Tensor<2>>>,
    /// `t`, `[heads, d_output]`, unless `scaled_dot` (PyG's `att_r`).
    pub target: Option<Param<Tensor<2>>>,
    /// `[heads * d_output]`, or `[d_output]` if the heads are averaged.
    pub bias: Option<Param<Tensor<1>>>,
    /// Dropout of the weights of edges.
    pub dropout: Dropout,
    heads: usize,
    concat: bool,
    negative_slope: f64,
    self_loops: bool,
}

impl SuperGatConvConfig {
    /// A layer on `device`. Weights start from Glorot's uniform distribution.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 heads, and for a dropout outside `[0, 1)`.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<SuperGatConv> {
        let shape = [self.heads, self.d_output];
        let [width, out] = widths("SuperGatConvConfig::init", shape, self.concat, self.dropout)?;
        let vector = || (!self.scaled_dot).then(|| glorot(shape, shape, device));
        Ok(SuperGatConv {
            linear: glorot_linear(self.d_input, width, device),
            source: vector(),
            target: vector(),
            bias: self.bias.then(|| zeros(out, device)),
            dropout: DropoutConfig::new(self.dropout).init(),
            heads: self.heads,
            concat: self.concat,
            negative_slope: self.negative_slope,
            self_loops: self.self_loops,
        })
    }
}

impl SuperGatConv {
    /// Edges between nodes of one kind with `d_input` features, to `[N, heads * d_output]`, or `[N, d_output]` if the
    /// heads are averaged.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        Ok(self.run("SuperGatConv::forward", edges)?.0)
    }

    /// The same, and the loss `[1]` of the edges, with the self loops that the layer adds, and of `negatives`: pairs of
    /// nodes without an edge. Add it, times a factor, to the loss of the model.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward); `shape_mismatch` for pairs of other nodes.
    #[or_panic]
    pub fn try_forward_with_loss(&self, edges: &Edges<'_>, negatives: &NodePairs) -> Result<(Tensor<2>, Tensor<1>)> {
        let (out, hidden, products) = self.run("SuperGatConv::forward_with_loss", edges)?;
        let count = products.dims()[0] + negatives.len();
        let average = 1.0 / self.heads as f64;
        let yes = sum_dim(products, 1).mul_scalar(average);
        let no = try_dot_decoder(hidden.clone(), hidden, negatives)?.mul_scalar(average * self.scale());
        let sum = log_sigmoid(yes).sum() + log_sigmoid(no.neg()).sum();
        Ok((out, sum.mul_scalar(-1.0 / count.max(1) as f64)))
    }

    /// The result, `h`, and the products of the edges, `[nnz, heads]`.
    fn run(&self, op: &'static str, edges: &Edges<'_>) -> Result<(Tensor<2>, Tensor<2>, Tensor<2>)> {
        check_square(op, edges.adjacency())?;
        let pattern = edges.pattern(op, self.self_loops)?;
        let hidden = apply(op, edges.sources(), &self.linear)?;
        let to = Attended { pattern, features: None, value: hidden.clone(), heads: self.heads };
        let (query, key) = (hidden.clone(), hidden.clone());
        let products = to.numbers(Scores::Products { query, key, scale: self.scale() })?;
        let scores = match (&self.source, &self.target) {
            (Some(source), Some(target)) => {
                let ends = [target, source].map(|vector| head_scores(hidden.clone(), vector.val()));
                let [target, source] = ends;
                read_ends(&to.pattern, target, source) * sigmoid(products.clone())
            }
            _ => products.clone(),
        };
        let sums = to.sums(Scores::Given(leaky_relu(scores, self.negative_slope)), self.concat, &self.dropout)?;
        Ok((with_bias(sums, &self.bias), hidden, products))
    }

    /// What the products are multiplied by.
    fn scale(&self) -> f64 {
        let each = self.linear.weight.lazy_shape().dims::<2>()[1] / self.heads;
        if self.source.is_some() { 1.0 } else { 1.0 / (each.max(1) as f64).sqrt() }
    }
}
