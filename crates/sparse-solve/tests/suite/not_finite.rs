//! Numbers that are not finite are errors that name the row.

use crate::random::dense;
use crate::refused::told;
use burn::tensor::{DType, Tensor};
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{
    Factorization, FunmConfig, Hints, LinearOperator, Method, SolverConfig, expm_multiply, factorize,
    try_expm_multiply, try_lstsq, try_polynomial,
};

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

/// Finite numbers whose sums or products have no float.
#[test]
fn too_large_for_their_sums() {
    let what = "must not be so large that their sums or products are not finite";
    let a = CsrTensor::<2>::from_dense(dense(&[1.0, 0.0, 0.0, 1.0], [2, 2], DType::F32));
    let tensor = |list: &[f64]| dense::<1>(list, [2], DType::F32);
    let start = Hints { start: Some(tensor(&[1e30, 0.0])), ..Hints::default() };
    let result = SolverConfig::new(Method::Cg).try_solve_with(&a, tensor(&[1e-10, 1e-10]), start);
    told(result, "invalid", &format!("the numbers of the start {what}"));
    let large = matrix([[1e308, 1e308], [1e308, 1e308]]);
    told(try_polynomial(&large, 3), "invalid", &format!("the numbers of the matrix {what}"));
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
        for wrong in [NAN, INFINITY, -INFINITY] {
            let result = config.try_solve(&good, vector(&[1.0, wrong, 1.0]));
            told(result, "invalid", "right-hand side must be finite, got others in row 1");
        }
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

#[test]
fn of_functions_and_polynomials_of_matrices() {
    let bad = matrix([[2.0, 0.0, 0.0], [0.0, 3.0, INFINITY], [0.0, INFINITY, 4.0]]);
    told(
        try_expm_multiply(&bad, vector(&[1.0; 3]), 1.0),
        "invalid",
        "matrix must be finite, got others in row 1, column 2",
    );
    told(try_expm_multiply(&bad.to_coo(), vector(&[1.0; 3]), 1.0), "invalid", "in row 1, column 2");
    told(try_polynomial(&bad, 2), "invalid", "matrix must be finite, got others in row 1, column 2");

    let (funm, good) = (FunmConfig::new(), matrix([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]));
    told(
        funm.try_multiply(f64::sqrt, &bad, vector(&[1.0; 3])),
        "invalid",
        "products of the matrix must be finite, got others in row 1",
    );
    told(
        funm.try_multiply(f64::sqrt, &good, vector(&[1.0, 1.0, NAN])),
        "invalid",
        "b must be finite, got others in row 2",
    );
    let columns = dense(&[1.0, NAN, 1.0, 1.0, 1.0, 1.0], [3, 2], DType::F64);
    told(funm.try_multiply(f64::sqrt, &good, columns), "invalid", "b must be finite, got others in row 0, column 1");
    // e^200 is beyond f32.
    let large = CsrTensor::<2>::from_diagonal(dense(&[1.0, 200.0], [2], DType::F32));
    let result = funm.try_multiply(f64::exp, &large, dense::<2>(&[1.0, 0.0, 0.0, 1.0], [2, 2], DType::F32));
    told(result, "invalid", "result must be finite, got others in column 1");
}

/// The other column is as if it were alone.
#[test]
fn in_one_column_of_an_exponential() {
    // Less the mean of its diagonal the terms of an infinite number are infinite, and not NaN.
    let a = matrix([[3.0, 0.5], [0.5, -5.0]]);
    let alone: Tensor<1> = expm_multiply(&a, vector(&[1.0, 2.0]), 1.5);
    for wrong in [INFINITY, NAN] {
        let x = expm_multiply(&a, dense::<2>(&[1.0, wrong, 2.0, 0.0], [2, 2], DType::F64), 1.5);
        let list: Vec<f64> = x.into_data().iter().collect();
        assert!(!list[1].is_finite());
        for (got, want) in [list[0], list[2]].into_iter().zip(alone.to_data().iter::<f64>()) {
            assert!((got - want).abs() < 1e-13 * want.abs(), "{got} and {want}");
        }
    }
}

#[test]
fn of_right_sides_of_factors() {
    let a = matrix([[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 2.0]]);
    for how in [Factorization::Cholesky, Factorization::Ldlt, Factorization::Lu, Factorization::Qr] {
        let factor = factorize(&a, how);
        let wrong = || vector(&[1.0, 1.0, NAN]);
        told(factor.try_solve(wrong()), "invalid", "right-hand side must be finite, got others in row 2");
        told(factor.try_solve_transposed(wrong()), "invalid", "in row 2");
        let columns = dense::<2>(&[1.0, 1.0, 1.0, INFINITY, 1.0, 1.0], [3, 2], DType::F64);
        told(factor.try_solve(columns.clone()), "invalid", "in row 1, column 1");
        // As an operator it gives what other operators do.
        let x: Vec<f64> = factor.try_apply(columns).unwrap().into_data().iter().collect();
        assert!(x[0].is_finite() && !x[3].is_finite());
    }
    let batch = CsrTensor::<3>::from_dense(dense(&[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0], [2, 2, 2], DType::F64));
    let right = dense::<2>(&[1.0, 1.0, 1.0, NAN], [2, 2], DType::F64);
    told(factorize(&batch, Factorization::Lu).try_solve(right), "invalid", "in row 1 of system 1");
    told(try_lstsq(&a, vector(&[NAN, 1.0, 1.0])), "invalid", "in row 0");
}
