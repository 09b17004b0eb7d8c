//! Matrices and preconditioners that break a method down, of `TestGMRES`, `test_lgmres.py` and `test_minres.py`: no
//! NaN, no false success.

use super::iterative::list;
use super::matrices::{F64, diagonal, full, length};
use crate::random::{dense, product};
use crate::refused::told;
use crate::solutions::ALL;
use burn::tensor::DType;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Hints, Method, Solution, SolverConfig, Stopped};

const LONG: [Method; 2] = [Method::Gmres { restart: 20 }, Method::Fgmres { restart: 20 }];

/// With a limit, so that hopeless ones end.
fn solved(method: Method, a: &CsrTensor<2>, b: &[f64], hints: Hints<'_, 1>) -> Solution<1> {
    let config = SolverConfig::new(method).with_relative(1e-8).with_max_iterations(Some(100));
    config.with_accept_unsolved(true).try_solve_with(a, dense(b, [b.len()], F64), hints).unwrap()
}

fn near(got: &[f64], want: &[f64], tolerance: f64) {
    let close = got.len() == want.len() && got.iter().zip(want).all(|(got, want)| (got - want).abs() <= tolerance);
    assert!(close, "{got:?} and {want:?}");
}

/// `test_defective_precond_breakdown`: what the preconditioner maps to zero cannot be solved; the rest is.
#[test]
fn a_preconditioner_without_full_rank() {
    let (a, m) = (diagonal(&[2.0, 3.0, 4.0], F64), diagonal(&[1.0, 1.0, 0.0], F64));
    for method in ALL.into_iter().filter(|method| !matches!(method, Method::Lsqr | Method::Lsmr)) {
        let start = Some(dense(&[1.0, 0.0, 0.0], [3], F64));
        let hints = Hints { start, preconditioner: Some(&m), progress: None };
        let solution = solved(method, &a, &[0.0, 1.0, 1.0], hints);
        let x = list(&solution);
        assert!(x.iter().all(|own| own.is_finite()), "{method:?}: {x:?}");
        assert_ne!(solution.report.stopped, Stopped::Converged, "{method:?}");
        assert_eq!(x[2], 0.0, "{method:?}");
        if LONG.contains(&method) {
            near(&x[..2], &[0.0, 1.0 / 3.0], 1e-8);
        }
    }
}

/// `test_defective_matrix_breakdown`: the last row is 0 = 1.
#[test]
fn a_matrix_without_full_rank() {
    let a = full([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], F64);
    for method in ALL.into_iter().filter(|method| *method != Method::Cg) {
        let solution = solved(method, &a, &[1.0, 0.0, 1.0], Hints::default());
        let x = list(&solution);
        assert!(x.iter().all(|own| own.is_finite()), "{method:?}: {x:?}");
        match method {
            Method::Lsqr | Method::Lsmr | Method::Cgls => near(&x, &[0.0, 1.0, 0.0], 1e-8),
            _ => assert_ne!(solution.report.stopped, Stopped::Converged, "{method:?}"),
        }
        if LONG.contains(&method) {
            near(&x[..2], &[0.0, 1.0], 1e-8);
        }
    }
}

/// `test_breakdown_underdetermined`: a nilpotent matrix. The least residual of a vector of the Krylov space is 1, for
/// each of these right-hand sides.
#[test]
fn a_nilpotent_matrix() {
    let rows = [[0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0], [0.0; 4]];
    let a = full(rows, F64);
    for ones in 1..=4 {
        let b: Vec<f64> = (0..4).map(|k| f64::from(u8::from(k < ones))).collect();
        for method in LONG {
            let solution = solved(method, &a, &b, Hints::default());
            let x = list(&solution);
            let image = product(&rows.concat(), &x, [4, 4, 1]);
            let rest: Vec<f64> = b.iter().zip(image).map(|(b, own)| b - own).collect();
            assert!((length(&rest) - 1.0).abs() <= 1e-7, "{method:?} {ones}: {rest:?}");
            assert_ne!(solution.report.stopped, Stopped::Converged, "{method:?} {ones}");
        }
    }
}

/// The right-hand side is in the range, but the space `b, A b, ..` has nothing that is mapped to it: the start is as
/// near as any vector of it, and the iteration ends there at once.
#[test]
fn a_nilpotent_matrix_whose_solution_is_outside_the_krylov_space() {
    let a = full([[0.0, 1.0], [0.0, 0.0]], F64);
    for method in LONG {
        let solution = solved(method, &a, &[1.0, 0.0], Hints::default());
        assert_eq!(list(&solution), [0.0, 0.0], "{method:?}");
        assert_eq!(
            (solution.report.stopped, solution.report.residuals.clone()),
            (Stopped::Stagnated, vec![1.0]),
            "{method:?}"
        );
        assert!(solution.report.iterations <= 2, "{method:?}: {}", solution.report);
    }
}

/// What is small beside other columns is no rounding of its own one.
#[test]
fn columns_of_far_sizes() {
    let a = full([[0.0, 0.0, 1.0], [2e6, 0.0, 0.0], [0.0, 1.0, 0.0]], DType::F32);
    for method in [Method::Gmres { restart: 30 }, Method::Fgmres { restart: 30 }] {
        let x = SolverConfig::new(method).solve(&a, dense(&[1.0, 0.0, 0.0], [3], DType::F32));
        assert!((x - dense(&[0.0, 0.0, 1.0], [3], DType::F32)).abs().max().into_scalar::<f32>() < 1e-5, "{method:?}");
    }
}

/// `test_denormals`: the inverse of an element has no float, and neither has the solution. So none is found: what gets
/// to it says that it is not finite, and what breaks down before stays at a point of finite numbers.
#[test]
fn elements_without_an_inverse() {
    let tiny = 100.0 * f64::from_bits(1);
    let a = full([[tiny, 2.0 * tiny], [3.0 * tiny, 4.0 * tiny]], F64);
    for method in ALL.into_iter().filter(|method| !matches!(method, Method::Cg | Method::Minres)) {
        let config = SolverConfig::new(method).with_max_iterations(Some(50)).with_accept_unsolved(true);
        match config.try_solve_with(&a, dense::<1>(&[1.0, 1.0], [2], F64), Hints::default()) {
            Ok(solution) => {
                assert_ne!(solution.report.stopped, Stopped::Converged, "{method:?}");
                let x = list(&solution);
                assert!(x.iter().all(|own| own.is_finite()), "{method:?}: {x:?}");
            }
            wrong => told(wrong, "invalid", "the numbers of the solution must be finite"),
        }
        told(config.with_accept_unsolved(false).try_solve(&a, dense::<1>(&[1.0, 1.0], [2], F64)), "invalid", "");
    }
}

/// `test_minres.py::test_singular`, with a column of zeros too, so that it is symmetric: the rest of the system is
/// solved.
#[test]
fn a_symmetric_matrix_with_a_row_of_zeros() {
    let rows = [[0.0, 0.0, 0.0, 0.0], [0.0, 2.0, -1.0, 0.5], [0.0, -1.0, -3.0, 1.0], [0.0, 0.5, 1.0, 1.0]];
    let b = [0.0, 1.0, 2.0, -1.0];
    for method in ALL.into_iter().filter(|method| *method != Method::Cg) {
        let solution = solved(method, &full(rows, F64), &b, Hints::default());
        assert_eq!(solution.report.stopped, Stopped::Converged, "{method:?}");
        let image = product(&rows.concat(), &list(&solution), [4, 4, 1]);
        near(&image, &b, 1e-7);
    }
}
