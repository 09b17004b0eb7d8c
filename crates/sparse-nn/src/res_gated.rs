//! Residual gated graph convolution.

use super::aggregation::{Aggregation, Aggregator};
use super::features::{Features, add_root, check_width, linear_map, with_bias, zeros};
use super::message_passing::{Edges, MessagePassing};
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::Result;
use sparse_ops::extend::read_ends;

/// Configuration of a [`ResGatedConv`].
#[derive(Config, Debug)]
pub struct ResGatedConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of a node.
    pub d_output: usize,
    /// Number of input features of a target, if it is another one.
    #[config(default = "None")]
    pub d_target: Option<usize>,
    /// Number of features of an edge.
    #[config(default = "None")]
    pub d_edge: Option<usize>,
    /// How messages are aggregated.
    #[config(default = "Aggregation::Add")]
    pub aggregation: Aggregation,
    /// Whether a node's own features are added, through a weight of their own.
    #[config(default = true)]
    pub root_weight: bool,
    /// Whether a bias is added; it starts at 0.
    #[config(default = true)]
    pub bias: bool,
}

/// A residual gated graph convolution: a gate for each feature of each edge,
/// `out_i = W x_i + aggregate_{j in N(i)} sigmoid(K x_i + Q x_j) * V x_j + b`, with `*` elementwise.
///
/// `K`, `Q` and `V` have biases. With features of edges each of the three gets them too, after those of the node:
/// `K [x_i, e_ij]`. What they make of nodes is computed once for each node, not for each edge. The values of the
/// adjacency are not read. Gradients reach the weights and the features of nodes and edges. (PyG's
/// `ResGatedGraphConv`.)
///
/// Cost: `O(N * d_input * d_output + nnz * d_output)`, with edge features `nnz * d_edge * d_output` more; memory
/// `nnz * d_output`.
///
/// Source: Bresson and Laurent, *Residual gated graph ConvNets*, 2017.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{Edges, ResGatedConvConfig}};
///
/// let device = Device::flex();
/// let graph = karate(&device).adjacency;
/// let layer = ResGatedConvConfig::new(2, 8).init(&device);
/// let out = layer.forward(&Edges::new(&graph, Tensor::ones([34, 2], &device)));
/// assert_eq!(out.dims(), [34, 8]);
/// ```
#[derive(Module, Debug)]
pub struct ResGatedConv {
    /// `K`, of the target.
    pub key: Linear,
    /// `Q`, of the source.
    pub query: Linear,
    /// `V`, of the source.
    pub value: Linear,
    /// `W`, for the node itself (PyG's `lin_skip`).
    pub root: Option<Linear>,
    /// `[d_output]`.
    pub bias: Option<Param<Tensor<1>>>,
    /// How messages are aggregated.
    pub aggregator: Aggregator,
    d_edge: Option<usize>,
}

impl ResGatedConvConfig {
    /// A layer on `device`. Weights start as Burn's `Linear` does.
    ///
    /// # Errors
    ///
    /// `invalid` for an aggregation that gives another number of features.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<ResGatedConv> {
        let (from, to, width) = (self.d_input, self.d_target.unwrap_or(self.d_input), self.d_output);
        let map = |d_input, bias| linear_map(d_input + self.d_edge.filter(|_| bias).unwrap_or(0), width, bias, device);
        Ok(ResGatedConv {
            key: map(to, true),
            query: map(from, true),
            value: map(from, true),
            root: self.root_weight.then(|| map(to, false)),
            bias: self.bias.then(|| zeros(width, device)),
            aggregator: self.aggregation.init_same("ResGatedConvConfig::init", width, device)?,
            d_edge: self.d_edge,
        })
    }
}

const OP: &str = "ResGatedConv::forward";

impl ResGatedConv {
    /// Edges, with features if the layer has `d_edge`, to `[M, d_output]`.
    ///
    /// # Errors
    ///
    /// `invalid` for edges with features in a layer without, or the other way round; `shape_mismatch`,
    /// `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        self.propagate(edges)
    }

    /// `W x + b` for the rows of the weight that are those of a node.
    fn of_nodes(&self, x: Tensor<2>, layer: &Linear) -> Result<Tensor<2>> {
        let (weight, [_, width]) = (layer.weight.val(), x.dims());
        check_width(OP, x.dims(), weight.dims()[0] - self.d_edge.unwrap_or(0))?;
        let product = Features::Dense(x).times(OP, weight.narrow(0, 0, width))?;
        Ok(with_bias(product, &layer.bias))
    }
}

impl MessagePassing for ResGatedConv {
    fn message(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        let key = self.of_nodes(edges.targets(), &self.key)?;
        let query = self.of_nodes(edges.sources(), &self.query)?;
        let mut gate = read_ends(edges.adjacency().pattern(), key, query);
        let mut value = edges.try_read_source(self.of_nodes(edges.sources(), &self.value)?)?;
        if let Some(features) = edges.features_of(OP, self.d_edge)? {
            let [_, width] = features.dims();
            let [key, query, of_value] = [&self.key, &self.query, &self.value].map(|layer| {
                let weight = layer.weight.val();
                weight.clone().narrow(0, weight.dims()[0] - width, width)
            });
            gate = gate + features.clone().matmul(key + query);
            value = value + features.matmul(of_value);
        }
        Ok(sigmoid(gate) * value)
    }

    fn aggregate(&self, edges: &Edges<'_>, messages: Tensor<2>) -> Result<Tensor<2>> {
        edges.try_aggregate(messages, &self.aggregator)
    }

    fn update(&self, edges: &Edges<'_>, aggregated: Tensor<2>) -> Result<Tensor<2>> {
        Ok(with_bias(add_root(OP, aggregated, &self.root, edges.targets())?, &self.bias))
    }
}
