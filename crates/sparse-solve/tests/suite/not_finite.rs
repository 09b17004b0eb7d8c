//! Numbers that are not finite are errors that name the row.

use crate::random::dense;
use crate::refused::told;
use burn::tensor::{DType, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Hints, Method, SolverConfig};

const NAN: f64 = f64::NAN;
const INFINITY: f64 = f64::INFINITY;
const LEAST_SQUARES: [Method; 3] = [Method::Lsqr, Method::Lsmr, Method::Cgls];

fn matrix<const M: usize, const N: usize>(rows: [[f64; N]; M]) -> CsrTensor<2> {
    CsrTensor::from_dense(dense(&rows.concat(), [M, N], DType::F64))
}

fn vector(list: &[f64]) -> Tensor<1> {
    dense(list, [list.len()], DType::F64)
}

fn from(start: Tensor<1>) -> Hints<'static, 1> {
    Hints { start: Some(start), ..Hints::default() }
}

/// `A^T b` does not show it.
#[test]
fn in_a_row_without_elements() {
    let a = matrix([[1.0], [0.0]]);
    for method in LEAST_SQUARES {
        for wrong in [INFINITY, -INFINITY, NAN] {
            let result = SolverConfig::new(method).try_solve(&a, vector(&[1.0, wrong]));
            told(result, "invalid", "the numbers of the right-hand side must be finite, got others in row 1");
        }
    }
}

/// The residual of the start does not show it.
#[test]
fn in_a_start_at_a_column_without_elements() {
    let tall = matrix([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]);
    for method in LEAST_SQUARES {
        let config = SolverConfig::new(method);
        let result = config.try_solve_with(&tall, vector(&[1.0, 1.0, 0.0]), from(vector(&[1.0, NAN])));
        told(result, "invalid", "the numbers of the start must be finite, got others in row 1");
    }
    let square = matrix([[1.0, 0.0], [0.0, 0.0]]);
    let config = SolverConfig::new(Method::Gmres { restart: 5 });
    let result = config.try_solve_with(&square, vector(&[1.0, 0.0]), from(vector(&[1.0, INFINITY])));
    told(result, "invalid", "the numbers of the start must be finite, got others in row 1");
}

#[test]
fn everywhere_with_its_row() {
    let good = matrix([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]);
    let bad = matrix([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, NAN]]);
    for method in crate::solutions::ALL {
        let config = SolverConfig::new(method);
        told(
            config.try_solve(&bad, vector(&[1.0; 3])),
            "invalid",
            "products of the matrix must be finite, got others in row 2",
        );
        told(
            config.try_solve(&good, vector(&[1.0, NAN, 1.0])),
            "invalid",
            "right-hand side must be finite, got others in row 1",
        );
        let result = config.try_solve_with(&good, vector(&[1.0; 3]), from(vector(&[INFINITY, 1.0, 1.0])));
        told(result, "invalid", "start must be finite, got others in row 0");
        let columns = dense(&[1.0, 1.0, 1.0, 1.0, 1.0, NAN], [3, 2], DType::F64);
        told(config.try_solve(&good, columns), "invalid", "got others in row 2, column 1");
        if !LEAST_SQUARES.contains(&method) {
            // 1e50. Of least squares A^T b is taken as zero.
            let tiny = CsrTensor::<2>::from_diagonal(dense(&[1e-20, 1e-30], [2], DType::F32));
            let result = config.with_relative(1e-3).try_solve(&tiny, dense(&[0.0, 1e20], [2], DType::F32));
            told(result, "invalid", "solution must be finite, got others in row 1");
        }
    }
    let batch = dense(&[2.0, 0.0, 0.0, 2.0, 1.0, 0.0, INFINITY, 1.0], [2, 2, 2], DType::F64);
    let batch = CsrTensor::<3>::from_dense(batch);
    let cg = SolverConfig::new(Method::Cg);
    told(cg.try_solve(&batch, dense(&[1.0; 4], [2, 2], DType::F64)), "invalid", "in row 1 of system 1");
    let right = dense(&[1.0, 1.0, 1.0, 1.0, NAN, 1.0, 1.0, 1.0], [2, 2, 2], DType::F64);
    let good = CsrTensor::<3>::from_dense(dense(&[2.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 1.0], [2, 2, 2], DType::F64));
    told(cg.try_solve(&good, right), "invalid", "in row 0, column 0 of system 1");
}
