//! Gated graph sequence networks.

use super::aggregation::{Aggregation, Aggregator, weighted};
use super::features::{Features, check_square};
use super::message_passing::Edges;
use super::recurrent::gru_step;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Gru, GruConfig, Initializer};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, same_elements};
use sparse_ops::{Result, SparseError};

/// Configuration of a [`GatedGraphConv`].
#[derive(Config, Debug)]
pub struct GatedGraphConvConfig {
    /// Number of output features of a node. Inputs of fewer features get zeros after them.
    pub d_output: usize,
    /// Number of steps.
    pub layers: usize,
    /// How neighbours are aggregated.
    #[config(default = "Aggregation::Add")]
    pub aggregation: Aggregation,
    /// Whether the gates have biases.
    #[config(default = true)]
    pub bias: bool,
}

/// A gated graph network: `layers` times `h_i = GRU(aggregate_{j in N(i)} a_ij W_l h_j, h_i)`, from the features and
/// zeros after them.
///
/// The values of the adjacency are edge weights. All steps share the gates and have a `W_l` of their own. Gradients
/// reach the weights, the features and the values of the adjacency. (PyG's `GatedGraphConv`.)
///
/// Cost of a step: `O(nnz * d_output + N * d_output^2)`.
///
/// Source: Li, Tarlow, Brockschmidt, Zemel, *Gated graph sequence neural networks*, ICLR 2016.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{Edges, GatedGraphConvConfig}};
///
/// let device = Device::flex();
/// let graph = karate(&device).adjacency;
/// let layer = GatedGraphConvConfig::new(8, 3).init(&device);
/// let out = layer.forward(&Edges::new(&graph, Tensor::ones([34, 2], &device)));
/// assert_eq!(out.dims(), [34, 8]);
/// ```
#[derive(Module, Debug)]
pub struct GatedGraphConv {
    /// `W_l`, `[layers, d_output, d_output]`.
    pub weight: Param<Tensor<3>>,
    /// The gates (PyG's `rnn`).
    pub gru: Gru,
    /// How neighbours are aggregated.
    pub aggregator: Aggregator,
}

impl GatedGraphConvConfig {
    /// A layer on `device`. Weights start uniform in `[-s, s]`, with `s = 1 / sqrt(d_output)`.
    ///
    /// # Errors
    ///
    /// `invalid` for no features, or an aggregation that gives another number of them.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<GatedGraphConv> {
        const OP: &str = "GatedGraphConvConfig::init";
        let width = self.d_output;
        if width == 0 {
            return Err(SparseError::invalid(OP, "d_output must be at least 1, got 0"));
        }
        let most = 1.0 / (width as f64).sqrt();
        let uniform = Initializer::Uniform { min: -most, max: most };
        Ok(GatedGraphConv {
            weight: uniform.init([self.layers, width, width], device),
            gru: GruConfig::new(width, width, self.bias).with_initializer(uniform).init(device),
            aggregator: self.aggregation.init_same(OP, width, device)?,
        })
    }
}

impl GatedGraphConv {
    /// Edges between nodes of one kind with at most `d_output` features, to `[N, d_output]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        const OP: &str = "GatedGraphConv::forward";
        let (graph, mut hidden, weight) = (edges.adjacency(), edges.sources(), self.weight.val());
        let ([layers, width, _], [nodes, given]) = (weight.dims(), hidden.dims());
        check_square(OP, graph)?;
        same_elements(OP, &hidden, &weight)?;
        if given > width {
            let rule = "the features {left} must have at most {right} columns, the outputs of the layer";
            return Err(SparseError::shape_mismatch(OP, rule, [nodes, given], [width]));
        }
        if given < width {
            let zeros = Tensor::zeros([nodes, width - given], (&hidden.device(), hidden.dtype()));
            hidden = Tensor::cat(vec![hidden, zeros], 1);
        }
        for layer in 0..layers {
            let own = weight.clone().narrow(0, layer, 1).reshape(Exact([width, width]));
            let sent = Features::Dense(hidden.clone()).times(OP, own)?;
            hidden = gru_step(&self.gru, weighted(graph, sent, &self.aggregator)?, hidden);
        }
        Ok(hidden)
    }
}
