//! The graph isomorphism network.

use super::features::{Features, check_square};
use super::mlp::NodeNetwork;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{add_scaled, same_elements};
use sparse_ops::{CsrTensor, Result};

/// Configuration of a [`GinConv`].
#[derive(Config, Debug)]
pub struct GinConvConfig {
    /// How much more a node counts than a neighbour, at the start.
    #[config(default = 0.0)]
    pub eps: f64,
    /// Whether `eps` is trained.
    #[config(default = false)]
    pub train_eps: bool,
}

/// A layer of the graph isomorphism network: `out_i = h((1 + eps) x_i + sum_{j in N(i)} a_ij x_j)`.
///
/// `h` is the inner network, any [`NodeNetwork`]. The values of the adjacency are edge weights; with ones this is PyG's
/// `GINConv`. `eps` is in the record, trained or not. Gradients reach the network, the features, the values of the
/// adjacency and, if it is trained, `eps`. Cost: `O(nnz * F)` and that of the network.
///
/// Source: Xu, Hu, Leskovec, Jegelka, *How powerful are graph neural networks?*, ICLR 2019.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{GinConvConfig, MlpConfig}};
///
/// let device = Device::flex();
/// let mlp = MlpConfig::new(vec![2, 8, 4]).init(&device);
/// let layer = GinConvConfig::new().with_train_eps(true).init(mlp, &device);
/// let out = layer.forward(&karate(&device).adjacency, Tensor::ones([34, 2], &device));
/// assert_eq!(out.dims(), [34, 4]);
/// ```
#[derive(Module, Debug)]
pub struct GinConv<M: NodeNetwork> {
    /// `h`.
    pub network: M,
    /// `[1]`.
    pub eps: Param<Tensor<1>>,
}

impl GinConvConfig {
    /// A layer around `network`, on `device`.
    pub fn init<M: NodeNetwork>(&self, network: M, device: &Device) -> GinConv<M> {
        let eps = Param::from_data([self.eps], device).set_require_grad(self.train_eps);
        GinConv { network, eps }
    }
}

impl<M: NodeNetwork> GinConv<M> {
    /// `adjacency [N, N]`, `x [N, F]`, to what the network makes of `[N, F]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Result<Tensor<2>> {
        const OP: &str = "GinConv::forward";
        check_square(OP, adjacency)?;
        self.try_forward_bipartite(adjacency, x.clone(), x)
    }

    /// A bipartite graph: `adjacency [M, N]`, `source [N, F]` and `target [M, F]`.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward).
    #[or_panic]
    pub fn try_forward_bipartite(
        &self,
        adjacency: &CsrTensor<2>,
        source: Tensor<2>,
        target: Tensor<2>,
    ) -> Result<Tensor<2>> {
        const OP: &str = "GinConv::forward";
        let width = source.dims()[1];
        Features::Dense(source.clone()).check(OP, adjacency, width)?;
        Features::Dense(target.clone()).check_targets(OP, adjacency, width)?;
        let own = self.eps.val().add_scalar(1.0);
        same_elements(OP, &target, &own)?;
        Ok(self.network.forward(add_scaled(adjacency.try_matmul(source)?, target, own)))
    }
}
