//! Sparse linear systems.

use burn::tensor::{DType, Device, Tensor, TensorData};
use sparse_autograd::gradcheck;
use sparse_tensor::data::karate;
use sparse_tensor::ops::ConjugateGradientConfig;
use sparse_tensor::{CooTensor, CsrTensor, Fill, SparseError};

fn exact() -> ConjugateGradientConfig {
    ConjugateGradientConfig::new().with_tolerance(1e-13)
}

/// `D - A + I` of weights `[5]` of the edges of a small graph.
fn system(weights: Tensor<1>) -> CsrTensor<2> {
    let half = CooTensor::<2>::from_edges(&[(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)], weights, 4).unwrap().to_csr();
    let edges = half.add(&half.transpose());
    CsrTensor::from_diagonal(edges.row_sums() + 1.0).sub(&edges)
}

fn kind<T>(result: Result<T, SparseError>) -> &'static str {
    result.err().expect("an error").kind()
}

/// What is solved is not what multiplies: the residual, by dense tensors.
#[test]
fn solutions_solve() {
    let device = Device::flex();
    let edges = karate(&device).adjacency.cast(burn::tensor::FloatDType::F64);
    let a = CsrTensor::from_diagonal(edges.row_sums() + 1.0).sub(&edges);
    let numbers: Vec<f64> = (0..34 * 3).map(|k| if k % 3 == 1 { 0.0 } else { f64::from(k * 29 % 17) - 8.0 }).collect();
    let b = Tensor::<2>::from_data(TensorData::new(numbers, [34, 3]), (&device, DType::F64));
    let x = exact().solve(&a, b.clone());
    let left = (a.to_dense().matmul(x.clone()) - b.clone()).abs().max().into_scalar::<f64>();
    assert!(left < 1e-11, "{left}");
    // A column of zeros has the solution 0, and a vector the solution of its column.
    assert_eq!(x.clone().narrow(1, 1, 1).abs().max().into_scalar::<f64>(), 0.0);
    let one = exact().solve(&a, b.narrow(1, 2, 1).squeeze_dim::<1>(1));
    assert!((one - x.narrow(1, 2, 1).squeeze_dim::<1>(1)).abs().max().into_scalar::<f64>() < 1e-11);
}

/// A solved column waits for the others, and neither tiny nor huge right-hand sides are lost in f32.
#[test]
fn columns_of_any_size_are_solved_together() {
    let device = Device::flex();
    let n = 60;
    // An easy block, whose column is solved in one step, and a chain that takes many.
    let mut rows = vec![0.0f32; n * n];
    for k in 0..n {
        rows[k * n + k] = if k < 10 { 1e-3 } else { 2.001 };
        if k > 10 {
            rows[k * n + k - 1] = -1.0;
            rows[(k - 1) * n + k] = -1.0;
        }
    }
    let dense = Tensor::<2>::from_data(TensorData::new(rows, [n, n]), &device);
    let a = CsrTensor::<2>::from_dense(dense);
    for scale in [1e-30f32, 1.0, 1e25] {
        let b: Vec<f32> = (0..2 * n).map(|k| if (k % 2 == 0) == (k / 2 < 10) { scale } else { 0.0 }).collect();
        let b = Tensor::<2>::from_data(TensorData::new(b, [n, 2]), &device);
        let x = ConjugateGradientConfig::new().solve(&a, b.clone());
        let left = (a.matmul(x) - b).abs().max().into_scalar::<f32>();
        assert!(left <= 1e-3 * scale, "{left:e} for {scale:e}");
    }
}

#[test]
fn gradients_reach_the_matrix_and_the_right_side() {
    let weights = TensorData::from([0.7f64, 1.3, 0.4, 2.0, 0.9]);
    let right = TensorData::from([[1.0f64, -2.0], [0.5, 3.0], [-1.0, 0.2], [0.3, 0.1]]);
    for device in [Device::flex().autodiff(), Device::flex().autodiff().gradient_checkpointing()] {
        gradcheck(&device, &[weights.clone(), right.clone()], |xs| {
            exact().solve(&system(xs[0].tensor::<1>()), xs[1].tensor::<2>())
        })
        .unwrap();
    }
}

#[test]
fn bad_systems_are_errors() {
    let device = Device::flex();
    let matrix = |rows: [[f32; 2]; 2]| CsrTensor::<2>::from_dense(Tensor::from_floats(rows, &device));
    let b = || Tensor::<1>::from_floats([1.0, 1.0], &device);
    let solve = ConjugateGradientConfig::new();
    let good = matrix([[2.0, 1.0], [1.0, 3.0]]);
    assert_eq!(kind(solve.try_solve(&matrix([[1.0, 0.0], [0.0, -1.0]]), b())), "invalid");
    assert_eq!(kind(solve.try_solve(&matrix([[f32::NAN, 0.0], [0.0, 1.0]]), b())), "invalid");
    let trouble = solve.clone().with_max_iterations(Some(1)).try_solve(&good, b()).unwrap_err().to_string();
    assert!(trouble.contains("more than 1 iterations"), "{trouble}");
    assert_eq!(kind(solve.try_solve(&good, Tensor::<1>::ones([3], &device))), "shape_mismatch");
    assert_eq!(kind(solve.try_solve(&good, Tensor::<3>::ones([2, 1, 1], &device))), "shape_mismatch");
    assert_eq!(kind(solve.try_solve(&CsrTensor::<2>::zeros([2, 3], &device), b())), "shape_mismatch");
    assert_eq!(kind(solve.try_solve(&good.clone().with_fill(Fill::scalar(1.0)), b())), "fill_mismatch");
    assert_eq!(kind(solve.try_solve(&good, b().cast(DType::F64))), "dtype_mismatch");
    let half = good.cast(burn::tensor::FloatDType::F16);
    assert_eq!(kind(solve.try_solve(&half, b().cast(DType::F16))), "unsupported_dtype");
    // No rows, and no columns.
    let none = CsrTensor::<2>::zeros([0, 0], &device);
    assert_eq!(solve.solve(&none, Tensor::<1>::zeros([0], &device)).dims(), [0]);
    assert_eq!(solve.solve(&good, Tensor::<2>::zeros([2, 0], &device)).dims(), [2, 0]);
}
