//! Relational graph convolution.

use super::aggregation::{Aggregation, Aggregator, aggregated};
use super::features::{Features, glorot, with_bias, zeros};
use super::message_passing::Edges;
use burn::config::Config;
use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::Exact;
use sparse_ops::{CsrTensor, Result, SparseError};

/// Configuration of an [`RgcnConv`].
#[derive(Config, Debug)]
pub struct RgcnConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of a node.
    pub d_output: usize,
    /// Number of relations.
    pub relations: usize,
    /// Number of input features of a target, if it is another one.
    #[config(default = "None")]
    pub d_target: Option<usize>,
    /// Number of bases that the weights of the relations are combined of. `None`: each has a weight of its own.
    #[config(default = "None")]
    pub bases: Option<usize>,
    /// Number of blocks on the diagonal of each weight, outside of which it is 0. `None`: the weights are full.
    #[config(default = "None")]
    pub blocks: Option<usize>,
    /// How the neighbours of one relation are aggregated.
    #[config(default = "Aggregation::Mean")]
    pub aggregation: Aggregation,
    /// Whether a node's own features are added, through a weight of their own.
    #[config(default = true)]
    pub root_weight: bool,
    /// Whether a bias is added; it starts at 0.
    #[config(default = true)]
    pub bias: bool,
}

/// A relational graph convolution: `out_i = W_0 x_i + sum_r aggregate_{j in N_r(i)} (a_ij x_j W_r) + b`.
///
/// There is one adjacency for each relation; their values are edge weights. With bases the weights are
/// `W_r = sum_b C_rb V_b`, and with blocks they are block-diagonal: both keep their number small. Sparse features stay
/// sparse with add and mean. Relations without edges cost nothing. (PyG's `RGCNConv`; it has one list of edges and a
/// type for each.)
///
/// Cost: for each relation with edges `O(nnz_r * F + N * d_input * d_output)`, with `F` the smaller number of
/// features (for max that of the input).
///
/// Source: Schlichtkrull et al., *Modeling relational data with graph convolutional networks*, ESWC 2018.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{CsrTensor, nn::RgcnConvConfig};
///
/// let device = Device::flex();
/// let likes = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [0.0, 0.0]], &device));
/// let knows = CsrTensor::<2>::from_dense(Tensor::from_floats([[0.0, 1.0], [1.0, 0.0]], &device));
/// let layer = RgcnConvConfig::new(3, 4, 2).with_bases(Some(1)).init(&device);
/// assert_eq!(layer.forward(&[likes, knows], Tensor::ones([2, 3], &device)).dims(), [2, 4]);
/// ```
#[derive(Module, Debug)]
pub struct RgcnConv {
    /// `W_r` or `V_b`: `[relations or bases, d_aggregated, d_output]`, with the features that the
    /// aggregation gives; or the blocks, relation by relation: `[relations * blocks, d_aggregated / blocks,
    /// d_output / blocks]`.
    pub weight: Param<Tensor<3>>,
    /// `C`, `[relations, bases]`, if there are bases.
    pub combination: Option<Param<Tensor<2>>>,
    /// `W_0`, `[d_target, d_output]`.
    pub root: Option<Param<Tensor<2>>>,
    /// `[d_output]`.
    pub bias: Option<Param<Tensor<1>>>,
    relations: usize,
    blocks: usize,
    /// How the neighbours of one relation are aggregated.
    pub aggregator: Aggregator,
    d_input: usize,
    d_target: usize,
}

/// The edges of a relation, and the features of their sources.
struct Part<'a> {
    relation: usize,
    adjacency: &'a CsrTensor<2>,
    source: Features<'a>,
}

impl RgcnConvConfig {
    /// A layer on `device`. Weights start from Glorot's uniform distribution.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 relations, bases or blocks, for bases and blocks together, and for blocks that do not divide
    /// the numbers of features.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<RgcnConv> {
        const OP: &str = "RgcnConvConfig::init";
        let aggregated = self.aggregation.d_output(self.d_input);
        let (d_target, blocks) = (self.d_target.unwrap_or(self.d_input), self.blocks.unwrap_or(1));
        if self.relations == 0 || self.bases == Some(0) || blocks == 0 {
            let Self { relations, bases, blocks, .. } = self;
            let message =
                format!("relations, bases and blocks must be at least 1, got {relations}, {bases:?} and {blocks:?}");
            return Err(SparseError::invalid(OP, message));
        }
        if self.bases.is_some() && self.blocks.is_some() {
            return Err(SparseError::invalid(OP, "use either bases or blocks, got both"));
        }
        if [aggregated, self.d_output].iter().any(|width| width % blocks > 0) {
            let (from, to) = (aggregated, self.d_output);
            let message = format!("blocks must divide the numbers of features, got {blocks} for {from} and {to}");
            return Err(SparseError::invalid(OP, message));
        }
        let (fans, count) = ([aggregated / blocks, self.d_output / blocks], self.bases.unwrap_or(self.relations));
        let combine = |bases| glorot([self.relations, bases], [self.relations, bases], device);
        let root = [d_target, self.d_output];
        Ok(RgcnConv {
            weight: glorot([count * blocks, fans[0], fans[1]], fans, device),
            combination: self.bases.map(combine),
            root: self.root_weight.then(|| glorot(root, root, device)),
            bias: self.bias.then(|| zeros(self.d_output, device)),
            relations: self.relations,
            blocks,
            aggregator: self.aggregation.try_init(self.d_input, device)?,
            d_input: self.d_input,
            d_target,
        })
    }
}

