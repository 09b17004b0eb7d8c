//! Top-k pooling.

use super::features::{Features, check_square};
use super::pooling::{check_nodes, try_graph_softmax};
use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Int, Tensor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, ints, read_all, read_data, same_elements};
use sparse_ops::ops::IndexPlan;
use sparse_ops::{CsrTensor, Result, SparseError};

/// Configuration of a [`TopKPool`].
#[derive(Config, Debug)]
pub struct TopKPoolConfig {
    /// Number of features of a node.
    pub features: usize,
    /// The share of the nodes of each graph that stay, rounded up; in `(0, 1]`.
    #[config(default = 0.5)]
    pub ratio: f64,
    /// How many nodes of each graph stay, at most. In place of `ratio`. (An integer `ratio` of PyG.)
    #[config(default = "None")]
    pub count: Option<usize>,
    /// Nodes stay whose share of the attention in their graph is larger than this, and the largest of each graph. In
    /// place of `ratio` and `count`.
    #[config(default = "None")]
    pub min_score: Option<f64>,
    /// The features that stay are multiplied by this too.
    #[config(default = 1.0)]
    pub multiplier: f64,
}

/// Top-k pooling: the nodes with the largest scores stay, with the edges between them.
///
/// The score of a node is `y_i = tanh(<x_i, p> / |p|)`, or with `min_score` the softmax of `<x_i, p>` over the nodes of
/// its graph. The new features are `multiplier * y_i * x_i`, so `p` is trained through them. Gradients reach `p`, the
/// features, and the values of the adjacency. (PyG's `TopKPooling`.)
///
/// The scores are read from the device, because which nodes stay is a new structure. Cost: a sort of the scores, and
/// the selection of rows and columns, `O(nnz)`.
///
/// Source: Gao and Ji, *Graph U-Nets*, ICML 2019; Knyazev, Taylor, Amer, *Understanding attention and generalization in
/// graph neural networks*, NeurIPS 2019 (`min_score`).
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::{data::karate, nn::TopKPoolConfig, ops::IndexPlan};
///
/// let device = Device::flex();
/// let graph = karate(&device);
/// let one = IndexPlan::new(Tensor::zeros([34], &device), 1).unwrap();
/// let pool = TopKPoolConfig::new(34).with_ratio(0.25).init(&device);
/// let pooled = pool.forward(&graph.adjacency, graph.features.to_dense(), &one);
/// assert_eq!(pooled.adjacency.dims(), [9, 9]);
/// ```
#[derive(Module, Debug)]
pub struct TopKPool {
    /// `p`, `[features]`.
    pub weight: Param<Tensor<1>>,
    ratio: f64,
    count: Option<usize>,
    min_score: Option<f64>,
    multiplier: f64,
}

/// The graphs that a [`TopKPool`] makes.
#[derive(Clone, Debug)]
pub struct Pooled {
    /// The features of the nodes that stay, `[K, features]`.
    pub x: Tensor<2>,
    /// The edges between them, `[K, K]`.
    pub adjacency: CsrTensor<2>,
    /// The graph of each of them. There are as many graphs as before.
    pub graphs: IndexPlan,
    /// Which nodes stay, `[K]`: graph by graph, by falling score (with `min_score` in their order).
    pub nodes: Tensor<1, Int>,
    /// Their scores, `[K]`. A loss of them trains what they come from.
    pub scores: Tensor<1>,
}

impl TopKPoolConfig {
    /// A layer on `device`. `p` starts uniform in `±1 / sqrt(features)`.
    ///
    /// # Errors
    ///
    /// `invalid` for a ratio outside `(0, 1]`.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<TopKPool> {
        if !(self.ratio > 0.0 && self.ratio <= 1.0) {
            let got = self.ratio;
            let message = format!("ratio must be in (0, 1] (or use count), got {got}");
            return Err(SparseError::invalid("TopKPoolConfig::init", message));
        }
        let bound = 1.0 / (self.features.max(1) as f64).sqrt();
        Ok(TopKPool {
            weight: Initializer::Uniform { min: -bound, max: bound }.init([self.features], device),
            ratio: self.ratio,
            count: self.count,
            min_score: self.min_score,
            multiplier: self.multiplier,
        })
    }
}

