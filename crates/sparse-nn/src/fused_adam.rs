//! Adam in one pass over memory.

use burn::config::Config;
use burn::optim::decay::WeightDecayConfig;
use burn::optim::{Adam, AdamConfig, AdamState, AdaptiveMomentumState, ModuleOptimizer, Optimizer};
use burn::tensor::{DType, Device, Tensor};
use sparse_ops::extend::is_gpu;
use sparse_ops::extend::kernel::{AdamStep, adam_step};

/// Configuration of [`FusedAdam`]. The defaults are PyTorch's. Burn's `AdamConfig` has an epsilon of 1e-5.
#[derive(Config, Debug)]
pub struct FusedAdamConfig {
    /// Decay of the first moment.
    #[config(default = 0.9)]
    pub beta_1: f32,
    /// Decay of the second moment.
    #[config(default = 0.999)]
    pub beta_2: f32,
    /// Added to the root of the second moment.
    #[config(default = 1e-8)]
    pub epsilon: f32,
    /// Times the parameter, added to its gradient.
    #[config(default = 0.0)]
    pub weight_decay: f32,
}

/// Adam as a Burn optimiser: on a CPU one pass over each parameter, on all threads. Burn's own makes 13 passes, 15 with
/// weight decay, on one thread.
///
/// With `t` the number of steps so far and `g` the gradient plus `weight_decay w`: `m = beta_1 m + (1 - beta_1) g`,
/// `v = beta_2 v + (1 - beta_2) g^2`, `w -= lr c m / (sqrt(v) + epsilon sqrt(1 - beta_2^t))` with
/// `c = sqrt(1 - beta_2^t) / (1 - beta_1^t)`. The bits are those of Burn's `Adam` on Flex. The state is that of Burn's
/// too: each loads the records of the other. On a GPU, and for 16-bit floats, Burn's runs. There is no AMSGrad.
///
/// For tables of which a step reads a few rows see [`RowAdam`](crate::RowAdam).
///
/// Cost: reads 4 and writes 3 numbers for each number of a parameter. The new parameter takes the memory of the
/// gradient, and the moments stay in theirs; what is used elsewhere too is copied first.
///
/// Source: Kingma and Ba, *Adam: a method for stochastic optimization*, ICLR 2015; `fused=True` of PyTorch's `Adam`.
///
/// ```
/// use burn::optim::GradientsParams;
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::nn::{FusedAdamConfig, SparseLinear, SparseLinearConfig};
///
/// let device = Device::flex().autodiff();
/// let mut layer: SparseLinear = SparseLinearConfig::new(8, 4).init(&device);
/// let mut adam = FusedAdamConfig::new().with_weight_decay(5e-4).init();
/// let mut losses = vec![];
/// for _ in 0..3 {
///     let loss = (layer.forward(Tensor::<2>::ones([2, 8], &device)) - 1.0).powi_scalar(2).mean();
///     losses.push(loss.clone().into_scalar::<f32>());
///     let grads = GradientsParams::from_grads(loss.backward(), &layer);
///     layer = adam.step(0.01, layer, grads);
/// }
/// assert!(losses[2] < losses[0]);
/// ```
#[derive(Clone)]
pub struct FusedAdam {
    config: FusedAdamConfig,
    plain: Adam,
}

impl FusedAdamConfig {
    /// The optimiser of a module. [`ModuleOptimizer::with_grad_clipping`] adds clipping.
    pub fn init(&self) -> ModuleOptimizer {
        self.build().into()
    }

    /// The optimiser by itself, for [`ModuleOptimizer::with_group`].
    pub fn build(&self) -> FusedAdam {
        let decay = (self.weight_decay != 0.0).then(|| WeightDecayConfig::new(self.weight_decay));
        let plain = AdamConfig::new().with_beta_1(self.beta_1).with_beta_2(self.beta_2).with_epsilon(self.epsilon);
        FusedAdam { config: self.clone(), plain: plain.with_weight_decay(decay).build() }
    }
}

impl FusedAdam {
    /// The numbers of step `time`, counted from 1, rounded where Burn rounds them.
    fn at(&self, time: usize, rate: f64) -> AdamStep {
        let FusedAdamConfig { beta_1, beta_2, epsilon, weight_decay } = self.config;
        let left = |beta: f32| 1.0 - beta.powi(time as i32);
        let root = left(beta_2).sqrt();
        AdamStep {
            // Burn has no moments before the first step, so a moment of -0 keeps its sign there.
            kept: if time == 1 { [-0.0; 2] } else { [beta_1, beta_2].map(f64::from) },
            added: [1.0 - beta_1, 1.0 - beta_2].map(f64::from),
            correction: (root / left(beta_1)).into(),
            epsilon: (epsilon * root).into(),
            decay: weight_decay.into(),
            rate,
        }
    }
}

impl Optimizer for FusedAdam {
    type State<const D: usize> = AdamState<D>;

    fn step<const D: usize>(
        &self,
        lr: f64,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<AdamState<D>>,
    ) -> (Tensor<D>, Option<AdamState<D>>) {
        let dtype = tensor.dtype();
        // Burn loads a record in the default dtype of the device.
        let state = state.map(|AdamState { mut momentum }| {
            [momentum.moment_1, momentum.moment_2] = [momentum.moment_1, momentum.moment_2].map(|own| own.cast(dtype));
            AdamState::new(momentum)
        });
        let known = matches!(dtype, DType::F32 | DType::F64) && grad.dtype() == dtype;
        if !known || tensor.shape().num_elements() == 0 || is_gpu(&tensor.device()) {
            return self.plain.step(lr, tensor, grad, state);
        }
        let zeros = || AdaptiveMomentumState::new(0, tensor.zeros_like(), tensor.zeros_like());
        let mut momentum = state.map_or_else(zeros, |state| state.momentum);
        momentum.time += 1;
        let step = self.at(momentum.time, lr);
        let (tensor, moment_1, moment_2) = adam_step(tensor, momentum.moment_1, momentum.moment_2, grad, step);
        (tensor, Some(AdamState::new(AdaptiveMomentumState { moment_1, moment_2, ..momentum })))
    }

    fn to_device<const D: usize>(state: AdamState<D>, device: &Device) -> AdamState<D> {
        Adam::to_device(state, device)
    }
}
