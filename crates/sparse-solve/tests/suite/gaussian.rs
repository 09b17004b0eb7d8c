//! Gaussian Markov fields against dense formulas and central differences.

use crate::factors::{inverse, list, near};
use crate::gradients::{ends, with_values};
use crate::random::{Kind, dense, matrix, numbers, product};
use crate::refused::told;
use burn::tensor::{DType, Device, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::gradients::check;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Boundary, SparseGaussian, laplacian};

fn field(rows: &[i64], cols: &[i64], values: Tensor<1>, mean: Tensor<1>) -> SparseGaussian {
    let n = mean.dims()[0];
    let a = with_values(rows, cols, values, [n, n]);
    SparseGaussian::new(&a.add(&a.transpose()).mul_scalar(0.5), mean)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn agree_with_dense_formulas(
        n in 1usize..6,
        entries in numbers(25),
        mean in prop::collection::vec(-2.0f64..2.0, 5),
        x in prop::collection::vec(-2.0f64..2.0, 10),
    ) {
        let q = matrix(Kind::Positive, n, &entries);
        let (covariance, det) = inverse(n, &q);
        let tensor = |list: &[f64]| dense::<1>(list, [n], DType::F64);
        let field = SparseGaussian::new(&CsrTensor::<2>::from_dense(dense(&q, [n, n], DType::F64)), tensor(&mean[..n]));
        let constant = n as f64 * (2.0 * std::f64::consts::PI).ln();
        let want: Vec<f64> = x[..2 * n].chunks(n).map(|x| {
            let away: Vec<f64> = x.iter().zip(&mean).map(|(x, mean)| x - mean).collect();
            let image = product(&q, &away, [n, n, 1]);
            (det.ln() - constant - away.iter().zip(&image).map(|(x, y)| x * y).sum::<f64>()) / 2.0
        }).collect();
        near(&list(field.log_prob(dense::<2>(&x[..2 * n], [2, n], DType::F64))), &want, 1e-9);
        near(&list(field.entropy()), &[(n as f64 + constant - det.ln()) / 2.0], 1e-9);
        let diagonal: Vec<f64> = (0..n).map(|k| covariance[k * n + k]).collect();
        near(&list(field.variance()), &diagonal, 1e-9);
        // The sum of x x^T over unit vectors is the covariance.
        let eye: Vec<f64> = (0..n * n).map(|cell| f64::from(u8::from(cell % (n + 1) == 0))).collect();
        let away = field.with_noise(dense::<2>(&eye, [n, n], DType::F64)) - field.mean().reshape([1, n]);
        near(&list(away.clone().swap_dims(0, 1).matmul(away)), &covariance, 1e-9);
    }

    #[test]
    fn gradients(
        entries in numbers(16),
        mean in prop::collection::vec(-2.0f64..2.0, 4),
        x in prop::collection::vec(-2.0f64..2.0, 8),
        what in 0usize..4,
        pick in 0usize..4,
    ) {
        let (rows, cols, values) = ends(&matrix(Kind::Positive, 4, &entries), 4);
        let count = values.len();
        let [values, mean] = [(values, count), (mean, 4)].map(|(list, length)| TensorData::new(list, [length]));
        let points = TensorData::new(x.clone(), [2, 4]);
        match what {
            0 => check(pick, &[values, mean, points], |xs| {
                field(&rows, &cols, xs[0].tensor(), xs[1].tensor()).log_prob(xs[2].tensor())
            })?,
            1 => check(pick, &[values, mean], |xs| {
                let mean = xs[1].tensor::<1>();
                let noise = Tensor::<2>::from_data(points.clone(), (&mean.device(), mean.dtype()));
                field(&rows, &cols, xs[0].tensor(), mean).with_noise(noise)
            })?,
            _ => check(pick, &[values], |xs| {
                let values = xs[0].tensor::<1>();
                let mean = Tensor::<1>::zeros([4], (&values.device(), values.dtype()));
                let field = field(&rows, &cols, values, mean);
                if what == 2 { field.entropy() } else { field.variance() }
            })?,
        }
    }
}

