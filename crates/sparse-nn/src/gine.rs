//! The graph isomorphism network with features of edges.

use super::features::{apply_any, check_width, linear_map};
use super::message_passing::{Edges, MessagePassing};
use super::mlp::NodeNetwork;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::Result;
use sparse_ops::extend::{expand, same_elements};

/// Configuration of a [`GineConv`].
#[derive(Config, Debug)]
pub struct GineConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of features of an edge, if a linear map takes them to those of a node. Without it there are as many.
    #[config(default = "None")]
    pub d_edge: Option<usize>,
    /// How much more a node counts than a neighbour, at the start.
    #[config(default = 0.0)]
    pub eps: f64,
    /// Whether `eps` is trained.
    #[config(default = false)]
    pub train_eps: bool,
}

/// A layer of the graph isomorphism network with features of edges:
/// `out_i = h((1 + eps) x_i + sum_{j in N(i)} relu(x_j + V e_ij))`.
///
/// `h` is the inner network, any [`NodeNetwork`]. Without `d_edge` there is no `V`. The values of the adjacency are not
/// read. `eps` is in the record, trained or not. Gradients reach the network, `V`, the features of nodes and edges, and
/// `eps` if it is trained. (PyG's `GINEConv`.)
///
/// Cost: `O(nnz * (d_edge + 1) * d_input)` time and `nnz * d_input` memory, and those of the network.
///
/// Source: Hu et al., *Strategies for pre-training graph neural networks*, ICLR 2020.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{Edges, GineConvConfig, MlpConfig}};
///
/// let device = Device::flex();
/// let graph = karate(&device).adjacency;
/// let network = MlpConfig::new(vec![2, 16, 8]).init(&device);
/// let layer = GineConvConfig::new(2).with_d_edge(Some(5)).init(network, &device);
/// let edges = Edges::new(&graph, Tensor::ones([34, 2], &device));
/// let edges = edges.with_features(Tensor::ones([graph.nnz(), 5], &device));
/// assert_eq!(layer.forward(&edges).dims(), [34, 8]);
/// ```
#[derive(Module, Debug)]
pub struct GineConv<M: NodeNetwork> {
    /// `h` (PyG's `nn`).
    pub network: M,
    /// `V` (PyG's `lin`).
    pub edge: Option<Linear>,
    /// `[1]`.
    pub eps: Param<Tensor<1>>,
    d_input: usize,
}

impl GineConvConfig {
    /// A layer around `network`, on `device`. `V` starts as Burn's `Linear` does.
    pub fn init<M: NodeNetwork>(&self, network: M, device: &Device) -> GineConv<M> {
        GineConv {
            network,
            edge: self.d_edge.map(|d_edge| linear_map(d_edge, self.d_input, true, device)),
            eps: Param::from_data([self.eps], device).set_require_grad(self.train_eps),
            d_input: self.d_input,
        }
    }
}

const OP: &str = "GineConv::forward";

impl<M: NodeNetwork> GineConv<M> {
    /// Edges with features, whose sources and targets have `d_input`, to what the network makes of `[M, d_input]`.
    ///
    /// # Errors
    ///
    /// `invalid` for edges without features; `shape_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        self.propagate(edges)
    }
}

impl<M: NodeNetwork> MessagePassing for GineConv<M> {
    fn message(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        let (x, features) = (edges.source(), apply_any(OP, edges.need_features(OP)?, &self.edge)?);
        check_width(OP, x.dims(), self.d_input)?;
        check_width(OP, features.dims(), self.d_input)?;
        Ok(relu(x + features))
    }

    fn update(&self, edges: &Edges<'_>, aggregated: Tensor<2>) -> Result<Tensor<2>> {
        let (x, eps) = (edges.targets(), self.eps.val());
        check_width(OP, x.dims(), self.d_input)?;
        same_elements(OP, &x, &eps)?;
        let own = expand(eps.add_scalar(1.0).unsqueeze(), x.dims()) * x;
        Ok(self.network.forward(aggregated + own))
    }
}
