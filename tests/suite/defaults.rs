//! Burn's defaults beside those of PyTorch, which `tests/cases/defaults/make.py` ran. The table in
//! `docs/book/coming_from.md` has what differs here, and what to write instead.

use burn::grad_clipping::GradientClippingConfig;
use burn::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use burn::lr_scheduler::exponential::ExponentialLrSchedulerConfig;
use burn::lr_scheduler::linear::LinearLrSchedulerConfig;
use burn::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::lr_scheduler::step::StepLrSchedulerConfig;
use burn::module::{Module, ModuleVisitor, Param};
use burn::nn::activation::ActivationConfig;
use burn::nn::attention::MultiHeadAttentionConfig;
use burn::nn::conv::Conv2dConfig;
use burn::nn::gru::GruConfig;
use burn::nn::loss::{BinaryCrossEntropyLossConfig, CrossEntropyLossConfig};
use burn::nn::transformer::TransformerEncoderConfig;
use burn::nn::{BatchNormConfig, EmbeddingConfig, GroupNormConfig, Initializer, InstanceNormConfig, LayerNormConfig};
use burn::nn::{LinearConfig, LstmConfig, RmsNormConfig};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{AdaGradConfig, AdamConfig, AdamWConfig, GradientsParams, ModuleOptimizer, RmsPropConfig, SgdConfig};
use burn::tensor::{DType, Device, Int, Tensor};
use serde_json::Value;
use sparse_tensor::nn::{EmbeddingBagConfig, FusedAdamConfig};
use std::fs::read_to_string;
use std::path::Path;

fn device() -> Device {
    Device::flex().autodiff()
}

/// What PyTorch gives.
fn torch(name: &str) -> Vec<f64> {
    let path = sparse_dev::path("tests/cases/defaults/defaults.json");
    let all: Value = serde_json::from_str(&read_to_string(path).expect("a file")).expect("JSON");
    all[name].as_array().expect(name).iter().map(|x| x.as_f64().expect("a number")).collect()
}

fn near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 2e-6)
}

fn same(name: &str, here: Vec<f64>) {
    let there = torch(name);
    assert!(near(&here, &there), "{name}: {here:?}, in PyTorch {there:?}");
}

/// The defaults differ. With what the table says there is no difference.
fn differs(name: &str, default: Vec<f64>, told: Vec<f64>) {
    let there = torch(name);
    assert!(!near(&default, &there), "{name}: there is no difference: {default:?}");
    same(name, told);
}

fn list<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().iter::<f64>().collect()
}

/// A parameter 1 after each of three steps with rate 0.1 and one gradient.
fn steps(mut optimizer: ModuleOptimizer, gradient: f64) -> Vec<f64> {
    let mut x = Param::from_tensor(Tensor::<1>::from_data([1.0], (&device(), DType::F64)));
    let mut step = || {
        let grads = GradientsParams::from_grads((x.val() * gradient).sum().backward(), &x);
        x = optimizer.step(0.1, x.clone(), grads);
        list(x.val())[0]
    };
    [step(), step(), step()].into()
}

#[test]
fn optimizers() {
    let small = "gradient 1e-6";
    let (adam, adam_w) = (AdamConfig::new, AdamWConfig::new);
    differs(&format!("Adam, {small}"), steps(adam().init(), 1e-6), steps(adam().with_epsilon(1e-8).init(), 1e-6));
    let told = || adam_w().with_epsilon(1e-8).with_weight_decay(0.01).init();
    differs(&format!("AdamW, {small}"), steps(adam_w().init(), 1e-6), steps(told(), 1e-6));
    differs("AdamW, gradient 0.5", steps(adam_w().init(), 0.5), steps(told(), 0.5));
    let told = || RmsPropConfig::new().with_momentum(0.0).with_epsilon(1e-8).init();
    differs(&format!("RMSprop, {small}"), steps(RmsPropConfig::new().init(), 1e-6), steps(told(), 1e-6));
    differs("RMSprop, gradient 0.5", steps(RmsPropConfig::new().init(), 0.5), steps(told(), 0.5));
    let told = AdaGradConfig::new().with_epsilon(1e-10).init();
    differs(&format!("Adagrad, {small}"), steps(AdaGradConfig::new().init(), 1e-6), steps(told, 1e-6));
    let momentum = |config: MomentumConfig| SgdConfig::new().with_momentum(Some(config)).init();
    let [default, told] = [MomentumConfig::new(), MomentumConfig::new().with_dampening(0.0)];
    differs("SGD, momentum 0.9", steps(momentum(default), 0.5), steps(momentum(told), 0.5));

    let decay = || Some(WeightDecayConfig::new(0.1));
    same("SGD, gradient 0.5", steps(SgdConfig::new().init(), 0.5));
    same("SGD, weight decay 0.1", steps(SgdConfig::new().with_weight_decay(decay()).init(), 0.5));
    let adam = adam().with_epsilon(1e-8).with_weight_decay(decay());
    same("Adam, weight decay 0.1", steps(adam.init(), 0.01));
    let fused = FusedAdamConfig::new;
    same(&format!("Adam, {small}"), steps(fused().init(), 1e-6));
    same("Adam, weight decay 0.1", steps(fused().with_weight_decay(0.1).init(), 0.01));
}

