//! Networks of the difference to a neighbour.

use super::aggregation::{Aggregation, Aggregator};
use super::features::check_width;
use super::message_passing::{Edges, MessagePassing};
use super::mlp::NodeNetwork;
use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::Result;

/// Configuration of an [`EdgeConv`].
#[derive(Config, Debug)]
pub struct EdgeConvConfig {
    /// Number of features that the network gives.
    pub d_output: usize,
    /// How messages are aggregated.
    #[config(default = "Aggregation::Max")]
    pub aggregation: Aggregation,
}

/// A layer for points: `out_i = aggregate_{j in N(i)} h([x_i, x_j - x_i])`, with `[,]` side by side.
///
/// `h` is the inner network, any [`NodeNetwork`], of `2 F` features. A node without edges gets 0. The values of the
/// adjacency are not read. Gradients reach the network and the features. With the nearest points as neighbours,
/// computed anew before each layer, it is a dynamic graph network. (PyG's `EdgeConv`.)
///
/// Cost: that of the network on `nnz` rows, and `2 nnz F` memory.
///
/// Source: Wang et al., *Dynamic graph CNN for learning on point clouds*, ACM Transactions on Graphics, 2019.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use sparse_tensor::{data::knn_graph, nn::{Edges, EdgeConvConfig, MlpConfig}};
///
/// let device = Device::flex();
/// let points = Tensor::<2>::random([50, 3], Distribution::Default, &device);
/// let graph = knn_graph(points.clone(), 8, None);
/// let network = MlpConfig::new(vec![2 * 3, 16]).init(&device);
/// let layer = EdgeConvConfig::new(16).init(network, &device);
/// assert_eq!(layer.forward(&Edges::new(&graph, points)).dims(), [50, 16]);
/// ```
#[derive(Module, Debug)]
pub struct EdgeConv<M: NodeNetwork> {
    /// `h` (PyG's `nn`).
    pub network: M,
    /// How messages are aggregated.
    pub aggregator: Aggregator,
}

impl EdgeConvConfig {
    /// A layer around `network`, with the parameters of its aggregation on `device`.
    ///
    /// # Errors
    ///
    /// Those of [`Aggregation::try_init`].
    #[or_panic]
    pub fn try_init<M: NodeNetwork>(&self, network: M, device: &Device) -> Result<EdgeConv<M>> {
        Ok(EdgeConv { network, aggregator: self.aggregation.try_init(self.d_output, device)? })
    }
}

impl<M: NodeNetwork> EdgeConv<M> {
    /// Edges whose sources and targets have as many features, to `[M, d_output]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`; those of the aggregation.
    #[or_panic]
    pub fn try_forward(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        self.propagate(edges)
    }
}

impl<M: NodeNetwork> MessagePassing for EdgeConv<M> {
    fn message(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        let (x, own) = (edges.source(), edges.target());
        check_width("EdgeConv::forward", x.dims(), own.dims()[1])?;
        Ok(self.network.forward(Tensor::cat(vec![own.clone(), x - own], 1)))
    }

    fn aggregate(&self, edges: &Edges<'_>, messages: Tensor<2>) -> Result<Tensor<2>> {
        edges.try_aggregate(messages, &self.aggregator)
    }
}
