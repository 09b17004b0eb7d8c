//! `tests/test_onenormest.py`.

use super::matrices::{F64, noise};
use crate::random::{dense, product};
use burn::tensor::Device;
use sparse_tensor::CsrTensor;
use sparse_tensor::solve::{Operator, onenormest};

fn exact(a: &[f64], n: usize) -> f64 {
    (0..n).map(|col| a.iter().skip(col).step_by(n).map(|own| own.abs()).sum::<f64>()).fold(0.0, f64::max)
}

/// `test_onenormest_table_5_t_1`: powers of nearly 1 with signs in turn. SciPy finds a twentieth of the norm with one
/// vector, and nearly all with two random ones; ours are fixed, and find two thirds.
#[test]
fn of_alternating_signs() {
    let n = 100;
    let alpha: f64 = 1.0 - 1e-6;
    let entry = |i: usize, j: usize| if j >= i { -(-alpha).powi((j - i) as i32) } else { 0.0 };
    let rows: Vec<f64> = (0..n * n).map(|at| entry(at / n, at % n)).collect();
    let norm = exact(&rows, n);
    assert!((norm - 99.995_050_161_695_91).abs() < 1e-9);
    let a = CsrTensor::<2>::from_dense(dense(&rows, [n, n], F64));
    let found = onenormest(&a, (&Device::flex(), F64));
    assert!(found <= norm * (1.0 + 1e-12) && found >= 0.6 * norm, "{found} and {norm}");
}

/// `test_onenormest_linear_operator`: a product of two matrices that is not made; `test_returns`, `test_randn_inv`.
#[test]
fn of_products_and_numbers() {
    let (n, k) = (200, 3);
    let [left, right] = [1, 2].map(|seed| noise(n * k, seed).iter().map(|own| own - 0.5).collect::<Vec<_>>());
    let norm = exact(&product(&left, &right, [n, k, n]), n);
    let operator = Operator::from(dense::<2>(&left, [n, k], F64)) * Operator::from(dense::<2>(&right, [k, n], F64));
    let found = onenormest(&operator, (&Device::flex(), F64));
    assert!(found <= norm * (1.0 + 1e-12) && norm <= 3.0 * found, "{found} and {norm}");
    for seed in 0..20 {
        let n = 10 + seed as usize;
        let rows: Vec<f64> = noise(n * n, seed + 9).iter().map(|own| own - 0.5).collect();
        let inverse = crate::factors::inverse(n, &rows).0;
        let norm = exact(&inverse, n);
        let a = CsrTensor::<2>::from_dense(dense(&inverse, [n, n], F64));
        let found = onenormest(&a, (&Device::flex(), F64));
        assert!(found <= norm * (1.0 + 1e-12) && norm <= 3.0 * found, "{seed}: {found} and {norm}");
    }
}
