//! Branches that few arguments reach, beside the dense answer.

use super::*;
use burn::tensor::activation::{log_softmax, softmax};
use burn::tensor::{Bool, FloatDType, IntDType};
use sparse_tensor::ops;
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CsrTensor, Fill};

fn halves() -> Tensor<2> {
    Tensor::from_floats([[0.5, 3.0, -1.0], [2.0, -0.5, 1.5]], &flex())
}

/// In 16 bits each answer is rounded once, at the end: it is that of f32.
#[test]
fn floats_of_16_bits_are_rounded_once() {
    let full = CooTensor::<2>::from_dense(halves(), 0);
    let some = small().with_fill(Fill::scalar(0.25));
    for dtype in [FloatDType::F16, FloatDType::BF16] {
        let rounded = |x: Tensor<1>| x.cast(dtype).cast(FloatDType::F32);
        for a in [&full, &some] {
            let (narrow, dense) = (a.cast(dtype), a.to_dense());
            near(narrow.mean().cast(FloatDType::F32), rounded(dense.clone().mean()));
            near(narrow.prod().cast(FloatDType::F32), rounded(dense.clone().prod()));
            near(narrow.sum().cast(FloatDType::F32), rounded(dense.sum()));
        }
        for dim in [0, 1] {
            let narrow = full.cast(dtype);
            let rounded = |x: Tensor<2>| x.cast(dtype).cast(FloatDType::F32);
            near(narrow.softmax(dim).to_dense().cast(FloatDType::F32), rounded(softmax(halves(), dim)));
            near(narrow.log_softmax(dim).to_dense().cast(FloatDType::F32), rounded(log_softmax(halves(), dim)));
        }
    }
}

/// Sets of places that are one and the same.
#[test]
fn a_pattern_beside_itself() {
    let a = small();
    let doubled = a.clone().mul_scalar(2.0);
    for out in [doubled.intersect_with(&a), doubled.union_with(&a)] {
        assert!(out.pattern().is_same(a.pattern()));
        near(out.to_dense(), a.to_dense() * 2.0);
    }
    assert_eq!(doubled.difference(&a).nnz(), 0);
    // No element is new, so none needs the fill.
    near(doubled.with_fill(Fill::Undefined).union_with(&a).to_dense_or(0.0), a.to_dense() * 2.0);
}

/// Thresholds within and beyond what the type holds.
#[test]
fn small_integers_are_dropped() {
    let beyond = |largest: f64| [0.0, 2.5, 90.0, 254.9, largest, largest * 2.0, 1e30];
    for (dtype, list, thresholds) in [
        (IntDType::U8, [1, 200, 255, 3, 0, 90], beyond(255.0)),
        (IntDType::I32, [1, -200, -255, 3, i64::from(i32::MAX), i64::from(-i32::MAX)], beyond(f64::from(i32::MAX))),
        (IntDType::I64, [1, -200, -(1 << 53), 3, 1 << 62, 90], beyond(2.0_f64.powi(62))),
        // The smallest integer has no absolute value of its type.
        (
            IntDType::I32,
            [1, -200, i64::from(i32::MIN), 3, 255, 90],
            [0.0, 90.0, 254.9, 1e5, 2147483647.5, 2147483648.0, 1e30],
        ),
        (IntDType::I64, [1, -200, i64::MIN, 3, 255, 90], [0.0, 2.5, 90.0, 254.9, 9e18, 2.0_f64.powi(63), 1e30]),
    ] {
        let a = CsrTensor::<2, Int>::from_dense(ids(list, [2, 3]).cast(dtype));
        for threshold in thresholds {
            let kept = a.prune(threshold).to_dense().into_data().convert::<i64>();
            let large = |&x: &i64| if (x.unsigned_abs() as f64) > threshold { x } else { 0 };
            let want: Vec<i64> = list.iter().map(large).collect();
            assert_eq!(kept.iter::<i64>().collect::<Vec<_>>(), want, "{dtype:?} above {threshold}");
        }
    }
}

/// Ranges by reference, as an array, a list and a vector.
#[test]
fn ranges_in_every_form() {
    let (a, want) = (small(), small().to_dense().slice([0..2, 1..3]));
    let ranges = [0..2, 1..3];
    near(a.slice(&ranges).to_dense(), want.clone());
    near(a.slice(&ranges[..]).to_dense(), want.clone());
    near(a.slice(ranges).to_dense(), want);
}

