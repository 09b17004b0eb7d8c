//! Graph convolution.

use super::normalization::{try_gcn_normalization, try_symmetric_normalization};
use burn::config::Config;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Parts, Recent, linear, matmul_linear, same_elements};
use sparse_ops::ops::Epilogue;
use sparse_ops::pattern::{CsrPattern, Pattern};
use sparse_ops::{CsrTensor, Result, SparseError};

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
    /// Whether ReLU follows, in the same pass as the product and the bias.
    #[config(default = false)]
    pub relu: bool,
    /// Whether the layer normalises the adjacency itself, by [`gcn_normalization`](super::gcn_normalization). By
    /// default it gets a normalised one, so that a model of several layers normalises once. (PyG's default is the other
    /// way round.)
    #[config(default = false)]
    pub normalize: bool,
    /// With `normalize`: whether nodes without a self loop get one.
    #[config(default = true)]
    pub self_loops: bool,
    /// With `normalize`: whether these loops have weight 2, so that a node counts more than its neighbours.
    #[config(default = false)]
    pub improved: bool,
    /// With `normalize`: whether the layer keeps the normalised adjacency with each of the last four patterns. Use it
    /// for fixed graphs only: other values on a kept pattern are not noticed. Tracked values are never kept.
    #[config(default = false)]
    pub cached: bool,
    /// How the weight is initialised. The default is Glorot's uniform distribution, as in the paper.
    #[config(default = "Initializer::XavierUniform{gain:1.0}")]
    pub initializer: Initializer,
}

/// A graph convolution: `A X W + b`, or `relu(A X W + b)` with `relu` in the configuration.
///
/// **`A` is taken as it is**: by default the layer does not normalise and adds no self loops. PyG's `GCNConv` does
/// both. Give it [`gcn_normalization`](crate::gcn_normalization)`(&adjacency, 1.0)`, made once for all layers, or
/// set `normalize` in the configuration: then the layer gets the adjacency with the edge weights as its values, and
/// normalises it in each step. A bipartite graph has a rectangular `A`, such as
/// [`bipartite_normalization`](crate::bipartite_normalization) gives. `X` has the features of the nodes, there those of
/// the sources. The sparse product is the one with fewer columns: `A (X W)`, or `(A X) W` for dense `X` with fewer
/// features than the result, as in DGL. If nothing but the weight and the bias is tracked, the second order has no
/// sparse product in the backward pass. Gradients reach the weight, the bias, `X`, and the values of `A` if they are
/// tracked. In a module of one's own `A` can be a field: a `CsrTensor` is a constant, a
/// [`CsrParam`](sparse_ops::module::CsrParam) trains the edge weights.
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
    /// Whether ReLU follows.
    relu: bool,
    /// Whether the adjacency is normalised here.
    pub(super) normalize: bool,
    /// The weight of a missing self loop, if they are added.
    loop_weight: Option<f64>,
    #[module(skip)]
    kept: Option<Kept>,
}

/// Normalised adjacencies, with the patterns that they were made from. Clones of the layer share them.
type Kept = Recent<(CsrPattern, CsrTensor<2>)>;

/// How many adjacencies are kept. A training and an evaluation copy of two graphs fit.
const MOST_KEPT: usize = 4;

impl GcnConvConfig {
    /// A layer on `device`.
    pub fn init(&self, device: &Device) -> GcnConv {
        let (fan_in, fan_out) = (Some(self.d_input), Some(self.d_output));
        let weight = self.initializer.init_with([self.d_input, self.d_output], fan_in, fan_out, device);
        let bias = self.bias.then(|| Initializer::Zeros.init([self.d_output], device));
        let loop_weight = self.self_loops.then_some(if self.improved { 2.0 } else { 1.0 });
        let kept = (self.normalize && self.cached).then(|| Kept::new(MOST_KEPT));
        GcnConv { weight, bias, relu: self.relu, normalize: self.normalize, loop_weight, kept }
    }
}

