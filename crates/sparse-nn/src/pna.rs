//! Principal neighbourhood aggregation.

use super::aggregation::Aggregation;
use super::attention::columns;
use super::features::{Features, apply, check_width, linear_map, with_bias};
use super::message_passing::Edges;
use super::mlp::{Mlp, MlpConfig};
use super::scalers::{DegreeScaler, DegreeScalers, DegreeScalersConfig};
use burn::config::Config;
use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::read_ends;
use sparse_ops::{Result, SparseError};

/// Configuration of a [`PnaConv`].
#[derive(Config, Debug)]
pub struct PnaConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of a node.
    pub d_output: usize,
    /// How many nodes of the training graphs have each degree, from 0:
    /// `data::degree_histogram`.
    pub histogram: Vec<usize>,
    /// How messages are aggregated.
    #[config(default = "Aggregation::Several(vec![Aggregation::Mean, Aggregation::Max, Aggregation::Min, \
                        Aggregation::Std])")]
    pub aggregation: Aggregation,
    /// What each aggregation is multiplied by.
    #[config(default = "vec![DegreeScaler::Identity, DegreeScaler::Amplification, DegreeScaler::Attenuation]")]
    pub scalers: Vec<DegreeScaler>,
    /// Number of features of an edge.
    #[config(default = "None")]
    pub d_edge: Option<usize>,
    /// Number of towers: layers side by side, each with a share of the output.
    #[config(default = 1)]
    pub towers: usize,
    /// Whether each tower has its share of the input, too. If not, it has all of it.
    #[config(default = false)]
    pub divide_input: bool,
    /// Number of linear maps before the aggregation.
    #[config(default = 1)]
    pub pre_layers: usize,
    /// Number of linear maps after it.
    #[config(default = 1)]
    pub post_layers: usize,
    /// Whether the mean degree and the mean of its logarithm are trained.
    #[config(default = false)]
    pub trained_scalers: bool,
}

/// Principal neighbourhood aggregation: several aggregations, each times several factors of the degree,
/// `out_i = W [.., post_t([x_i, scaled_{j in N(i)} pre_t([x_i, x_j, V e_ij])]), ..]`.
///
/// `scaled` is [`DegreeScalers`]; `pre_t` and `post_t` are networks of tower `t`, and `[,]` is side by side. The first
/// map of `pre_t` is computed once for each node, not for each edge. The values of the adjacency are not read.
/// Gradients reach the weights and the features of nodes and edges. (PyG's `PNAConv`, whose averages of degrees are
/// f32.)
///
/// Cost, with `F` inputs of a tower: `O(N F^2 + nnz F)` time and `nnz F` memory for each aggregation and tower with one
/// map before it, and `nnz F^2` for each further one.
///
/// Source: Corso et al., *Principal neighbourhood aggregation for graph nets*, NeurIPS 2020.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::{degree_histogram, karate}, nn::{Edges, PnaConvConfig}};
///
/// let device = Device::flex();
/// let graph = karate(&device).adjacency;
/// let layer = PnaConvConfig::new(4, 8, degree_histogram(&graph)).with_towers(2).init(&device);
/// let out = layer.forward(&Edges::new(&graph, Tensor::ones([34, 4], &device)));
/// assert_eq!(out.dims(), [34, 8]);
/// ```
#[derive(Module, Debug)]
pub struct PnaConv {
    /// A network of each tower, before the aggregation (PyG's `pre_nns`).
    pub pre: Vec<Mlp>,
    /// A network of each tower, after the aggregation (PyG's `post_nns`).
    pub post: Vec<Mlp>,
    /// `V` (PyG's `edge_encoder`).
    pub edge: Option<Linear>,
    /// `W` (PyG's `lin`).
    pub output: Linear,
    /// How messages are aggregated.
    pub scalers: DegreeScalers,
    d_input: usize,
    d_edge: Option<usize>,
    divide_input: bool,
}