fn truths<const D: usize>(tensor: Tensor<D, Bool>) -> Vec<bool> {
    tensor.into_data().iter::<bool>().collect()
}

/// Whether any or all are true, where nothing is stored, everything, or some, with every kind of fill.
#[test]
fn any_and_all() {
    let list = [[true, false, true], [false, true, true]];
    let some = CooTensor::<2, Bool>::from_dense(Tensor::from_data(list, &flex()), 0);
    let none = CooTensor::<2, Bool>::from_dense(Tensor::from_data([[false; 3]; 2], &flex()), 0);
    let held = |value| Fill::tensor(Tensor::<1, Bool>::from_data([value], &flex()));
    for a in [some, none] {
        for fill in [Fill::Zero, Fill::scalar(0), Fill::scalar(1), held(false), held(true)] {
            let a = a.clone().with_fill(fill);
            let dense = a.to_dense();
            assert_eq!(truths(a.any()), truths(dense.clone().any()));
            assert_eq!(truths(a.all()), truths(dense.clone().all()));
            for dim in 0..2 {
                assert_eq!(truths(a.any_dim(dim).to_dense()), truths(dense.clone().any_dim(dim)));
                assert_eq!(truths(a.all_dim(dim).to_dense()), truths(dense.clone().all_dim(dim)));
            }
        }
    }
    let thin =
        CooTensor::<2, Bool>::from_dense(Tensor::from_data(TensorData::new(Vec::<bool>::new(), [0, 3]), &flex()), 0);
    assert_eq!(truths(thin.any_dim(0).to_dense()), [false; 3]);
    assert_eq!(truths(thin.all_dim(0).to_dense()), [true; 3]);
}

/// Where a dim stays as it is, or one tensor is all there is.
#[test]
fn nothing_to_do() {
    let a = small();
    let one = std::slice::from_ref(&a);
    near(ops::concat(one, 1).to_dense(), a.to_dense());
    near(ops::block_diag(one).to_dense(), a.to_dense());
    near(a.expand([2, 3]).to_dense(), a.to_dense());
    near(a.flatten::<2>(1, 1).to_dense(), a.to_dense());
    let parts = a.split(5, 1);
    assert_eq!(parts.len(), 1);
    near(parts[0].to_dense(), a.to_dense());
    let hybrid = CooTensor::<3>::from_dense(count([2, 3, 2]), 2);
    near(hybrid.flatten::<2>(1, 2).to_dense(), count([2, 6]));
    near(hybrid.unsqueeze_dim::<4>(3).to_dense(), count([2, 3, 2]).unsqueeze_dim::<4>(3));
    near(hybrid.expand([2, 3, 2]).to_dense(), count([2, 3, 2]));
    near(hybrid.roll([1], [1]).to_dense(), count([2, 3, 2]).roll(&[1], &[1]));
    near(hybrid.flip([2, 1]).to_dense(), count([2, 3, 2]).flip([2, 1]));
}

/// Products from the left, with a batch on either side, and with a fill in 16 bits.
#[test]
fn products_from_the_left() {
    let batch = CooTensor::<3>::from_dense(count([2, 3, 4]), 0);
    for left in [count([1, 5, 3]), count([2, 5, 3])] {
        let whole = left.clone().expand([2, 5, 3]);
        near(batch.rmatmul(left), whole.matmul(count([2, 3, 4])));
    }
    let filled = small().with_fill(Fill::scalar(0.5));
    let want = count([4, 2]).matmul(filled.to_dense());
    for dtype in [FloatDType::F16, FloatDType::BF16] {
        let got = filled.cast(dtype).rmatmul(count([4, 2]).cast(dtype));
        near(got.cast(FloatDType::F32), want.clone());
        let norm = small().cast(dtype).norm(2.0).cast(FloatDType::F32);
        near(norm, Tensor::<1>::from_floats([14.0_f32.sqrt()], &flex()).cast(dtype).cast(FloatDType::F32));
        let norms = small().cast(dtype).norm_dim(1.0, 1).to_dense().cast(FloatDType::F32);
        near(norms, Tensor::from_floats([[3.0], [3.0]], &flex()));
    }
}
