//! The dense counterpart.

use crate::loss;
use crate::task::Part;
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};

#[derive(Module, Debug)]
struct Network {
    hidden: Vec<Linear>,
    output: Linear,
}

impl Network {
    fn forward(&self, points: Tensor<2>) -> Tensor<2> {
        let hidden = self.hidden.iter().fold(points, |x, layer| relu(layer.forward(x)));
        self.output.forward(hidden)
    }
}

pub(crate) struct Dense {
    network: Network,
    optimizer: ModuleOptimizer,
}

impl Dense {
    pub(crate) fn new([features, first, second, classes]: [usize; 4], device: &Device) -> Self {
        let layer = |from, to| LinearConfig::new(from, to).init(device);
        let network =
            Network { hidden: vec![layer(features, first), layer(first, second)], output: layer(second, classes) };
        Self { network, optimizer: AdamConfig::new().with_epsilon(1e-8).init() }
    }

    /// The network after a step, and the loss before it.
    pub(crate) fn step(self, lr: f64, batch: Part) -> (Self, Tensor<1>) {
        let Self { network, mut optimizer } = self;
        let loss = loss(network.forward(batch.points), batch.classes);
        let grads = GradientsParams::from_grads(loss.backward(), &network);
        (Self { network: optimizer.step(lr, network, grads), optimizer }, loss.inner())
    }

    /// Logits, off the tape.
    pub(crate) fn logits(&self, points: Tensor<2>) -> Tensor<2> {
        self.network.valid().forward(points)
    }
}
