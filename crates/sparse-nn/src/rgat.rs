//! Relational graph attention.

use super::activation::leaky_relu;
use super::attention::{joined, widths};
use super::features::{Features, glorot, with_bias, zeros};
use super::rgcn::relation_weight;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Dropout, DropoutConfig};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Parts, Scores, attend, cat_rows, read_at, read_ends};
use sparse_ops::ops::try_concat;
use sparse_ops::{CsrTensor, Fill, Result, SparseError};

/// Configuration of a [`RgatConv`].
#[derive(Config, Debug)]
pub struct RgatConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of each head.
    pub d_output: usize,
    /// Number of relations.
    pub relations: usize,
    /// Number of bases that the weights of the relations are sums of. If none, each has a weight of its own.
    #[config(default = "None")]
    pub bases: Option<usize>,
    /// Number of heads.
    #[config(default = 1)]
    pub heads: usize,
    /// Whether the heads stand side by side in the result. If not, it is their mean.
    #[config(default = true)]
    pub concat: bool,
    /// Whether the softmax is over the edges of one relation; else it is over all edges of a node.
    #[config(default = false)]
    pub within_relation: bool,
    /// Whether the two scores of an edge are multiplied; else they are added, and a leaky ReLU follows.
    #[config(default = false)]
    pub multiplied: bool,
    /// The slope of the leaky ReLU below 0.
    #[config(default = 0.2)]
    pub negative_slope: f64,
    /// The probability with which the weight of an edge is dropped in training.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// Whether a bias is added; it starts at 0.
    #[config(default = true)]
    pub bias: bool,
}

/// Relational graph attention: `out_i = sum_{r, j in N_r(i)} alpha_ij^r W_r x_j + b`, for each head on its own, with
/// `alpha_ij^r = softmax_{r, j}(leaky_relu(q^T W_r x_i + k^T W_r x_j))`.
///
/// The softmax is over the edges of all relations to a node, or `within_relation`. With `multiplied` scores it is of
/// `(q^T W_r x_i) (k^T W_r x_j)`. With bases `W_r = sum_b c_rb V_b`. `q` and `k` `[heads * d_output, heads]` see all
/// heads. The values of the adjacencies are not read. (PyG's `RGATConv` with `dim=1` and `mod=None`; its blocks are not
/// here.)
///
/// Gradients reach the weights and the features. Cost: `O(nnz * heads * d_output)` and, for each relation with edges,
/// `O(N * d_input * heads * d_output)` time; memory of `O(N * heads * d_output)` for each such relation. PyG multiplies
/// the features of each edge by a weight. The adjacencies are joined once and kept with their patterns.
///
/// Source: Busbridge et al., *Relational graph attention networks*, 2019.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, nn::RgatConvConfig};
///
/// let device = Device::flex();
/// let likes = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [0.0, 0.0]], &device));
/// let knows = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [1.0, 0.0]], &device));
/// let layer = RgatConvConfig::new(3, 4, 2).with_heads(2).init(&device);
/// assert_eq!(layer.forward(&[likes, knows], Tensor::ones([2, 3], &device)).dims(), [2, 8]);
/// ```
#[derive(Module, Debug)]
pub struct RgatConv {
    /// `W_r` or `V_b`: `[relations or bases, d_input, heads * d_output]` (PyG's `weight` or `basis`).
    pub weight: Param<Tensor<3>>,
    /// `c`, `[relations, bases]`, if there are bases (PyG's `att`).
    pub combination: Option<Param<Tensor<2>>>,
    /// `q`, `[heads * d_output, heads]`.
    pub query: Param<Tensor<2>>,
    /// `k`, of the same shape.
    pub key: Param<Tensor<2>>,
    /// `[heads * d_output]`, or `[d_output]` if the heads are averaged.
    pub bias: Option<Param<Tensor<1>>>,
    /// Dropout of the weights of edges.
    pub dropout: Dropout,
    relations: usize,
    concat: bool,
    within_relation: bool,
    multiplied: bool,
    negative_slope: f64,
}