/// With blocks of columns: of `(1 + t) Q` the points are `(1 + t)^-1/2` times those of `Q`; and differences along the
/// identity.
#[test]
fn gradients_of_large_samples() {
    let device = Device::flex().autodiff();
    let options = (&device, DType::F64);
    let q = laplacian(&[12, 12, 11], Boundary::Dirichlet, options).unwrap().require_grad();
    let n = q.dims()[0];
    let wave = |speed: f64| (0..n).map(|k| (k as f64 * speed).sin()).collect::<Vec<_>>();
    let row = |list: Vec<f64>| Tensor::<2>::from_data(TensorData::new(list, [1, n]), options);
    let (noise, weights) = (|| row(wave(1.3)), || row(wave(0.7)));
    let total = |q: &CsrTensor<2>| {
        let field = SparseGaussian::new(q, Tensor::zeros([n], options));
        (field.with_noise(noise()) * weights()).sum()
    };
    let sum = total(&q);
    let grad = q.grad(&sum.clone().backward()).unwrap();
    let number = |x: Tensor<1>| list(x.inner())[0];
    let along = list((grad.values::<1>() * q.values::<1>().inner()).sum());
    near(&along, &[-0.5 * number(sum)], 1e-10);
    let step = 1e-5;
    let moved = |step: f64| number(total(&q.clone().add(&CsrTensor::eye(n, options).mul_scalar(step))));
    let want = (moved(step) - moved(-step)) / (2.0 * step);
    near(&[list(grad.diagonal())[..].iter().sum()], &[want], 1e-7);
}

#[test]
fn samples() {
    let device = Device::flex();
    let q = laplacian(&[4, 5], Boundary::Dirichlet, &device).unwrap();
    let field = SparseGaussian::new(&q, Tensor::full([20], 3.0, &device));
    device.seed(7);
    let points = field.sample(4000);
    let means = list(points.clone().mean_dim(0));
    // Variances are below 0.7, so the deviation of a mean is below 0.014.
    assert!(means.iter().all(|mean| (mean - 3.0).abs() < 0.1));
    // The deviation of a variance is its sqrt(2 / 4000), 2.2 %.
    let spread = list((points.clone() - 3.0).square().mean_dim(0));
    for (spread, variance) in spread.iter().zip(list(field.variance())) {
        assert!((spread / variance - 1.0).abs() < 0.12, "{spread} and {variance}");
    }
    // Neighbours vary together.
    let pair = list(((points.clone().narrow(1, 0, 1) - 3.0) * (points.clone().narrow(1, 1, 1) - 3.0)).mean());
    let covariance = list(field.factor().inv().narrow(0, 0, 1).narrow(1, 1, 1));
    assert!((pair[0] - covariance[0]).abs() < 0.03, "{pair:?} and {covariance:?}");
    let (again, other) = (|| field.sample(4000), list(points));
    assert_ne!(list(again()), other, "the numbers go on");
    device.seed(7);
    assert!(list(again()) == other, "the same seed");
    device.seed(8);
    assert_ne!(list(again()), other, "another seed");
    assert_eq!(field.sample(0).dims(), [0, 20]);
    let none = SparseGaussian::new(&CsrTensor::<2>::zeros([0, 0], &device), Tensor::zeros([0], &device));
    assert_eq!(none.sample(2).dims(), [2, 0]);
    assert_eq!(list(none.entropy()), [0.0]);
    let tape = CsrTensor::<2>::zeros([0, 0], &device.clone().autodiff()).require_grad();
    let of_nothing = SparseGaussian::new(&tape, Tensor::zeros([0], &device.clone().autodiff()));
    assert_eq!(tape.grad(&of_nothing.sample(2).sum().backward()).unwrap().nnz(), 0);
}

#[test]
fn what_they_refuse() {
    let device = Device::flex();
    let q = laplacian(&[3], Boundary::Dirichlet, &device).unwrap();
    told(SparseGaussian::try_new(&q, Tensor::zeros([2], &device)), "shape_mismatch", "mean");
    told(SparseGaussian::try_new(&q, Tensor::zeros([3], (&device, DType::F64))), "dtype_mismatch", "f64");
    let negative = q.clone().mul_scalar(-1.0);
    told(SparseGaussian::try_new(&negative, Tensor::zeros([3], &device)), "invalid", "positive definite");
    let field = SparseGaussian::new(&q, Tensor::zeros([3], &device));
    told(field.try_log_prob(Tensor::zeros([1, 2], &device)), "shape_mismatch", "points");
    told(field.try_with_noise(Tensor::zeros([1, 2], &device)), "shape_mismatch", "points");
}
