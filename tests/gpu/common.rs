//! What the tests share: the device, random operands, and the comparison with the CPU.

use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sparse_dev::device;
use sparse_tensor::CsrTensor;
use std::sync::Mutex;

/// Counters are of the process: tests take turns.
pub static TURN: Mutex<()> = Mutex::new(());

/// The GPU under test: `SPARSE_TEST_DEVICE`, or the one that wgpu finds.
pub fn gpu() -> Device {
    device::named(&std::env::var("SPARSE_TEST_DEVICE").unwrap_or_else(|_| "wgpu".into()))
}

pub struct Data {
    rng: StdRng,
}

impl Data {
    pub fn new(seed: u64) -> Self {
        Self { rng: StdRng::seed_from_u64(seed) }
    }

    pub fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.rng.random_range(-1.0..1.0)).collect()
    }

    pub fn ints(&mut self, count: usize, below: i32) -> Vec<i32> {
        (0..count).map(|_| self.rng.random_range(0..below)).collect()
    }

    /// Rows of about `mean` elements, some empty, one long.
    pub fn csr(&mut self, rows: usize, cols: usize, mean: usize) -> (Vec<i32>, Vec<i32>, Vec<f32>) {
        let mut places: Vec<(i32, i32)> = (0..rows * mean)
            .map(|k| {
                let row = if k % 3 == 0 { 1 } else { self.rng.random_range(0..rows as i32) };
                (row, self.rng.random_range(0..cols as i32))
            })
            .collect();
        places.sort_unstable();
        places.dedup();
        let mut ptr = vec![0; rows + 1];
        places.iter().for_each(|&(row, _)| ptr[row as usize + 1] += 1);
        (0..rows).for_each(|row| ptr[row + 1] += ptr[row]);
        let values = self.floats(places.len());
        (ptr, places.into_iter().map(|(_, col)| col).collect(), values)
    }
}

pub fn floats<const D: usize>(list: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(list.to_vec(), shape), device)
}

pub fn ints<const D: usize>(list: &[i32], shape: [usize; D], device: &Device) -> Tensor<D, Int> {
    Tensor::from_data(TensorData::new(list.to_vec(), shape), &device.clone().inner())
}

pub fn matrix(data: &(Vec<i32>, Vec<i32>, Vec<f32>), shape: [usize; 2], device: &Device) -> CsrTensor<2> {
    let (ptr, col, values) = data;
    let (ptr, col) = (ints(ptr, [ptr.len()], device), ints(col, [col.len()], device));
    CsrTensor::new(ptr, col, floats(values, [values.len()], device), shape).unwrap()
}

pub fn list<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

/// Runs `f` on the CPU and on the GPU: results agree, and 20 runs of the GPU have the same bits.
pub fn agree(name: &str, f: impl Fn(&Device) -> Vec<Vec<f32>>) {
    agree_in(20, name, f);
}

/// As many lists of as many elements, each equal or near.
pub fn assert_close(name: &str, got: &[Vec<f32>], want: &[Vec<f32>], tolerance: f32) {
    assert_eq!(got.len(), want.len(), "{name}");
    for (part, (got, want)) in got.iter().zip(want).enumerate() {
        assert_eq!(got.len(), want.len(), "{name}, part {part}");
        for (k, (&x, &y)) in got.iter().zip(want).enumerate() {
            // Beside an infinity every number would be near.
            let near = y.is_finite() && (x - y).abs() <= tolerance * y.abs().max(1.0);
            let close = x == y || near || (x.is_nan() && y.is_nan());
            assert!(close, "{name}, part {part}, element {k}: got {x}, want {y}");
        }
    }
}

pub fn agree_in(runs: usize, name: &str, f: impl Fn(&Device) -> Vec<Vec<f32>>) {
    let want = f(&Device::flex().autodiff());
    let gpu = gpu().autodiff();
    let got = f(&gpu);
    assert_close(name, &got, &want, 1e-4);
    let bits = |parts: &[Vec<f32>]| -> Vec<u32> { parts.iter().flatten().map(|x| x.to_bits()).collect() };
    for run in 1..runs {
        assert!(bits(&f(&gpu)) == bits(&got), "{name}: run {run} has other bits");
    }
}
