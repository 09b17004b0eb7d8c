//! `_isolve/tests/test_iterative.py`: `test_atol`, `test_zero_rhs`, `test_invalid_atol`, class `TestGMRES`.

use super::iterative::list;
use super::matrices::{Case, F64, LGMRES, banded, csr, full, length, noise, positive};
use crate::random::{Kind, dense};
use crate::refused::told;
use crate::solutions::ALL;
use sparse_tensor::solve::{Hints, LinearOperator, Method, Operator, SolverConfig};

/// `test_atol`: the residual is below the larger one of both tolerances, whatever the scale of the preconditioner. An
/// infinite tolerance, which SciPy takes, is refused.
#[test]
fn the_larger_tolerance_counts() {
    let case = positive("test_atol", 10, 10.0, 168);
    let case = Case { b: case.b.iter().map(|own| 1e3 * own).collect(), ..case };
    let m = Operator::from(positive("M", 10, 1.0, 99).matrix(F64));
    let scaled = [m.clone() * 1e-6, m * 1e6];
    for method in ALL {
        for scale in 0..3 {
            if scale > 0 && matches!(method, Method::Lsqr | Method::Lsmr) {
                continue;
            }
            for [relative, absolute] in [[0.0, 1e-8], [1e-9, 0.0], [1e-5, 1.0], [1e-9, 100.0], [1.0, 0.0], [100.0; 2]] {
                let config = SolverConfig::new(method).with_relative(relative).with_absolute(absolute);
                let preconditioner = (scale > 0).then(|| &scaled[scale - 1] as &dyn LinearOperator);
                let hints = Hints { preconditioner, ..Hints::default() };
                let solution = config.try_solve_with(&case.matrix(F64), case.right(F64), hints);
                let solution = solution.unwrap_or_else(|trouble| panic!("{method:?} {scale} {relative}: {trouble}"));
                let size = length(&case.b);
                let left = case.residual(&list(&solution)) * size;
                // Least squares look at A^T r: the condition of the matrix is below 5.
                let slack = if matches!(method, Method::Lsqr | Method::Lsmr | Method::Cgls) { 5.0 } else { 1.00025 };
                assert!(left <= slack * absolute.max(relative * size), "{method:?} {relative} {absolute}: {left}");
            }
        }
    }
}

/// `test_zero_rhs`: zeros, exactly, from a start too.
#[test]
fn a_right_side_of_zeros() {
    let case = positive("test_zero_rhs", 10, 10.0, 1684);
    for method in ALL {
        for relative in [1e-10, 1e-4, 1.0, 100.0] {
            for absolute in [0.0, relative] {
                for start in [None, Some(dense::<1>(&[1.0; 10], [10], F64))] {
                    let config = SolverConfig::new(method).with_relative(relative).with_absolute(absolute);
                    let hints = Hints { start: start.clone(), ..Hints::default() };
                    let b = dense(&[0.0; 10], [10], F64);
                    let solution = config.try_solve_with(&case.matrix(F64), b, hints).unwrap();
                    let x = list(&solution);
                    // From a start it ends as soon as the residual is below the absolute tolerance.
                    let most = if start.is_some() { absolute } else { 0.0 };
                    assert!(x.iter().all(|own| own.abs() <= most), "{method:?} {relative} {absolute}: {x:?}");
                }
            }
        }
    }
}

/// `test_basic`: five directions of a matrix of powers.
#[test]
fn gmres_of_a_vandermonde_matrix() {
    let entries: Vec<_> = (0..100).map(|cell| (cell / 10, cell % 10, f64::from(cell as u32 / 10 + 1))).collect();
    let entries: Vec<_> = entries.into_iter().map(|(i, j, own)| (i, j, own.powi(j as i32))).collect();
    let mut b = [0.0; 10];
    b[0] = 1.0;
    for method in [Method::Gmres { restart: 5 }, Method::Fgmres { restart: 5 }] {
        let config = SolverConfig::new(method).with_max_iterations(Some(5)).with_accept_unsolved(true);
        let solution = config.try_solve_with(&csr(&entries, [10, 10], F64), dense(&b, [10], F64), Hints::default());
        let x = list(&solution.unwrap());
        assert!((x[0] - 0.359).abs() <= 0.359e-2, "{method:?}: {}", x[0]);
    }
}

/// `test_callback`: the residual after the first direction. SciPy tells that of the preconditioned system, which is a
/// thousandth here; ours is always the one of `A x = b`.
#[test]
fn the_first_residual() {
    let a = csr(&banded(6, &[(-1, &|_| 1.0), (0, &|_| -2.0), (1, &|_| 1.0)]), [6, 6], F64);
    let scaled = Operator::identity(6) * 1e-3;
    for method in [Method::Gmres { restart: 20 }, Method::Fgmres { restart: 20 }, Method::Minres] {
        for preconditioner in [None, Some(&scaled as &dyn LinearOperator)] {
            let config = SolverConfig::new(method).with_max_iterations(Some(1)).with_accept_unsolved(true);
            let hints = Hints { preconditioner, ..Hints::default() };
            let report = config.try_solve_with(&a, dense(&[1.0; 6], [6], F64), hints).unwrap().report;
            let history = report.history;
            assert!(history[0] == (0, 1.0) && history[1].0 == 1, "{history:?}");
            assert!((history[1].1 - 0.816_496_580_927_726).abs() <= 1e-10, "{method:?}: {history:?}");
        }
    }
}

/// `test_atol_legacy`: a small right-hand side is solved as well as another one.
#[test]
fn small_right_sides() {
    for method in ALL {
        for size in [1.0, 1e-10, 1e-200] {
            let case = Case::rows("eye", Kind::Positive, [[1.0, 0.0], [0.0, 1.0]]).with_b(&[size; 2]);
            let config = SolverConfig::new(method).with_relative(1e-8);
            let x = config.try_solve_with(&case.matrix(F64), case.right(F64), Hints::default()).unwrap();
            let x = list(&x);
            assert!(x.iter().all(|own| (own / size - 1.0).abs() <= 1e-8), "{method:?} {size:e}: {x:?}");
        }
    }
}

/// `test_callback_x_monotonic`: it stops by the limit, and no step makes the residual larger.
#[test]
fn restarts_do_not_make_it_worse() {
    let mut entries: Vec<_> = noise(400, 1).into_iter().enumerate().map(|(at, own)| (at / 20, at % 20, own)).collect();
    (0..20).for_each(|k| entries[k * 21].2 += 1.0);
    let case = Case { n: 20, entries, ..Case::rows("", Kind::Any, [[1.0]]) }.with_b(&noise(20, 2));
    for restart in [2, 10] {
        let config = SolverConfig::new(Method::Gmres { restart }).with_relative(1e-14).with_accept_unsolved(true);
        let config = config.with_max_iterations(Some(60));
        let solution = config.try_solve_with(&case.matrix(F64), case.right(F64), Hints::default()).unwrap();
        let history = solution.report.history.clone();
        assert!(history.len() > 20, "{history:?}");
        assert!(history.windows(2).all(|pair| pair[1].1 <= pair[0].1 * (1.0 + 1e-10)), "{history:?}");
        assert!((history.last().unwrap().1 - case.residual(&list(&solution))).abs() <= 1e-10);
    }
}

/// `test_invalid_atol`.
#[test]
fn tolerances_below_zero() {
    for method in ALL {
        let config = SolverConfig::new(method).with_absolute(-1.0);
        let solved = config.try_solve(&full(LGMRES, F64), dense::<1>(&[1.0; 6], [6], F64));
        told(solved, "invalid", "absolute tolerance must be a number from 0 on, got -1");
    }
}
