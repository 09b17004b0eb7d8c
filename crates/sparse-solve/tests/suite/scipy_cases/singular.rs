//! `_eigen/tests/test_svds.py`.

use super::matrices::{F64, banded, csr, diagonal, full, noise};
use crate::random::{dense, product};
use crate::refused::told;
use crate::spectra::helpers::{list, near};
use burn::tensor::{DType, Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{LinearOperator, SingularTriplets, SvdsConfig, Which, svds, try_svds};
use std::f64::consts::PI;

/// `_check_svds`: columns of length 1 that are normal to each other, and both residuals.
fn check(a: &dyn LinearOperator, found: &SingularTriplets, want: &[f64], tolerance: f64) {
    near(&list(&found.values), want, tolerance);
    let (k, [m, n]) = (want.len(), a.dims());
    assert_eq!((found.left.dims(), found.right.dims()), ([m, k], [n, k]));
    let scales = || found.values.clone().reshape([1, k]);
    let residuals = [
        a.try_apply(found.right.clone()).unwrap() - found.left.clone() * scales(),
        a.try_apply_transposed(found.left.clone()).unwrap() - found.right.clone() * scales(),
    ];
    residuals.iter().for_each(|own| assert!(list(&own.clone().abs().max())[0] <= tolerance));
    for own in [&found.left, &found.right] {
        let gram = list(&own.clone().transpose().matmul(own.clone()));
        let unit: Vec<f64> = (0..k * k).map(|at| f64::from(u8::from(at % (k + 1) == 0))).collect();
        near(&gram, &unit, tolerance);
    }
}

/// `test_svds_int_A`, `test_svd_simple`, `test_svds_parameter_k_which`: both ends, both ways round, all of them too,
/// which of SciPy's solvers one gives.
#[test]
fn small_matrices() {
    let a1 = full([[1.0, 2.0, 3.0], [3.0, 4.0, 3.0], [1.0, 0.0, 2.0], [0.0, 0.0, 1.0]], F64);
    let a2 = full([[1.0, 2.0, 3.0, 8.0], [3.0, 4.0, 3.0, 5.0], [1.0, 0.0, 2.0, 3.0], [0.0, 0.0, 1.0, 0.0]], F64);
    let first = [7.048_581_483_771_189, 1.905_235_644_084_437_4, 0.829_202_150_954_850_5];
    let second = [11.893_226_733_490_337, 2.875_315_108_519_411_3, 1.392_027_941_570_694_6, 0.588_199_883_030_769_5];
    let int = [5.464_985_704_219_043, 0.365_966_190_626_257_5];
    for (a, want) in [(&a1, &first[..]), (&a2, &second), (&full([[1.0, 2.0], [3.0, 4.0]], F64), &int)] {
        for a in [a.clone(), CsrTensor::<2>::from_dense(a.to_dense().transpose())] {
            for k in 1..=want.len() {
                check(&a, &svds(&a, k), &want[..k], 1e-12);
                let up: Vec<f64> = want.iter().rev().take(k).copied().collect();
                check(&a, &SvdsConfig::new(k).with_which(Which::Smallest).solve(&a), &up, 1e-12);
            }
        }
    }
}

/// `test_svds_diff0_docstring_example`: the smallest values of differences `[99, 100]`, and their left vectors.
#[test]
fn differences() {
    let n = 100;
    let entries: Vec<_> = banded(n, &[(0, &|_| -1.0), (1, &|_| 1.0)]).into_iter().filter(|own| own.0 < n - 1).collect();
    let a = csr(&entries, [n - 1, n], F64);
    let want: Vec<f64> = (1..=3).map(|k| 2.0 * (PI * f64::from(k) / 200.0).sin()).collect();
    let config = SvdsConfig::new(3).with_which(Which::Smallest).with_basis(Some(60)).with_relative(1e-8);
    let found = config.solve(&a);
    check(&a, &found, &want, 1e-8);
    let left = list(&found.left);
    for (at, own) in left.iter().enumerate() {
        let (row, k) = (at / 3 + 1, at % 3 + 1);
        let want = (2.0 / n as f64).sqrt() * (PI * (row * k) as f64 / n as f64).sin();
        assert!((own.abs() - want.abs()).abs() <= 1e-6, "{at}: {own} and {want}");
    }
}

/// `test_svds_input_validation_*`: counts, tolerances, an empty matrix, a part of the spectrum.
#[test]
fn what_is_refused() {
    let a = CsrTensor::<2>::from_dense(dense(&noise(12, 1), [4, 3], F64));
    told(try_svds(&a, 0), "invalid", "at least 1");
    for k in [4, 5] {
        told(try_svds(&a, k), "invalid", "at most 3");
    }
    let eye = diagonal(&[1.0; 10], F64);
    for wrong in [-1.0, f64::INFINITY, f64::NAN] {
        told(SvdsConfig::new(1).with_relative(wrong).try_solve(&eye), "invalid", "tolerance");
    }
    told(try_svds(&CsrTensor::<2>::zeros([1, 0], &Device::flex()), 1), "invalid", "at most 0");
    for which in [Which::Near(0.0), Which::Imaginary] {
        told(SvdsConfig::new(1).with_which(which).try_solve(&eye), "invalid", "largest or the smallest");
    }
}

/// `test_svd_LM_ones_matrix`, `test_zero_matrix`: of a lower rank than asked for.
#[test]
fn ones_and_zeros() {
    for (dtype, tolerance) in [(F64, 1e-12), (DType::F32, 1e-5)] {
        for [m, n] in [[6, 5], [5, 5], [5, 6]] {
            let a = Tensor::<2>::ones([m, n], (&Device::flex(), dtype));
            check(&a, &svds(&a, 3), &[((m * n) as f64).sqrt(), 0.0, 0.0], tolerance);
        }
        for [m, n] in [[3, 4], [4, 4], [4, 3], [4, 2]] {
            let a = CsrTensor::<2>::zeros([m, n], (&Device::flex(), dtype));
            check(&a, &svds(&a, 1), &[0.0], 1e-6);
            check(&a, &SvdsConfig::new(2).with_which(Which::Smallest).solve(&a), &[0.0; 2], 1e-6);
        }
    }
}

/// `test_small_sigma2`: four of ten columns depend on others.
#[test]
fn a_space_that_is_mapped_to_zero() {
    let (n, rank) = (10, 6);
    let (x, scale) = (noise(n * rank, 17), noise(4, 18));
    let entry = |i: usize, j: usize| if j < rank { x[i * rank + j] } else { x[i * rank + j - rank] * scale[j - rank] };
    let rows: Vec<f64> = (0..n * n).map(|at| entry(at / n, at % n)).collect();
    for (dtype, tolerance) in [(F64, 1e-10), (DType::F32, 1e-5)] {
        let a = CsrTensor::<2>::from_dense(dense(&rows, [n, n], dtype));
        check(&a, &SvdsConfig::new(4).with_which(Which::Smallest).solve(&a), &[0.0; 4], tolerance);
    }
}

/// `test_small_sigma`: values of 1, 1/100, .. 1e-38 by reflections. Those that are asked for keep their digits.
#[test]
fn values_of_any_size() {
    for [m, n] in [[20, 20], [20, 21], [21, 20]] {
        let reflection = |size: usize, seed: u64| -> Vec<f64> {
            let v: Vec<f64> = noise(size, seed).iter().map(|own| own - 0.5).collect();
            let square: f64 = v.iter().map(|own| own * own).sum();
            let entry = |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * v[i] * v[j] / square;
            (0..size * size).map(|at| entry(at / size, at % size)).collect()
        };
        let middle: Vec<f64> = (0..m * n)
            .map(|at| if at / n == at % n { 100f64.powi(-i32::try_from(at / n).unwrap()) } else { 0.0 })
            .collect();
        let right = product(&middle, &reflection(n, 2), [m, n, n]);
        let a = CsrTensor::<2>::from_dense(dense(&product(&reflection(m, 1), &right, [m, m, n]), [m, n], F64));
        let found = svds(&a, 4);
        check(&a, &found, &[1.0, 1e-2, 1e-4, 1e-6], 1e-12);
        near(&[list(&found.values)[3] * 1e6], &[1.0], 1e-8);
    }
}

/// `test_svd_maxiter`: one iteration is not enough, the default is.
#[test]
fn a_limit_of_iterations() {
    let a = diagonal(&(0..90).map(f64::from).collect::<Vec<_>>(), F64);
    let config = SvdsConfig::new(1).with_basis(Some(5)).with_block(1);
    told(config.clone().with_max_iterations(Some(1)).try_solve(&a), "invalid", "0 of 1 pairs");
    check(&a, &config.with_relative(1e-10).solve(&a), &[89.0], 1e-8);
}