/// The norm is that of each parameter here, and that of all parameters there.
#[test]
fn clipping() {
    let step = |gradients: &[f64]| {
        let x = gradients.iter().map(|_| Param::from_tensor(Tensor::<1>::zeros([1], &device()))).collect::<Vec<_>>();
        let loss = x.iter().zip(gradients).map(|(x, &gradient)| x.val() * gradient).reduce(|a, b| a + b);
        let grads = GradientsParams::from_grads(loss.expect("a parameter").backward(), &x);
        let clipping = Some(GradientClippingConfig::Norm(1.0));
        let x = SgdConfig::new().with_gradient_clipping(clipping).init().step(1.0, x, grads);
        x.iter().map(|x| -list(x.val())[0]).collect::<Vec<_>>()
    };
    differs("clip_grad_norm_", step(&[3.0, 4.0]), step(&[0.6, 0.8]));
}

#[test]
fn schedules() {
    let rates = |scheduler: Result<ModuleLrScheduler, String>| {
        let mut scheduler = scheduler.expect("valid");
        (0..6).map(|_| scheduler.step().base()).collect::<Vec<f64>>()
    };
    same("CosineAnnealingLR", rates(CosineAnnealingLrSchedulerConfig::new(1.0, 4).init()));
    same("StepLR", rates(StepLrSchedulerConfig::new(1.0, 2).init()));
    same("ExponentialLR", rates(ExponentialLrSchedulerConfig::new(1.0, 0.5).init()));
    same("LinearLR", rates(LinearLrSchedulerConfig::new(0.25, 1.0, 3).init()));
}

#[test]
fn norms() {
    let device = device();
    let x = Tensor::<2>::from_data([[0.001], [0.002], [0.006]], &device);
    let row = x.clone().transpose();
    same("BatchNorm1d", list(BatchNormConfig::new(1).init(&device).forward(x.clone())));
    same("LayerNorm", list(LayerNormConfig::new(3).init(&device).forward(row.clone())));
    same("GroupNorm", list(GroupNormConfig::new(1, 3).init(&device).forward(row.clone())));
    let rms = |config: RmsNormConfig| list(config.init(&device).forward(row.clone()));
    let epsilon = f64::from(f32::EPSILON);
    differs("RMSNorm", rms(RmsNormConfig::new(3)), rms(RmsNormConfig::new(3).with_epsilon(epsilon)));

    let norm = BatchNormConfig::new(1).init(&device);
    norm.forward(x * 1000);
    let running = [&norm.running_mean, &norm.running_var].map(|state| list(state.value_sync())[0]);
    // 0.9 * 1 + 0.1 * variance: divided by n here and by n - 1 there, where n is 3.
    let unbiased = 0.9 + (running[1] - 0.9) * 3.0 / 2.0;
    differs("BatchNorm1d, running", running.into(), vec![running[0], unbiased]);

    let parameters = |config: InstanceNormConfig| vec![config.init(&device).num_params() as f64];
    let told = InstanceNormConfig::new(3).with_affine(false);
    differs("InstanceNorm1d, parameters", parameters(InstanceNormConfig::new(3)), parameters(told));
}

#[test]
fn losses() {
    let device = Device::flex();
    let logits = || Tensor::<2>::from_data([[1.0, 2.0, 0.5], [0.0, 0.3, 3.0]], &device);
    let loss = |config: CrossEntropyLossConfig, logits, targets: &[i32]| {
        list(config.init(&device).forward(logits, Tensor::<1, Int>::from_data(targets, &device)))
    };
    let config = CrossEntropyLossConfig::new;
    same("CrossEntropyLoss", loss(config(), logits(), &[1, 0]));
    let smoothing = config().with_smoothing(Some(0.1));
    same("CrossEntropyLoss, label_smoothing 0.1", loss(smoothing, logits(), &[1, 0]));
    // Rows without a label are left out.
    let told = loss(config(), logits().narrow(0, 0, 1), &[1]);
    let ignored = std::panic::catch_unwind(|| loss(config(), logits(), &[1, -100]));
    differs("CrossEntropyLoss, ignored", ignored.unwrap_or_default(), told);
    let (probabilities, targets) = (Tensor::<1>::from_data([0.2, 0.9], &device), Tensor::from_data([0, 1], &device));
    same("BCELoss", list(BinaryCrossEntropyLossConfig::new().init(&device).forward(probabilities, targets)));
}

