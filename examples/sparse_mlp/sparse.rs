//! The network with sparse weights, whose patterns change by a schedule.

use crate::loss;
use crate::task::Part;
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use clap::ValueEnum;
use sparse_tensor::SparseError;
use sparse_tensor::module::{Growth, PruneSchedule, RewireSchedule, carry_state};
use sparse_tensor::nn::{SparseLinear, SparseLinearConfig};
use sparse_tensor::plot::{Plot, try_spy};

/// How a pattern changes in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// Drops the smallest weights and grows where the gradient is largest (Evci et al. 2020)
    Rigl,
    /// Drops the smallest weights and grows anywhere (Mocanu et al. 2018)
    Set,
    /// Starts dense and drops the smallest weights (Zhu and Gupta 2017)
    Magnitude,
    /// The random pattern of the start stays
    Static,
}

#[derive(Module, Debug)]
struct Network {
    hidden: Vec<SparseLinear>,
    output: Linear,
}

impl Network {
    fn forward(&self, points: Tensor<2>) -> Tensor<2> {
        let hidden = self.hidden.iter().fold(points, |x, layer| relu(layer.forward(x)));
        self.output.forward(hidden)
    }

    fn map(self, f: impl Fn(SparseLinear) -> SparseLinear) -> Self {
        Self { hidden: self.hidden.into_iter().map(f).collect(), ..self }
    }
}

pub(crate) struct Sparse {
    network: Network,
    optimizer: ModuleOptimizer,
    method: Method,
    rewire: RewireSchedule,
    prune: PruneSchedule,
    steps: usize,
}

impl Sparse {
    /// A network of these sizes with a share `1 - sparsity` of its weights, for so many steps. The last layer is dense;
    /// the others have what is left.
    pub(crate) fn new(
        sizes: [usize; 4],
        method: Method,
        sparsity: f64,
        steps: usize,
        seed: u64,
        device: &Device,
    ) -> Result<Self, String> {
        let [features, first, second, classes] = sizes;
        let (sparse, dense) = (features * first + first * second, second * classes);
        let density = ((1.0 - sparsity) * (sparse + dense) as f64 - dense as f64) / sparse as f64;
        if !(density > 0.0 && density < 1.0) {
            let most = 1.0 - dense as f64 / (sparse + dense) as f64;
            return Err(format!(
                "the sparsity must be in (0, {most:.3}), where the last layer is dense, got {sparsity}"
            ));
        }
        let start = if method == Method::Magnitude { 1.0 } else { density };
        let layer = |from, to, seed| {
            let config = SparseLinearConfig::new(from, to).with_density(start).with_seed(seed);
            config.try_init(device).map_err(|trouble| trouble.to_string())
        };
        let hidden = vec![layer(features, first, 2 * seed)?, layer(first, second, 2 * seed + 1)?];
        let network = Network { hidden, output: LinearConfig::new(second, classes).init(device) };
        let every = (steps / 20).max(1);
        Ok(Self {
            network,
            optimizer: AdamConfig::new().with_epsilon(1e-8).init(),
            method,
            rewire: RewireSchedule::new(every, steps * 3 / 4),
            prune: PruneSchedule::new(every, steps / 10, steps * 3 / 4, density),
            steps: 0,
        })
    }

    /// How many elements of a layer to drop and to grow after this step.
    fn change(&self, layer: &SparseLinear) -> Option<(usize, usize)> {
        let ([rows, cols], nnz) = (layer.weight.dims(), layer.weight.nnz());
        match self.method {
            Method::Static => None,
            Method::Magnitude => self.prune.count(self.steps, nnz, rows * cols).map(|drop| (drop, 0)),
            Method::Rigl | Method::Set => self.rewire.count(self.steps, nnz).map(|count| (count, count)),
        }
    }

    /// The network after a step, and the loss before it.
    pub(crate) fn step(mut self, lr: f64, batch: Part) -> (Self, Tensor<1>) {
        self.steps += 1;
        let changes: Vec<_> = self.network.hidden.iter().map(|layer| self.change(layer)).collect();
        let Self { mut network, mut optimizer, .. } = self;
        let probe = self.method == Method::Rigl && changes.iter().any(Option::is_some);
        if probe {
            network = network.map(SparseLinear::with_probe);
        }
        let loss = loss(network.forward(batch.points), batch.classes);
        let grads = loss.backward();
        let dense: Vec<_> = network.hidden.iter().map(|layer| layer.probe_gradient(&grads)).collect();
        let grads = GradientsParams::from_grads(grads, &network);
        network = optimizer.step(lr, network.map(SparseLinear::without_probe), grads);

        let mut moved = vec![];
        for ((layer, change), (k, gradient)) in
            network.hidden.iter_mut().zip(changes).zip(dense.into_iter().enumerate())
        {
            let Some((drop, grow)) = change else { continue };
            let seed = (2 * self.steps + k) as u64;
            let growth = match gradient {
                Some(gradient) => Growth::Gradient(gradient),
                None if grow > 0 => Growth::Random { seed, deviation: 0.0 },
                None => Growth::None,
            };
            let (weight, change) = layer.weight.clone().rewire(drop, grow, growth);
            layer.weight = weight;
            moved.push(change);
        }
        if !moved.is_empty() {
            optimizer = carry_state(optimizer, &moved).expect("the optimizer of these weights");
        }
        (Self { network, optimizer, ..self }, loss.inner())
    }

    /// Logits, off the tape.
    pub(crate) fn logits(&self, points: Tensor<2>) -> Tensor<2> {
        self.network.valid().forward(points)
    }

    /// Which weights of the first layer exist.
    pub(crate) fn picture(&self) -> Result<Plot, SparseError> {
        // The weight is [hidden, features].
        let plot = try_spy(&self.network.hidden[0].weight.val().try_transpose()?)?;
        Ok(plot.with_title("First layer after training").with_axes("hidden unit", "feature"))
    }

    /// The share of the weights, biases apart, that are not stored.
    pub(crate) fn sparsity(&self) -> f64 {
        let [from, to] = self.network.output.weight.dims();
        let stored: usize = self.network.hidden.iter().map(|layer| layer.weight.nnz()).sum();
        let all: usize = self.network.hidden.iter().map(|layer| layer.weight.dims().iter().product::<usize>()).sum();
        1.0 - (stored + from * to) as f64 / (all + from * to) as f64
    }
}
