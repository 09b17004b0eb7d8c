use burn::module::Param;
use burn::optim::decay::WeightDecayConfig;
use burn::optim::{AdamConfig, AdamState, GradientsParams, ModuleOptimizer, Optimizer};
use burn::tensor::{DType, Device, Tensor, TensorData};
use sparse_tensor::nn::FusedAdamConfig;

fn numbers(shape: [usize; 2], phase: f64, dtype: DType) -> Tensor<2> {
    // Zeros of both signs too.
    let number = |k: usize| if k % 4 == 1 { [0.0, -0.0][k / 4 % 2] } else { (k as f64 * 0.37 + phase).sin() * 3.0 };
    let list: Vec<f64> = (0..shape[0] * shape[1]).map(number).collect();
    Tensor::from_data(TensorData::new(list, shape).convert_dtype(dtype), (&Device::flex(), dtype))
}

fn bits(x: &Tensor<2>) -> Vec<u8> {
    x.to_data().as_bytes().to_vec()
}

/// The number of steps and the moments.
fn parts(state: &Option<AdamState<2>>) -> (usize, [Vec<u8>; 2]) {
    let momentum = &state.as_ref().expect("there was a step").momentum;
    (momentum.time, [&momentum.moment_1, &momentum.moment_2].map(bits))
}

#[test]
fn steps_have_the_bits_of_burns_adam() {
    for dtype in [DType::F32, DType::F64, DType::F16] {
        // An empty one, and one that threads share.
        for (shape, decay) in [([3, 5], 0.0), ([3, 5], 0.1), ([0, 4], 0.1), ([50_000, 3], 0.0)] {
            let plain = AdamConfig::new().with_beta_1(0.8).with_epsilon(1e-3);
            let plain = plain.with_weight_decay((decay > 0.0).then(|| WeightDecayConfig::new(decay))).build();
            let fused = FusedAdamConfig::new().with_beta_1(0.8).with_epsilon(1e-3).with_weight_decay(decay).build();
            let (mut a, mut old) = (numbers(shape, 0.5, dtype), None);
            let (mut b, mut new) = (a.clone(), None);
            for step in 0..6 {
                let grad = numbers(shape, f64::from(step), dtype);
                (a, old) = plain.step(0.1, a, grad.clone(), old);
                (b, new) = fused.step(0.1, b, grad, new);
                assert!(bits(&a) == bits(&b), "{dtype:?} {shape:?}, decay {decay}, step {step}");
                assert!(parts(&old) == parts(&new), "{dtype:?} {shape:?}, decay {decay}, step {step}");
                // Each continues from the other's state.
                core::mem::swap(&mut old, &mut new);
            }
        }
    }
}

#[test]
fn what_others_use_stays() {
    let (fused, shape) = (FusedAdamConfig::new().build(), [4, 2]);
    let (x, grad) = (numbers(shape, 0.0, DType::F32), numbers(shape, 1.0, DType::F32));
    let (_, state) = fused.step(0.1, x.clone(), grad.clone(), None);
    let before = parts(&state);
    let (next, _) = fused.step(0.1, x.clone(), grad.clone(), state.clone());
    assert!(bits(&next) != bits(&x));
    assert!(parts(&state) == before);
    assert!([x, grad].map(|own| bits(&own)) == [0.0, 1.0].map(|phase| bits(&numbers(shape, phase, DType::F32))));
}

/// The parameters after two steps, a record, and two steps of another optimiser that loads it.
fn resumed(mut first: ModuleOptimizer, second: ModuleOptimizer, dtype: DType) -> Vec<f64> {
    let device = Device::flex().autodiff();
    let mut x = Param::from_tensor(Tensor::<1>::from_data([1.0, -2.0, 0.5], (&device, dtype)));
    let mut step = |optimizer: &mut ModuleOptimizer| {
        let grads = GradientsParams::from_grads((x.val() * x.val()).sum().backward(), &x);
        x = optimizer.step(0.1, x.clone(), grads);
    };
    (0..2).for_each(|_| step(&mut first));
    let mut second = second.load_record(first.to_record());
    (0..2).for_each(|_| step(&mut second));
    x.val().into_data().iter::<f64>().collect()
}

#[test]
fn records_are_those_of_burns_adam() {
    let plain = || AdamConfig::new().with_epsilon(1e-8).init();
    let fused = || FusedAdamConfig::new().init();
    let want = resumed(plain(), plain(), DType::F32);
    assert_eq!(resumed(fused(), plain(), DType::F32), want);
    assert_eq!(resumed(plain(), fused(), DType::F32), want);
    // Burn loads moments of f32, whatever the parameter is.
    for (dtype, error) in [(DType::F64, 1e-6), (DType::F16, 0.05)] {
        let found = resumed(fused(), fused(), dtype);
        assert!(found.iter().zip(&want).all(|(a, b)| (a - b).abs() < error), "{found:?}, {want:?}");
    }
}