impl GcnConv {
    /// `A X W + b` for dense features: `adjacency [M, N]`, `x [N, d_input]` to `[M, d_output]`; `M` is `N` with
    /// `normalize`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`; with `normalize`, `fill_mismatch`
    /// for an adjacency whose fill is not zero or undefined.
    #[or_panic]
    pub fn try_forward(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Result<Tensor<2>> {
        const OP: &str = "GcnConv::forward";
        let weight = self.weight.val();
        check(OP, adjacency.dims(), x.dims(), weight.dims())?;
        same_elements(OP, adjacency.rows(), &x)?;
        same_elements(OP, &x, &weight)?;
        if x.dims()[1] < weight.dims()[1] {
            let epilogue = self.epilogue(OP, &weight)?;
            return matmul_linear(&self.operator(adjacency)?, x, weight, epilogue);
        }
        let epilogue = self.epilogue(OP, &weight)?;
        self.operator(adjacency)?.try_matmul_then(linear(x, weight, Epilogue::default()), epilogue)
    }

    /// `A X W + b` for sparse features, which stay sparse: `adjacency [M, N]`, `x [N, d_input]` to `[M, d_output]`.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward).
    #[or_panic]
    pub fn try_forward_sparse(&self, adjacency: &CsrTensor<2>, x: &CsrTensor<2>) -> Result<Tensor<2>> {
        const OP: &str = "GcnConv::forward_sparse";
        let weight = self.weight.val();
        check(OP, adjacency.dims(), x.dims(), weight.dims())?;
        same_elements(OP, adjacency.rows(), x.rows())?;
        same_elements(OP, x.rows(), &weight)?;
        let epilogue = self.epilogue(OP, &weight)?;
        self.operator(adjacency)?.try_matmul_then(x.try_matmul(weight)?, epilogue)
    }

    /// Checks the bias, which is public.
    fn epilogue(&self, op: &'static str, weight: &Tensor<2>) -> Result<Epilogue> {
        let bias = self.bias.as_ref().map(Param::val);
        if let Some(bias) = &bias {
            same_elements(op, bias, weight)?;
            if bias.dims()[0] != weight.dims()[1] {
                let rule = "the bias {left} must have a number for each column of the weight {right}";
                return Err(SparseError::shape_mismatch(op, rule, bias.dims(), weight.dims()));
            }
        }
        Ok(Epilogue { bias, relu: self.relu })
    }

    /// What the features are multiplied by.
    fn operator(&self, adjacency: &CsrTensor<2>) -> Result<CsrTensor<2>> {
        if self.normalize { self.normalized(adjacency) } else { Ok(adjacency.clone()) }
    }

    /// The normalised adjacency, kept or new.
    fn normalized(&self, adjacency: &CsrTensor<2>) -> Result<CsrTensor<2>> {
        let make = || match self.loop_weight {
            Some(weight) => try_gcn_normalization(adjacency, weight),
            None => try_symmetric_normalization(adjacency, false),
        };
        match &self.kept {
            Some(kept) if !adjacency.is_tracked() => {
                let same = |(pattern, kept): &(CsrPattern, CsrTensor<2>)| {
                    let alike = kept.device() == adjacency.device() && kept.dtype() == adjacency.dtype();
                    pattern.is_same(adjacency.pattern()) && alike
                };
                let make = || Ok((adjacency.pattern().clone(), make()?));
                Ok(kept.get(same, make)?.1)
            }
            _ => make(),
        }
    }
}

fn check(op: &'static str, adjacency: [usize; 2], x: [usize; 2], weight: [usize; 2]) -> Result<()> {
    let mismatch = |rule, left: [usize; 2], right: [usize; 2]| Err(SparseError::shape_mismatch(op, rule, left, right));
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
        let content = content.add("d_input", &d_input).add("d_output", &d_output).add("bias", &self.bias.is_some());
        let content = if self.relu { content.add("relu", &true) } else { content };
        if self.normalize { content.add("normalize", &true).optional() } else { content.optional() }
    }
}
