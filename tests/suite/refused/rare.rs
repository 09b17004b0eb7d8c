//! Reductions, powers and single elements with operands that are rare.

use super::*;
use burn::tensor::{Bool, FloatDType, IntDType};
use sparse_tensor::{CsrTensor, Fill};

/// `[[0, 0, 2], [1, 0, 0]]`, whose 2 is stored as 1 and 1.
fn twice() -> CooTensor<2> {
    CooTensor::new(ids([0, 1, 0, 2, 0, 2], [2, 3]), ones([3]), [2, 3]).unwrap()
}

#[test]
fn duplicates_count_once() {
    assert_eq!((twice().nnz(), twice().count_stored()), (3, 2));
    assert_eq!(small().count_stored(), 3);
}

#[test]
fn powers_of_every_kind() {
    for power in [0.0, 1.0, 2.0, 3.0, 0.5, -1.0, -2.0, -0.5] {
        for a in [small(), twice(), bare([2, 3], 0)] {
            let want = a.to_dense().powf_scalar(power);
            near(a.powf_scalar(power).to_dense(), want.clone());
            near(a.to_csr().powf_scalar(power).to_dense(), want);
        }
    }
    let powers = CooTensor::<2, Int>::from_dense(ids([2, 0, 3, 1, 2, 0], [2, 3]), 0);
    for fill in [-1, 0, 1, 2, 3] {
        let powers = powers.clone().with_fill(Fill::scalar(fill));
        near(small().powi(&powers).to_dense(), small().to_dense().powf(powers.to_dense().float()));
    }
}

/// In 16 bits a norm is that of f32, rounded once.
#[test]
fn norms_of_16_bits() {
    for dtype in [FloatDType::F16, FloatDType::BF16] {
        for p in [1.0, 2.0, 3.0, f64::INFINITY] {
            let got = small().cast(dtype).norm_dim(p, 1).to_dense().cast(FloatDType::F32);
            near(got, small().norm_dim(p, 1).to_dense().cast(dtype).cast(FloatDType::F32));
        }
    }
}

#[test]
fn means_without_elements() {
    for dim in 0..2 {
        near(bare([2, 3], 0).mean_dim(dim).to_dense(), bare([2, 3], 0).to_dense().mean_dim(dim));
    }
    near(bare([2, 3], 0).mean(), Tensor::zeros([1], &flex()));
}

/// Remainders and quotients of integers by numbers of each kind, and by 0.
#[test]
fn integers_by_integers() {
    let of = |list: [i64; 6]| CsrTensor::<2, Int>::from_dense(ids(list, [2, 3]));
    let integers = |x: Tensor<2, Int>| x.into_data().convert::<i64>().iter::<i64>().collect::<Vec<_>>();
    let (a, b) = (of([7, 0, 5, 0, 250, 9]), of([2, 3, 5, 0, 7, 0]));
    for dtype in [IntDType::U8, IntDType::I32, IntDType::I64] {
        let found = a.cast(dtype).remainder(&b.cast(dtype));
        assert_eq!(integers(found.to_dense()), [1, 0, 0, 0, 250 % 7, 0], "{dtype:?}");
    }
    let want = a.to_dense().float() / 4.0;
    near(a.div_scalar(4).to_dense(), want.clone());
    near(a.div_scalar(4u8).to_dense(), want.clone());
    near(a.div_scalar(4.0).to_dense(), want);
    near(a.div_scalar(0).to_dense(), a.to_dense().float() / 0.0);
    near(a.div_scalar(0u8).to_dense(), a.to_dense().float() / 0.0);
}

/// Elements of a tensor that is all dense, of a row, and of none.
#[test]
fn single_elements() {
    let dense = CooTensor::<2>::from_dense(count([2, 3]), 2);
    let row = CooTensor::<2>::from_dense(count([2, 3]), 1);
    for (at, want) in [([0, 1], 2.0), ([1, 2], 6.0), ([-1, -3], 4.0)] {
        assert_eq!(list(dense.get(at)), [want]);
        assert_eq!(list(row.get(at)), [want]);
    }
    assert_eq!(list(bare([2, 3], 0).get([1, 1])), [0.0]);
}

/// Of blocks, elements that are chosen and not stored are named; those that are stored are read.
#[test]
fn chosen_elements_of_blocks() {
    let rows = CooTensor::<2>::new(ids([1], [1, 1]), count([1, 3]), [2, 3]).unwrap().with_fill(Fill::Undefined);
    let mask = |list: [[bool; 3]; 2]| CooTensor::<2, Bool>::from_dense(Tensor::from_data(list, &flex()), 1);
    assert_eq!(list(rows.mask_select(&mask([[false; 3], [true, false, true]]))), [1.0, 3.0]);
    let missing = rows.try_mask_select(&mask([[false, true, false], [true; 3]]));
    refused("undefined_fill", "mask_select", &[], missing);
}
