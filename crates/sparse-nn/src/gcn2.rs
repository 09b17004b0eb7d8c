//! Deep graph convolution with initial residuals.

use super::features::{Features, check_square, glorot};
use super::message_passing::Edges;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::{Result, SparseError};

/// Configuration of a [`Gcn2Conv`].
#[derive(Config, Debug)]
pub struct Gcn2ConvConfig {
    /// Number of features of a node, before and after.
    pub d_model: usize,
    /// The share of the first features, in `[0, 1]`.
    pub alpha: f64,
    /// How far the map is from the identity: `beta = log(theta / layer + 1)`. Without it `beta` is 1.
    #[config(default = "None")]
    pub theta: Option<f64>,
    /// Number of this layer in the model, from 1.
    #[config(default = 1)]
    pub layer: usize,
    /// Whether the first features go through the same weight as the others.
    #[config(default = true)]
    pub shared_weights: bool,
}

/// GCNII: `out = (1 - beta) (H + Z) + beta (H W + Z V)`, with `H = (1 - alpha) A X` and `Z = alpha X_0`.
///
/// `X_0` has the features before the first layer. With shared weights `V` is `W`. **`A` `[N, N]` is taken as it is**:
/// give it [`gcn_normalization`](super::gcn_normalization)`(&adjacency, 1.0)`, made once for all layers. (PyG's
/// `GCN2Conv` makes it in the layer.) Gradients reach the weights, `X`, `X_0` and the values of `A`.
///
/// Cost: `O(nnz * d_model + N * d_model^2)`.
///
/// Source: Chen, Wei, Huang, Ding, Li, *Simple and deep graph convolutional networks*, ICML 2020.
///
/// ```
/// use burn::tensor::{Device, Tensor, activation::relu};
/// use sparse_tensor::{data::karate, nn::{Edges, Gcn2ConvConfig, gcn_normalization}};
///
/// let device = Device::flex();
/// let adjacency = gcn_normalization(&karate(&device).adjacency, 1.0);
/// let first = Tensor::<2>::ones([34, 8], &device);
/// let mut x = first.clone();
/// for number in 1..=16 {
///     let layer = Gcn2ConvConfig::new(8, 0.1).with_theta(Some(0.5)).with_layer(number).init(&device);
///     x = relu(layer.forward(&Edges::new(&adjacency, x), first.clone()));
/// }
/// assert_eq!(x.dims(), [34, 8]);
/// ```
#[derive(Module, Debug)]
pub struct Gcn2Conv {
    /// `W`, `[d_model, d_model]` (PyG's `weight1`).
    pub weight: Param<Tensor<2>>,
    /// `V`, `[d_model, d_model]`, if it is another one (PyG's `weight2`).
    pub initial_weight: Option<Param<Tensor<2>>>,
    alpha: f64,
    beta: f64,
}

impl Gcn2ConvConfig {
    /// A layer on `device`. Weights start from Glorot's uniform distribution.
    ///
    /// # Errors
    ///
    /// `invalid` for an `alpha` outside `[0, 1]`, a `theta` below 0, and layer 0.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<Gcn2Conv> {
        let (width, alpha, theta) = (self.d_model, self.alpha, self.theta.unwrap_or(0.0));
        if !(0.0..=1.0).contains(&alpha) || theta.is_nan() || theta < 0.0 || self.layer == 0 {
            let (theta, layer) = (self.theta, self.layer);
            let message = format!(
                "alpha must be in [0, 1], theta at least 0 and layer at least 1, got {alpha}, {theta:?} and {layer}"
            );
            return Err(SparseError::invalid("Gcn2ConvConfig::init", message));
        }
        Ok(Gcn2Conv {
            weight: glorot([width; 2], [width; 2], device),
            initial_weight: (!self.shared_weights).then(|| glorot([width; 2], [width; 2], device)),
            alpha,
            beta: self.theta.map_or(1.0, |theta| (theta / self.layer as f64).ln_1p()),
        })
    }
}

impl Gcn2Conv {
    /// Edges between nodes of one kind with `d_model` features, and `first [N, d_model]`, to `[N, d_model]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, edges: &Edges<'_>, first: Tensor<2>) -> Result<Tensor<2>> {
        const OP: &str = "Gcn2Conv::forward";
        let (graph, width) = (edges.adjacency(), self.weight.lazy_shape().dims::<2>()[0]);
        check_square(OP, graph)?;
        for x in [edges.sources(), first.clone()] {
            Features::Dense(x).check(OP, graph, width)?;
        }
        let hidden = graph.try_matmul(edges.sources())?.mul_scalar(1.0 - self.alpha);
        let first = first.mul_scalar(self.alpha);
        let times = |x: &Tensor<2>, weight: &Param<Tensor<2>>| Features::Dense(x.clone()).times(OP, weight.val());
        let sum = hidden.clone() + first.clone();
        let mapped = match &self.initial_weight {
            None => times(&sum, &self.weight)?,
            Some(weight) => times(&hidden, &self.weight)? + times(&first, weight)?,
        };
        Ok(mapped.mul_scalar(self.beta) + sum.mul_scalar(1.0 - self.beta))
    }
}
