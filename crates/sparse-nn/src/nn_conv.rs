//! Weights that a network makes of the features of edges.

use super::aggregation::{Aggregation, Aggregator};
use super::features::{add_root, check_width, linear_map, with_bias, zeros};
use super::message_passing::{Edges, MessagePassing};
use super::mlp::NodeNetwork;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::Exact;
use sparse_ops::{Result, SparseError};

/// Configuration of an [`NnConv`].
#[derive(Config, Debug)]
pub struct NnConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of a node.
    pub d_output: usize,
    /// Number of input features of a target, if it is another one.
    #[config(default = "None")]
    pub d_target: Option<usize>,
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

/// An edge-conditioned convolution: `out_i = W x_i + aggregate_{j in N(i)} x_j h(e_ij) + b`.
///
/// `h` is the inner network, any [`NodeNetwork`]. It makes of the features of an edge a matrix `[d_input, d_output]`,
/// row by row. The values of the adjacency are not read. Gradients reach the network, the weights and the features of
/// nodes and edges. (PyG's `NNConv`.)
///
/// Cost: that of the network on `nnz` rows, and `O(nnz * d_input * d_output)` time and memory.
///
/// Source: Gilmer et al., *Neural message passing for quantum chemistry*, ICML 2017.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{Edges, MlpConfig, NnConvConfig}};
///
/// let device = Device::flex();
/// let graph = karate(&device).adjacency;
/// let network = MlpConfig::new(vec![5, 16, 2 * 8]).init(&device);
/// let layer = NnConvConfig::new(2, 8).init(network, &device);
/// let edges = Edges::new(&graph, Tensor::ones([34, 2], &device));
/// let edges = edges.with_features(Tensor::ones([graph.nnz(), 5], &device));
/// assert_eq!(layer.forward(&edges).dims(), [34, 8]);
/// ```
#[derive(Module, Debug)]
pub struct NnConv<M: NodeNetwork> {
    /// `h` (PyG's `nn`).
    pub network: M,
    /// `W`, for the node itself (PyG's `lin`).
    pub root: Option<Linear>,
    /// `[d_output]`.
    pub bias: Option<Param<Tensor<1>>>,
    /// How messages are aggregated.
    pub aggregator: Aggregator,
    d_input: usize,
    d_output: usize,
}

impl NnConvConfig {
    /// A layer around `network`, on `device`. `W` starts as Burn's `Linear` does.
    ///
    /// # Errors
    ///
    /// `invalid` for an aggregation that gives another number of features.
    #[or_panic]
    pub fn try_init<M: NodeNetwork>(&self, network: M, device: &Device) -> Result<NnConv<M>> {
        let Self { d_input, d_output, .. } = *self;
        Ok(NnConv {
            network,
            root: self.root_weight.then(|| linear_map(self.d_target.unwrap_or(d_input), d_output, false, device)),
            bias: self.bias.then(|| zeros(d_output, device)),
            aggregator: self.aggregation.init_same("NnConvConfig::init", d_output, device)?,
            d_input,
            d_output,
        })
    }
}

const OP: &str = "NnConv::forward";

impl<M: NodeNetwork> NnConv<M> {
    /// Edges with features, to `[M, d_output]`.
    ///
    /// # Errors
    ///
    /// `invalid` for edges without features; `shape_mismatch`, also if the network does not give
    /// `d_input * d_output` numbers; `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        self.propagate(edges)
    }
}

impl<M: NodeNetwork> MessagePassing for NnConv<M> {
    fn message(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        let (x, [d_input, d_output]) = (edges.source(), [self.d_input, self.d_output]);
        check_width(OP, x.dims(), d_input)?;
        let features = edges.need_features(OP)?;
        if edges.is_empty() {
            return Ok(Tensor::zeros([0, d_output], (&x.device(), x.dtype())));
        }
        let (count, weights) = (edges.len(), self.network.forward(features));
        if weights.dims() != [count, d_input * d_output] {
            let rule = "the network must give a matrix {right} for each edge, got rows {left}";
            return Err(SparseError::shape_mismatch(OP, rule, weights.dims(), [d_input, d_output]));
        }
        let weights: Tensor<3> = weights.reshape(Exact([count, d_input, d_output]));
        Ok(x.reshape(Exact([count, 1, d_input])).matmul(weights).reshape(Exact([count, d_output])))
    }

    fn aggregate(&self, edges: &Edges<'_>, messages: Tensor<2>) -> Result<Tensor<2>> {
        edges.try_aggregate(messages, &self.aggregator)
    }

    fn update(&self, edges: &Edges<'_>, aggregated: Tensor<2>) -> Result<Tensor<2>> {
        Ok(with_bias(add_root(OP, aggregated, &self.root, edges.targets())?, &self.bias))
    }
}
