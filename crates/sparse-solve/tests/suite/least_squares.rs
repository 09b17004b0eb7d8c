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

/// Numbers without a pattern; without `bend` a matrix of them has rank 2.
fn waves(count: usize, bend: f64) -> Vec<f64> {
    (0..count).map(|k| (k as f64 * 1.7 + (k * k) as f64 * bend + 0.4).sin()).collect()
}

/// How far the solution is from that of `Lsqr` in f64, by the largest number of that, and why it stopped.
fn error(entries: &[f64], dims: [usize; 2], right: &[f64], config: &SolverConfig) -> (f64, Stopped) {
    let solve = |config: &SolverConfig, dtype| {
        let a = CsrTensor::<2>::from_dense(dense(entries, dims, dtype));
        let b = dense(right, [dims[0], right.len() / dims[0]], dtype);
        let solution = config.clone().with_accept_unsolved(true).try_solve_with(&a, b, Hints::default()).unwrap();
        (list(solution.x), solution.report.stopped)
    };
    let (want, _) = solve(&SolverConfig::new(Method::Lsqr).with_relative(1e-10), DType::F64);
    let (got, stopped) = solve(config, DType::F32);
    let largest = want.iter().fold(0.0, |largest: f64, own| largest.max(own.abs()));
    let far = got.iter().zip(&want).fold(0.0, |far: f64, (got, want)| far.max((got - want).abs()));
    (far / largest, stopped)
}

/// No iteration after the last that helps may lead away: from where a tolerance is out of reach, and on a device that
/// is read in few iterations.
#[test]
fn in_f32_stay_where_only_rounding_is_left() {
    let sizes = [[3, 2], [20, 5], [200, 40], [4, 4], [5, 20]];
    for ([rows, cols], bend) in sizes.into_iter().flat_map(|size| [(size, 0.0), (size, 0.3)]) {
        let (entries, right) =
            (waves(rows * cols, bend), waves(7 * rows, 0.0).into_iter().step_by(7).collect::<Vec<_>>());
        for method in METHODS {
            for (relative, every) in [(1e-13, 1), (1e-13, 10), (1e-5, 10), (1e-6, 1)] {
                let config = SolverConfig::new(method).with_relative(relative).with_check_every(Some(every));
                let config = config.with_max_iterations(Some(500));
                let (far, stopped) = error(&entries, [rows, cols], &right, &config);
                let place = format!("{method:?}, {relative}, {every}, {rows} x {cols}, {bend}: {far:.1e}, {stopped:?}");
                assert!(far < 1e-3, "{place}");
                assert_eq!(stopped == Stopped::Converged, relative > 1e-12, "{place}");
            }
        }
    }
}

/// A column that is solved waits for one that takes longer.
#[test]
fn in_f32_columns_stay_while_others_go_on() {
    let ([rows, cols], [high, wide]) = ([10, 4], [60, 30]);
    let (first, second) = (waves(rows * cols, 0.0), waves(high * wide, 0.3));
    let all = cols + wide;
    let mut entries = vec![0.0; (rows + high) * all];
    first.chunks(cols).enumerate().for_each(|(row, own)| entries[row * all..][..cols].copy_from_slice(own));
    second.chunks(wide).enumerate().for_each(|(row, own)| {
        entries[(rows + row) * all + cols..][..wide].copy_from_slice(own);
    });
    let numbers = waves(rows + high, 0.7);
    let right: Vec<f64> =
        numbers.iter().enumerate().flat_map(|(row, &own)| if row < rows { [own, 0.0] } else { [0.0, own] }).collect();
    for (method, every) in METHODS.into_iter().flat_map(|method| [(method, 1), (method, 10)]) {
        let config = SolverConfig::new(method).with_check_every(Some(every)).with_relative(1e-5);
        let (far, stopped) = error(&entries, [rows + high, all], &right, &config);
        assert!(far < 1e-2 && stopped == Stopped::Converged, "{method:?}, {every}: {far:.1e}, {stopped:?}");
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
