//! Dynamic neighbourhood aggregation.

use super::dropout::dropout;
use super::features::{Features, check_dropout, check_square, zeros};
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Dropout, DropoutConfig, Initializer};
use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, Parts, add_bias, expand, read_at, reduce_rows, same_elements};
use sparse_ops::ops::Reduce;
use sparse_ops::{CsrTensor, Result, SparseError};

/// Configuration of a [`DnaConv`].
#[derive(Config, Debug)]
pub struct DnaConvConfig {
    /// Number of features of a node, before and after.
    pub channels: usize,
    /// Number of attention heads, which share the features.
    #[config(default = 1)]
    pub heads: usize,
    /// Number of groups of features that are mapped on their own.
    #[config(default = 1)]
    pub groups: usize,
    /// The probability of dropout of the attention.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// Whether the linear maps have biases.
    #[config(default = true)]
    pub bias: bool,
}

/// Dynamic neighbourhood aggregation: each edge chooses which layer's output it reads.
///
/// `out_i = sum_j a_ij sum_l s_l V x_j^(l)` with `s = softmax'(<Q x_i^(L), K x_j^(l)> / sqrt(d))` over the layers `l`,
/// for each head, where `softmax'` has one more entry, 0, so that an edge may read nothing. **`A` is taken as it is**,
/// as by [`GcnConv`](super::GcnConv): give it [`gcn_normalization`](super::gcn_normalization)`(&adjacency, 1.0)`, as
/// the paper does. Gradients reach the maps, the features and the values of the adjacency. (PyG's `DNAConv`, which
/// normalises itself.)
///
/// Cost, for `L` layers: `O(N L channels^2 / groups + nnz L channels)` time, and `nnz L channels` memory.
///
/// Source: Fey, *Just jump: dynamic neighborhood aggregation in graph neural networks*, 2019.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{DnaConvConfig, gcn_normalization}};
///
/// let device = Device::flex();
/// let adjacency = gcn_normalization(&karate(&device).adjacency, 1.0);
/// let layer = DnaConvConfig::new(8).with_heads(2).init(&device);
/// let first = Tensor::ones([34, 8], &device);
/// let second = layer.forward(&adjacency, &[first.clone()]);
/// assert_eq!(layer.forward(&adjacency, &[first, second]).dims(), [34, 8]);
/// ```
#[derive(Module, Debug)]
pub struct DnaConv {
    /// `Q` (PyG's `multi_head.lin_q`).
    pub query: GroupedLinear,
    /// `K`.
    pub key: GroupedLinear,
    /// `V`.
    pub value: GroupedLinear,
    /// Dropout of the attention.
    pub dropout: Dropout,
    channels: usize,
    heads: usize,
}

/// A linear map of each group of features.
#[derive(Module, Debug)]
pub struct GroupedLinear {
    /// `[groups, d_input / groups, d_output / groups]`.
    pub weight: Param<Tensor<3>>,
    /// `[d_output]`.
    pub bias: Option<Param<Tensor<1>>>,
}

impl GroupedLinear {
    /// Rows `[N, d_input]` to `[N, d_output]`.
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let (weight, rows) = (self.weight.val(), x.dims()[0]);
        let [groups, d_input, d_output] = weight.dims();
        let x: Tensor<3> = x.reshape(Exact([rows, groups, d_input]));
        let out = x.swap_dims(0, 1).matmul(weight).swap_dims(0, 1).reshape(Exact([rows, groups * d_output]));
        match &self.bias {
            Some(bias) => add_bias(out, bias.val()),
            None => out,
        }
    }
}

impl DnaConvConfig {
    /// A layer on `device`. Weights start uniform in `±1 / sqrt(channels / groups)`, biases at 0.
    ///
    /// # Errors
    ///
    /// `invalid` for no features, heads or groups that do not divide the features, or a dropout outside `[0, 1)`.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<DnaConv> {
        const OP: &str = "DnaConvConfig::init";
        let Self { channels, heads, groups, .. } = *self;
        let divides = |parts: usize| parts > 0 && channels.is_multiple_of(parts);
        if channels == 0 || !divides(heads) || !divides(groups) {
            let message = format!("heads and groups must divide the features, got {heads}, {groups} and {channels}");
            return Err(SparseError::invalid(OP, message));
        }
        check_dropout(OP, self.dropout)?;
        let size = channels / groups;
        let bound = 1.0 / (size as f64).sqrt();
        let linear = || GroupedLinear {
            weight: Initializer::Uniform { min: -bound, max: bound }.init([groups, size, size], device),
            bias: self.bias.then(|| zeros(channels, device)),
        };
        let dropout = DropoutConfig::new(self.dropout).init();
        Ok(DnaConv { query: linear(), key: linear(), value: linear(), dropout, channels, heads })
    }
}

impl DnaConv {
    /// `adjacency [N, N]` and the outputs of all layers before, each `[N, channels]`, to `[N, channels]`.
    ///
    /// # Errors
    ///
    /// `empty_input` for no layers; `shape_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, adjacency: &CsrTensor<2>, layers: &[Tensor<2>]) -> Result<Tensor<2>> {
        const OP: &str = "DnaConv::forward";
        let Some(last) = layers.last() else {
            return Err(SparseError::empty_input(OP, "there must be the output of a layer, got none"));
        };
        check_square(OP, adjacency)?;
        for x in layers {
            Features::Dense(x.clone()).check(OP, adjacency, self.channels)?;
        }
        same_elements(OP, last, &self.query.weight.val())?;
        let ([nodes, width], edges, count) = (last.dims(), adjacency.nnz(), layers.len());
        if edges == 0 {
            return Ok(Tensor::zeros([nodes, width], (&last.device(), last.dtype())));
        }
        let all = Tensor::cat(layers.to_vec(), 1).reshape(Exact([nodes * count, width]));
        let pattern = adjacency.pattern();
        let of_source = |map: &GroupedLinear| -> Tensor<4> {
            let rows = map.forward(all.clone()).reshape(Exact([nodes, count * width]));
            read_at(pattern, 1, rows).reshape(Exact([edges, count, self.heads, width / self.heads]))
        };
        let (keys, values) = (of_source(&self.key), of_source(&self.value));
        let dims @ [_, _, heads, head_width] = keys.dims();
        let query = read_at(pattern, 0, self.query.forward(last.clone()));
        let products = keys * expand(query.reshape(Exact([edges, 1, heads, head_width])), dims);
        let scores: Tensor<3> = products.sum_dim(3).reshape(Exact([edges, count, heads]));
        let scores = scores.mul_scalar(1.0 / (head_width as f64).sqrt());
        let nothing = Tensor::zeros([edges, 1, heads], (&scores.device(), scores.dtype()));
        let shares: Tensor<2> = softmax(Tensor::cat(vec![scores, nothing], 1), 1)
            .narrow(1, 0, count)
            .reshape(Exact([edges * count, heads]));
        let shares = dropout(shares, &self.dropout).reshape(Exact([edges, count, heads, 1]));
        let read = (values * expand(shares, dims)).sum_dim(1).reshape(Exact([edges, width]));
        let messages = read * expand(adjacency.rows().clone(), [edges, width]);
        Ok(reduce_rows(pattern, messages, Reduce::Add))
    }
}
