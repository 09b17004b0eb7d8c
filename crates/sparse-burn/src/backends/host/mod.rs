//! The kernels over host memory: each matches the dtypes of its tensors and calls `sparse-core`.

mod extremum;
mod linalg;
mod merge;
mod put;
mod rows;
mod structure;

use crate::host_tensor::host_data;
use burn::tensor::{DType, Shape, TensorData};

/// An index array.
fn ints<I: bytemuck::Pod + Send + Sync>(elements: Vec<I>, dtype: DType) -> TensorData {
    let length = elements.len();
    host_data(elements, [length], dtype)
}

/// Coordinates `[dims, nnz]`.
fn coordinates<I: bytemuck::Pod + Send + Sync>(elements: Vec<I>, dims: usize, dtype: DType) -> TensorData {
    let nnz = elements.len() / dims;
    host_data(elements, Shape::from([dims, nnz]), dtype)
}
