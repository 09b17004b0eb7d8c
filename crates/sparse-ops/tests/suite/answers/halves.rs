//! Floats of 16 bits: an answer is that of f32, rounded once, at the end. The equivalence test lets a few more steps
//! pass.

use super::{count, flex, near, small};
use burn::tensor::activation::{log_softmax, softmax};
use burn::tensor::{FloatDType, Tensor};
use sparse_tensor::{CooTensor, Fill};

const HALVES: [FloatDType; 2] = [FloatDType::F16, FloatDType::BF16];

/// The numbers as 16 bits hold them.
fn rounded<const D: usize>(x: Tensor<D>, dtype: FloatDType) -> Tensor<D> {
    x.cast(dtype).cast(FloatDType::F32)
}

#[test]
fn reductions_and_softmax() {
    let dense = || Tensor::<2>::from_floats([[0.5, 3.0, -1.0], [2.0, -0.5, 1.5]], &flex());
    let full = CooTensor::<2>::from_dense(dense(), 0);
    let some = small().with_fill(Fill::scalar(0.25));
    for dtype in HALVES {
        for a in [&full, &some] {
            let (narrow, dense) = (a.cast(dtype), a.to_dense());
            near(narrow.mean().cast(FloatDType::F32), rounded(dense.clone().mean(), dtype));
            near(narrow.prod().cast(FloatDType::F32), rounded(dense.clone().prod(), dtype));
            near(narrow.sum().cast(FloatDType::F32), rounded(dense.sum(), dtype));
        }
        for dim in [0, 1] {
            let narrow = full.cast(dtype);
            near(narrow.softmax(dim).to_dense().cast(FloatDType::F32), rounded(softmax(dense(), dim), dtype));
            near(narrow.log_softmax(dim).to_dense().cast(FloatDType::F32), rounded(log_softmax(dense(), dim), dtype));
        }
    }
}

#[test]
fn norms() {
    for dtype in HALVES {
        let narrow = small().cast(dtype);
        near(narrow.norm(2.0).cast(FloatDType::F32), rounded(small().norm(2.0), dtype));
        for p in [1.0, 2.0, 3.0, f64::INFINITY] {
            let got = narrow.norm_dim(p, 1).to_dense().cast(FloatDType::F32);
            near(got, rounded(small().norm_dim(p, 1).to_dense(), dtype));
        }
    }
}

#[test]
fn products_with_a_fill() {
    let filled = small().with_fill(Fill::scalar(0.5));
    let want = count([4, 2]).matmul(filled.to_dense());
    for dtype in HALVES {
        let got = filled.cast(dtype).rmatmul(count([4, 2]).cast(dtype));
        near(got.cast(FloatDType::F32), want.clone());
    }
}
