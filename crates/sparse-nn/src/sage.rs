//! GraphSAGE.

use super::aggregation::{Aggregation, Aggregator, aggregated};
use super::features::{Features, add_linear, check_square, unit_rows};
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::{CsrTensor, Result};

/// Configuration of a [`SageConv`].
#[derive(Config, Debug)]
pub struct SageConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of a node.
    pub d_output: usize,
    /// Number of input features of a target, if it is another one.
    #[config(default = "None")]
    pub d_target: Option<usize>,
    /// How neighbours are aggregated.
    #[config(default = "Aggregation::Mean")]
    pub aggregation: Aggregation,
    /// Whether each row of the result is divided by its Euclidean norm. Rows of zeros stay zero.
    #[config(default = false)]
    pub normalize: bool,
    /// Whether a node's own features are added, through a weight of their own.
    #[config(default = true)]
    pub root_weight: bool,
    /// Whether neighbours go through `relu(W x + b)` before they are aggregated.
    #[config(default = false)]
    pub project: bool,
    /// Whether a bias is added.
    #[config(default = true)]
    pub bias: bool,
    /// Whether ReLU follows.
    #[config(default = false)]
    pub relu: bool,
}

/// GraphSAGE: `out_i = W_1 aggregate_{j in N(i)} (a_ij x_j) + b + W_2 x_i`.
///
/// `A` `[M, N]` has a row for each target and a column for each source; its values multiply the messages. A graph whose
/// values are 1 gives PyG's `SAGEConv`, which has no edge weights; DGL's `SAGEConv` uses weights as here.
///
/// For add and mean the product is computed in the cheaper order, `A (X W)` or `(A X) W`, by the shapes and nnz; the
/// results differ by rounding. Sparse features stay sparse with add and mean. Gradients reach the weights, the features
/// and the values of `A`.
///
/// Cost: `O(nnz * F + n * d_input * d_output)`, with `F` a number of features (for max that of the input) and `n` that
/// of sources or of targets.
///
/// Source: Hamilton, Ying, Leskovec, *Inductive representation learning on large graphs*, NeurIPS 2017.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::{data::karate, nn::SageConvConfig};
///
/// let device = Device::flex();
/// let graph = karate(&device);
/// let layer = SageConvConfig::new(34, 16).init(&device);
/// assert_eq!(layer.forward_sparse(&graph.adjacency, &graph.features).dims(), [34, 16]);
/// ```
#[derive(Module, Debug)]
pub struct SageConv {
    /// `W_1` and `b`, for the neighbours (PyG's `lin_l`).
    pub neighbours: Linear,
    /// `W_2`, for the node itself (PyG's `lin_r`).
    pub root: Option<Linear>,
    /// What neighbours go through first (PyG's `lin`).
    pub projection: Option<Linear>,
    /// How neighbours are aggregated.
    pub aggregator: Aggregator,
    d_input: usize,
    d_target: usize,
    normalize: bool,
    relu: bool,
}

impl SageConvConfig {
    /// A layer on `device`. Weights start as Burn's `Linear` does.
    ///
    /// # Errors
    ///
    /// Those of [`Aggregation::try_init`].
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<SageConv> {
        let Self { d_input, d_output, .. } = *self;
        let linear = |d_input, d_output, bias| LinearConfig::new(d_input, d_output).with_bias(bias).init(device);
        Ok(SageConv {
            neighbours: linear(self.aggregation.d_output(d_input), d_output, self.bias),
            root: self.root_weight.then(|| linear(self.d_target.unwrap_or(d_input), d_output, false)),
            projection: self.project.then(|| linear(d_input, d_input, true)),
            aggregator: self.aggregation.try_init(d_input, device)?,
            d_input,
            d_target: self.d_target.unwrap_or(d_input),
            normalize: self.normalize,
            relu: self.relu,
        })
    }
}

impl SageConv {
    /// Dense features: `adjacency [N, N]`, `x [N, d_input]` to `[N, d_output]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Result<Tensor<2>> {
        const OP: &str = "SageConv::forward";
        check_square(OP, adjacency)?;
        let x = Features::Dense(x);
        self.run(OP, adjacency, x.clone(), x)
    }

    /// Sparse features, which stay sparse: `adjacency [N, N]`, `x [N, d_input]` to `[N, d_output]`.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward); `invalid` for another aggregation than a sum or a mean without a
    /// projection: those need dense features.
    #[or_panic]
    pub fn try_forward_sparse(&self, adjacency: &CsrTensor<2>, x: &CsrTensor<2>) -> Result<Tensor<2>> {
        const OP: &str = "SageConv::forward_sparse";
        check_square(OP, adjacency)?;
        self.run(OP, adjacency, Features::Sparse(x), Features::Sparse(x))
    }

    /// A bipartite graph, such as a sampled neighbourhood: `adjacency [M, N]`, `source [N, d_input]` and
    /// `target [M, d_target]` to `[M, d_output]`.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward).
    #[or_panic]
    pub fn try_forward_bipartite(
        &self,
        adjacency: &CsrTensor<2>,
        source: Tensor<2>,
        target: Tensor<2>,
    ) -> Result<Tensor<2>> {
        self.run("SageConv::forward_bipartite", adjacency, Features::Dense(source), Features::Dense(target))
    }

    fn run(
        &self,
        op: &'static str,
        adjacency: &CsrTensor<2>,
        source: Features<'_>,
        target: Features<'_>,
    ) -> Result<Tensor<2>> {
        source.check(op, adjacency, self.d_input)?;
        target.check_targets(op, adjacency, self.d_target)?;
        let source = match &self.projection {
            Some(projection) => Features::Dense(relu(source.linear(op, projection)?)),
            None => source,
        };
        let own = (self.neighbours.weight.val(), self.neighbours.bias.as_ref().map(Param::val));
        let mut out = aggregated(op, adjacency, &source, own, &self.aggregator)?;
        // ReLU may be part of the last sum.
        let mut rectify = self.relu;
        if let Some(root) = &self.root {
            out = add_linear(op, out, &target, root, rectify && !self.normalize)?;
            rectify &= self.normalize;
        }
        let out = if self.normalize { unit_rows(out) } else { out };
        Ok(if rectify { relu(out) } else { out })
    }
}
