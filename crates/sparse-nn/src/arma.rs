//! Auto-regressive moving average filters.

use super::dropout::dropout;
use super::features::{Features, check_dropout, check_square, glorot};
use super::message_passing::Edges;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Dropout, DropoutConfig, Initializer};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, add_bias};
use sparse_ops::{Result, SparseError};

/// Configuration of an [`ArmaConv`].
#[derive(Config, Debug)]
pub struct ArmaConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of a node.
    pub d_output: usize,
    /// Number of stacks, whose mean is the result.
    #[config(default = 1)]
    pub stacks: usize,
    /// Number of steps of each stack.
    #[config(default = 1)]
    pub layers: usize,
    /// Whether all steps have the same weights. The first one has its own for the neighbours.
    #[config(default = false)]
    pub shared_weights: bool,
    /// Whether ReLU is applied in each step.
    #[config(default = true)]
    pub relu: bool,
    /// The probability with which a feature of the node itself is dropped in training.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// Whether a bias is added; it starts at 0.
    #[config(default = true)]
    pub bias: bool,
}

/// An auto-regressive moving average filter: the mean of `K` stacks of steps `H = s(A H W + X V + b)`, from `H = X`.
///
/// **`A` `[N, N]` is taken as it is**: give it
/// [`symmetric_normalization`](super::symmetric_normalization)`(&adjacency, false)`, made once for all layers. (PyG's
/// `ARMAConv` makes it in the layer.) `s` is ReLU or nothing. All stacks take their steps together, in one sparse
/// product. Gradients reach the weights, `X` and the values of `A`.
///
/// Cost: `layers` sparse products with `stacks * d_output` columns, and the dense ones.
///
/// Source: Bianchi, Grattarola, Livi, Alippi, *Graph neural networks with convolutional ARMA filters*, 2019.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{ArmaConvConfig, Edges, symmetric_normalization}};
///
/// let device = Device::flex();
/// let adjacency = symmetric_normalization(&karate(&device).adjacency, false);
/// let layer = ArmaConvConfig::new(2, 8).with_stacks(3).with_layers(2).init(&device);
/// let out = layer.forward(&Edges::new(&adjacency, Tensor::ones([34, 2], &device)));
/// assert_eq!(out.dims(), [34, 8]);
/// ```
#[derive(Module, Debug)]
pub struct ArmaConv {
    /// `W` of the first step, `[stacks, d_input, d_output]`.
    pub initial: Param<Tensor<3>>,
    /// `W` of the others, `[layers - 1, stacks, d_output, d_output]`, or `[1, ..]` if they are shared.
    pub weight: Option<Param<Tensor<4>>>,
    /// `V`, `[layers, stacks, d_input, d_output]`, or `[1, ..]`.
    pub root: Param<Tensor<4>>,
    /// `b`, `[layers, stacks, d_output]`, or `[1, ..]`.
    pub bias: Option<Param<Tensor<3>>>,
    /// Dropout of the features of the node itself.
    pub dropout: Dropout,
    layers: usize,
    relu: bool,
}

impl ArmaConvConfig {
    /// A layer on `device`. Weights start from Glorot's uniform distribution.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 stacks or layers, or a dropout outside `[0, 1)`.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<ArmaConv> {
        const OP: &str = "ArmaConvConfig::init";
        let Self { d_input, d_output, stacks, layers, .. } = *self;
        if stacks * layers == 0 {
            let message = format!("stacks and layers must be at least 1, got {stacks} and {layers}");
            return Err(SparseError::invalid(OP, message));
        }
        check_dropout(OP, self.dropout)?;
        let steps = |count: usize| if self.shared_weights { count.min(1) } else { count };
        let after = |count| glorot([steps(count), stacks, d_output, d_output], [d_output; 2], device);
        Ok(ArmaConv {
            initial: glorot([stacks, d_input, d_output], [d_input, d_output], device),
            weight: (layers > 1).then(|| after(layers - 1)),
            root: glorot([steps(layers), stacks, d_input, d_output], [d_input, d_output], device),
            bias: self.bias.then(|| Initializer::Zeros.init([steps(layers), stacks, d_output], device)),
            dropout: DropoutConfig::new(self.dropout).init(),
            layers,
            relu: self.relu,
        })
    }
}

impl ArmaConv {
    /// Edges between nodes of one kind with `d_input` features, to `[N, d_output]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        const OP: &str = "ArmaConv::forward";
        let (x, graph, initial) = (edges.sources(), edges.adjacency(), self.initial.val());
        let ([stacks, d_input, d_output], nodes) = (initial.dims(), x.dims()[0]);
        check_square(OP, graph)?;
        Features::Dense(x.clone()).check(OP, graph, d_input)?;
        // The weights of all stacks, side by side.
        let side_by_side = |weight: Tensor<3>| weight.swap_dims(0, 1).reshape(Exact([d_input, stacks * d_output]));
        let mut hidden = Features::Dense(x.clone()).times(OP, side_by_side(initial))?;
        for step in 0..self.layers {
            if let Some(weight) = self.weight.as_ref().filter(|_| step > 0) {
                let weight: Tensor<3> = at(weight.val(), step - 1).reshape(Exact([stacks, d_output, d_output]));
                let by_stack: Tensor<3> = hidden.reshape(Exact([nodes, stacks, d_output])).swap_dims(0, 1);
                hidden = by_stack.matmul(weight).swap_dims(0, 1).reshape(Exact([nodes, stacks * d_output]));
            }
            let root = side_by_side(at(self.root.val(), step).reshape(Exact([stacks, d_input, d_output])));
            let own = Features::Dense(dropout(x.clone(), &self.dropout)).times(OP, root)?;
            hidden = graph.try_matmul(hidden)? + own;
            if let Some(bias) = &self.bias {
                hidden = add_bias(hidden, at(bias.val(), step).reshape(Exact([stacks * d_output])));
            }
            hidden = if self.relu { relu(hidden) } else { hidden };
        }
        Ok(hidden.reshape(Exact([nodes, stacks, d_output])).mean_dim(1).reshape(Exact([nodes, d_output])))
    }
}

/// The parameters of a step: its own, or the shared ones.
fn at<const D: usize>(param: Tensor<D>, step: usize) -> Tensor<D> {
    let last = param.dims()[0] - 1;
    param.narrow(0, step.min(last), 1)
}