impl PnaConvConfig {
    /// A layer on `device`. Weights start as Burn's `Linear` does.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 towers or layers, and for numbers of features that towers cannot share; those of
    /// [`DegreeScalersConfig::try_init`].
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<PnaConv> {
        let Self { d_input, d_output, towers, pre_layers, post_layers, divide_input, .. } = *self;
        let shared = |width: usize| towers > 0 && width.is_multiple_of(towers);
        if !shared(d_output) || (divide_input && !shared(d_input)) || pre_layers * post_layers == 0 {
            let message = format!(
                "towers ({towers}) must divide the features ({d_input}, {d_output}), and have layers ({pre_layers}, \
                 {post_layers})"
            );
            return Err(SparseError::invalid("PnaConvConfig::init", message));
        }
        let (from, to) = (if divide_input { d_input / towers } else { d_input }, d_output / towers);
        let ends = if self.d_edge.is_some() { 3 } else { 2 };
        let scaled = self.scalers.len() * self.aggregation.d_output(from);
        let networks = |first: usize, width: usize, layers: usize| {
            let sizes = std::iter::once(first).chain(std::iter::repeat_n(width, layers)).collect();
            let config = MlpConfig::new(sizes).with_batch_norm(false);
            (0..towers).map(|_| config.try_init(device)).collect::<Result<Vec<_>>>()
        };
        let scalers = DegreeScalersConfig {
            aggregation: self.aggregation.clone(),
            scalers: self.scalers.clone(),
            histogram: self.histogram.clone(),
            trained: self.trained_scalers,
        };
        Ok(PnaConv {
            pre: networks(ends * from, from, pre_layers)?,
            post: networks(from + scaled, to, post_layers)?,
            edge: self.d_edge.map(|d_edge| linear_map(d_edge, from, true, device)),
            output: linear_map(d_output, d_output, true, device),
            scalers: scalers.try_init(from, device)?,
            d_input,
            d_edge: self.d_edge,
            divide_input,
        })
    }
}

const OP: &str = "PnaConv::forward";

impl PnaConv {
    /// Edges whose sources and targets have `d_input` features, and features of their own if the layer has `d_edge`, to
    /// `[M, d_output]`.
    ///
    /// # Errors
    ///
    /// `invalid` for edges with features in a layer without, or the other way round; `shape_mismatch`,
    /// `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, edges: &Edges<'_>) -> Result<Tensor<2>> {
        for x in [edges.sources(), edges.targets()] {
            check_width(OP, x.dims(), self.d_input)?;
        }
        let features = edges.features_of(OP, self.d_edge)?.zip(self.edge.as_ref());
        let features = features.map(|(features, edge)| apply(OP, features, edge)).transpose()?;
        let towers = self.pre.len();
        let outs = self.pre.iter().zip(&self.post).enumerate().map(|(tower, (pre, post))| {
            let share = |x: Tensor<2>| if self.divide_input { columns(&x, towers, tower) } else { x };
            let own = share(edges.targets());
            let first = first(edges, &pre.linears[0], [own.clone(), share(edges.sources())], features.clone())?;
            let scaled = edges.try_aggregate(pre.after_first(first), &self.scalers)?;
            Ok(post.forward(Tensor::cat(vec![own, scaled], 1)))
        });
        apply(OP, Tensor::cat(outs.collect::<Result<_>>()?, 1), &self.output)
    }
}

/// The map of `[x_i, x_j, e_ij]`, which are not put side by side.
fn first(edges: &Edges<'_>, map: &Linear, [own, x]: [Tensor<2>; 2], e: Option<Tensor<2>>) -> Result<Tensor<2>> {
    let (weight, [_, width]) = (map.weight.val(), own.dims());
    let of = |part: usize, x: Tensor<2>| Features::Dense(x).times(OP, weight.clone().narrow(0, part * width, width));
    let both = read_ends(edges.adjacency().pattern(), with_bias(of(0, own)?, &map.bias), of(1, x)?);
    Ok(match e {
        Some(e) => both + of(2, e)?,
        None => both,
    })
}
