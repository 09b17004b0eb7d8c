//! Attention by the cosine of features.

use super::features::{check_width, unit_rows};
use super::message_passing::Edges;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::DropoutConfig;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::Result;
use sparse_ops::extend::{Scores, attend, expand, same_elements};

/// Configuration of an [`AgnnConv`].
#[derive(Config, Debug)]
pub struct AgnnConvConfig {
    /// Whether the factor of the cosine is trained, from 1. If not, it stays 1.
    #[config(default = true)]
    pub train_beta: bool,
    /// Whether each node attends to itself.
    #[config(default = true)]
    pub self_loops: bool,
}

/// Attention without a weight matrix: `out_i = sum_{j in N(i)} alpha_ij x_j`, with
/// `alpha_ij = softmax_j(beta cos(x_i, x_j))`.
///
/// Only the pattern of the adjacency is read. The cosine of a row of zeros is 0. Gradients reach `beta` and the
/// features. (PyG's `AGNNConv`, for nodes of one kind; here sources and targets may be others.)
///
/// Cost: `O(nnz * F)` time; the memory besides the features is `O(nnz)`.
///
/// Source: Thekumparampil, Wang, Oh, Li, *Attention-based graph neural network for semi-supervised learning*, 2018.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{AgnnConvConfig, Edges}};
///
/// let device = Device::flex();
/// let graph = karate(&device).adjacency;
/// let layer = AgnnConvConfig::new().init(&device);
/// let out = layer.forward(&Edges::new(&graph, Tensor::ones([34, 2], &device)));
/// assert!((out - 1.0).abs().max().into_scalar::<f32>() < 1e-6);
/// ```
#[derive(Module, Debug)]
pub struct AgnnConv {
    /// `[1]`.
    pub beta: Option<Param<Tensor<1>>>,
    self_loops: bool,
}

impl AgnnConvConfig {
    /// A layer on `device`.
    pub fn init(&self, device: &Device) -> AgnnConv {
        AgnnConv { beta: self.train_beta.then(|| Param::from_data([1.0], device)), self_loops: self.self_loops }
    }
}

impl AgnnConv {
    /// Edges whose sources and targets have `F` features, with self loops between nodes of one kind, to `[M, F]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        const OP: &str = "AgnnConv::forward";
        let (x, own) = (edges.sources(), edges.targets());
        check_width(OP, own.dims(), x.dims()[1])?;
        let pattern = edges.pattern(OP, self.self_loops)?;
        let (mut query, key) = (unit_rows(own), unit_rows(x.clone()));
        if let Some(beta) = &self.beta {
            same_elements(OP, &x, &beta.val())?;
            let shape = query.dims();
            query = query * expand(beta.val().unsqueeze(), shape);
        }
        Ok(attend(&pattern, Scores::Products { query, key, scale: 1.0 }, 1, x, &DropoutConfig::new(0.0).init()))
    }
}
