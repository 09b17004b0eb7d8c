//! Relational graph convolution.

use super::aggregation::{Aggregation, Aggregator, aggregated};
use super::features::{Features, glorot, with_bias, zeros};
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
    /// Number of bases that the weights of the relations are combined of. `None`: each has a weight of its own.
    #[config(default = "None")]
    pub bases: Option<usize>,
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
/// `W_r = sum_b C_rb V_b`, which keeps their number small. Sparse features stay sparse with add and mean. Relations
/// without edges cost nothing. (PyG's `RGCNConv`; it has one list of edges and a type for each.)
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
    /// aggregation gives.
    pub weight: Param<Tensor<3>>,
    /// `C`, `[relations, bases]`, if there are bases.
    pub combination: Option<Param<Tensor<2>>>,
    /// `W_0`, `[d_input, d_output]`.
    pub root: Option<Param<Tensor<2>>>,
    /// `[d_output]`.
    pub bias: Option<Param<Tensor<1>>>,
    relations: usize,
    /// How the neighbours of one relation are aggregated.
    pub aggregator: Aggregator,
    d_input: usize,
}

impl RgcnConvConfig {
    /// A layer on `device`. Weights start from Glorot's uniform distribution.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 relations or 0 bases.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<RgcnConv> {
        const OP: &str = "RgcnConvConfig::init";
        if self.relations == 0 || self.bases == Some(0) {
            let (relations, bases) = (self.relations, self.bases);
            let message = format!("relations and bases must be at least 1, got {relations} and {bases:?}");
            return Err(SparseError::invalid(OP, message));
        }
        let (fans, count) = ([self.d_input, self.d_output], self.bases.unwrap_or(self.relations));
        let aggregated = self.aggregation.d_output(self.d_input);
        let combine = |bases| glorot([self.relations, bases], [self.relations, bases], device);
        Ok(RgcnConv {
            weight: glorot([count, aggregated, self.d_output], [aggregated, self.d_output], device),
            combination: self.bases.map(combine),
            root: self.root_weight.then(|| glorot(fans, fans, device)),
            bias: self.bias.then(|| zeros(self.d_output, device)),
            relations: self.relations,
            aggregator: self.aggregation.try_init(self.d_input, device)?,
            d_input: self.d_input,
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
        self.run("RgcnConv::forward", adjacencies, Features::Dense(x))
    }

    /// Sparse features, which stay sparse. The identity matrix gives each node an embedding of its own.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward); `invalid` for another aggregation than a sum or a mean.
    #[or_panic]
    pub fn try_forward_sparse(&self, adjacencies: &[CsrTensor<2>], x: &CsrTensor<2>) -> Result<Tensor<2>> {
        self.run("RgcnConv::forward_sparse", adjacencies, Features::Sparse(x))
    }

    fn run(&self, op: &'static str, adjacencies: &[CsrTensor<2>], x: Features<'_>) -> Result<Tensor<2>> {
        if adjacencies.len() != self.relations {
            return Err(SparseError::length_mismatch(op, "the list of adjacencies", self.relations, adjacencies.len()));
        }
        let [_, _, d_output] = self.weight.lazy_shape().dims();
        for adjacency in adjacencies {
            x.check(op, adjacency, self.d_input)?;
            x.check_targets(op, adjacency, self.d_input)?;
        }
        let mut out = match &self.root {
            Some(root) => Some(x.times(op, root.val())?),
            None => None,
        };
        // Another reduction may give a node without edges a number that is not 0.
        let counts = |adjacency: &CsrTensor<2>| adjacency.nnz() > 0 || self.aggregator.reduce().is_none();
        for (relation, adjacency) in adjacencies.iter().enumerate().filter(|(_, adjacency)| counts(adjacency)) {
            let part = aggregated(op, adjacency, &x, self.weight_of(relation), &self.aggregator)?;
            out = Some(match out {
                Some(sum) => sum + part,
                None => part,
            });
        }
        let out = out.unwrap_or_else(|| {
            let weight = self.weight.val();
            Tensor::zeros([x.dims()[0], d_output], (&weight.device(), weight.dtype()))
        });
        Ok(with_bias(out, &self.bias))
    }

    /// `W_r`, `[d_input, d_output]`.
    fn weight_of(&self, relation: usize) -> Tensor<2> {
        let weight = self.weight.val();
        let [count, d_input, d_output] = weight.dims();
        match &self.combination {
            None => weight.narrow(0, relation, 1).reshape(Exact([d_input, d_output])),
            Some(combination) => {
                let row = combination.val().narrow(0, relation, 1);
                row.matmul(weight.reshape(Exact([count, d_input * d_output]))).reshape(Exact([d_input, d_output]))
            }
        }
    }
}
