//! Graph convolution.

use crate::tensor::sparse::CsrTensor;
use burn::config::Config;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Tensor};

/// Configuration of a [`GcnConv`].
#[derive(Config, Debug)]
pub struct GcnConvConfig {
    /// Features of a node that come in.
    pub d_input: usize,
    /// Features of a node that go out.
    pub d_output: usize,
    /// Whether a bias is added; it starts at 0.
    #[config(default = true)]
    pub bias: bool,
    /// How the weight starts. The default is Glorot's uniform distribution, as published.
    #[config(default = "Initializer::XavierUniform{gain:1.0}")]
    pub initializer: Initializer,
}

/// A graph convolution: `A X W + b`.
///
/// `A` is a normalised adjacency (see [`symmetric_normalization`](crate::nn::symmetric_normalization)), `X` the nodes'
/// features. The product is taken as `A (X W)`: the sparse product runs over the output features, which are fewer as a
/// rule. Gradients reach the weight, the bias, `X`, and the values of `A` where they are tracked.
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
    /// # Panics
    ///
    /// If the shapes or dtypes do not fit.
    #[track_caller]
    pub fn forward(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Tensor<2> {
        self.propagate(adjacency, x.matmul(self.weight.val()))
    }

    /// `A X W + b` for sparse features, which stay sparse: `adjacency [N, N]`, `x [N, d_input]` to `[N, d_output]`.
    ///
    /// # Panics
    ///
    /// If the shapes or dtypes do not fit.
    #[track_caller]
    pub fn forward_sparse(&self, adjacency: &CsrTensor<2>, x: &CsrTensor<2>) -> Tensor<2> {
        self.propagate(adjacency, x.matmul(self.weight.val()))
    }

    #[track_caller]
    fn propagate(&self, adjacency: &CsrTensor<2>, projected: Tensor<2>) -> Tensor<2> {
        let out = adjacency.matmul(projected);
        match &self.bias {
            Some(bias) => out + bias.val().unsqueeze(),
            None => out,
        }
    }
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
