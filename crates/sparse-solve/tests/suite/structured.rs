//! Systems whose residuals do not change for many iterations: paths, shifts, bipartite and skew ones.

use crate::random::dense;
use burn::tensor::{DType, Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Boundary, Hints, Method, Report, SolverConfig, Stopped, laplacian};

fn matrix(n: usize, entry: impl Fn(usize, usize) -> f64) -> CsrTensor<2> {
    let list: Vec<f64> = (0..n * n).map(|at| entry(at / n, at % n)).collect();
    CsrTensor::from_dense(dense(&list, [n, n], DType::F64))
}

/// Solves to 1e-10 with these numbers of iterations between looks, and compares `A x` with `b`.
fn solved(method: Method, a: &CsrTensor<2>, b: &[f64], most: usize) -> Report {
    let right = || dense(b, [b.len()], DType::F64);
    let config = SolverConfig::new(method).with_relative(1e-10).with_max_iterations(Some(most));
    let mut reports = [1, 3, 10].map(|every| {
        let config = config.clone().with_check_every(Some(every));
        let solution = config.try_solve_with(a, right(), Hints::default()).unwrap();
        let x: Tensor<2> = solution.x.reshape([b.len(), 1]);
        let left =
            a.matmul(x).into_data().iter::<f64>().zip(b).map(|(got, want)| (got - want).abs()).fold(0.0, f64::max);
        assert!(left < 1e-8, "{method:?}: {left:e}");
        solution.report
    });
    reports.sort_by_key(|report| report.iterations);
    let [first, ..] = reports;
    first
}

fn unit(n: usize) -> Vec<f64> {
    (0..n).map(|k| if k == 0 { 1.0 } else { 0.0 }).collect()
}

#[test]
fn conjugate_gradients_on_paths() {
    let path = |n: usize| {
        matrix(n, move |i, j| match i.abs_diff(j) {
            0 if i == 0 || i + 1 == n => 1.0,
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        })
    };
    let mut ends = unit(10);
    ends[9] = -1.0;
    assert!(solved(Method::Cg, &path(10), &ends, 20).iterations <= 10);
    let open_end = matrix(3, |i, j| match i.abs_diff(j) {
        0 => {
            if i == 0 {
                1.0
            } else {
                2.0
            }
        }
        1 => -1.0,
        _ => 0.0,
    });
    assert_eq!(solved(Method::Cg, &open_end, &unit(3), 30).iterations, 3);
}

#[test]
fn minimal_residuals_on_shifts_and_skew_matrices() {
    for method in [Method::Gmres { restart: 30 }, Method::Fgmres { restart: 30 }] {
        let shift = matrix(4, |i, j| f64::from(u8::from(i == (j + 1) % 4)));
        assert_eq!(solved(method, &shift, &unit(4), 40).iterations, 4);
        let skew = matrix(20, |i, j| {
            if j == i + 1 {
                1.0
            } else if i == j + 1 {
                -1.0
            } else {
                0.0
            }
        });
        let b: Vec<f64> = (0..20).map(|k| 1.0 + 0.1 * f64::from(k)).collect();
        assert_eq!(solved(method, &skew, &b, 200).iterations, 20);
    }
}

/// `[[0, B], [B^T, 0]]`, where every second residual is the one before.
#[test]
fn minres_on_bipartite_matrices() {
    for (diagonal, above, most) in [(2.0, 1.0, 60), (1.0, -1.0, 60)] {
        let h = 20;
        let block = |i: usize, j: usize| {
            if i == j {
                diagonal
            } else if j == i + 1 {
                above
            } else {
                0.0
            }
        };
        let a = matrix(2 * h, |i, j| match (i < h, j < h) {
            (true, false) => block(i, j - h),
            (false, true) => block(j, i - h),
            _ => 0.0,
        });
        solved(Method::Minres, &a, &unit(2 * h), most);
    }
}

#[test]
fn least_squares_on_chains() {
    let chain = matrix(3, |i, j| {
        if i == j {
            1.0
        } else if i == j + 1 {
            -1.0
        } else {
            0.0
        }
    });
    for method in [Method::Cgls, Method::Lsqr, Method::Lsmr] {
        assert!(solved(method, &chain, &[1.0; 3], 30).iterations <= 4);
    }
}

/// Cycles that gain less than a hundredth each are not the end; cycles that gain nothing are.
#[test]
fn restarts_that_gain_little_go_on() {
    let n = 800;
    let a = laplacian(&[n], Boundary::Dirichlet, (&Device::flex(), DType::F64)).unwrap();
    let config = SolverConfig::new(Method::Gmres { restart: 30 }).with_accept_unsolved(true);
    let few = config.clone().with_max_iterations(Some(600));
    let report = few.try_solve_with(&a, dense(&vec![1.0; n], [n], DType::F64), Hints::default()).unwrap().report;
    assert_eq!((report.stopped, report.iterations), (Stopped::Iterations, 600), "{report}");

    let shift = matrix(8, |i, j| f64::from(u8::from(i == (j + 1) % 8)));
    let short = SolverConfig { method: Method::Gmres { restart: 4 }, ..config };
    let report = short.try_solve_with(&shift, dense(&unit(8), [8], DType::F64), Hints::default()).unwrap().report;
    assert_eq!((report.stopped, report.iterations), (Stopped::Stagnated, 12), "{report}");
}

/// The same numbers give the same bits.
#[test]
fn two_runs_give_the_same_bits() {
    let a = laplacian(&[7, 9], Boundary::Dirichlet, &Device::flex()).unwrap();
    for method in crate::solutions::ALL {
        let b = || Tensor::<1>::ones([63], &Device::flex());
        let bits = || {
            let x = SolverConfig::new(method).with_relative(1e-4).solve(&a, b());
            x.into_data().iter::<f32>().map(f32::to_bits).collect::<Vec<_>>()
        };
        assert_eq!(bits(), bits(), "{method:?}");
    }
}
