//! Triangles, masks, graphs and Kronecker products at corners that the equivalence test does not draw.

use super::{any_value, close, count, device, flex, ids, ints, near, ones, read, small, special};
use burn::tensor::{Bool, DType, Device, Int, IntDType, Tensor};
use proptest::prelude::*;
use sparse_dev::draw::value;
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, Fill};

proptest! {
    #[test]
    fn small_elements_are_pruned(a in special(vec![3, 4]), threshold in prop_oneof![value(), any_value()], pick: bool) {
        let coo = a.coo::<2>(a.leaf(&device(pick)));
        let keeps = |value: f64| !matches!(value.abs().partial_cmp(&threshold), Some(order) if order.is_le());
        let want: Vec<f64> = a.values.iter().copied().filter(|&value| keeps(value)).collect();
        close(&read(coo.prune(threshold).values::<1>()), &want)?;
        close(&read(coo.to_csr().prune(threshold).values::<1>()), &want)?;
    }

    #[test]
    fn largest_of_each_row(a in special(vec![4, 5]), k in 0usize..7, pick: bool) {
        let coo = a.coo::<2>(a.leaf(&device(pick)));
        let size = |at: usize| if a.values[at].is_nan() { f64::INFINITY } else { a.values[at].abs() };
        let mut want = vec![];
        for row in 0..a.shape[0] {
            let mut own: Vec<usize> = (0..a.values.len()).filter(|&at| a.coordinates[at][0] == row).collect();
            own.sort_by(|&x, &y| size(y).total_cmp(&size(x)));
            own.truncate(k);
            own.sort_unstable();
            want.extend(own);
        }
        let values: Vec<f64> = want.iter().map(|&at| a.values[at]).collect();
        let top = coo.top_k_rows(k);
        let place = |at: usize| [a.coordinates[at][0] as i64, a.coordinates[at][1] as i64];
        let places: Vec<[i64; 2]> = want.iter().map(|&at| place(at)).collect();
        let lines = ints(top.indices());
        let found: Vec<[i64; 2]> = (0..top.nnz()).map(|k| [lines[k], lines[top.nnz() + k]]).collect();
        prop_assert_eq!(found, places);
        close(&read(top.values::<1>()), &values)?;
        close(&read(coo.to_csr().top_k_rows(k).values::<1>()), &values)?;
    }
}

/// The smallest integer has no absolute value of its type.
#[test]
fn the_smallest_integer_is_the_largest_element() {
    let a = CooTensor::<2, Int>::from_dense(Tensor::from_ints([[0, -5, 2], [i32::MIN, 0, 7]], &flex()), 0);
    assert_eq!(ints(a.top_k_rows(1).values::<1>()), [-5, i64::from(i32::MIN)]);
}

/// The values of the other tensor do not count, whatever they are.
#[test]
fn places_of_another_kind() {
    let a = CooTensor::<2, Int>::from_dense(Tensor::from_ints([[0, -5, 2], [1, 0, 7]], &flex()), 0);
    let mask = CooTensor::<2, Bool>::from_dense(Tensor::from_data([[false, true, true], [false; 3]], &flex()), 0);
    assert_eq!(ints(a.intersect_with(&mask).values::<1>()), [-5, 2]);
    assert_eq!(mask.union_with(&small()).nnz(), 4);
}

#[test]
fn what_may_be_large_or_undefined() {
    let device = Device::flex();
    let a = CsrTensor::<2>::from_dense(Tensor::ones([2, 3], &device));
    let undefined = a.clone().with_fill(Fill::Undefined);
    assert!(undefined.kron(&undefined).fill().is_undefined());
    assert_eq!(undefined.union_with(&a.prune(2.0)).nnz(), 6);
    let huge = CooTensor::<2>::zeros([1 << 40, 1 << 40], (&device, DType::F32));
    assert_eq!(huge.kron(&CooTensor::eye(2, &device)).dims(), [1 << 41, 1 << 41]);
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

/// A diagonal that is no longer stored reads as the fill; one that is put where there is none is all there is.
#[test]
fn loops_beside_a_fill() {
    let device = Device::flex();
    let a = CooTensor::<2>::from_dense(Tensor::from_floats([[5.0, 0.0], [0.0, 0.0]], &device), 0);
    let filled = a.clone().with_fill(Fill::scalar(2.0));
    let undefined = a.with_fill(Fill::Undefined);
    for (without, with) in [
        (filled.remove_self_loops().to_dense(), undefined.add_self_loops(1.0).to_dense_or(9.0)),
        (filled.to_csr().remove_self_loops().to_dense(), undefined.to_csr().add_self_loops(1.0).to_dense_or(9.0)),
    ] {
        assert_eq!((read(without), read(with)), (vec![2.0; 4], vec![6.0, 9.0, 9.0, 1.0]));
    }
}

/// Thresholds within and beyond what the type holds.
#[test]
fn integers_are_pruned_at_the_limits_of_their_type() {
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

#[test]
fn patterns_tell_what_they_hold() {
    let a = small();
    assert_eq!(format!("{:?}", a.pattern()), "COO pattern [2, 3], nnz 3");
    assert_eq!(format!("{:?}", a.to_csr().pattern()), "CSR pattern [2, 3], nnz 3");
    let twice = CooTensor::<2>::new(ids([1, 1, 0, 0], [2, 2]), ones([2]), [2, 3]).unwrap();
    assert_eq!(format!("{:?}", twice.pattern()), "COO pattern [2, 3], nnz 2, not coalesced");
}

#[test]
fn patterns_move_with_all_that_they_hold() {
    let twice = CooTensor::<2>::new(ids([1, 1, 0, 0], [2, 2]), ones([2]), [2, 3]).unwrap();
    let moved = twice.pattern().to_device(&flex());
    assert!(!moved.is_same(twice.pattern()) && !moved.is_coalesced());
    assert_eq!(moved.shape(), [2, 3]);
    assert_eq!(ints(moved.coordinates().clone()), [1, 1, 0, 0]);
    let rows = CsrTensor::<3>::from_dense(count([2, 1, 2]));
    let moved = rows.pattern().to_device(&flex());
    assert!(!moved.is_same(rows.pattern()) && moved.is_coalesced());
    assert_eq!(moved.shape(), [2, 1, 2]);
    assert_eq!((ints(moved.row_ptr().clone()), ints(moved.col_idx().clone())), (vec![0, 2, 4], vec![0, 1, 0, 1]));
}