impl RgatConvConfig {
    /// A layer on `device`. Weights start from Glorot's uniform distribution.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 relations, bases or heads, and a dropout outside `[0, 1)`.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<RgatConv> {
        const OP: &str = "RgatConvConfig::init";
        if self.relations == 0 || self.bases == Some(0) {
            let Self { relations, bases, .. } = self;
            let message = format!("relations and bases must be at least 1, got {relations} and {bases:?}");
            return Err(SparseError::invalid(OP, message));
        }
        let [width, out] = widths(OP, [self.heads, self.d_output], self.concat, self.dropout)?;
        let (count, fans) = (self.bases.unwrap_or(self.relations), [self.d_input, width]);
        let vectors = [width, self.heads];
        Ok(RgatConv {
            weight: glorot([count, self.d_input, width], fans, device),
            combination: self.bases.map(|bases| glorot([self.relations, bases], [self.relations, bases], device)),
            query: glorot(vectors, vectors, device),
            key: glorot(vectors, vectors, device),
            bias: self.bias.then(|| zeros(out, device)),
            dropout: DropoutConfig::new(self.dropout).init(),
            relations: self.relations,
            concat: self.concat,
            within_relation: self.within_relation,
            multiplied: self.multiplied,
            negative_slope: self.negative_slope,
        })
    }
}

impl RgatConv {
    /// For each relation an adjacency `[N, N]`, and `x [N, d_input]`, to `[N, heads * d_output]` or `[N, d_output]`.
    ///
    /// # Errors
    ///
    /// As [`try_forward_bipartite`](Self::try_forward_bipartite).
    #[or_panic]
    pub fn try_forward(&self, adjacencies: &[CsrTensor<2>], x: Tensor<2>) -> Result<Tensor<2>> {
        self.run("RgatConv::forward", adjacencies, x.clone(), x)
    }

    /// A bipartite graph, such as a sampled neighbourhood: for each relation an adjacency `[M, N]`,
    /// `source [N, d_input]` and `target [M, d_input]`.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there is not one adjacency for each relation; `shape_mismatch`, `dtype_mismatch`,
    /// `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward_bipartite(
        &self,
        adjacencies: &[CsrTensor<2>],
        source: Tensor<2>,
        target: Tensor<2>,
    ) -> Result<Tensor<2>> {
        self.run("RgatConv::forward_bipartite", adjacencies, source, target)
    }

    fn run(
        &self,
        op: &'static str,
        adjacencies: &[CsrTensor<2>],
        source: Tensor<2>,
        target: Tensor<2>,
    ) -> Result<Tensor<2>> {
        if adjacencies.len() != self.relations {
            return Err(SparseError::length_mismatch(op, "the list of adjacencies", self.relations, adjacencies.len()));
        }
        let rows = target.dims()[0];
        let [d_input, width] = [1, 2].map(|dim| self.weight.lazy_shape().dims::<3>()[dim]);
        let heads = self.query.lazy_shape().dims::<2>()[1];
        let [source, target] = [source, target].map(Features::Dense);
        for adjacency in adjacencies {
            source.check(op, adjacency, d_input)?;
            target.check_targets(op, adjacency, d_input)?;
        }
        let (mut graphs, mut values) = (vec![], vec![]);
        for (relation, adjacency) in adjacencies.iter().enumerate().filter(|(_, adjacency)| adjacency.nnz() > 0) {
            let weight = relation_weight(&self.weight, &self.combination, relation);
            let value = source.times(op, weight.clone())?;
            let of_target = target.times(op, weight.matmul(self.query.val()))?;
            let of_source = value.clone().matmul(self.key.val());
            let pattern = adjacency.pattern();
            let scores = match self.multiplied {
                true => read_at(pattern, 0, of_target) * read_at(pattern, 1, of_source),
                false => leaky_relu(read_ends(pattern, of_target, of_source), self.negative_slope),
            };
            graphs.push(CsrTensor::<3>::from_parts(pattern.clone(), scores, vec![heads], Fill::Zero));
            values.push(value);
        }
        let sums = match graphs.len() {
            0 => {
                let weight = self.weight.val();
                Tensor::zeros([rows, width], (&weight.device(), weight.dtype()))
            }
            _ if self.within_relation => {
                let sums = graphs.iter().zip(values).map(|(graph, value)| self.sum(graph, value));
                sums.reduce(|a, b| a + b).expect("there is a relation with edges")
            }
            _ => self.sum(&try_concat(&graphs, 1)?, cat_rows(values)),
        };
        Ok(with_bias(joined(sums, heads, self.concat), &self.bias))
    }

    /// The sums of the values by the softmax of scores, `[M, heads * d_output]`.
    fn sum(&self, scores: &CsrTensor<3>, value: Tensor<2>) -> Tensor<2> {
        let heads = scores.dims()[2];
        attend(scores.pattern(), Scores::Given(scores.rows().clone()), heads, value, &self.dropout)
    }
}
