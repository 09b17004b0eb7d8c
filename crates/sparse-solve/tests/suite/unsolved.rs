//! The last point of solves that do not reach the tolerance.

use crate::random::dense;
use crate::refused::told;
use burn::tensor::{DType, Device, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Boundary, Hints, Method, Operator, Solution, SolverConfig, Stopped, laplacian};

fn diagonal(list: &[f64], dtype: DType) -> CsrTensor<2> {
    CsrTensor::from_diagonal(dense(list, [list.len()], dtype))
}

fn list<const D: usize>(x: &Tensor<D>) -> Vec<f64> {
    x.clone().into_data().iter().collect()
}

fn near(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    let close = got.iter().zip(want).all(|(got, want)| (got - want).abs() <= tolerance);
    assert!(close, "{got:?} and {want:?}");
}

/// So many iterations and no tolerance: the right-hand side must not be what is compared.
#[test]
fn without_a_tolerance_all_iterations_are_done() {
    let n = 12;
    let a = laplacian(&[n], Boundary::Dirichlet, (&Device::flex(), DType::F64)).unwrap();
    let want: Vec<f64> = (0..n).map(|k| 1.0 + k as f64).collect();
    let b: Tensor<2> = a.matmul(dense(&want, [n, 1], DType::F64));
    for method in crate::solutions::ALL {
        // With fewer directions than unknowns it gains little in each cycle.
        let method = if matches!(method, Method::Gmres { .. }) { Method::Gmres { restart: n } } else { method };
        let most = if matches!(method, Method::Idr { .. }) { 400 } else { n };
        let config = SolverConfig::new(method).with_relative(0.0).with_accept_unsolved(true);
        let x = config.with_max_iterations(Some(most)).solve(&a, b.clone());
        near(&list(&x), &want, 1e-5);
    }
}

/// Long after f32 is exhausted squares of the residual underflow. That is no sign of an indefinite matrix.
#[test]
fn iterations_go_on_where_squares_underflow() {
    let n = 50;
    let entry = |at: usize| match (at / n).abs_diff(at % n) {
        0 => 0.04,
        1 => -0.01,
        _ => 0.0,
    };
    let a = CsrTensor::<2>::from_dense(dense(&(0..n * n).map(entry).collect::<Vec<_>>(), [n, n], DType::F32));
    let want: Vec<f64> = (0..n).map(|k| 1.0 + k as f64 / n as f64).collect();
    let b: Tensor<2> = a.matmul(dense(&want, [n, 1], DType::F32));
    let config = SolverConfig::new(Method::Cg).with_relative(0.0).with_accept_unsolved(true);
    near(&list(&config.solve(&a, b)), &want, 1e-4);
}

/// The residual rises in the first step.
#[test]
fn a_truncated_solve_gives_its_last_point() {
    let a = diagonal(&[1.0, 100.0], DType::F64);
    let b = dense(&[1.0, 0.1], [2], DType::F64);
    let config = SolverConfig::new(Method::Cg).with_max_iterations(Some(1)).with_accept_unsolved(true);
    let Solution { x, report } = config.try_solve_with(&a, b, Hints::default()).unwrap();
    // The step along b is b.b / b.A b.
    near(&list(&x), &[1.01 / 2.0, 0.101 / 2.0], 1e-12);
    assert_eq!((report.stopped, report.iterations), (Stopped::Iterations, 1));
    assert!(report.residuals[0] > 1.0);
}

