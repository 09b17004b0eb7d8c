//! The transformer convolution.

use super::attention::{attention_forwards, check_inputs, columns, head_products, join_heads, weighted_sums};
use super::dropout::dropout;
use super::features::{Features, check_dropout, check_square, invalid};
use super::message_passing::edge_softmax;
use burn::config::Config;
use burn::module::Module;
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig};
use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Scores, attend, read_at, reduce_rows};
use sparse_ops::ops::Reduce;
use sparse_ops::pattern::{CsrPattern, Pattern};
use sparse_ops::{CsrTensor, Result};

/// Configuration of a [`TransformerConv`].
#[derive(Config, Debug)]
pub struct TransformerConvConfig {
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
    /// `Q`, `[d_input, heads * d_output]`.
    pub query: Linear,
    /// `K`, of the same shape.
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
        if self.heads == 0 {
            return invalid(OP, "heads must be at least 1, got 0".into());
        }
        if self.beta && !self.root_weight {
            return invalid(OP, "use with_root_weight(true): the gate of beta weighs the root".into());
        }
        check_dropout(OP, self.dropout)?;
        let width = self.heads * self.d_output;
        let out = if self.concat { width } else { self.d_output };
        let linear = |from, to, bias| LinearConfig::new(from, to).with_bias(bias).init(device);
        Ok(TransformerConv {
            query: linear(self.d_input, width, self.bias),
            key: linear(self.d_input, width, self.bias),
            value: linear(self.d_input, width, self.bias),
            edge: self.d_edge.map(|d_edge| linear(d_edge, width, false)),
            root: self.root_weight.then(|| linear(self.d_input, out, self.bias)),
            gate: self.beta.then(|| linear(3 * out, 1, false)),
            dropout: DropoutConfig::new(self.dropout).init(),
            heads: self.heads,
            concat: self.concat,
        })
    }
}

attention_forwards! { TransformerConv, "" }

impl TransformerConv {
    fn run(
        &self,
        op: &'static str,
        adjacency: &CsrTensor<2>,
        [source, target]: [Features<'_>; 2],
        edges: Option<Tensor<2>>,
    ) -> Result<Tensor<2>> {
        let [d_input, width] = self.query.weight.lazy_shape().dims();
        let d_edge = self.edge.as_ref().map(|edge| edge.weight.lazy_shape().dims::<2>()[0]);
        check_inputs(op, adjacency, (&source, &target), d_input, (edges.as_ref(), d_edge))?;
        if self.edge.is_some() && edges.is_none() {
            return invalid(op, "use forward_edges: the layer has features of edges".into());
        }
        let (pattern, heads) = (adjacency.pattern(), self.heads);
        let query = target.linear(op, &self.query)?;
        let (key, value) = (source.linear(op, &self.key)?, source.linear(op, &self.value)?);
        let scale = 1.0 / ((width / heads).max(1) as f64).sqrt();
        let edges = edges.zip(self.edge.as_ref().map(|edge| edge.weight.val()));
        // Without edges their features say nothing, and some devices cannot compute with tensors without elements.
        let out = match edges.as_ref().filter(|_| pattern.nnz() > 0) {
            None => attend(pattern, Scores::Products { query, key, scale }, heads, value, &self.dropout),
            Some((features, weight)) => {
                let scores = head_products(pattern, &query, &key, heads)?
                    + edge_products(pattern, &query, features, weight, heads);
                // Not div_scalar: in Burn 0.22 its gradient is rounded to f32.
                let weights = dropout(edge_softmax(pattern, scores.mul_scalar(scale))?, &self.dropout);
                weighted_sums(pattern, &weights, &value)? + read_ends(pattern, &weights, features, weight)
            }
        };
        let out = join_heads(out, heads, self.concat);
        let Some(root) = &self.root else { return Ok(out) };
        let own = target.linear(op, root)?;
        let Some(gate) = self.gate.as_ref().filter(|_| adjacency.dims()[0] > 0) else { return Ok(out + own) };
        let joined = Tensor::cat(vec![out.clone(), own.clone(), out.clone() - own.clone()], 1);
        let share = sigmoid(joined.matmul(gate.weight.val()));
        Ok(out.clone() + share * (own - out))
    }
}

/// `<q_i, E e_ij>` of each head as `<E^T q_i, e_ij>`, `[nnz, H]`: the products `E e_ij` of all edges are never formed.
fn edge_products(
    pattern: &CsrPattern,
    query: &Tensor<2>,
    features: &Tensor<2>,
    weight: &Tensor<2>,
    heads: usize,
) -> Tensor<2> {
    let parts = (0..heads).map(|head| {
        let back = columns(query, heads, head).matmul(columns(weight, heads, head).swap_dims(0, 1));
        (read_at(pattern, 0, back) * features.clone()).sum_dim(1)
    });
    Tensor::cat(parts.collect(), 1)
}

/// `sum_j alpha_ij E e_ij` of each head as `E sum_j alpha_ij e_ij`, `[M, H * C]`.
fn read_ends(pattern: &CsrPattern, weights: &Tensor<2>, features: &Tensor<2>, weight: &Tensor<2>) -> Tensor<2> {
    let heads = weights.dims()[1];
    let parts = (0..heads).map(|head| {
        let messages = features.clone() * weights.clone().narrow(1, head, 1);
        reduce_rows(pattern, messages, Reduce::Add).matmul(columns(weight, heads, head))
    });
    Tensor::cat(parts.collect(), 1)
}
