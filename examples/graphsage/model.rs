//! The network.

use crate::args::Args;
use burn::module::Module;
use burn::nn::{Dropout, DropoutConfig};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::nn::{SageConv, SageConvConfig, dropout};

/// Layers of GraphSAGE with the mean of the neighbours, and ReLUs between them.
#[derive(Module, Debug)]
pub(crate) struct Sage {
    layers: Vec<SageConv>,
    dropout: Dropout,
}

impl Sage {
    /// A layer for each hop.
    pub(crate) fn new(args: &Args, features: usize, classes: usize, device: &Device) -> Self {
        let mut sizes = vec![args.hidden as usize; args.fan_outs.len() + 1];
        (sizes[0], sizes[args.fan_outs.len()]) = (features, classes);
        let layers = sizes.windows(2).map(|ends| SageConvConfig::new(ends[0], ends[1]).init(device));
        Self { layers: layers.collect(), dropout: DropoutConfig::new(args.dropout).init() }
    }

    /// Logits of the last block's targets, from the features of the first block's sources. The targets of a block are
    /// its first sources.
    pub(crate) fn forward<'a>(&self, blocks: impl Iterator<Item = &'a CsrTensor<2>>, mut x: Tensor<2>) -> Tensor<2> {
        for (at, (layer, block)) in self.layers.iter().zip(blocks).enumerate() {
            let source = dropout(if at == 0 { x } else { relu(x) }, &self.dropout);
            let target = source.clone().narrow(0, 0, block.dims()[0]);
            x = layer.forward_bipartite(block, source, target);
        }
        x
    }

    /// Logits of all nodes, each with all of its neighbours.
    pub(crate) fn forward_all(&self, adjacency: &CsrTensor<2>, x: Tensor<2>) -> Tensor<2> {
        self.forward(self.layers.iter().map(|_| adjacency), x)
    }
}
