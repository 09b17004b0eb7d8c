//! Networks on the features of single nodes.

use super::dropout::dropout;
use super::features::{check_dropout, check_width};
use super::input_linear::linear_of;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{BatchNorm, BatchNormConfig, Dropout, DropoutConfig, Linear, LinearConfig};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{expect, linear};
use sparse_ops::ops::Epilogue;
use sparse_ops::{CsrTensor, Result, SparseError};

/// A module that maps the features of each node: `[N, d_input]` to `[N, d_output]`.
///
/// It is what a layer such as [`GinConv`](super::GinConv) has inside. Implemented for [`Mlp`] and Burn's `Linear`;
/// implement it for modules of your own.
pub trait NodeNetwork: Module {
    /// The new features.
    fn forward(&self, x: Tensor<2>) -> Tensor<2>;
}

impl NodeNetwork for Linear {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        mapped("Linear::forward", self, x, false)
    }
}

impl NodeNetwork for Mlp {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        Mlp::forward(self, x)
    }
}

/// Configuration of an [`Mlp`].
#[derive(Config, Debug)]
pub struct MlpConfig {
    /// Numbers of features: input, hidden ones, output.
    pub sizes: Vec<usize>,
    /// Whether there is a batch norm after each linear map but the last.
    #[config(default = true)]
    pub batch_norm: bool,
    /// The probability of dropout after each activation.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// Whether the linear maps have biases.
    #[config(default = true)]
    pub bias: bool,
    /// Whether the activation comes before the norm.
    #[config(default = false)]
    pub act_first: bool,
    /// Whether nothing comes after the last linear map. If not, norm, activation and dropout come there too.
    #[config(default = true)]
    pub plain_last: bool,
}

/// A multi-layer perceptron: `x = dropout(relu(norm(W x + b)))` for each layer but the last, and `W x + b` for that
/// one, if the configuration has no other order. (PyG's `MLP`.)
///
/// Batch norm over nodes is Burn's `BatchNorm`, whose running statistics are part of the record.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::MlpConfig;
///
/// let device = Device::flex();
/// let mlp = MlpConfig::new(vec![3, 8, 2]).init(&device);
/// assert_eq!(mlp.forward(Tensor::ones([5, 3], &device)).dims(), [5, 2]);
/// ```
#[derive(Module, Debug)]
pub struct Mlp {
    /// The linear maps.
    pub linears: Vec<Linear>,
    /// The batch norm after each of them but the last, or after each; none without batch norm.
    pub norms: Vec<BatchNorm>,
    /// Dropout after each activation.
    pub dropout: Dropout,
    act_first: bool,
    plain_last: bool,
}

impl MlpConfig {
    /// A network on `device`.
    ///
    /// # Errors
    ///
    /// `invalid` for fewer than two sizes, and for a dropout outside `[0, 1)`.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<Mlp> {
        const OP: &str = "MlpConfig::init";
        if self.sizes.len() < 2 {
            let message = format!("sizes must have the input and the output, got {:?}", self.sizes);
            return Err(SparseError::invalid(OP, message));
        }
        check_dropout(OP, self.dropout)?;
        let linear = |ends: &[usize]| LinearConfig::new(ends[0], ends[1]).with_bias(self.bias).init(device);
        let active = &self.sizes[1..self.sizes.len() - usize::from(self.plain_last)];
        let norms = if self.batch_norm { active } else { &[] };
        Ok(Mlp {
            linears: self.sizes.windows(2).map(linear).collect(),
            norms: norms.iter().map(|&size| BatchNormConfig::new(size).init(device)).collect(),
            dropout: DropoutConfig::new(self.dropout).init(),
            act_first: self.act_first,
            plain_last: self.plain_last,
        })
    }
}

const FORWARD: &str = "Mlp::forward";

impl Mlp {
    /// `[N, d_input]` to `[N, d_output]`. Without rows there is nothing to normalise, and running statistics stay.
    ///
    /// # Panics
    ///
    /// If the number of columns is not that of the inputs.
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let active = self.joins_relu(0);
        self.after(mapped(FORWARD, &self.linears[0], x, active), active)
    }

    /// Sparse features, which stay sparse: the first linear map is a sparse product. `x [N, d_input]` to
    /// `[N, d_output]`. Gradients reach the values of `x`. Any fill gives the dense answer.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward_sparse(&self, x: &CsrTensor<2>) -> Result<Tensor<2>> {
        Ok(self.after_first(linear_of("Mlp::forward_sparse", x, &self.linears[0])?))
    }

    /// What comes after the first linear map.
    pub(super) fn after_first(&self, x: Tensor<2>) -> Tensor<2> {
        self.after(x, false)
    }

    /// The same; `active` if ReLU was part of the map.
    fn after(&self, mut x: Tensor<2>, mut active: bool) -> Tensor<2> {
        for (at, linear) in self.linears.iter().enumerate() {
            if at > 0 {
                active = self.joins_relu(at);
                x = mapped(FORWARD, linear, x, active);
            }
            if !self.is_plain(at) {
                x = self.activated(at, x, active);
            }
        }
        x
    }

    /// Whether nothing comes after this linear map.
    fn is_plain(&self, at: usize) -> bool {
        self.plain_last && at + 1 == self.linears.len()
    }

    /// Whether ReLU is the first that comes.
    fn joins_relu(&self, at: usize) -> bool {
        !self.is_plain(at) && (self.act_first || at >= self.norms.len())
    }

    /// What comes after a linear map that is not plain; `active` if ReLU was part of it.
    fn activated(&self, at: usize, mut x: Tensor<2>, active: bool) -> Tensor<2> {
        if self.act_first && !active {
            x = relu(x);
        }
        if let Some(norm) = self.norms.get(at)
            && x.dims()[0] > 0
        {
            x = norm.forward(x);
        }
        if !self.act_first && !active {
            x = relu(x);
        }
        dropout(x, &self.dropout)
    }
}

/// A linear map, and ReLU if asked, in one pass.
fn mapped(op: &'static str, layer: &Linear, x: Tensor<2>, rectify: bool) -> Tensor<2> {
    let (weight, bias) = (layer.weight.val(), layer.bias.as_ref().map(Param::val));
    expect(check_width(op, x.dims(), weight.dims()[0]));
    linear(x, weight, Epilogue { bias, relu: rectify })
}
