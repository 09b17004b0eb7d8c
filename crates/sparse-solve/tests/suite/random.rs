//! Random systems.

use burn::tensor::{DType, Device, Tensor, TensorData};
use proptest::prelude::*;

pub fn dense<const D: usize>(numbers: &[f64], shape: [usize; D], dtype: DType) -> Tensor<D> {
    Tensor::from_data(TensorData::new(numbers.to_vec(), shape), (&Device::flex(), dtype))
}

/// Numbers whose third part is 0.
pub fn numbers(count: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(prop_oneof![Just(0.0), -2.0f64..2.0, -2.0f64..2.0], count)
}

/// A matrix `[n, n]` of random numbers, made easy enough to solve.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// `X X^T + I`.
    Positive,
    /// `X + X^T` with a diagonal of both signs that is larger than the rest of its row.
    Symmetric,
    /// `X` with such a diagonal.
    Any,
}

pub fn matrix(kind: Kind, n: usize, x: &[f64]) -> Vec<f64> {
    let at = |i: usize, j: usize| x[i * n + j];
    let entry = |i: usize, j: usize| match kind {
        Kind::Positive => (0..n).map(|k| at(i, k) * at(j, k)).sum::<f64>() + f64::from(u8::from(i == j)),
        Kind::Symmetric => at(i, j) + at(j, i),
        Kind::Any => at(i, j),
    };
    let mut out: Vec<f64> = (0..n * n).map(|cell| entry(cell / n, cell % n)).collect();
    if !matches!(kind, Kind::Positive) {
        for i in 0..n {
            let rest: f64 = out[i * n..][..n].iter().map(|x| x.abs()).sum();
            out[i * n + i] = (rest + 1.0) * if i % 2 == 0 { 1.0 } else { -1.0 };
        }
    }
    out
}

/// The product of `a` `[m, k]` and `b` `[k, n]`.
pub fn product(a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    let cell = |i: usize, j: usize| (0..k).map(|at| a[i * k + at] * b[at * n + j]).sum();
    (0..m * n).map(|cell_at| cell(cell_at / n, cell_at % n)).collect()
}
