//! The network.

use burn::module::Module;
use burn::tensor::{Device, Distribution, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::nn::{GcnConv, GcnConvConfig, sparse_dropout};

/// Two graph convolutions. The first ends with ReLU.
#[derive(Module, Debug)]
pub(crate) struct Gcn {
    pub(crate) first: GcnConv,
    pub(crate) second: GcnConv,
}

impl Gcn {
    pub(crate) fn new(features: usize, hidden: usize, classes: usize, device: &Device) -> Self {
        Self {
            first: GcnConvConfig::new(features, hidden).with_relu(true).init(device),
            second: GcnConvConfig::new(hidden, classes).init(device),
        }
    }

    /// The learned embedding `[nodes, hidden]`.
    pub(crate) fn embed(&self, adjacency: &CsrTensor<2>, features: &CsrTensor<2>) -> Tensor<2> {
        self.first.forward_sparse(adjacency, features)
    }

    /// Logits `[nodes, classes]`.
    pub(crate) fn forward(&self, adjacency: &CsrTensor<2>, features: &CsrTensor<2>) -> Tensor<2> {
        self.second.forward(adjacency, self.embed(adjacency, features))
    }

    /// Logits in training: a share `p` of the features and of the hidden layer is dropped.
    pub(crate) fn forward_dropped(&self, adjacency: &CsrTensor<2>, features: &CsrTensor<2>, p: f64) -> Tensor<2> {
        if p == 0.0 {
            return self.forward(adjacency, features);
        }
        let hidden = self.embed(adjacency, &sparse_dropout(features, p));
        let kept = hidden.random_like(Distribution::Default).lower_scalar(1.0 - p).float();
        self.second.forward(adjacency, hidden * kept.mul_scalar(1.0 / (1.0 - p)))
    }
}
