//! The transformer convolution.

use super::attention::{Attended, AttentionLayer, Call, attention_forwards, columns, widths};
use super::features::Features;
use burn::config::Config;
use burn::module::Module;
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig};
use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Scores, read_at};
use sparse_ops::{CsrTensor, Result, SparseError};

/// Configuration of a [`TransformerConv`].
#[derive(Config, Debug)]
pub struct TransformerConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of each head.
    pub d_output: usize,
    /// Number of input features of a target, if it is another one.
    #[config(default = "None")]
    pub d_target: Option<usize>,
    /// Number of heads.
    #[config(default = 1)]
    pub heads: usize,
    /// Whether the heads stand side by side in the result. If not, it is their mean.
    #[config(default = true)]
    pub concat: bool,
    /// Whether a gate weighs the node itself against its neighbours; needs the root weight.
    #[config(default = false)]
    pub beta: bool,
    /// The probability with which the weight of an edge is dropped in training.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// Number of features of an edge.
    #[config(default = "None")]
    pub d_edge: Option<usize>,
    /// Whether a node's own features are added, through a weight of their own.
    #[config(default = true)]
    pub root_weight: bool,
    /// Whether the linear maps of the nodes have biases.
    #[config(default = true)]
    pub bias: bool,
}

/// Attention as in a transformer, over the neighbours of each node:
/// `out_i = W_0 x_i + sum_{j in N(i)} alpha_ij (V x_j + E e_ij)`, for each head on its own, with
/// `alpha_ij = softmax_j(<Q x_i, K x_j + E e_ij> / sqrt(d_output))`.
///
/// With `beta` the two terms `r_i + m_i` become `g r_i + (1 - g) m_i` with the gate
/// `g = sigmoid(w [m_i, r_i, m_i - r_i])`. Only the pattern of the adjacency `[M, N]` is read, not its values; there
/// are no self loops but those in it. `e_ij` are the features of the edges, in the order of the stored elements. The
/// result is `[M, heads * d_output]`, or `[M, d_output]` if the heads are averaged. (PyG's `TransformerConv`.)
///
/// Gradients reach the weights, the features of the nodes and those of the edges. Cost:
/// `O(nnz * heads * d_output + N * d_input * heads * d_output)` time. Besides the features of the nodes the memory is
/// `O(nnz * heads)`, with edge features `O(nnz * heads * d_edge)`.
///
/// Source: Shi et al., *Masked label prediction: unified message passing model for semi-supervised classification*,
/// IJCAI 2021.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::{data::karate, nn::TransformerConvConfig};
///
/// let device = Device::flex();
/// let graph = karate(&device);
/// let layer = TransformerConvConfig::new(34, 8).with_heads(2).init(&device);
/// assert_eq!(layer.forward_sparse(&graph.adjacency, &graph.features).dims(), [34, 16]);
/// ```
#[derive(Module, Debug)]
pub struct TransformerConv {
    /// `Q`, `[d_target, heads * d_output]`.
    pub query: Linear,
    /// `K`, `[d_input, heads * d_output]`.
    pub key: Linear,
    /// `V`, of the same shape.
    pub value: Linear,
    /// `E`, `[d_edge, heads * d_output]`, without bias.
    pub edge: Option<Linear>,
    /// `W_0` (PyG's `lin_skip`).
    pub root: Option<Linear>,
    /// `w` (PyG's `lin_beta`), without bias.
    pub gate: Option<Linear>,
    /// Dropout of the weights of edges.
    pub dropout: Dropout,
    heads: usize,
    concat: bool,
}

impl TransformerConvConfig {
    /// A layer on `device`. Weights start as Burn's `Linear` does.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 heads, for a dropout outside `[0, 1)`, and for `beta` without the root weight.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<TransformerConv> {
        const OP: &str = "TransformerConvConfig::init";
        let [width, out] = widths(OP, [self.heads, self.d_output], self.concat, self.dropout)?;
        if self.beta && !self.root_weight {
            return Err(SparseError::invalid(OP, "use with_root_weight(true): the gate of beta weighs the root"));
        }
        let linear = |from, to, bias| LinearConfig::new(from, to).with_bias(bias).init(device);
        let d_target = self.d_target.unwrap_or(self.d_input);
        Ok(TransformerConv {
            query: linear(d_target, width, self.bias),
            key: linear(self.d_input, width, self.bias),
            value: linear(self.d_input, width, self.bias),
            edge: self.d_edge.map(|d_edge| linear(d_edge, width, false)),
            root: self.root_weight.then(|| linear(d_target, out, self.bias)),
            gate: self.beta.then(|| linear(3 * out, 1, false)),
            dropout: DropoutConfig::new(self.dropout).init(),
            heads: self.heads,
            concat: self.concat,
        })
    }
}

impl TransformerConv {
    attention_forwards!("TransformerConv");
}

impl AttentionLayer for TransformerConv {
    fn scores(&self, call: &Call<'_>) -> Result<(Attended, Scores)> {
        let (op, heads) = (call.op, self.heads);
        let [d_target, _] = self.query.weight.lazy_shape().dims();
        let to = call.attended(&self.value, d_target, &self.edge, heads, false)?;
        if self.edge.is_some() && call.edges.is_none() {
            return Err(SparseError::invalid(op, "use forward_edges: the layer has features of edges"));
        }
        let (query, key) = (call.target.linear(op, &self.query)?, call.source.linear(op, &self.key)?);
        let scale = 1.0 / ((query.dims()[1] / heads).max(1) as f64).sqrt();
        let Some((features, weight)) = &to.features else { return Ok((to, Scores::Products { query, key, scale })) };
        // <E^T q_i, e_ij>: the products E e_ij of all edges are never formed.
        let weight = weight.clone().mul_scalar(scale);
        let of_edges = (0..heads).map(|head| {
            let [query, weight] = [&query, &weight].map(|x| columns(x, heads, head));
            (read_at(&to.pattern, 0, query.matmul(weight.transpose())) * features.clone()).sum_dim(1)
        });
        let of_edges = Tensor::cat(of_edges.collect(), 1);
        let of_nodes = to.numbers(Scores::Products { query, key, scale })?;
        Ok((to, Scores::Given(of_nodes + of_edges)))
    }

    fn result(&self, call: &Call<'_>, to: Attended, scores: Scores) -> Result<Tensor<2>> {
        let sums = to.sums(scores, self.concat, &self.dropout)?;
        let (Some(root), Some(gate), 1..) = (&self.root, &self.gate, sums.dims()[0]) else {
            return call.add_own(sums, &self.root, &None);
        };
        let own = call.target.linear(call.op, root)?;
        let joined = Tensor::cat(vec![sums.clone(), own.clone(), sums.clone() - own.clone()], 1);
        let share = sigmoid(joined.matmul(gate.weight.val()));
        Ok(sums.clone() + share * (own - sums))
    }
}
