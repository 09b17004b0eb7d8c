//! Optimisers see a sparse parameter as the plain tensor of its values.

use super::{Net, bits, csr};
use burn::grad_clipping::GradientClippingConfig;
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{
    AdaGradConfig, AdamConfig, AdamWConfig, GradientsAccumulator, GradientsParams, ModuleOptimizer, RmsPropConfig,
    SgdConfig,
};
use burn::tensor::{Device, Tensor, TensorData};
use sparse_tensor::CsrTensor;
use sparse_tensor::module::CsrParam;
use sparse_tensor::pattern::{CsrPattern, Pattern};
use std::collections::HashMap;

fn optimizers() -> Vec<(&'static str, ModuleOptimizer)> {
    let momentum = Some(MomentumConfig::new().with_momentum(0.9).with_dampening(0.0).with_nesterov(true));
    let decay = || Some(WeightDecayConfig::new(0.1));
    let norm = || Some(GradientClippingConfig::Norm(0.7));
    vec![
        ("SGD", SgdConfig::new().init()),
        ("SGD, momentum", SgdConfig::new().with_momentum(momentum).with_weight_decay(decay()).init()),
        ("SGD, clipped", SgdConfig::new().with_gradient_clipping(Some(GradientClippingConfig::Value(0.3))).init()),
        ("Adam", AdamConfig::new().with_weight_decay(decay()).with_grad_clipping(norm()).init()),
        ("AdamW", AdamWConfig::new().with_weight_decay(0.05).init()),
        ("AMSGrad", AdamConfig::new().with_amsgrad(true).init()),
        ("AdaGrad", AdaGradConfig::new().init()),
        ("RMSProp", RmsPropConfig::new().init()),
    ]
}

#[derive(Module, Debug)]
struct Sparse {
    weight: CsrParam<2>,
}

/// The same model with the values by hand.
#[derive(Module, Debug)]
struct Plain {
    weight: Param<Tensor<1>>,
}

fn loss(weight: &CsrTensor<2>, step: usize) -> Tensor<1> {
    let x = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, -1.0], [0.5, 2.0]], &weight.device()) * (step + 1) as f64;
    (weight.matmul(x) - 1.0).powi_scalar(2).mean()
}

#[test]
fn every_optimiser_steps_as_on_the_plain_values() {
    let device = Device::flex().autodiff();
    for ((name, mut of_sparse), (_, mut of_plain)) in optimizers().into_iter().zip(optimizers()) {
        let start = csr(&device);
        let pattern: CsrPattern = start.pattern().clone();
        let mut plain = Plain { weight: Param::from_tensor(start.values::<1>()) };
        let mut sparse = Sparse { weight: CsrParam::from_tensor(start) };
        let id = sparse.weight.id();
        for step in 0..5 {
            let grads = GradientsParams::from_grads(loss(&sparse.weight.val(), step).backward(), &sparse);
            assert_eq!(grads.len(), 1);
            sparse = of_sparse.step(0.05, sparse, grads);
            let weight = CsrTensor::from_pattern(pattern.clone(), plain.weight.val()).unwrap();
            let grads = GradientsParams::from_grads(loss(&weight, step).backward(), &plain);
            plain = of_plain.step(0.05, plain, grads);
        }
        let (own, expected) = (sparse.weight.val(), plain.weight.val().into_data());
        assert_eq!(own.values::<1>().into_data(), expected, "{name}");
        assert_ne!(expected, csr(&device).values::<1>().into_data(), "{name} must have stepped");
        assert!(sparse.weight.pattern().is_same(&pattern), "{name} keeps the pattern");
        assert_eq!(sparse.weight.id(), id);
        assert!(sparse.weight.val().is_tracked());
    }
}

#[test]
fn training_changes_values_only() {
    let device = Device::flex().autodiff();
    let before = Net::new(&device);
    let mut net = before.clone();
    let clipping = Some(GradientClippingConfig::Norm(1.0));
    let decay = Some(WeightDecayConfig::new(0.01));
    let mut optimizer = AdamConfig::new().with_grad_clipping(clipping).with_weight_decay(decay).init();
    let mut losses = vec![];
    for _ in 0..30 {
        let loss = net.loss(&device);
        losses.push(loss.clone().into_scalar::<f32>());
        let grads = GradientsParams::from_grads(loss.backward(), &net);
        assert_eq!(grads.len(), 5);
        net = optimizer.step(0.05, net, grads);
    }
    assert!(losses[29] < 0.6 * losses[0], "{losses:?}");
    for ((was, now), values_too) in [
        ((bits(&before.weight.val()), bits(&net.weight.val())), true),
        ((bits(&before.table.val()), bits(&net.table.val())), true),
        ((bits(&before.adjacency), bits(&net.adjacency)), false),
    ] {
        assert_eq!((&was.0, &was.2), (&now.0, &now.2), "pattern and fill stay");
        assert_eq!(was.1 != now.1, values_too);
    }
    assert!(net.heads[0].pattern().is_same(before.heads[0].pattern()));
}

#[test]
fn gradients_are_accumulated_by_id() {
    let device = Device::flex().autodiff();
    let model = Sparse { weight: CsrParam::from_tensor(csr(&device)) };
    let mut accumulator = GradientsAccumulator::new();
    for step in 0..2 {
        let grads = GradientsParams::from_grads(loss(&model.weight.val(), step).backward(), &model);
        accumulator.accumulate(&model, grads);
    }
    let sum = accumulator.grads().get::<2>(model.weight.id()).unwrap().into_data();
    let both = loss(&model.weight.val(), 0) + loss(&model.weight.val(), 1);
    let grad = model.weight.grad(&both.backward()).unwrap().values::<1>().into_data();
    sum.assert_approx_eq::<f32>(&TensorData::new(grad.iter::<f32>().collect(), [3, 1]), Default::default());
}

/// An average of parameters, as a training loop keeps it: by id, over float parameters.
#[derive(Default)]
struct Average(HashMap<ParamId, TensorData>);

impl ModuleVisitor for Average {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        assert!(self.0.insert(param.id, param.val().into_data()).is_none(), "one float parameter for each id");
    }
}

impl ModuleMapper for Average {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let new = self.0.remove(&param.id).expect("seen");
        param.map(|old| old.clone().mul_scalar(0.75) + Tensor::from_data(new, &old.device()).mul_scalar(0.25))
    }
}

#[test]
fn an_average_of_parameters_is_kept() {
    let device = Device::flex();
    let average = Net::new(&device);
    let net = average.clone().map(&mut Shifted);
    let mut seen = Average::default();
    net.visit(&mut seen);
    let average = average.map(&mut seen);
    let expected = TensorData::from([1.25f32, 2.25, 3.25]);
    assert_eq!(average.weight.val().values::<1>().into_data(), expected);
    assert_eq!(average.table.val().values::<2>().into_data(), TensorData::from([[1.25f32, 2.25], [3.25, 4.25]]));
}

struct Shifted;

impl ModuleMapper for Shifted {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|values| values.add_scalar(1.0))
    }
}