impl RgcnConv {
    /// Dense features: for each relation an adjacency `[N, N]`, `x [N, d_input]` to `[N, d_output]`.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there is not one adjacency for each relation; `shape_mismatch`, `dtype_mismatch`,
    /// `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, adjacencies: &[CsrTensor<2>], x: Tensor<2>) -> Result<Tensor<2>> {
        let x = Features::Dense(x);
        self.run_all("RgcnConv::forward", adjacencies, x.clone(), x)
    }

    /// Sparse features, which stay sparse. The identity matrix gives each node an embedding of its own.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward); `invalid` for another aggregation than a sum or a mean.
    #[or_panic]
    pub fn try_forward_sparse(&self, adjacencies: &[CsrTensor<2>], x: &CsrTensor<2>) -> Result<Tensor<2>> {
        self.run_all("RgcnConv::forward_sparse", adjacencies, Features::Sparse(x), Features::Sparse(x))
    }

    /// A bipartite graph, such as a sampled neighbourhood: for each relation an adjacency `[M, N]`,
    /// `source [N, d_input]` and `target [M, d_target]` to `[M, d_output]`.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward).
    #[or_panic]
    pub fn try_forward_bipartite(
        &self,
        adjacencies: &[CsrTensor<2>],
        source: Tensor<2>,
        target: Tensor<2>,
    ) -> Result<Tensor<2>> {
        let [source, target] = [source, target].map(Features::Dense);
        self.run_all("RgcnConv::forward_bipartite", adjacencies, source, target)
    }

    /// A graph whose nodes have types: the edges into the targets of one type, as relations and the edges of each,
    /// whose sources may be of different types. Other relations have no edges. To `[M, d_output]`.
    ///
    /// # Errors
    ///
    /// `empty_input` without parts; `index_out_of_range` for a relation that the layer does not have; `shape_mismatch`,
    /// `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward_parts(&self, parts: &[(usize, Edges<'_>)]) -> Result<Tensor<2>> {
        const OP: &str = "RgcnConv::forward_parts";
        let Some((_, first)) = parts.first() else {
            return Err(SparseError::empty_input(OP, "at least one relation must have edges, got an empty list"));
        };
        let target = Features::Dense(first.targets());
        if let Some(at) = parts.iter().position(|(relation, _)| *relation >= self.relations) {
            return Err(SparseError::index_out_of_range(OP, 0, self.relations, parts[at].0, at));
        }
        let all = parts.iter().map(|(relation, edges)| Part {
            relation: *relation,
            adjacency: edges.adjacency(),
            source: Features::Dense(edges.sources()),
        });
        self.run(OP, &all.collect::<Vec<_>>(), target)
    }

    fn run_all(
        &self,
        op: &'static str,
        adjacencies: &[CsrTensor<2>],
        source: Features<'_>,
        target: Features<'_>,
    ) -> Result<Tensor<2>> {
        if adjacencies.len() != self.relations {
            return Err(SparseError::length_mismatch(op, "the list of adjacencies", self.relations, adjacencies.len()));
        }
        let part = |(relation, adjacency)| Part { relation, adjacency, source: source.clone() };
        self.run(op, &adjacencies.iter().enumerate().map(part).collect::<Vec<_>>(), target)
    }

    fn run(&self, op: &'static str, parts: &[Part<'_>], target: Features<'_>) -> Result<Tensor<2>> {
        for Part { adjacency, source, .. } in parts {
            source.check(op, adjacency, self.d_input)?;
            target.check_targets(op, adjacency, self.d_target)?;
        }
        let mut out = match &self.root {
            Some(root) => Some(target.times(op, root.val())?),
            None => None,
        };
        // Another reduction may give a node without edges a number that is not 0.
        let counts = |part: &&Part<'_>| part.adjacency.nnz() > 0 || self.aggregator.reduce().is_none();
        for Part { relation, adjacency, source } in parts.iter().filter(counts) {
            let part = aggregated(op, adjacency, source, (self.weight_of(*relation), None), &self.aggregator)?;
            out = Some(match out {
                Some(sum) => sum + part,
                None => part,
            });
        }
        let out = out.unwrap_or_else(|| {
            let weight = self.weight.val();
            let d_output = weight.dims()[2] * self.blocks;
            Tensor::zeros([target.dims()[0], d_output], (&weight.device(), weight.dtype()))
        });
        Ok(with_bias(out, &self.bias))
    }

    /// `W_r`, `[d_aggregated, d_output]`.
    fn weight_of(&self, relation: usize) -> Tensor<2> {
        if self.blocks == 1 {
            return relation_weight(&self.weight, &self.combination, relation);
        }
        let (weight, blocks) = (self.weight.val(), self.blocks);
        let [_, from, to] = weight.dims();
        let own = weight.narrow(0, relation * blocks, blocks).reshape(Exact([blocks, from, 1, to]));
        let on = Tensor::<2>::eye(blocks, &own.device().inner()).cast(own.dtype());
        (own * on.reshape(Exact([blocks, 1, blocks, 1]))).reshape(Exact([blocks * from, blocks * to]))
    }
}

/// The weight of a relation: one of its own, or a sum of bases.
pub(super) fn relation_weight(
    weight: &Param<Tensor<3>>,
    combination: &Option<Param<Tensor<2>>>,
    relation: usize,
) -> Tensor<2> {
    let weight = weight.val();
    let [count, from, to] = weight.dims();
    match combination {
        Some(combination) => {
            let row = combination.val().narrow(0, relation, 1);
            row.matmul(weight.reshape(Exact([count, from * to]))).reshape(Exact([from, to]))
        }
        None => weight.narrow(0, relation, 1).reshape(Exact([from, to])),
    }
}
