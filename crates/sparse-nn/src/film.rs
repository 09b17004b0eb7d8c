//! Feature-wise linear modulation.

use super::aggregation::{Aggregation, Aggregator};
use super::features::{apply, linear_map};
use super::message_passing::Edges;
use burn::config::Config;
use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::{Result, SparseError};

/// Configuration of a [`FilmConv`].
#[derive(Config, Debug)]
pub struct FilmConvConfig {
    /// Number of input features of a node.
    pub d_input: usize,
    /// Number of output features of a node.
    pub d_output: usize,
    /// Number of relations.
    #[config(default = 1)]
    pub relations: usize,
    /// Number of input features of a target, if it is another one.
    #[config(default = "None")]
    pub d_target: Option<usize>,
    /// How the messages of one relation are aggregated.
    #[config(default = "Aggregation::Mean")]
    pub aggregation: Aggregation,
    /// Whether ReLU is applied to each message, and to a node's own part.
    #[config(default = true)]
    pub relu: bool,
}

/// A graph network with feature-wise linear modulation: the target scales and shifts each message,
/// `out_i = s(gamma(x_i) * W x_i + beta(x_i)) + sum_r aggregate_{j in N_r(i)} s(gamma_r(x_i) * W_r x_j + beta_r(x_i))`.
///
/// `s` is ReLU or nothing, and `*` is elementwise. The values of the adjacencies are not read. Gradients reach the
/// weights and the features. (PyG's `FiLMConv`; it has one list of edges and a type for each.)
///
/// Cost: for each relation `O(nnz_r * d_output + N * d_input * d_output)` time, and memory of `nnz_r * d_output`.
///
/// Source: Brockschmidt, *GNN-FiLM: graph neural networks with feature-wise linear modulation*, ICML 2020.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::{Edges, FilmConvConfig}};
///
/// let device = Device::flex();
/// let graph = karate(&device).adjacency;
/// let layer = FilmConvConfig::new(2, 8).init(&device);
/// let out = layer.forward(&[Edges::new(&graph, Tensor::ones([34, 2], &device))]);
/// assert_eq!(out.dims(), [34, 8]);
/// ```
#[derive(Module, Debug)]
pub struct FilmConv {
    /// `W` (PyG's `lin_skip`).
    pub root: Linear,
    /// `[beta, gamma]`, side by side (PyG's `film_skip`).
    pub root_film: Linear,
    /// `W_r` (PyG's `lins`).
    pub linears: Vec<Linear>,
    /// `[beta_r, gamma_r]`, side by side.
    pub films: Vec<Linear>,
    /// How the messages of one relation are aggregated.
    pub aggregator: Aggregator,
    relu: bool,
}

impl FilmConvConfig {
    /// A layer on `device`. Weights start as Burn's `Linear` does.
    ///
    /// # Errors
    ///
    /// `invalid` for 0 relations, or an aggregation that gives another number of features.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<FilmConv> {
        const OP: &str = "FilmConvConfig::init";
        let (from, to, width) = (self.d_input, self.d_target.unwrap_or(self.d_input), self.d_output);
        if self.relations == 0 {
            return Err(SparseError::invalid(OP, "relations must be at least 1, got 0"));
        }
        Ok(FilmConv {
            root: linear_map(to, width, false, device),
            root_film: linear_map(to, 2 * width, false, device),
            linears: (0..self.relations).map(|_| linear_map(from, width, false, device)).collect(),
            films: (0..self.relations).map(|_| linear_map(to, 2 * width, true, device)).collect(),
            aggregator: self.aggregation.init_same(OP, width, device)?,
            relu: self.relu,
        })
    }
}

impl FilmConv {
    /// The edges of each relation, with the same targets, to `[M, d_output]`.
    ///
    /// # Errors
    ///
    /// `length_mismatch` if there is not one list of edges for each relation; `shape_mismatch`, `dtype_mismatch`,
    /// `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, relations: &[Edges<'_>]) -> Result<Tensor<2>> {
        const OP: &str = "FilmConv::forward";
        let (expected, got) = (self.linears.len(), relations.len());
        if expected != got {
            return Err(SparseError::length_mismatch(OP, "the list of relations", expected, got));
        }
        let own = relations[0].targets();
        let mut out = self.modulated(apply(OP, own.clone(), &self.root)?, apply(OP, own, &self.root_film)?);
        for (edges, (linear, film)) in relations.iter().zip(self.linears.iter().zip(&self.films)) {
            let (x, own) = (apply(OP, edges.sources(), linear)?, apply(OP, edges.targets(), film)?);
            if own.dims()[0] != out.dims()[0] {
                let rule = "each relation must have a row for each target, got {left} and {right}";
                return Err(SparseError::shape_mismatch(OP, rule, edges.adjacency().dims(), out.dims()));
            }
            let messages = self.modulated(edges.try_read_source(x)?, edges.try_read_target(own)?);
            out = out + edges.try_aggregate(messages, &self.aggregator)?;
        }
        Ok(out)
    }

    /// `s(gamma * x + beta)`.
    fn modulated(&self, x: Tensor<2>, film: Tensor<2>) -> Tensor<2> {
        let [_, width] = x.dims();
        let out = film.clone().narrow(1, width, width) * x + film.narrow(1, 0, width);
        if self.relu { relu(out) } else { out }
    }
}