#[test]
fn a_column_without_a_solution_leaves_the_others() {
    let square = [
        Method::Minres,
        Method::BiCg,
        Method::Qmr,
        Method::BiCgStab,
        Method::Cgs,
        Method::Tfqmr,
        Method::Gmres { restart: 5 },
        Method::Fgmres { restart: 5 },
        Method::Idr { shadows: 2 },
    ];
    for dtype in [DType::F32, DType::F64] {
        for method in square {
            let config = SolverConfig::new(method).with_accept_unsolved(true).with_max_iterations(Some(100));
            let a = diagonal(&[2.0, 0.0], dtype);
            let b = dense(&[1.0, 0.0, 0.0, 1.0], [2, 2], dtype);
            let Solution { x, report } = config.try_solve_with(&a, b, Hints::default()).unwrap();
            assert_ne!(report.stopped, Stopped::Converged);
            near(&list(&x)[..1], &[0.5], 1e-5);
            assert!(report.residuals[0] < 1e-5 && report.residuals[1] > 0.9, "{method:?}: {:?}", report.residuals);

            // A batch whose second system is singular.
            let batch = dense(&[2.0, 0.0, 0.0, 4.0, 1.0, 1.0, 1.0, 1.0], [2, 2, 2], dtype);
            let a = CsrTensor::<3>::from_dense(batch);
            let b = dense(&[1.0, 1.0, 1.0, -1.0], [2, 2], dtype);
            let Solution { x, report } = config.try_solve_with(&a, b, Hints::default()).unwrap();
            assert_ne!(report.stopped, Stopped::Converged);
            near(&list(&x)[..2], &[0.5, 0.25], 1e-5);
        }
    }
}

/// The method is not for it, whatever is accepted.
#[test]
fn the_column_and_the_system_that_are_not_positive_definite_are_told() {
    let config = SolverConfig::new(Method::Cg).with_accept_unsolved(true);
    let b = dense(&[1.0, 0.0, 0.0, 1.0], [2, 2], DType::F64);
    let result = config.try_solve_with(&diagonal(&[2.0, 0.0], DType::F64), b, Hints::default());
    told(result, "invalid", "got d^T A d <= 0 up to iteration 1 in column 1");
    let batch = dense(&[2.0, 0.0, 0.0, 4.0, 1.0, 0.0, 0.0, -1.0], [2, 2, 2], DType::F64);
    let b = dense(&[1.0, 1.0, 0.0, 1.0], [2, 2], DType::F64);
    let result = config.try_solve_with(&CsrTensor::<3>::from_dense(batch), b, Hints::default());
    told(result, "invalid", "got d^T A d <= 0 up to iteration 1 of system 1");
}

/// Its products are NaN in each sweep. The other column needs as many iterations as alone, and not a sweep for each of
/// them.
#[test]
fn a_column_that_breaks_down_does_not_end_the_sweeps_of_others() {
    let n = 60;
    let options = (&Device::flex(), DType::F64);
    let a =
        laplacian(&[n], Boundary::Dirichlet, options).unwrap().add(&CsrTensor::<2>::eye(n, options).mul_scalar(0.02));
    let spoil = |a: &CsrTensor<2>, x: Tensor<2>| {
        let width = x.dims()[1];
        let factors: Vec<f64> = (0..width).map(|k| if k == 1 { f64::NAN } else { 1.0 }).collect();
        a.matmul(x) * dense::<2>(&factors, [1, width], DType::F64)
    };
    let operator = Operator::from_fn([n, n], a.clone(), spoil, Some(spoil));
    let own: Vec<f64> = (0..n).map(|k| (k as f64 * 0.7).sin() + 1.0).collect();
    let both: Vec<f64> = own.iter().flat_map(|own| [*own, 1.0]).collect();
    let square =
        crate::solutions::ALL.into_iter().filter(|own| !matches!(own, Method::Lsqr | Method::Lsmr | Method::Cgls));
    for method in square {
        let method = if let Method::Gmres { .. } = method { Method::Gmres { restart: 80 } } else { method };
        let config = SolverConfig::new(method).with_accept_unsolved(true);
        let alone = config.try_solve_with(&a, dense::<1>(&own, [n], DType::F64), Hints::default()).unwrap();
        let found = config.try_solve_with(&operator, dense::<2>(&both, [n, 2], DType::F64), Hints::default()).unwrap();
        let (report, x) = (&found.report, list(&found.x));
        assert!(report.residuals[0] <= 1e-5 && report.residuals[1] == 1.0, "{method:?}: {report}");
        assert!(report.iterations <= alone.report.iterations + 10, "{method:?}: {report}, alone {}", alone.report);
        assert!(report.stopped == Stopped::Stagnated && x.iter().all(|own| own.is_finite()), "{method:?}: {report}");
    }
}

