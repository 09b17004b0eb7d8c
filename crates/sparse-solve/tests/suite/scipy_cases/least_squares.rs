//! `_isolve/tests/test_lsqr.py` and `test_lsmr.py`.

use super::matrices::{F64, csr, full, length, noise};
use crate::factors::{list, near};
use crate::random::{dense, product};
use burn::tensor::Tensor;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{
    Factorization, Hints, LinearOperator, Method, Operator, SolverConfig, factorize, lstsq, ridge,
};

const METHODS: [Method; 3] = [Method::Lsqr, Method::Lsmr, Method::Cgls];

fn solve(method: Method, a: &dyn LinearOperator, b: &[f64]) -> Vec<f64> {
    let config = SolverConfig::new(method).with_relative(1e-12).with_accept_unsolved(true);
    list(config.solve(a, dense::<1>(b, [b.len()], F64)))
}

/// The identity and numbers of rank one, as `G` of `test_lsqr.py`.
fn problem() -> (Vec<f64>, Vec<f64>) {
    let n = 35;
    let mut g: Vec<f64> = (0..n * n).map(|at| f64::from(u8::from(at % (n + 1) == 0))).collect();
    for seed in 0..5 {
        let (left, right) = (noise(n, 2 * seed + 3), noise(n, 2 * seed + 4));
        // SciPy's `gg * gg.T` is a vector, which is added to each row.
        (0..n * n).for_each(|at| g[at] += (left[at % n] - 0.5) * (right[at % n] - 0.5) + left[at / n] * right[at % n]);
    }
    (g, noise(n, 77))
}

/// `test_lsqr_basic`, `test_initialization`: a square matrix, with `damp` as rows below it, and a start.
#[test]
fn with_and_without_damp() {
    let (n, damp) = (35, 1.5);
    let (g, b) = problem();
    let a = CsrTensor::<2>::from_dense(dense(&g, [n, n], F64));
    let right = || dense::<1>(&b, [n], F64);
    let want = list(factorize(&a, Factorization::Lu).solve(right()));
    let identity = Operator::identity(n) * damp;
    let below = Operator::try_blocks(vec![vec![Some(Operator::from(a.clone()))], vec![Some(identity)]]).unwrap();
    let longer: Vec<f64> = b.iter().copied().chain([0.0; 35]).collect();
    let damped = list(ridge(&a, right(), damp * damp));
    // The normal equations: A^T (b - A x) = damp^2 x.
    let image = product(&g, &damped, [n, n, 1]);
    let rest: Vec<f64> = b.iter().zip(image).map(|(b, own)| b - own).collect();
    let normal: Vec<f64> = (0..n).map(|j| (0..n).map(|i| g[i * n + j] * rest[i]).sum::<f64>()).collect();
    near(&normal, &damped.iter().map(|own| own * damp * damp).collect::<Vec<_>>(), 1e-10);
    for method in METHODS {
        near(&solve(method, &a, &b), &want, 1e-7);
        near(&solve(method, &below, &longer), &damped, 1e-8);
        // From zeros it is the same, from one iteration it goes on.
        let config = SolverConfig::new(method).with_relative(1e-12).with_accept_unsolved(true);
        let zeros = Hints { start: Some(Tensor::zeros([n], (&right().device(), F64))), ..Hints::default() };
        let solution = config.try_solve_with(&a, right(), zeros).unwrap();
        near(&list(solution.x), &want, 1e-7);
        let first = config.clone().with_max_iterations(Some(1)).solve(&a, right());
        let hints = Hints { start: Some(first), ..Hints::default() };
        let again = config.try_solve_with(&a, right(), hints).unwrap();
        near(&list(again.x), &want, 1e-7);
    }
}

/// `test_gh_2466`, `test_b_shapes`, `testScalarB`: one row.
#[test]
fn one_equation() {
    for (row, b, want) in [([1.0, -1.0], 4.0, [2.0, -2.0]), ([1.0, 2.0], 3.0, [0.6, 1.2])] {
        let a = full([row], F64);
        for method in METHODS {
            near(&solve(method, &a, &[b]), &want, 1e-12);
        }
        near(&list(lstsq(&a, dense::<1>(&[b], [1], F64))), &want, 1e-12);
    }
}

/// `TestLSMR`: compatible systems, of the identity with a right-hand side of zeros, ones, and `10 .. 1`, of a lower
/// bidiagonal matrix `[20, 10]` whose last rows are empty, and `4 I + 1`; `test_well_conditioned_problems`.
#[test]
fn compatible_systems() {
    let n = 10;
    let down: Vec<f64> = (1..=n).rev().map(|k| k as f64).collect();
    let identity: Vec<_> = (0..n).map(|k| (k, k, 1.0)).collect();
    let bidiagonal: Vec<_> = (0..n).flat_map(|k| [(k, k, (k + 1) as f64), (k + 1, k, (k + 1) as f64)]).collect();
    let ones: Vec<_> = (0..n * n).map(|at| (at / n, at % n, if at % (n + 1) == 0 { 5.0 } else { 1.0 })).collect();
    for (entries, rows, want) in [
        (&identity, n, vec![0.0; n]),
        (&identity, n, vec![1.0; n]),
        (&identity, n, down.clone()),
        (&identity, n, noise(n, 11)),
        (&bidiagonal, 20, down.clone()),
        (&ones, n, down.clone()),
    ] {
        let a = csr(entries, [rows, n], F64);
        let mut b = vec![0.0; rows];
        entries.iter().for_each(|&(row, col, own)| b[row] += own * want[col]);
        for method in METHODS {
            near(&solve(method, &a, &b), &want, 1e-9);
        }
        near(&list(lstsq(&a, dense::<1>(&b, [rows], F64))), &want, 1e-12);
    }
}

/// `TestLSMRReturns`: of an incompatible system the report is about `A^T r`, which is as good as zero.
#[test]
fn the_residual_is_normal_to_the_columns() {
    let n = 10;
    let entries: Vec<_> = (0..n).flat_map(|k| [(k, k, (k + 1) as f64), (k + 1, k, (k + 1) as f64)]).collect();
    let b = noise(20, 5);
    for method in METHODS {
        let config = SolverConfig::new(method).with_relative(1e-10);
        let a = csr(&entries, [20, n], F64);
        let x = list(config.try_solve_with(&a, dense::<1>(&b, [20], F64), Hints::default()).unwrap().x);
        let mut rest = b.clone();
        entries.iter().for_each(|&(row, col, own)| rest[row] -= own * x[col]);
        let mut normal = vec![0.0; n];
        entries.iter().for_each(|&(row, col, own)| normal[col] += own * rest[row]);
        assert!(length(&normal) <= 1e-7 * length(&rest), "{method:?}: {normal:?}");
        assert!(length(&rest) > 1.0);
    }
}
