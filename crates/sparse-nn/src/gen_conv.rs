//! Generalised graph convolution.

use super::aggregation::{Aggregation, Aggregator, Coefficient};
use super::features::{apply_any, check_width, linear_map, norms, unit_rows};
use super::message_passing::{Edges, MessagePassing};
use super::mlp::{Mlp, MlpConfig};
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::same_elements;
use sparse_ops::{Result, SparseError};

/// Configuration of a [`GenConv`].
#[derive(Config, Debug)]
pub struct GenConvConfig {
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
    #[config(default = "Aggregation::Softmax(Coefficient::Fixed(1.0))")]
    pub aggregation: Aggregation,
    /// Number of linear maps of the network.
    #[config(default = 2)]
    pub layers: usize,
    /// How many times wider its hidden layers are than the output.
    #[config(default = 2)]
    pub expansion: usize,
    /// Whether the network has a batch norm after each linear map but the last.
    #[config(default = true)]
    pub batch_norm: bool,
    /// Whether linear maps have biases.
    #[config(default = false)]
    pub bias: bool,
    /// Whether an aggregated message gets the norm of the target's features.
    #[config(default = false)]
    pub message_norm: bool,
    /// Whether the factor of that norm is trained, from 1.
    #[config(default = false)]
    pub train_scale: bool,
}

/// A generalised graph convolution: `out_i = h(T x_i + aggregate_{j in N(i)} (relu(S x_j + V e_ij) + 1e-7))`.
///
/// `h` is an [`Mlp`]. `S`, `T` and `V` are there only where the number of features is not that of the output. With
/// `message_norm` the aggregated message `m` becomes `s |x_i| m / |m|`. The values of the adjacency are not read.
/// Gradients reach the weights, the parameters of the aggregation and the features of nodes and edges. (PyG's
/// `GENConv`.)
///
/// Cost: that of the aggregation, and `O(nnz * d_output)` time and memory; with `V` `nnz * d_edge * d_output` more.
///
/// Source: Li et al., *DeeperGCN: all you need to train deeper GCNs*, 2020.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{Edges, GenConvConfig}};
///
/// let device = Device::flex();
/// let graph = karate(&device).adjacency;
/// let layer = GenConvConfig::new(2, 8).init(&device);
/// let out = layer.forward(&Edges::new(&graph, Tensor::ones([34, 2], &device)));
/// assert_eq!(out.dims(), [34, 8]);
/// ```
#[derive(Module, Debug)]
pub struct GenConv {
    /// `S` (PyG's `lin_src`).
    pub source: Option<Linear>,
    /// `T` (PyG's `lin_dst`).
    pub target: Option<Linear>,
    /// `V` (PyG's `lin_edge`).
    pub edge: Option<Linear>,
    /// `h` (PyG's `mlp`).
    pub network: Mlp,
    /// How messages are aggregated.
    pub aggregator: Aggregator,
    /// `s`, `[1]`, with `message_norm`.
    pub scale: Option<Param<Tensor<1>>>,
    d_output: usize,
    d_edge: Option<usize>,
}

impl GenConvConfig {
    /// A layer on `device`. Weights start as Burn's `Linear` does.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 layers, or an aggregation that gives another number of features.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<GenConv> {
        const OP: &str = "GenConvConfig::init";
        let width = self.d_output;
        if self.layers == 0 {
            return Err(SparseError::invalid(OP, "layers must be at least 1, got 0"));
        }
        let map = |from: usize| (from != width).then(|| linear_map(from, width, self.bias, device));
        let hidden = std::iter::repeat_n(width * self.expansion, self.layers - 1);
        let sizes = std::iter::once(width).chain(hidden).chain([width]).collect();
        let scale = || Param::from_data([1.0], device).set_require_grad(self.train_scale);
        Ok(GenConv {
            source: map(self.d_input),
            target: map(self.d_target.unwrap_or(self.d_input)),
            edge: self.d_edge.and_then(map),
            network: MlpConfig::new(sizes).with_batch_norm(self.batch_norm).with_bias(self.bias).try_init(device)?,
            aggregator: self.aggregation.init_same(OP, width, device)?,
            scale: self.message_norm.then(scale),
            d_output: width,
            d_edge: self.d_edge,
        })
    }
}

const OP: &str = "GenConv::forward";

impl GenConv {
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

    /// `x` through a map to the width of the output, if it has another one.
    fn mapped(&self, x: Tensor<2>, map: &Option<Linear>) -> Result<Tensor<2>> {
        let x = apply_any(OP, x, map)?;
        check_width(OP, x.dims(), self.d_output)?;
        Ok(x)
    }
}

impl MessagePassing for GenConv {
    fn message(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        let mut x = edges.try_read_source(self.mapped(edges.sources(), &self.source)?)?;
        if let Some(features) = edges.features_of(OP, self.d_edge)? {
            x = x + self.mapped(features, &self.edge)?;
        }
        Ok(relu(x).add_scalar(1e-7))
    }

    fn aggregate(&self, edges: &Edges<'_>, messages: Tensor<2>) -> Result<Tensor<2>> {
        edges.try_aggregate(messages, &self.aggregator)
    }

    fn update(&self, edges: &Edges<'_>, mut messages: Tensor<2>) -> Result<Tensor<2>> {
        let x = edges.targets();
        if let Some(scale) = &self.scale {
            same_elements(OP, &x, &scale.val())?;
            let (norms, _) = norms(x.clone());
            messages = unit_rows(messages) * (norms.cast(x.dtype()) * scale.val().unsqueeze());
        }
        Ok(self.network.forward(messages + self.mapped(x, &self.target)?))
    }
}
