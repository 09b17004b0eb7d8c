//! `_eigen/arpack/tests/test_arpack.py` and `tests/test_special_sparse_arrays.py` (class `TestLaplacianNd`).

use super::matrices::{F64, LGMRES, banded, csr, diagonal, full, noise};
use crate::random::dense;
use crate::refused::told;
use crate::spectra::helpers::{list, near, wrong};
use burn::tensor::{DType, Device};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{
    Boundary, EigsConfig, EigshConfig, EigshMethod, Which, eigs, eigsh, laplacian, try_eigs, try_eigsh,
};
use std::f64::consts::PI;

/// `1, -2, 1`, as in `test_parallel_threads`.
fn second(n: usize) -> CsrTensor<2> {
    csr(&banded(n, &[(-1, &|_| 1.0), (0, &|_| -2.0), (1, &|_| 1.0)]), [n, n], F64)
}

/// `test_parallel_threads`, `test_eigen_bad_shapes`: the default of both is the largest absolute value.
#[test]
fn of_second_differences() {
    let want: Vec<f64> = (1..=3).map(|k| -2.0 - 2.0 * (f64::from(k) * PI / 51.0).cos()).collect();
    near(&list(&EigsConfig::new(3).with_relative(1e-10).solve(&second(50)).real), &want, 1e-9);
    let pairs = EigshConfig::new(3).with_which(Which::Magnitude).with_relative(1e-10).solve(&second(50));
    near(&list(&pairs.values), &want, 1e-9);
    let flat = CsrTensor::<2>::zeros([2, 3], (&Device::flex(), F64));
    told(try_eigs(&flat, 1, Which::Magnitude), "shape_mismatch", "square");
}

/// `test_symmetric_modes`: `LM`, `LA`, `SA`, and near 0.5, of a matrix of numbers; SciPy's `SM` is near 0 here. The
/// sum of all values is the trace, and that of their squares the sum of all squares.
#[test]
fn modes_of_a_symmetric_matrix() {
    let n = 6;
    let x = noise(n * n, 1234);
    let mut rows: Vec<f64> = (0..n * n).map(|at| x[at] + x[at % n * n + at / n] - 1.0).collect();
    rows[0] += 2.0;
    for dtype in [F64, DType::F32] {
        let tolerance = if dtype == F64 { 1e-12 } else { 1e-5 };
        let a = CsrTensor::<2>::from_dense(dense(&rows, [n, n], dtype));
        let all = list(&eigsh(&a, n, Which::Smallest).values);
        let trace: f64 = (0..n).map(|k| rows[k * n + k]).sum();
        near(
            &[all.iter().sum(), all.iter().map(|own| own * own).sum()],
            &[trace, rows.iter().map(|own| own * own).sum()],
            20.0 * tolerance,
        );
        for which in [Which::Magnitude, Which::Largest, Which::Smallest, Which::Near(0.5), Which::Near(0.0)] {
            let key = |value: f64| match which {
                Which::Largest => -value,
                Which::Magnitude => -value.abs(),
                Which::Near(sigma) => (value - sigma).abs(),
                _ => value,
            };
            let mut want = all.clone();
            want.sort_by(|x, y| key(*x).total_cmp(&key(*y)));
            for k in 1..=5 {
                let pairs = eigsh(&a, k, which);
                near(&list(&pairs.values), &want[..k], tolerance);
                let [off, skew] = wrong(&a, None, &pairs.values, &pairs.vectors);
                assert!(off < 10.0 * tolerance && skew < 10.0 * tolerance, "{which:?} {off:e} {skew:e}");
            }
        }
    }
}

/// `test_gh24358`: one value of a complex pair is asked for.
#[test]
fn a_pair_is_not_cut() {
    for (dtype, tolerance) in [(F64, 1e-10), (DType::F32, 1e-4)] {
        let a = full([[-1.3, 2.7, 0.2], [0.8, 4.1, 2.2], [2.1, 4.4, -1.9]], dtype);
        let pairs = eigs(&a, 1, Which::Smallest);
        near(&list(&pairs.real), &[-2.495_689_365_014_214; 2], tolerance);
        near(&list(&pairs.imag), &[0.517_336_521_966_833_6, -0.517_336_521_966_833_6], tolerance);
    }
    // All six values of the matrix of `test_lgmres.py`.
    let want = [
        -6.778_667_935_887_885,
        -4.403_703_953_068_026,
        2.778_667_935_887_888,
        -2.621_723_463_062_302,
        -1.378_276_536_937_698,
        0.403_703_953_068_021,
    ];
    near(&list(&eigs(&full(LGMRES, F64), 6, Which::Magnitude).real), &want, 1e-12);
}

/// `test_regression_arpackng_1315`: a diagonal of 1 to 1000, by a small basis.
#[test]
fn the_largest_of_a_thousand() {
    let all: Vec<f64> = (1..=1000).map(f64::from).collect();
    let want: Vec<f64> = all.iter().rev().take(9).copied().collect();
    for (dtype, tolerance) in [(F64, 1e-4), (DType::F32, 0.1)] {
        let a = diagonal(&all, dtype);
        let config = EigsConfig::new(9).with_basis(Some(24)).with_relative(1e-5);
        near(&list(&config.solve(&a).real), &want, tolerance);
        let config = EigshConfig::new(9).with_which(Which::Magnitude).with_relative(1e-5);
        near(&list(&config.solve(&a).values), &want, tolerance);
    }
}