/// What the preconditioner maps to nothing cannot be solved, and the iteration says so at once.
#[test]
fn least_squares_end_where_nothing_moves() {
    let a = diagonal(&[1.0, 2.0, 3.0], DType::F64);
    let nothing = diagonal(&[1.0, 1.0, 0.0], DType::F64);
    let config = SolverConfig::new(Method::Cgls).with_accept_unsolved(true).with_max_iterations(Some(1000));
    let hints = Hints { preconditioner: Some(&nothing), ..Hints::default() };
    let found = config.try_solve_with(&a, dense::<1>(&[1.0, 1.0, 1.0], [3], DType::F64), hints).unwrap();
    near(&list(&found.x), &[1.0, 0.5, 0.0], 1e-5);
    assert!(found.report.stopped == Stopped::Stagnated && found.report.iterations < 50, "{}", found.report);
}

/// The message has the report, and says where its residual is.
#[test]
fn the_column_and_the_system_of_the_worst_residual_are_told() {
    let config = SolverConfig::new(Method::Gmres { restart: 5 });
    let a = diagonal(&[2.0, 0.0], DType::F64);
    let one = config.try_solve(&a, dense::<1>(&[1.0, 1.0], [2], DType::F64)).unwrap_err().to_string();
    assert!(one.contains("a relative residual of 7.1e-1") && !one.contains("column"), "{one}");
    let b = dense::<2>(&[1.0, 1.0, 0.0, 0.0, 1.0, 0.0], [2, 3], DType::F64);
    told(config.try_solve(&a, b), "invalid", "a relative residual of 7.1e-1 in column 1");
    let batch = CsrTensor::<3>::from_dense(dense(&[2.0, 0.0, 0.0, 4.0, 1.0, 1.0, 1.0, 1.0], [2, 2, 2], DType::F64));
    let b = dense::<2>(&[1.0, 1.0, 1.0, -1.0], [2, 2], DType::F64);
    told(config.try_solve(&batch, b.clone()), "invalid", "a relative residual of 1.0e0 of system 1");
    let both = Tensor::stack::<3>(vec![b.clone() * 0.0, b], 2);
    told(config.try_solve(&batch, both), "invalid", "a relative residual of 1.0e0 in column 1 of system 1");
}

/// The first column breaks down in the first iteration, the second one is solved in the third: the cycle has room for
/// many more. One iteration follows, in which the first column breaks down again.
#[test]
fn a_cycle_ends_when_no_column_is_open() {
    let a = diagonal(&[1.0, 2.0, 3.0, 0.0], DType::F64);
    let b: Tensor<2> = dense(&[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0], [4, 2], DType::F64);
    for method in [Method::Gmres { restart: 30 }, Method::Fgmres { restart: 30 }] {
        let config = SolverConfig::new(method).with_accept_unsolved(true);
        let Solution { report, .. } = config.try_solve_with(&a, b.clone(), Hints::default()).unwrap();
        assert_eq!((report.stopped, report.iterations), (Stopped::Stagnated, 4));
        assert!(report.residuals[0] == 1.0 && report.residuals[1] < 1e-6, "{:?}", report.residuals);
    }
}

#[test]
fn what_ended_is_told() {
    let a = laplacian(&[30], Boundary::Dirichlet, &Device::flex()).unwrap();
    let mut stop = |_, _| false;
    let hints = Hints { progress: Some(&mut stop), ..Hints::default() };
    let told = SolverConfig::new(Method::Cg).try_solve_with(&a, Tensor::<1>::ones([30], &Device::flex()), hints);
    let told = told.unwrap_err().to_string();
    assert!(told.contains("callback") && told.contains("cancelled") && !told.contains("tolerance"), "{told}");
}