impl TopKPool {
    /// `adjacency [N, N]`, `x [N, features]`, and the graph of each node.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `dtype_mismatch`, `unsupported_dtype`, `device_mismatch`.
    #[or_panic]
    pub fn try_forward(&self, adjacency: &CsrTensor<2>, x: Tensor<2>, graphs: &IndexPlan) -> Result<Pooled> {
        self.pooled("TopKPool::forward", adjacency, x.clone(), x, graphs)
    }

    /// The scores are of other rows, `by [N, features]`, and `x [N, F]` is multiplied by them.
    ///
    /// With `features` = 1 and the output of a layer, `pool.forward_by(&a, x.clone(), layer.forward(&a, x), &graphs)`,
    /// this is SAGPool: the score of a node depends on its neighbours. (PyG's `SAGPooling`, whose layer is `GraphConv`;
    /// its `attn` of both pools.)
    ///
    /// Source: Lee, Lee, Kang, *Self-attention graph pooling*, ICML 2019.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward).
    #[or_panic]
    pub fn try_forward_by(
        &self,
        adjacency: &CsrTensor<2>,
        x: Tensor<2>,
        by: Tensor<2>,
        graphs: &IndexPlan,
    ) -> Result<Pooled> {
        self.pooled("TopKPool::forward_by", adjacency, x, by, graphs)
    }

    fn pooled(
        &self,
        op: &'static str,
        adjacency: &CsrTensor<2>,
        x: Tensor<2>,
        by: Tensor<2>,
        graphs: &IndexPlan,
    ) -> Result<Pooled> {
        let [features] = self.weight.lazy_shape().dims();
        check_square(op, adjacency)?;
        let scored = Features::Dense(by.clone());
        scored.check(op, adjacency, features)?;
        check_nodes(op, &by, graphs)?;
        check_nodes(op, &x, graphs)?;
        same_elements(op, &x, &by)?;
        let weight = self.weight.val();
        let projected = scored.times(op, weight.clone().reshape(Exact([features, 1])))?;
        let scores = match self.min_score {
            Some(_) => try_graph_softmax(projected, graphs)?,
            None => (projected / weight.powi_scalar(2).sum().sqrt().unsqueeze()).tanh(),
        };
        let plain: Vec<f64> =
            if x.dims()[0] == 0 { vec![] } else { read_data(scores.clone().inner()).convert::<f64>().iter().collect() };
        let ids = if graphs.is_empty() { vec![] } else { read_all(graphs.index().clone()) };
        let kept = self.kept(&plain, &ids, graphs.size());
        let device = x.device().inner();
        let length = kept.len();
        let of_kept = kept.iter().map(|&node| ids[node]).collect();
        let nodes = ints(kept.iter().map(|&node| node as i64).collect(), [length], &device);
        let plan = IndexPlan::new(nodes.clone(), x.dims()[0])?;
        let scores = plan.try_select(scores, 0)?;
        Ok(Pooled {
            x: (plan.try_select(x, 0)? * scores.clone()).mul_scalar(self.multiplier),
            adjacency: plan.try_select_sparse(&plan.try_select_sparse(adjacency, 0)?, 1)?,
            graphs: IndexPlan::new(ints(of_kept, [length], &device), graphs.size())?,
            nodes,
            scores: scores.reshape(Exact([length])),
        })
    }

    /// The nodes that stay.
    fn kept(&self, scores: &[f64], ids: &[i64], graphs: usize) -> Vec<usize> {
        let mut members = vec![vec![]; graphs];
        for (node, &graph) in ids.iter().enumerate() {
            members[graph as usize].push(node);
        }
        if let Some(least) = self.min_score {
            // A graph keeps its largest node in any case. PyTorch Geometric takes this margin for ties.
            let largest = |nodes: &Vec<usize>| nodes.iter().map(|&node| scores[node]).fold(f64::MIN, f64::max) - 1e-7;
            let bounds: Vec<f64> = members.iter().map(|nodes| largest(nodes).min(least)).collect();
            return (0..scores.len()).filter(|&node| scores[node] > bounds[ids[node] as usize]).collect();
        }
        for nodes in &mut members {
            // In f32, as PyTorch Geometric: 0.55 of 20 are 11, and not 12.
            let count = self.count.unwrap_or_else(|| (self.ratio as f32 * nodes.len() as f32).ceil() as usize);
            // NaN comes last; of equal scores the first node.
            let key = |node: &usize| if scores[*node].is_nan() { f64::NEG_INFINITY } else { scores[*node] };
            nodes.sort_by(|a, b| key(b).total_cmp(&key(a)));
            nodes.truncate(count);
        }
        members.concat()
    }
}