/// `test_eigsh_for_k_greater`, `test_eigs_for_k_greater`: all values are found as those of a dense matrix, without a
/// warning; more of them are an error. An operator is taken, too.
#[test]
fn as_many_as_there_are() {
    let a = second(4);
    let all: Vec<f64> = (1..=4).map(|k| -2.0 + 2.0 * (f64::from(k) * PI / 5.0).cos()).collect();
    let operator = sparse_tensor::solve::Operator::from(a.clone());
    for k in [3, 4] {
        near(&list(&eigsh(&a, k, Which::Largest).values), &all[..k], 1e-12);
        near(&list(&eigs(&a, k, Which::Largest).real), &all[..k], 1e-12);
        let found = EigshConfig::new(k).with_which(Which::Largest).try_solve_with(&operator, in_double(4)).unwrap();
        near(&list(&found.values), &all[..k], 1e-12);
    }
    told(try_eigsh(&a, 5, Which::Largest), "invalid", "at most 4");
    told(try_eigs(&a, 5, Which::Largest), "invalid", "at most 4");
}

fn in_double(n: usize) -> sparse_tensor::solve::SpectrumHints<'static> {
    let start = Some(dense(&noise(n, 3), [n, 1], F64));
    sparse_tensor::solve::SpectrumHints { start, ..Default::default() }
}

/// `test_real_eigs_real_k_subset`: the values of `k` are among those of `k + 1`.
#[test]
fn more_values_hold_fewer_ones() {
    let n = 10;
    let cells = noise(n * n, 2);
    let entry = |i: usize, j: usize| if cells[i * n + j] < 0.5 { 0.0 } else { 4.0 * cells[i * n + j] - 3.0 };
    let rows: Vec<f64> = (0..n * n).map(|at| entry(at / n, at % n) + entry(at % n, at / n)).collect();
    for dtype in [F64, DType::F32] {
        let a = CsrTensor::<2>::from_dense(dense(&rows, [n, n], dtype));
        let tolerance = if dtype == F64 { 1e-8 } else { 3e-4 };
        for which in [Which::Magnitude, Which::Largest, Which::Smallest, Which::Near(0.0), Which::Near(5.0)] {
            let mut before: Vec<f64> = vec![];
            for k in 1..9 {
                let pairs = eigs(&a, k, which);
                let now = list(&pairs.real);
                assert_eq!(now.len(), k, "{which:?}");
                near(&list(&pairs.imag), &vec![0.0; k], tolerance);
                for own in before {
                    assert!(now.iter().any(|other| (own - other).abs() <= tolerance), "{which:?} {own} in {now:?}");
                }
                before = now;
            }
        }
    }
}

/// `test_symmetric_no_convergence`, `test_standard_nonsymmetric_no_convergence`: an error, and the pairs that are good
/// are told.
#[test]
fn without_convergence() {
    let a = diagonal(&(0..400).map(|k| 1.0 + f64::from(k) * 1e-3).collect::<Vec<_>>(), F64);
    for method in [EigshMethod::Lanczos, EigshMethod::Lobpcg] {
        let config = EigshConfig::new(4).with_which(Which::Largest).with_method(method).with_relative(1e-13);
        let config = config.with_max_iterations(Some(5));
        told(config.try_solve(&a), "invalid", "of 4 pairs");
        let pairs = config.with_accept_unsolved(true).solve(&a);
        assert_eq!(pairs.values.dims(), [4]);
        assert!(pairs.report.converged.iter().any(|good| !good), "{}", pairs.report);
    }
    told(EigsConfig::new(4).with_relative(1e-13).with_max_iterations(Some(5)).try_solve(&a), "invalid", "of 4 pairs");
}

/// `test_1d_specific_shape`: minus the matrices that SciPy has.
#[test]
fn laplacians_of_six_points() {
    for (boundary, end, corner) in
        [(Boundary::Neumann, 1.0, 0.0), (Boundary::Dirichlet, 2.0, 0.0), (Boundary::Periodic, 2.0, -1.0)]
    {
        let mut want = [0.0; 36];
        for k in 0..6 {
            want[k * 7] = if k == 0 || k == 5 { end } else { 2.0 };
            if k > 0 {
                (want[k * 7 - 1], want[k * 7 - 6]) = (-1.0, -1.0);
            }
        }
        (want[5], want[30]) = (corner, corner);
        let a = laplacian(&[6], boundary, (&Device::flex(), F64)).unwrap();
        assert_eq!(list(&a.to_dense()), want, "{boundary:?}");
    }
}

/// `test_eigenvalues`, `test_eigenvectors`: all values of grids, many of them more than once, by their formulas.
#[test]
fn laplacians_of_grids() {
    for dims in [&[6][..], &[2, 3], &[2, 3, 4]] {
        for boundary in [Boundary::Neumann, Boundary::Dirichlet, Boundary::Periodic] {
            let mut want = vec![0.0];
            for &n in dims {
                let angle = |k: usize| match boundary {
                    Boundary::Dirichlet => (k + 1) as f64 / (2 * (n + 1)) as f64,
                    Boundary::Neumann => k as f64 / (2 * n) as f64,
                    Boundary::Periodic => k.div_ceil(2) as f64 / n as f64,
                };
                let own = |k: usize| 4.0 * (PI * angle(k)).sin().powi(2);
                want = want.iter().flat_map(|sum| (0..n).map(move |k| sum + own(k))).collect();
            }
            want.sort_by(f64::total_cmp);
            let a = laplacian(dims, boundary, (&Device::flex(), F64)).unwrap();
            for k in [1, want.len() / 2, want.len()] {
                let pairs = eigsh(&a, k, Which::Smallest);
                near(&list(&pairs.values), &want[..k], 1e-12);
                let [off, skew] = wrong(&a, None, &pairs.values, &pairs.vectors);
                assert!(off < 1e-12 && skew < 1e-12, "{dims:?} {boundary:?}");
            }
        }
    }
}
