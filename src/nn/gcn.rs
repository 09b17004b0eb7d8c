//! Graph convolution.

use crate::base::checks::same_elements;
use crate::tensor::sparse::CsrTensor;
use burn::config::Config;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Tensor};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// Configuration of a [`GcnConv`].
#[derive(Config, Debug)]
pub struct GcnConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of a node.
    pub d_output: usize,
    /// Whether a bias is added; it starts at 0.
    #[config(default = true)]
    pub bias: bool,
    /// How the weight is initialised. The default is Glorot's uniform distribution, as in the paper.
    #[config(default = "Initializer::XavierUniform{gain:1.0}")]
    pub initializer: Initializer,
}

/// A graph convolution: `A X W + b`.
///
/// `A` is a normalised adjacency (see [`symmetric_normalization`](crate::nn::symmetric_normalization)), and `X` has the
/// features of the nodes. The product is computed as `A (X W)`, because there are usually fewer output features than
/// input features. Gradients reach the weight, the bias, `X`, and the values of `A` if they are tracked. In a
/// module of one's own `A` can be a field: a `CsrTensor` is a constant, a [`CsrParam`](crate::module::CsrParam) trains
/// the edge weights.
///
/// Source: Kipf and Welling, *Semi-supervised classification with graph convolutional networks*, ICLR 2017.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{GcnConvConfig, symmetric_normalization}};
///
/// let device = Device::flex();
/// let graph = karate(&device);
/// let adjacency = symmetric_normalization(&graph.adjacency, true);
/// let layer = GcnConvConfig::new(34, 16).init(&device);
/// let hidden = layer.forward_sparse(&adjacency, &graph.features);
/// assert_eq!(hidden.dims(), [34, 16]);
/// ```
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct GcnConv {
    /// `[d_input, d_output]`.
    pub weight: Param<Tensor<2>>,
    /// `[d_output]`.
    pub bias: Option<Param<Tensor<1>>>,
}

impl GcnConvConfig {
    /// A layer on `device`.
    pub fn init(&self, device: &Device) -> GcnConv {
        let (fan_in, fan_out) = (Some(self.d_input), Some(self.d_output));
        let weight = self.initializer.init_with([self.d_input, self.d_output], fan_in, fan_out, device);
        let bias = self.bias.then(|| Initializer::Zeros.init([self.d_output], device));
        GcnConv { weight, bias }
    }
}

impl GcnConv {
    /// `A X W + b` for dense features: `adjacency [N, N]`, `x [N, d_input]` to `[N, d_output]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Result<Tensor<2>> {
        const OP: &str = "GcnConv::forward";
        let weight = self.weight.val();
        check(OP, adjacency.dims(), x.dims(), weight.dims())?;
        same_elements(OP, &adjacency.values, &x)?;
        same_elements(OP, &x, &weight)?;
        self.propagate(adjacency, x.matmul(weight))
    }

    /// `A X W + b` for sparse features, which stay sparse: `adjacency [N, N]`, `x [N, d_input]` to `[N, d_output]`.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward).
    #[or_panic]
    pub fn try_forward_sparse(&self, adjacency: &CsrTensor<2>, x: &CsrTensor<2>) -> Result<Tensor<2>> {
        const OP: &str = "GcnConv::forward_sparse";
        let weight = self.weight.val();
        check(OP, adjacency.dims(), x.dims(), weight.dims())?;
        same_elements(OP, &adjacency.values, &x.values)?;
        same_elements(OP, &x.values, &weight)?;
        self.propagate(adjacency, x.try_matmul(weight)?)
    }

    fn propagate(&self, adjacency: &CsrTensor<2>, projected: Tensor<2>) -> Result<Tensor<2>> {
        let out = adjacency.try_matmul(projected)?;
        Ok(match &self.bias {
            Some(bias) => out + bias.val().unsqueeze(),
            None => out,
        })
    }
}

fn check(op: &'static str, adjacency: [usize; 2], x: [usize; 2], weight: [usize; 2]) -> Result<()> {
    let mismatch = |rule, left: [usize; 2], right: [usize; 2]| {
        Err(SparseError::ShapeMismatch { op, rule, left: left.to_vec(), right: right.to_vec() })
    };
    if adjacency[1] != x[0] {
        return mismatch("the adjacency {left} must have a column for each row of the features {right}", adjacency, x);
    }
    if x[1] != weight[0] {
        return mismatch("the features {left} must have a column for each row of the weight {right}", x, weight);
    }
    Ok(())
}

impl ModuleDisplay for GcnConv {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        DisplaySettings::new().with_new_line_after_attribute(false).optional()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        let [d_input, d_output] = self.weight.lazy_shape().dims();
        content.add("d_input", &d_input).add("d_output", &d_output).add("bias", &self.bias.is_some()).optional()
    }
}
