//! Efficient graph convolution.

use super::features::{apply, glorot_linear, linear_map, with_bias, zeros};
use super::message_passing::Edges;
use super::normalization::try_symmetric_normalization;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, Parts};
use sparse_ops::ops::Reduce;
use sparse_ops::pattern::Pattern;
use sparse_ops::{CsrTensor, Fill, Result, SparseError};

/// How an [`EgConv`] aggregates neighbours.
#[derive(Config, Debug, Copy, PartialEq, Eq)]
pub enum EgAggregation {
    /// The sum, symmetrically normalised by degrees.
    Symmetric,
    /// The sum.
    Add,
    /// The mean.
    Mean,
    /// The largest of each feature.
    Max,
    /// The smallest of each feature.
    Min,
    /// `mean(x^2) - mean(x)^2`.
    Var,
    /// The root of the variance, of at least 1e-5.
    Std,
}

/// Configuration of an [`EgConv`].
#[derive(Config, Debug)]
pub struct EgConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of a node, a multiple of the heads.
    pub d_output: usize,
    /// Number of heads.
    #[config(default = 8)]
    pub heads: usize,
    /// Number of bases.
    #[config(default = 4)]
    pub bases: usize,
    /// How neighbours are aggregated. Several distinguish more neighbourhoods.
    #[config(default = "vec![EgAggregation::Symmetric]")]
    pub aggregations: Vec<EgAggregation>,
    /// Whether each node is a neighbour of itself, once.
    #[config(default = true)]
    pub self_loops: bool,
    /// Whether a bias is added; it starts at 0.
    #[config(default = true)]
    pub bias: bool,
}

/// An efficient graph convolution: each node combines a few aggregated bases with weights of its own. The part of head
/// `h` is `out_ih = sum_{a, b} w_i(h, a, b) aggregate^a_{j in N(i)} V_b x_j`, plus a bias, with `w_i = W x_i + c`.
///
/// Only the pattern of the adjacency is read. The aggregations are sparse products: no message of an edge is formed.
/// Gradients reach the weights and the features. (PyG's `EGConv`, which without its `symnorm` adds no loop to isolated
/// nodes after the last edge; here each node gets one.)
///
/// Cost, with `D = bases * d_output / heads`: `O(N d_input (D + heads * aggregations * bases) + nnz D)` time.
///
/// Source: Tailor, Opolka, Liò, Lane, *Do we need anisotropic graph neural networks?*, ICLR 2022.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{Edges, EgAggregation, EgConvConfig}};
///
/// let device = Device::flex();
/// let graph = karate(&device).adjacency;
/// let several = vec![EgAggregation::Symmetric, EgAggregation::Max, EgAggregation::Std];
/// let layer = EgConvConfig::new(2, 16).with_aggregations(several).init(&device);
/// let out = layer.forward(&Edges::new(&graph, Tensor::ones([34, 2], &device)));
/// assert_eq!(out.dims(), [34, 16]);
/// ```
#[derive(Module, Debug)]
pub struct EgConv {
    /// `V`, `[d_input, bases * d_output / heads]` (PyG's `bases_lin`).
    pub bases: Linear,
    /// `W` and `c`, `[d_input, heads * aggregations * bases]` (PyG's `comb_lin`).
    pub combination: Linear,
    /// `[d_output]`.
    pub bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    aggregations: Vec<EgAggregation>,
    heads: usize,
    pub(super) self_loops: bool,
}

impl EgConvConfig {
    /// A layer on `device`. `V` starts from Glorot's uniform distribution, `W` as Burn's `Linear` does.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 heads, bases or aggregations, and for an output that heads cannot share.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<EgConv> {
        let Self { d_input, d_output, heads, bases, .. } = *self;
        let count = self.aggregations.len();
        if heads * bases * count == 0 || !d_output.is_multiple_of(heads) {
            let message = format!(
                "heads ({heads}), bases ({bases}) and aggregations ({count}) must be at least 1, and heads must divide \
                 the output ({d_output})"
            );
            return Err(SparseError::invalid("EgConvConfig::init", message));
        }
        Ok(EgConv {
            bases: glorot_linear(d_input, bases * d_output / heads, device),
            combination: linear_map(d_input, heads * bases * count, true, device),
            bias: self.bias.then(|| zeros(d_output, device)),
            aggregations: self.aggregations.clone(),
            heads,
            self_loops: self.self_loops,
        })
    }
}

const OP: &str = "EgConv::forward";

impl EgConv {
    /// Edges to `[M, d_output]`; with self loops between nodes of one kind.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        let pattern = edges.pattern(OP, self.self_loops)?;
        let bases = apply(OP, edges.sources(), &self.bases)?;
        let ones = Tensor::ones([pattern.nnz(), 1], (&bases.device(), bases.dtype()));
        let graph = CsrTensor::<2>::from_parts(pattern, ones, vec![], Fill::Zero);
        let weights = apply(OP, edges.targets(), &self.combination)?;
        let ([rows, all], [_, width]) = (weights.dims(), bases.dims());
        let of_each = all / self.heads;
        let each = width * self.aggregations.len() / of_each;
        let aggregated = self.aggregations.iter().map(|how| how.aggregate(&graph, bases.clone()));
        let aggregated = Tensor::cat(aggregated.collect::<Result<_>>()?, 1);
        let aggregated: Tensor<3> = aggregated.reshape(Exact([rows, of_each, each]));
        let out = weights.reshape(Exact([rows, self.heads, of_each])).matmul(aggregated);
        Ok(with_bias(out.reshape(Exact([rows, self.heads * each])), &self.bias))
    }
}

impl EgAggregation {
    /// The neighbours of each node as one row; the values of the graph are 1.
    fn aggregate(self, graph: &CsrTensor<2>, x: Tensor<2>) -> Result<Tensor<2>> {
        match self {
            Self::Symmetric => try_symmetric_normalization(graph, false)?.try_matmul(x),
            Self::Add => graph.try_matmul(x),
            Self::Mean => graph.try_matmul_reduce(x, Reduce::Mean),
            Self::Max => graph.try_matmul_reduce(x, Reduce::Amax),
            Self::Min => graph.try_matmul_reduce(x, Reduce::Amin),
            Self::Var => {
                let squares = graph.try_matmul_reduce(x.clone().powi_scalar(2), Reduce::Mean)?;
                Ok(squares - graph.try_matmul_reduce(x, Reduce::Mean)?.powi_scalar(2))
            }
            Self::Std => Ok(Self::Var.aggregate(graph, x)?.clamp_min(1e-5).sqrt()),
        }
    }
}
