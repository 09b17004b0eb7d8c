//! Normalisation over the nodes of each graph.

use super::features::check_width;
use super::pooling::{check_nodes, pool};
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::Result;
use sparse_ops::extend::{add_bias, same_elements, wide};
use sparse_ops::ops::{IndexPlan, Reduce};

/// Configuration of a [`GraphNorm`].
#[derive(Config, Debug)]
pub struct GraphNormConfig {
    /// Number of features of a node.
    pub features: usize,
    /// Added to the variance.
    #[config(default = 1e-5)]
    pub epsilon: f64,
}

/// Graph norm: `gamma * (x - alpha * mean_g(x)) / sqrt(var_g + epsilon) + beta`, for the nodes of each graph `g`.
///
/// `alpha` says how much of the mean is taken away; it is trained, and 1 at the start. `var_g` is the mean of
/// `(x - alpha * mean_g(x))^2` over the nodes of the graph. Training and evaluation compute the same. (PyG's
/// `GraphNorm`. For batch norm over all nodes use Burn's `BatchNorm`.)
///
/// Source: Cai et al., *GraphNorm: a principled approach to accelerating graph neural network training*, ICML 2021.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{nn::GraphNormConfig, ops::IndexPlan};
///
/// let device = Device::flex();
/// let graphs = IndexPlan::new(Tensor::from_ints([0, 0, 1], &device), 2).unwrap();
/// let norm = GraphNormConfig::new(1).init(&device);
/// let out = norm.forward(Tensor::from_floats([[1.0], [3.0], [5.0]], &device), &graphs);
/// assert!((out.into_data().iter::<f32>().next().unwrap() + 1.0).abs() < 1e-4);
/// ```
#[derive(Module, Debug)]
pub struct GraphNorm {
    /// `gamma`, `[features]`, 1 at the start (PyG's `weight`).
    pub gamma: Param<Tensor<1>>,
    /// `beta`, `[features]`, 0 at the start (PyG's `bias`).
    pub beta: Param<Tensor<1>>,
    /// `alpha`, `[features]`, 1 at the start (PyG's `mean_scale`).
    pub alpha: Param<Tensor<1>>,
    /// Added to the variance.
    pub epsilon: f64,
}

impl GraphNormConfig {
    /// A layer on `device`.
    pub fn init(&self, device: &Device) -> GraphNorm {
        let vector = |start: Initializer| start.init([self.features], device);
        GraphNorm {
            gamma: vector(Initializer::Ones),
            beta: vector(Initializer::Zeros),
            alpha: vector(Initializer::Ones),
            epsilon: self.epsilon,
        }
    }
}

impl GraphNorm {
    /// `x [N, features]` to the same shape. `graphs` has the graph of each node.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, x: Tensor<2>, graphs: &IndexPlan) -> Result<Tensor<2>> {
        const OP: &str = "GraphNorm::forward";
        check_nodes(OP, &x, graphs)?;
        check_width(OP, x.dims(), self.gamma.lazy_shape().dims::<1>()[0])?;
        same_elements(OP, &x, &self.gamma.val())?;
        if x.shape().num_elements() == 0 {
            return Ok(x);
        }
        // Squares of 16-bit floats overflow: all is computed in f32.
        let dtype = x.dtype();
        let [alpha, gamma] = [&self.alpha, &self.gamma].map(|param| wide(param.val().unsqueeze()));
        let beta: Tensor<2> = wide(self.beta.val().unsqueeze());
        let x = wide(x);
        let mean = pool(OP, x.clone(), graphs, Reduce::Mean)? * alpha;
        let centred = x - graphs.try_select(mean, 0)?;
        let variance = pool(OP, centred.clone().powi_scalar(2), graphs, Reduce::Mean)?;
        let factor = variance.add_scalar(self.epsilon).sqrt().recip() * gamma;
        let scaled = centred * graphs.try_select(factor, 0)?;
        Ok(add_bias(scaled, beta.squeeze_dim(0)).cast(dtype))
    }
}
