use burn::optim::decay::WeightDecayConfig;
use burn::optim::{AdamConfig, AdamState, Optimizer};
use burn::tensor::{DType, Device, Tensor, TensorData};
use sparse_tensor::nn::FusedAdamConfig;

fn numbers(shape: [usize; 2], phase: f64, dtype: DType) -> Tensor<2> {
    let list: Vec<f64> = (0..shape[0] * shape[1]).map(|k| (k as f64 * 0.37 + phase).sin() * 3.0).collect();
    Tensor::from_data(TensorData::new(list, shape).convert_dtype(dtype), (&Device::flex(), dtype))
}

/// The moments and the number of steps.
fn parts(state: &Option<AdamState<2>>) -> (usize, [TensorData; 2]) {
    let momentum = &state.as_ref().expect("there was a step").momentum;
    (momentum.time, [&momentum.moment_1, &momentum.moment_2].map(Tensor::to_data))
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
                assert!(a.to_data() == b.to_data(), "{dtype:?} {shape:?}, decay {decay}, step {step}");
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
    assert!(next.to_data() != x.to_data());
    assert!(parts(&state) == before);
    assert!([x, grad].map(|own| own.to_data()) == [0.0, 1.0].map(|phase| numbers(shape, phase, DType::F32).to_data()));
}
