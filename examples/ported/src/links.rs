//! Splits of edges, and how well scores tell edges from other pairs of nodes.

use crate::{Run, Trouble};
use burn::tensor::{Int, Tensor, activation::relu};
use sparse_tensor::CsrTensor;
use sparse_tensor::data::{random_edge_split, roc_auc};
use sparse_tensor::nn::{GcnConv, NodePairs, gcn_normalization, negative_sampling};

/// The embeddings of the encoder of PyG's programs on links: two graph convolutions.
pub fn encode([conv1, conv2]: &[GcnConv; 2], adjacency: &CsrTensor<2>, x: &CsrTensor<2>) -> Tensor<2> {
    conv2.forward(adjacency, relu(conv1.forward_sparse(adjacency, x)))
}

/// A graph without some of its edges, and pairs to tell apart: edges, and as many pairs of nodes without one.
pub struct Pairs {
    /// What the model sees, normalised.
    pub adjacency: CsrTensor<2>,
    pub edges: NodePairs,
    pub others: NodePairs,
}

impl Pairs {
    /// The area under the ROC curve of scores of pairs.
    pub fn auc(&self, score: impl Fn(&NodePairs) -> Tensor<1>) -> f64 {
        let [edges, others] = [score(&self.edges), score(&self.others)];
        let label = |scores: &Tensor<1>, label| Tensor::<1, Int>::full(scores.dims(), label, &scores.device());
        roc_auc(Tensor::cat(vec![label(&edges, 1), label(&others, 0)], 0), Tensor::cat(vec![edges, others], 0))
    }
}

impl Run {
    /// 85 % of the edges of a graph for training, 5 % for validation, 10 % for testing, the last two without gradients.
    /// (PyG's `RandomLinkSplit(num_val=0.05, num_test=0.1, is_undirected=True)`.)
    pub fn link_split(&self, adjacency: &CsrTensor<2>) -> Result<[Pairs; 3], Trouble> {
        let split = random_edge_split(adjacency, 0.05, 0.1, true, self.seed)?;
        let plain = self.device.clone().inner();
        let parts = [
            (&split.train, split.train_edges, &self.device),
            (&split.train, split.val_edges, &plain),
            (&split.train_val, split.test_edges, &plain),
        ];
        let mut pairs = vec![];
        for (k, (seen, edges, device)) in (0..).zip(parts) {
            let edges = NodePairs::from_indices(edges.to_device(&plain).to_device(device), adjacency.dims())?;
            let others = negative_sampling(adjacency, edges.len(), self.seed << 8 | k);
            let others =
                NodePairs::from_indices(others.indices().to_device(&plain).to_device(device), adjacency.dims())?;
            let seen = gcn_normalization(seen, 1.0).to_device(device);
            pairs.push(Pairs { adjacency: seen, edges, others });
        }
        pairs.try_into().map_err(|_| "three splits".into())
    }
}
