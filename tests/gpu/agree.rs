//! The GPU beside the CPU.

use super::gpu;
use burn::tensor::Device;

/// Runs `f` on the CPU and on the GPU: results agree, and 20 runs of the GPU have the same bits.
pub fn agree(name: &str, f: impl Fn(&Device) -> Vec<Vec<f32>>) {
    agree_in(20, name, f);
}

pub fn agree_in(runs: usize, name: &str, f: impl Fn(&Device) -> Vec<Vec<f32>>) {
    let want = f(&Device::flex().autodiff());
    let gpu = gpu().autodiff();
    let got = f(&gpu);
    assert_eq!(got.len(), want.len(), "{name}");
    for (part, (got, want)) in got.iter().zip(&want).enumerate() {
        assert_eq!(got.len(), want.len(), "{name}, part {part}");
        for (k, (&x, &y)) in got.iter().zip(want).enumerate() {
            // Beside an infinity every number would be near.
            let near = y.is_finite() && (x - y).abs() <= 1e-4 * y.abs().max(1.0);
            let close = x == y || near || (x.is_nan() && y.is_nan());
            assert!(close, "{name}, part {part}, element {k}: got {x}, want {y}");
        }
    }
    let bits = |parts: &[Vec<f32>]| -> Vec<u32> { parts.iter().flatten().map(|x| x.to_bits()).collect() };
    for run in 1..runs {
        assert!(bits(&f(&gpu)) == bits(&got), "{name}: run {run} has other bits");
    }
}
