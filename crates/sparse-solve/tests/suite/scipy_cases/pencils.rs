//! `_eigen/lobpcg/tests/test_lobpcg.py`: pencils whose values are known, vectors that are left out, starts.

use super::matrices::{F64, banded, csr, diagonal, full, noise};
use crate::random::dense;
use crate::refused::told;
use crate::spectra::helpers::{list, near, wrong};
use burn::tensor::{DType, Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{
    Boundary, EigshConfig, EigshMethod, Factorization, SpectrumHints, Which, factorize, laplacian,
};
use std::f64::consts::PI;

fn lobpcg(count: usize, which: Which) -> EigshConfig {
    EigshConfig::new(count).with_which(which).with_method(EigshMethod::Lobpcg)
}

/// By `Lobpcg` with the inverse of `a` as the preconditioner, and near zero.
fn smallest(a: &CsrTensor<2>, mass: Option<&CsrTensor<2>>, want: &[f64], relative: f64) {
    let inverse = factorize(a, Factorization::Cholesky);
    for method in [EigshMethod::Lobpcg, EigshMethod::Lanczos] {
        let config = match method {
            EigshMethod::Lobpcg => lobpcg(want.len(), Which::Smallest),
            EigshMethod::Lanczos => EigshConfig::new(want.len()).with_which(Which::Near(0.0)),
        };
        let hints = SpectrumHints {
            mass: mass.map(|own| own as _),
            preconditioner: (method == EigshMethod::Lobpcg).then_some(&inverse as _),
            inverse: (method == EigshMethod::Lanczos).then_some(&inverse as _),
            ..SpectrumHints::default()
        };
        let pairs = config.with_relative(1e-9).try_solve_with(a, hints).unwrap();
        let quotients: Vec<f64> = list(&pairs.values).iter().zip(want).map(|(got, want)| got / want).collect();
        near(&quotients, &vec![1.0; want.len()], relative);
        let [_, skew] = wrong(a, mass.map(|own| own as _), &pairs.values, &pairs.vectors);
        assert!(skew < 1e-8, "{method:?} {skew:e}");
    }
}

/// `test_ElasticRod`: a rod that is fixed at one end, with its mass; sizes from 1e-4 to 1e9.
#[test]
fn an_elastic_rod() {
    for n in [10, 20, 60] {
        let (length, density, section, modulus) = (1.0 / n as f64, 7.85e3, 1e-4, 2.1e11);
        let (weight, stiffness) = (density * section * length / 6.0, modulus * section / length);
        let end = |k: usize| if k + 1 == n { 0.5 } else { 1.0 };
        let a = banded(n, &[(-1, &|_| -stiffness), (0, &|k| 2.0 * stiffness * end(k)), (1, &|_| -stiffness)]);
        let b = banded(n, &[(-1, &|_| weight), (0, &|k| 4.0 * weight * end(k)), (1, &|_| weight)]);
        let value = |k: u32| {
            let cos = (f64::from(2 * k - 1) * PI / (2 * n) as f64).cos();
            stiffness / weight * (1.0 - cos) / (2.0 + cos)
        };
        smallest(&csr(&a, [n, n], F64), Some(&csr(&b, [n, n], F64)), &[value(1), value(2)], 1e-7);
    }
}

/// `test_MikotaPair`: the values are 1, 4, 9, ..
#[test]
fn mikotas_pair() {
    for n in [10, 50] {
        let down = |k: usize| (n - k) as f64;
        let k = banded(n, &[(-1, &|k| -(down(k) - 1.0)), (0, &|k| 2.0 * down(k) - 1.0), (1, &|k| -down(k))]);
        let m = diagonal(&(1..=n).map(|k| 1.0 / k as f64).collect::<Vec<_>>(), F64);
        smallest(&csr(&k, [n, n], F64), Some(&m), &[1.0, 4.0, 9.0], 1e-7);
    }
}

/// `test_sakurai`, `test_sakurai_inverse`: `16 cos^4`, of which the smallest are a millionth of the largest.
#[test]
fn sakurais_matrix() {
    for n in [6, 50] {
        let end = |k: usize| if k == 0 || k + 1 == n { 5.0 } else { 6.0 };
        let a = banded(n, &[(-2, &|_| 1.0), (-1, &|_| -4.0), (0, &end), (1, &|_| -4.0), (2, &|_| 1.0)]);
        let value = |k: usize| 16.0 * ((n - k) as f64 * PI / (2 * (n + 1)) as f64).cos().powi(4);
        smallest(&csr(&a, [n, n], F64), None, &[value(0), value(1), value(2)], 1e-6);
    }
}

/// `test_diagonal`: the first vectors are left out, the preconditioner is the inverse.
#[test]
fn a_diagonal_without_its_first_values() {
    for (n, count, excluded) in [(30, 4, 3), (4, 2, 0)] {
        let all: Vec<f64> = (1..=n).map(|k| k as f64).collect();
        let (a, mass) = (diagonal(&all, F64), diagonal(&vec![1.0; n], F64));
        let inverse = diagonal(&all.iter().map(|own| own.recip()).collect::<Vec<_>>(), F64);
        let unit: Vec<f64> = (0..n * excluded).map(|at| f64::from(u8::from(at / excluded == at % excluded))).collect();
        for with in [None, Some(&mass)] {
            let hints = SpectrumHints {
                mass: with.map(|own| own as _),
                preconditioner: Some(&inverse),
                deflate: (excluded > 0).then(|| dense(&unit, [n, excluded], F64)),
                ..SpectrumHints::default()
            };
            let pairs = lobpcg(count, Which::Smallest).with_relative(1e-8).try_solve_with(&a, hints).unwrap();
            near(&list(&pairs.values), &all[excluded..excluded + count], 1e-8);
        }
    }
}

/// `_check_fiedler`: a path, from its exact vectors, and from the constant with a guess of the second one.
#[test]
fn fiedlers_vector() {
    for n in [8, 12, 60] {
        let a = laplacian(&[n], Boundary::Neumann, (&Device::flex(), F64)).unwrap();
        let value = |k: usize| 2.0 - 2.0 * (PI * k as f64 / n as f64).cos();
        let vectors = |columns: [usize; 2]| -> Vec<f64> {
            let at = |at: usize| (PI * (at / 2) as f64 + PI / 2.0) * columns[at % 2] as f64 / n as f64;
            (0..2 * n).map(|cell| at(cell).cos()).collect()
        };
        let guess: Vec<f64> = (0..2 * n).map(|at| if at % 2 == 0 || at < n { 1.0 } else { -1.0 }).collect();
        for (which, start, want) in [
            (Which::Smallest, vectors([0, 1]), [0.0, value(1)]),
            (Which::Largest, vectors([n - 1, n - 2]), [value(n - 1), value(n - 2)]),
            (Which::Smallest, guess, [0.0, value(1)]),
        ] {
            let hints = SpectrumHints { start: Some(dense(&start, [n, 2], F64)), ..SpectrumHints::default() };
            let pairs = lobpcg(2, which).with_relative(1e-9).try_solve_with(&a, hints).unwrap();
            near(&list(&pairs.values), &want, 1e-11);
        }
    }
}

/// `test_regression`, `test_eigsh_consistency`, `test_tolerance_float32`, `test_failure_to_run_iterations`.
#[test]
fn easy_and_hard_ones() {
    let ones = || SpectrumHints {
        start: Some(Tensor::<2>::ones([10, 1], (&Device::flex(), F64))),
        ..SpectrumHints::default()
    };
    let found = lobpcg(1, Which::Largest).try_solve_with(&diagonal(&[1.0; 10], F64), ones()).unwrap();
    near(&list(&found.values), &[1.0], 1e-14);

    let up: Vec<f64> = (1..=50).map(f64::from).collect();
    for n in [20, 50] {
        for method in [EigshMethod::Lobpcg, EigshMethod::Lanczos] {
            let config = EigshConfig::new(2).with_which(Which::Largest).with_method(method).with_relative(1e-10);
            near(&list(&config.solve(&diagonal(&up[..n], F64)).values), &[n as f64, n as f64 - 1.0], 1e-12);
        }
    }
    let down: Vec<f64> = up.iter().map(|own| -own).collect();
    let found = lobpcg(3, Which::Largest).with_relative(1.25e-5).solve(&diagonal(&down, DType::F32));
    near(&list(&found.values), &[-1.0, -2.0, -3.0], 5e-5);

    // A matrix of rank 10 whose largest values are asked for, to the last digit.
    let (n, rank) = (100, 10);
    let x = noise(n * rank, 0);
    let at = |i: usize, j: usize| (0..rank).map(|k| (x[i * rank + k] - 0.5) * (x[j * rank + k] - 0.5)).sum::<f64>();
    let a = CsrTensor::<2>::from_dense(dense(&(0..n * n).map(|c| at(c / n, c % n)).collect::<Vec<_>>(), [n, n], F64));
    let pairs = lobpcg(4, Which::Largest).with_relative(1e-12).solve(&a);
    let [off, skew] = wrong(&a, None, &pairs.values, &pairs.vectors);
    assert!(off < 1e-10 && skew < 1e-10 && list(&pairs.values)[3] > 1.0, "{off:e} {skew:e}");
}

/// `test_nonhermitian_warning`, `test_failure_to_run_iterations_nonsymmetric`: what SciPy warns of is an error.
#[test]
fn matrices_that_are_not_symmetric() {
    let mut corner = [[0.0; 10]; 10];
    corner[0][1] = 1.0;
    let mut numbers = [[0.0; 10]; 10];
    (0..100).for_each(|at| numbers[at / 10][at % 10] = f64::from(at as u32));
    for rows in [corner, numbers] {
        let config = lobpcg(1, Which::Largest);
        told(config.try_solve(&full(rows, F64)), "invalid", "symmetric");
    }
}
