//! Least squares whose right-hand side is nearly orthogonal to the columns, starts, and matrices without full rank.

use crate::random::dense;
use burn::tensor::{DType, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Hints, Method, SolverConfig, Stopped};

const METHODS: [Method; 3] = [Method::Lsqr, Method::Lsmr, Method::Cgls];

fn matrix<const M: usize, const N: usize>(rows: [[f64; N]; M], dtype: DType) -> CsrTensor<2> {
    CsrTensor::from_dense(dense(&rows.concat(), [M, N], dtype))
}

fn list<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().iter().collect()
}

/// Orthogonal but for rounding, which no iteration makes smaller.
#[test]
fn of_a_right_side_that_is_orthogonal_to_the_columns() {
    let n = 50;
    let column: Vec<f64> = (0..n).map(|k| (f64::from(k) * 1.3).sin() + 0.1).collect();
    let other: Vec<f64> = (0..n).map(|k| (f64::from(k) * 0.7).cos()).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let along = dot(&column, &other) / dot(&column, &column);
    let right: Vec<f64> = other.iter().zip(&column).map(|(other, own)| other - along * own).collect();
    for (dtype, least) in [(DType::F64, 1e-14), (DType::F32, 1e-6)] {
        for method in METHODS {
            let a = CsrTensor::<2>::from_dense(dense(&column, [column.len(), 1], dtype));
            let b = dense(&right, [right.len()], dtype);
            let solution = SolverConfig::new(method).try_solve_with(&a, b, Hints::default()).unwrap();
            assert_eq!(solution.report.stopped, Stopped::Converged, "{method:?}");
            assert!(solution.report.residuals[0] < 1e-5);
            assert!(list(solution.x)[0].abs() < least, "{method:?}");
        }
    }
}

/// No iteration after the last that helps may lead away.
#[test]
fn with_a_tolerance_that_f32_cannot_reach() {
    let sizes = [[3, 2], [20, 5], [200, 40], [4, 4], [5, 20]];
    // Of rank 2, and of full rank.
    for ([rows, cols], bend) in sizes.into_iter().flat_map(|size| [(size, 0.0), (size, 0.3)]) {
        let number = |k: usize| (k as f64 * 1.7 + (k * k) as f64 * bend + 0.4).sin();
        let entries: Vec<f64> = (0..rows * cols).map(number).collect();
        let right: Vec<f64> = (0..rows).map(|k| number(7 * k + 3)).collect();
        let solve = |method, dtype, relative| {
            let a = CsrTensor::<2>::from_dense(dense(&entries, [rows, cols], dtype));
            let config = SolverConfig::new(method).with_relative(relative).with_max_iterations(Some(500));
            list(config.with_accept_unsolved(true).solve(&a, dense(&right, [rows], dtype)))
        };
        let want = solve(Method::Lsqr, DType::F64, 1e-13);
        let largest = want.iter().fold(0.0, |largest: f64, own| largest.max(own.abs()));
        for method in METHODS {
            for (got, want) in solve(method, DType::F32, 1e-13).into_iter().zip(&want) {
                assert!((got - want).abs() < 1e-3 * largest, "{method:?} of {rows} x {cols}, {bend}: {got} for {want}");
            }
        }
    }
}

/// One column has `A^T b = 0`, and begins elsewhere.
#[test]
fn with_starts() {
    let a = matrix([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], DType::F64);
    let b = dense(&[1.0, 0.0, 2.0, 0.0, 0.0, 1.0], [3, 2], DType::F64);
    for method in METHODS {
        let hints = Hints { start: Some(dense(&[0.0, 0.3, 0.0, 0.7], [2, 2], DType::F64)), ..Hints::default() };
        let solution = SolverConfig::new(method).with_relative(1e-10).try_solve_with(&a, b.clone(), hints).unwrap();
        for (got, want) in list(solution.x).into_iter().zip([1.0, 0.0, 2.0, 0.0]) {
            assert!((got - want).abs() < 1e-9, "{method:?}: {got}");
        }
    }
}

/// `|A^T r|` is compared with `absolute` in the units of the user.
#[test]
fn absolute_tolerances_are_in_the_units_of_the_problem() {
    let a = matrix([[1e9, 0.0], [0.0, 3e9], [1e9, 1e9]], DType::F64);
    let b = dense(&[1.0, 2.0, -1.0], [3, 1], DType::F64);
    for method in METHODS {
        let config = SolverConfig::new(method).with_relative(0.0).with_absolute(1.0);
        let x = config.try_solve(&a, b.clone()).unwrap();
        let left = a.matmul(x) - b.clone();
        let normal: Tensor<2> = a.transpose().matmul(left);
        assert!(list(normal).iter().all(|own| own.abs() <= 1.0), "{method:?}");
    }
}
