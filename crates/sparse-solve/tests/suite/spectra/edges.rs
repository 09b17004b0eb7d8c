//! Starts, scales and values that need care.

use super::helpers::{grid, list, near, of_grid};
use crate::random::dense;
use crate::refused::told;
use burn::tensor::{DType, Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{
    EigsConfig, EigshConfig, EigshMethod, LinearOperator, Operator, SpectrumHints, SvdsConfig, Which, jacobi,
    svd_lowrank,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn noise(rows: usize, cols: usize, dtype: DType) -> Tensor<2> {
    let at = |at: usize| ((at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / f64::from(1 << 23) - 1.0;
    dense(&(0..rows * cols).map(at).collect::<Vec<_>>(), [rows, cols], dtype)
}

fn diagonal(list: &[f64], dtype: DType) -> CsrTensor<2> {
    CsrTensor::<2>::from_diagonal(dense::<1>(list, [list.len()], dtype))
}

/// More columns than the basis has.
#[test]
fn wide_starts() {
    let a = grid(&[200], DType::F64);
    let start = || SpectrumHints { start: Some(noise(200, 60, DType::F64)), ..SpectrumHints::default() };
    let all = of_grid(&[200]);
    let want: Vec<f64> = all.iter().rev().take(3).copied().collect();
    let pairs = EigshConfig::new(3).with_which(Which::Largest).try_solve_with(&a, start()).unwrap();
    near(&list(&pairs.values), &want, 1e-6);
    near(&list(&SvdsConfig::new(3).try_solve_with(&a, start()).unwrap().values), &want, 1e-6);
    near(&list(&EigsConfig::new(3).try_solve_with(&a, start()).unwrap().real), &want, 1e-6);
}

/// From eigenvectors that are others.
#[test]
fn lobpcg_from_other_eigenvectors() {
    let (a, all) = (grid(&[90], DType::F64), of_grid(&[90]));
    let lanczos = EigshConfig::new(8).with_relative(1e-9).solve(&a);
    let start = Some(lanczos.vectors.narrow(1, 4, 4));
    let config = EigshConfig::new(4).with_method(EigshMethod::Lobpcg);
    let pairs = config.try_solve_with(&a, SpectrumHints { start, ..SpectrumHints::default() }).unwrap();
    near(&list(&pairs.values), &all[..4], 1e-7);
}

/// A product with a block in each iteration, and one where the kept ones are made anew: every twentieth iteration and
/// at the end. Three more: of random columns before it begins, of the start, and of the residuals in the report.
#[test]
fn lobpcg_has_one_product_an_iteration() {
    let n = 200;
    let (a, calls) = (Operator::from(grid(&[n], DType::F32)), Arc::new(AtomicUsize::new(0)));
    let counted = calls.clone();
    let apply = move |_: &Tensor<1>, x: Tensor<2>| {
        assert!(x.dims()[1] > 0, "a product of nothing");
        counted.fetch_add(1, Ordering::Relaxed);
        a.try_apply(x).unwrap()
    };
    let apart = dense(&[1.0], [1], DType::F32);
    let a = Operator::from_fn([n, n], apart, apply.clone(), Some(apply));
    let pairs =
        EigshConfig::new(2).with_method(EigshMethod::Lobpcg).with_which(Which::Largest).with_relative(1e-4).solve(&a);
    let iterations = pairs.report.iterations;
    assert!(iterations > 20);
    assert_eq!(calls.load(Ordering::Relaxed), iterations + (iterations + 1) / 20 + 1 + 3, "{iterations}");
}

#[test]
fn hints_of_any_scale() {
    let all = of_grid(&[50]);
    for factor in [1e-25, 1.0, 1e25] {
        let a = grid(&[50], DType::F32).mul_scalar(factor);
        let preconditioner = jacobi(&a);
        for scale in [1e25, 1e-30] {
            let start = Some(noise(50, 2, DType::F32).mul_scalar(scale));
            let deflate = Some(noise(50, 1, DType::F32).mul_scalar(scale));
            let preconditioner = Some(&preconditioner as _);
            let config = EigshConfig::new(2).with_method(EigshMethod::Lobpcg).with_which(Which::Largest);
            let config = config.with_relative(1e-5);
            let hints = SpectrumHints { preconditioner, start, ..SpectrumHints::default() };
            let values: Vec<f64> =
                list(&config.try_solve_with(&a, hints).unwrap().values).iter().map(|value| value / factor).collect();
            near(&values, &[all[49], all[48]], 1e-3);
            let hints = SpectrumHints { deflate, ..SpectrumHints::default() };
            let config = config.with_relative(1e-4);
            assert!(list(&config.try_solve_with(&a, hints).unwrap().values)[0] / factor < all[49]);
        }
    }
}

/// The gradient of a vector of `s A` is that of `A` by `s`.
#[test]
fn gradients_of_small_matrices() {
    let device = Device::flex().autodiff();
    let gradient = |scale: f64| -> Vec<f64> {
        let numbers: Vec<f32> = (0..40).map(|at| (f64::from(at * at + 3 * at) * 0.01 * scale) as f32).collect();
        let d = Tensor::<1>::from_floats(&numbers[..], &device).require_grad();
        let a = Operator::from(CsrTensor::<2>::from_diagonal(d.clone()));
        let ones = Tensor::<2>::ones([40, 1], &device).mul_scalar(0.1 * scale.sqrt());
        let a = a + Operator::from(ones.clone()) * Operator::from(ones.swap_dims(0, 1));
        let v = EigshConfig::new(2).with_which(Which::Largest).solve(&a).vectors;
        list(&d.grad(&v.powi_scalar(4).sum().backward()).unwrap()).iter().map(|own| own * scale).collect()
    };
    near(&gradient(1e-25), &gradient(1.0), 1e-3);
}

/// A large mass makes vectors short: distinct values stay distinct.
#[test]
fn gradients_with_masses_of_any_size() {
    let device = Device::flex().autodiff();
    let gradient = |size: f64| -> Vec<f64> {
        let options = (&device, DType::F64);
        let d = Tensor::<1>::from_data([1.0, 2.0, 3.0, 4.0], options).require_grad();
        let a = Operator::from(CsrTensor::<2>::from_diagonal(d.clone()));
        let a = a + Operator::from(Tensor::<2>::ones([4, 4], options) * 0.3);
        let mass = diagonal(&[size; 4], DType::F64);
        let hints = SpectrumHints { mass: Some(&mass), ..SpectrumHints::default() };
        let config = EigshConfig::new(2).with_method(EigshMethod::Lobpcg);
        let v = config.try_solve_with(&a, hints).unwrap().vectors * size.sqrt();
        list(&d.grad(&v.powi_scalar(4).sum().backward()).unwrap())
    };
    near(&gradient(1e16), &gradient(1.0), 1e-8);
}

/// Vectors that are left out and are no eigenvectors, with an inverse.
#[test]
fn an_inverse_without_a_vector() {
    let numbers: Vec<f64> = (1..=40).map(f64::from).collect();
    let a = diagonal(&numbers, DType::F64);
    let inverse = diagonal(&numbers.iter().map(|own| own.recip()).collect::<Vec<_>>(), DType::F64);
    let ones = || Some(Tensor::<2>::ones([40, 1], (&Device::flex(), DType::F64)));
    let plain = SpectrumHints { deflate: ones(), ..SpectrumHints::default() };
    let want = list(&EigshConfig::new(3).with_relative(1e-9).try_solve_with(&a, plain).unwrap().values);
    let hints = SpectrumHints { deflate: ones(), inverse: Some(&inverse), ..SpectrumHints::default() };
    let config = EigshConfig::new(3).with_which(Which::Near(0.0)).with_relative(1e-9);
    near(&list(&config.try_solve_with(&a, hints).unwrap().values), &want, 1e-8);
}

#[test]
fn singular_values_of_zero() {
    let mut numbers: Vec<f64> = (0..50).map(|at| 1.0 + 0.1 * f64::from(at)).collect();
    numbers[7] = 0.0;
    let a = diagonal(&numbers, DType::F64);
    let found = SvdsConfig::new(2).with_which(Which::Smallest).solve(&a);
    near(&list(&found.values), &[0.0, 1.0], 1e-6);
}

#[test]
fn gradients_of_low_rank_of_noise() {
    for (dtype, device) in [DType::F32, DType::F64].map(|dtype| (dtype, Device::flex().autodiff())) {
        let a = Tensor::<2>::from_data(noise(40, 30, dtype).into_data(), (&device, dtype)).require_grad();
        let found = svd_lowrank(&CsrTensor::<2>::from_dense(a.clone()), 3);
        let grads = (found.left.powi_scalar(4).sum() + found.values.sum()).backward();
        assert!(list(&a.grad(&grads).unwrap()).iter().all(|own| own.is_finite()));
    }
}

/// Two identical conjugate pairs stay whole.
#[test]
fn conjugate_pairs_that_are_there_twice() {
    let mut all = vec![0.0; 36];
    for k in [0, 2] {
        (all[7 * k], all[7 * k + 1], all[7 * k + 6], all[7 * k + 7]) = (1.0, 2.0, -2.0, 1.0);
    }
    (all[28], all[35]) = (0.5, 0.25);
    let pairs = EigsConfig::new(2).solve(&CsrTensor::<2>::from_dense(dense(&all, [6, 6], DType::F64)));
    near(&list(&pairs.imag), &[2.0, -2.0], 1e-10);
}

/// Also where the basis is large.
#[test]
fn the_most_iterations_between_restarts() {
    let a = grid(&[300], DType::F64);
    let config = EigshConfig::new(2).with_basis(Some(200)).with_max_iterations(Some(5)).with_accept_unsolved(true);
    assert_eq!(config.solve(&a).report.iterations, 5);
    let mut seen = 0;
    let mut progress = |_: usize, _: f64| {
        seen += 1;
        seen < 3
    };
    let hints = SpectrumHints { progress: Some(&mut progress), ..SpectrumHints::default() };
    assert_eq!(config.with_max_iterations(None).try_solve_with(&a, hints).unwrap().report.iterations, 3);
    let config = SvdsConfig::new(2).with_basis(Some(200)).with_max_iterations(Some(5)).with_accept_unsolved(true);
    assert_eq!(config.solve(&a).report.iterations, 5);
}

#[test]
fn masses_that_are_indefinite() {
    let a = grid(&[60], DType::F64);
    let mass: Vec<f64> = (0..60).map(|at| if at % 2 == 0 { 1.0 } else { -1.5 }).collect();
    let mass = diagonal(&mass, DType::F64);
    let hints = SpectrumHints { mass: Some(&mass), ..SpectrumHints::default() };
    let config = EigshConfig::new(2).with_method(EigshMethod::Lobpcg);
    told(config.try_solve_with(&a, hints), "invalid", "positive definite");
}

/// Seeds at the end of the range.
#[test]
fn any_seed() {
    let a = grid(&[60], DType::F64);
    let want = of_grid(&[60])[59];
    let got = EigshConfig::new(1).with_which(Which::Largest).with_seed(usize::MAX).solve(&a);
    near(&list(&got.values), &[want], 1e-6);
}
