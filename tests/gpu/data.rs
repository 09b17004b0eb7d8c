//! Drawn data, and tensors of it.

use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sparse_tensor::CsrTensor;

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
