//! Sums of many terms do not lose those that are small beside them. Ones behind 2^24 are the shortest list that shows
//! it in f32: added in order they change nothing.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use sparse_tensor::nn::{GcnConvConfig, GraphNormConfig, SparseLinearConfig, global_add_pool, global_mean_pool};
use sparse_tensor::ops::{IndexPlan, Reduce, put_along_axis};
use sparse_tensor::{CsrTensor, Fill};

const COUNT: usize = 5000;
const LARGE: f32 = 16_777_216.0;
const SUM: f32 = LARGE + COUNT as f32 - 1.0;

/// A column, or several: 2^24 and then ones.
fn terms(columns: usize, device: &Device) -> Tensor<2> {
    let list = (0..COUNT * columns).map(|k| if k < columns { LARGE } else { 1.0 }).collect::<Vec<f32>>();
    Tensor::from_data(TensorData::new(list, [COUNT, columns]), device)
}

/// `block` terms are added in order.
fn check<const D: usize>(name: &str, sums: Tensor<D>, block: usize) {
    for sum in sums.into_data().iter::<f32>() {
        assert!((sum - SUM).abs() <= block as f32 + 26.0, "{name}: {sum} for {SUM}");
    }
}

/// A row of ones, all stored.
fn ones(device: &Device) -> CsrTensor<2> {
    CsrTensor::from_dense(Tensor::ones([1, COUNT], device))
}

#[test]
fn of_products_and_reductions() {
    let device = Device::flex();
    for columns in [1, 3] {
        check("matmul", ones(&device).matmul(terms(columns, &device)), 64);
        let filled = CsrTensor::<2>::zeros([1, COUNT], (&device, DType::F32)).with_fill(Fill::scalar(1.0));
        check("matmul, fill", filled.matmul(terms(columns, &device)), 64);
        check("rmatmul, fill", filled.transpose().rmatmul(terms(columns, &device).transpose()), 64);
    }
    let row = CsrTensor::from_dense(terms(1, &device).transpose());
    check("row_sums", row.row_sums(), 64);
    check("sparse x sparse", row.matmul(&ones(&device).transpose()).to_dense(), 256);
}

#[test]
fn of_pools_and_positions() {
    let device = Device::flex();
    let zeros = Tensor::<1, Int>::zeros([COUNT], &device);
    let graphs = IndexPlan::new(zeros.clone(), 1).unwrap();
    for columns in [1, 3, 40] {
        let x = terms(columns, &device);
        check("global_add_pool", global_add_pool(x.clone(), &graphs), 512);
        check("global_mean_pool", global_mean_pool(x.clone(), &graphs) * COUNT as f32, 512);
        let index = zeros.clone().reshape([COUNT, 1]).expand([COUNT, columns]);
        let start = Tensor::zeros([1, columns], &device);
        check("put_along_axis", put_along_axis(start, index, x, 0, Reduce::Add, true), 512);
    }
}

#[test]
fn of_gradients_of_a_bias() {
    let device = Device::flex().autodiff();
    let loops = CsrTensor::<2>::eye(COUNT, &device);
    for [d_input, d_output] in [[1, 2], [2, 1]] {
        let x = Tensor::ones([COUNT, d_input], &device);
        let layer = GcnConvConfig::new(d_input, d_output).init(&device);
        let out = layer.forward(&loops, x) * terms(d_output, &device);
        let grads = out.sum().backward();
        check("GcnConv", layer.bias.unwrap().val().grad(&grads).unwrap(), 64);
        let layer = SparseLinearConfig::new(d_input, d_output).with_density(1.0).init(&device);
        let out = layer.forward(Tensor::ones([COUNT, d_input], &device)) * terms(d_output, &device);
        let grads = out.sum().backward();
        check("SparseLinear", layer.bias.unwrap().val().grad(&grads).unwrap(), 64);
        let norm = GraphNormConfig::new(d_output).init(&device);
        let graphs = IndexPlan::new(Tensor::zeros([COUNT], &device.clone().inner()), 1).unwrap();
        let out = norm.forward(Tensor::ones([COUNT, d_output], &device), &graphs) * terms(d_output, &device);
        check("GraphNorm", norm.beta.val().grad(&out.sum().backward()).unwrap(), 64);
    }
}
