//! Random matrices, which both sides get.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sparse_tensor::CsrTensor;
use std::io::Write;
use std::path::Path;

/// Writes a list for the peer.
pub(crate) fn save<T: bytemuck::NoUninit>(folder: &Path, name: &str, list: &[T]) {
    let mut file = std::fs::File::create(folder.join(name)).expect("a folder to write to");
    file.write_all(bytemuck::cast_slice::<T, u8>(list)).expect("room for the inputs");
    // Not to be written back while something is timed.
    file.sync_all().expect("a disk");
}

/// Compressed rows with values in 0.5..1.5.
pub(crate) struct Rows {
    pub ptr: Vec<i32>,
    pub col: Vec<i32>,
    pub values: Vec<f32>,
    pub shape: [usize; 2],
}

impl Rows {
    /// About `nnz` elements at uniform places.
    pub(crate) fn uniform(seed: u64, shape: [usize; 2], nnz: usize) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let [rows, cols] = shape.map(|size| size as i32);
        let places = (0..nnz).map(|_| (rng.random_range(0..rows), rng.random_range(0..cols))).collect();
        Self::of(rng, shape, places)
    }

    /// About `nnz` elements of a square matrix. Few nodes have most of the edges; the numbers of the nodes say nothing.
    pub(crate) fn power_law(seed: u64, nodes: usize, nnz: usize) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut node = || {
            let popular = (nodes as f64 * rng.random_range(0.0f64..1.0).powi(3)) as usize;
            (popular * 7919 % nodes) as i32
        };
        let places = (0..nnz).map(|_| (node(), node())).collect();
        Self::of(rng, [nodes; 2], places)
    }

    /// About `nnz` elements of a square matrix. Nine of ten edges are between nodes of one cluster of 128; the numbers
    /// of the nodes say nothing.
    pub(crate) fn clustered(seed: u64, nodes: usize, nnz: usize) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut places = Vec::with_capacity(2 * nnz);
        for _ in 0..nnz / 2 {
            let from = rng.random_range(0..nodes);
            let near = (from / 128 * 128 + rng.random_range(0..128usize)).min(nodes - 1);
            let to = if rng.random_range(0..10) < 9 { near } else { rng.random_range(0..nodes) };
            let [from, to] = [from, to].map(|node| (node * 7919 % nodes) as i32);
            places.extend([(from, to), (to, from)]);
        }
        Self::of(rng, [nodes; 2], places)
    }

    fn of(mut rng: StdRng, shape: [usize; 2], mut places: Vec<(i32, i32)>) -> Self {
        places.sort_unstable();
        places.dedup();
        let mut ptr = vec![0i32; shape[0] + 1];
        places.iter().for_each(|&(row, _)| ptr[row as usize + 1] += 1);
        (0..shape[0]).for_each(|row| ptr[row + 1] += ptr[row]);
        let col: Vec<i32> = places.into_iter().map(|(_, col)| col).collect();
        let values = col.iter().map(|_| rng.random_range(0.5..1.5)).collect();
        Self { ptr, col, values, shape }
    }

    /// The matrix, which the peer gets as `name`.
    pub(crate) fn shared(self, folder: &Path, name: &str, device: &Device) -> CsrTensor<2> {
        save(folder, &format!("{name}.ptr"), &self.ptr);
        save(folder, &format!("{name}.col"), &self.col);
        save(folder, &format!("{name}.values"), &self.values);
        save(folder, &format!("{name}.shape"), &self.shape.map(|size| size as i64));
        self.tensor(device)
    }

    pub(crate) fn tensor(self, device: &Device) -> CsrTensor<2> {
        let values = floats(self.values, device);
        CsrTensor::new(ints(self.ptr), ints(self.col), values, self.shape).expect("valid rows")
    }
}

fn ints(list: Vec<i32>) -> Tensor<1, Int> {
    let length = list.len();
    Tensor::from_data(TensorData::new(list, [length]), (&Device::flex(), DType::I32))
}

fn floats(list: Vec<f32>, device: &Device) -> Tensor<1> {
    let length = list.len();
    Tensor::from_data(TensorData::new(list, [length]), device)
}

/// Numbers in -1..1 as rows of `width`, which the peer gets as `name`.
pub(crate) fn dense(folder: &Path, name: &str, seed: u64, [rows, width]: [usize; 2]) -> Tensor<2> {
    let mut rng = StdRng::seed_from_u64(seed);
    let list: Vec<f32> = (0..rows * width).map(|_| rng.random_range(-1.0..1.0)).collect();
    save(folder, name, &list);
    Tensor::from_data(TensorData::new(list, [rows, width]), &Device::flex())
}

/// The same arrays under a pattern that nothing is known of yet.
pub(crate) fn fresh(tensor: &CsrTensor<2>) -> CsrTensor<2> {
    CsrTensor::new_unchecked(tensor.row_ptr(), tensor.col_idx(), tensor.values::<1>(), tensor.dims())
}
