//! A linear layer whose weight is sparse.

use burn::config::Config;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay, Param};
use burn::nn::Initializer;
use burn::tensor::{Device, Gradients, Tensor};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::index::sample;
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, Parts, add_bias, cells, check_dense, index_dtype_for, ints, same_elements};
use sparse_ops::module::CsrParam;
use sparse_ops::pattern::CsrPattern;
use sparse_ops::{CsrTensor, Result, SparseError};

/// Configuration of a [`SparseLinear`].
#[derive(Config, Debug)]
pub struct SparseLinearConfig {
    /// Number of input features.
    pub d_input: usize,
    /// Number of output features.
    pub d_output: usize,
    /// The share of the weights that are stored, in `[0, 1]`.
    #[config(default = 0.1)]
    pub density: f64,
    /// Whether a bias is added.
    #[config(default = true)]
    pub bias: bool,
    /// How weights and bias are initialised. The fan-in is the mean number of stored weights of an output, so outputs
    /// start with the variance of a dense layer's. The default is that of Burn's `Linear`. The orthogonal one has no
    /// meaning for a sparse weight.
    #[config(default = "Initializer::KaimingUniform{gain:0.5773502691896258, fan_out_only:false}")]
    pub initializer: Initializer,
    /// Seed of the pattern. Layers of one model should have different ones.
    #[config(default = 0)]
    pub seed: u64,
}

/// A linear layer with a sparse weight: `y = x W^T + b`.
///
/// `W` `[d_output, d_input]` is a [`CsrParam`]: only its stored values are trained and multiplied. The product is
/// computed as `(W x^T)^T` by the sparse kernel. Cost: `2 * nnz * n` operations for `n` rows of `x`, twice that
/// backward, and two transposes.
///
/// The pattern is random at first: `density * d_input * d_output` positions (rounded), each set of them with the same
/// probability. It can change in training ([`rewire`](sparse_ops::module::SparseParam::rewire)):
///
/// ```
/// use burn::optim::{AdamConfig, GradientsParams};
/// use burn::tensor::{Device, Distribution, Tensor};
/// use sparse_tensor::module::{Growth, RewireSchedule};
/// use sparse_tensor::nn::SparseLinearConfig;
///
/// let device = Device::flex().autodiff();
/// let mut layer = SparseLinearConfig::new(20, 8).with_density(0.25).init(&device);
/// assert_eq!(layer.weight.nnz(), 40);
/// let (mut optimizer, schedule) = (AdamConfig::new().with_epsilon(1e-8).init(), RewireSchedule::new(2, 8));
/// for step in 1..=8 {
///     let count = schedule.count(step, layer.weight.nnz());
///     if count.is_some() {
///         layer = layer.with_probe();
///     }
///     let x = Tensor::<2>::random([16, 20], Distribution::Default, &device);
///     let grads = layer.forward(x).powi_scalar(2).mean().backward();
///     let dense = layer.probe_gradient(&grads);
///     let grads = GradientsParams::from_grads(grads, &layer);
///     layer = optimizer.step(0.01, layer.without_probe(), grads);
///     if let (Some(count), Some(dense)) = (count, dense) {
///         // RigL: drops the smallest weights, grows where the dense gradient is largest.
///         let (weight, change) = layer.weight.rewire(count, count, Growth::Gradient(dense));
///         layer.weight = weight;
///         optimizer = change.carry(optimizer).unwrap();
///     }
/// }
/// assert_eq!(layer.weight.nnz(), 40);
/// ```
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct SparseLinear {
    /// `[d_output, d_input]`.
    pub weight: CsrParam<2>,
    /// `[d_output]`.
    pub bias: Option<Param<Tensor<1>>>,
    /// Zeros `[d_output, d_input]` whose gradient is that of the dense weight.
    probe: Option<Tensor<2>>,
}

impl SparseLinearConfig {
    /// A layer on `device`.
    ///
    /// # Errors
    ///
    /// `invalid` for a density outside `[0, 1]`; `overflow` for a weight of more than `i64::MAX` positions.
    #[or_panic]
    pub fn try_init(&self, device: &Device) -> Result<SparseLinear> {
        const OP: &str = "SparseLinearConfig::init";
        let Self { d_input, d_output, density, .. } = *self;
        if !(0.0..=1.0).contains(&density) {
            return Err(SparseError::invalid(OP, format!("the density must be in [0, 1], got {density}")));
        }
        let (all, limit) = (cells(&[d_output, d_input]), i64::MAX as u128);
        if all > limit {
            return Err(SparseError::overflow(OP, "the number of weights", limit, all));
        }
        let stored = ((density * all as f64).round() as usize).min(all as usize);
        let pattern = random_pattern([d_output, d_input], stored, self.seed, &device.clone().inner());
        // An output without a weight has none to scale.
        let (fan_in, fan_out) = (stored.div_ceil(d_output.max(1)).max(1), stored.div_ceil(d_input.max(1)).max(1));
        let init = |length: usize| self.initializer.init_with::<1, _>([length], Some(fan_in), Some(fan_out), device);
        let values = match stored {
            0 => Tensor::empty([0], device),
            _ => init(stored).val(),
        };
        let weight = CsrTensor::from_pattern(pattern, values)?;
        let bias = self.bias.then(|| init(d_output));
        Ok(SparseLinear { weight: CsrParam::from_tensor(weight), bias, probe: None })
    }
}