/// The largest parameter by absolute value of each rank.
#[derive(Default)]
struct Largest([f64; 4]);

impl ModuleVisitor for Largest {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0[D - 1] = self.0[D - 1].max(list(param.val().abs().max())[0]);
    }
}

fn largest(module: &impl Module) -> [f64; 4] {
    let mut seen = Largest::default();
    module.visit(&mut seen);
    seen.0
}

/// Numbers are drawn, so they are compared to a twentieth.
#[test]
fn initial_parameters() {
    let device = Device::flex();
    device.seed(1);
    let close = |name: &str, here: &[f64]| {
        let there = torch(name);
        let most = there.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        (here.iter().zip(&there).all(|(here, there)| (here - there).abs() < 0.05 * most), there)
    };
    let same = |name: &str, here: &[f64]| {
        let (close, there) = close(name, here);
        assert!(close, "{name}: {here:?}, in PyTorch {there:?}");
    };
    let [biases, weights, ..] = largest(&LinearConfig::new(400, 300).init(&device));
    same("Linear", &[weights, biases]);
    let [biases, .., weights] = largest(&Conv2dConfig::new([4, 64], [5, 5]).init(&device));
    same("Conv2d", &[weights, biases]);
    let spread = |table: Tensor<2>| [list(table.clone().mean())[0], list(table.var(0).mean().sqrt())[0]];
    same("Embedding", &spread(EmbeddingConfig::new(1000, 50).init(&device).weight.val()));
    same("EmbeddingBag", &spread(EmbeddingBagConfig::new(1000, 50).init(&device).weight.val()));

    let most = |module: &dyn Fn(Option<Initializer>) -> [f64; 4], name: &str| {
        let [default, told] = [None, Some(Initializer::Uniform { min: -0.1, max: 0.1 })].map(|initializer| {
            let [biases, weights, ..] = module(initializer);
            [biases.max(weights)]
        });
        assert!(!close(name, &default).0, "{name}: there is no difference");
        same(name, &told);
    };
    let lstm = LstmConfig::new(10, 100, true);
    most(&|told| largest(&told.map_or(lstm.clone(), |told| lstm.clone().with_initializer(told)).init(&device)), "LSTM");
    let gru = GruConfig::new(10, 100, true);
    most(&|told| largest(&told.map_or(gru.clone(), |told| gru.clone().with_initializer(told)).init(&device)), "GRU");

    let attention = MultiHeadAttentionConfig::new(100, 4);
    let [biases, weights, ..] = largest(&attention.init(&device));
    assert!(!close("MultiheadAttention", &[weights, biases]).0);
    differs("MultiheadAttention, dropout", vec![attention.dropout], vec![attention.with_dropout(0.0).dropout]);
    let encoder = TransformerEncoderConfig::new(4, 2, 2, 1);
    let of =
        |activation: ActivationConfig| list(activation.init(&device).forward(Tensor::<1>::from_data([-1.0], &device)));
    differs("TransformerEncoderLayer, of -1", of(encoder.activation), of(ActivationConfig::Relu));
}

/// Each name of PyTorch that differs has a row in the table of the book, and no other has.
#[test]
fn the_table_of_the_book_has_what_differs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = read_to_string(root.join("docs/book/coming_from.md")).expect("a page");
    let (_, rest) = page.split_once("### Defaults that differ").expect("the table");
    let (section, _) = rest.split_once("## PyG").expect("the next chapter");
    let rows: Vec<&str> = section.lines().filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(
        rows,
        [
            "torch.optim.Adam",
            "torch.optim.AdamW",
            "torch.optim.SGD(momentum=0.9)",
            "torch.optim.RMSprop",
            "torch.optim.Adagrad",
            "clip_grad_norm_(parameters, 1.0)",
            "BatchNorm1d",
            "InstanceNorm1d",
            "RMSNorm",
            "CrossEntropyLoss",
            "MultiheadAttention",
            "TransformerEncoderLayer",
            "LSTM",
        ]
    );
}