/// `stored` positions of a matrix, each set of them with the same probability.
fn random_pattern(shape: [usize; 2], stored: usize, seed: u64, device: &Device) -> CsrPattern {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut at = sample(&mut rng, shape[0] * shape[1], stored).into_vec();
    at.sort_unstable();
    let mut ptr = vec![0i64; shape[0] + 1];
    for position in &at {
        ptr[position / shape[1] + 1] += 1;
    }
    for row in 0..shape[0] {
        ptr[row + 1] += ptr[row];
    }
    let columns = at.iter().map(|position| (position % shape[1]) as i64).collect();
    let columns = match stored {
        0 => Tensor::empty([0], (device, index_dtype_for(shape[0].max(shape[1])))),
        _ => ints(columns, [stored], device),
    };
    CsrPattern::new_unchecked(ints(ptr, [shape[0] + 1], device), columns, &shape)
}

impl SparseLinear {
    /// A layer of a given weight `[d_output, d_input]`, with a bias of `[d_output]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the bias has another length; `dtype_mismatch`, `device_mismatch`.
    #[or_panic(associated)]
    pub fn try_from_weight(weight: CsrTensor<2>, bias: Option<Tensor<1>>) -> Result<SparseLinear> {
        let [d_output, _] = weight.dims();
        if let Some(bias) = &bias
            && bias.dims() != [d_output]
        {
            let rule = "the bias must have length {right:1}, one for each row of the weight, got {left:1}";
            return Err(SparseError::shape_mismatch("SparseLinear::from_weight", rule, bias.dims(), [d_output]));
        }
        if let Some(bias) = &bias {
            same_elements("SparseLinear::from_weight", weight.rows(), bias)?;
        }
        let bias = bias.map(|bias| Param::from_tensor(bias.detach()));
        Ok(SparseLinear { weight: CsrParam::from_tensor(weight), bias, probe: None })
    }

    /// `x W^T + b`: `x [.., d_input]` to `[.., d_output]`.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the last dim of `x` is not `d_input`; `dtype_mismatch`, `unsupported_dtype`,
    /// `device_mismatch`.
    #[or_panic]
    pub fn try_forward<const D: usize>(&self, x: Tensor<D>) -> Result<Tensor<D>> {
        const OP: &str = "SparseLinear::forward";
        let ([d_output, d_input], mut shape) = (self.weight.dims(), x.dims());
        if shape.last() != Some(&d_input) {
            let rule = "the input {left} must end with the features {right} of the layer";
            return Err(SparseError::shape_mismatch(OP, rule, shape, [d_input]));
        }
        let rows: usize = shape[..D - 1].iter().product();
        shape[D - 1] = d_output;
        let columns = x.reshape(Exact([rows, d_input])).swap_dims(0, 1);
        let mut out = self.weight.val().try_matmul(columns.clone())?;
        if let Some(probe) = &self.probe {
            out = out + probe.clone().matmul(columns);
        }
        Ok(self.with_bias(out.swap_dims(0, 1)).reshape(Exact(shape)))
    }

    /// `x W^T + b` for sparse rows: `x [n, d_input]` to `[n, d_output]`, dense. The product of the two sparse matrices
    /// is sparse, and made dense for the bias. A probe takes no part.
    ///
    /// # Errors
    ///
    /// As [`try_forward`](Self::try_forward); `would_densify` if the output is above
    /// [`dense_limit`](sparse_ops::dense_limit), and as the product of sparse matrices.
    #[or_panic]
    pub fn try_forward_sparse(&self, x: &CsrTensor<2>) -> Result<Tensor<2>> {
        let out = x.try_matmul(self.weight.val().try_transpose()?)?;
        Ok(self.with_bias(out.try_to_dense()?))
    }

    fn with_bias(&self, out: Tensor<2>) -> Tensor<2> {
        match &self.bias {
            Some(bias) => add_bias(out, bias.val()),
            None => out,
        }
    }

    /// The layer with a probe: dense zeros that are added to the weight in [`forward`](Self::forward), so that
    /// [`probe_gradient`](Self::probe_gradient) gets the gradient at positions without a weight too. The output stays.
    ///
    /// It takes the memory and the time of a dense layer, so use it for the one step before a change of the pattern.
    /// It is neither optimised nor in the record. The device must be an autodiff one.
    ///
    /// # Errors
    ///
    /// `would_densify` if the weight has more than [`dense_limit`](sparse_ops::dense_limit) positions; `invalid` off an
    /// autodiff device.
    #[or_panic]
    pub fn try_with_probe(self) -> Result<Self> {
        const OP: &str = "with_probe";
        let (shape, device) = (self.weight.dims(), self.weight.device());
        check_dense(OP, "the probe", cells(&shape), "use set_dense_limit to allow it")?;
        if !device.is_autodiff() {
            let message = format!("use Module::train first: the device must be an autodiff one, got {device:?}");
            return Err(SparseError::invalid(OP, message));
        }
        let probe = Tensor::zeros(shape, (&device, self.weight.dtype())).require_grad();
        Ok(Self { probe: Some(probe), ..self })
    }

    /// The layer without a probe.
    pub fn without_probe(self) -> Self {
        Self { probe: None, ..self }
    }

    /// The gradient of the loss with respect to the dense equivalent of the weight `[d_output, d_input]`. `None`
    /// without a probe, or if it took no part in the loss.
    pub fn probe_gradient(&self, grads: &Gradients) -> Option<Tensor<2>> {
        self.probe.as_ref()?.grad(grads)
    }
}

impl ModuleDisplay for SparseLinear {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        DisplaySettings::new().with_new_line_after_attribute(false).optional()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        let [d_output, d_input] = self.weight.dims();
        content
            .add("d_input", &d_input)
            .add("d_output", &d_output)
            .add("nnz", &self.weight.nnz())
            .add("bias", &self.bias.is_some())
            .optional()
    }
}
