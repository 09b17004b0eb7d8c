//! Triangles, masks, graphs and Kronecker products at corners that the law does not draw.

use super::{any_value, close, device, ints, read, special};
use crate::draw::value;
use burn::tensor::{Bool, DType, Device, Int, Tensor};
use proptest::prelude::*;
use sparse_tensor::{CooTensor, CsrTensor, Fill, ops};

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

fn whole(values: [[i32; 3]; 2], device: &Device) -> CooTensor<2, Int> {
    CooTensor::from_dense(Tensor::from_ints(values, device), 0)
}

#[test]
fn integers_and_booleans() {
    let device = Device::flex();
    let a = whole([[0, -5, 2], [i32::MIN, 0, 7]], &device);
    assert_eq!(ints(a.prune(2.5).values::<1>()), [-5, i64::from(i32::MIN), 7]);
    assert_eq!(ints(a.prune(2_147_483_647.0).values::<1>()), [i64::from(i32::MIN)]);
    assert_eq!(ints(a.prune(1e30).values::<1>()), [0_i64; 0]);
    assert_eq!(ints(a.top_k_rows(1).values::<1>()), [-5, i64::from(i32::MIN)]);
    assert_eq!(ints(a.tril(1).to_dense()), [0, -5, 0, i64::from(i32::MIN), 0, 7]);
    assert_eq!(ints(a.diagonal()), [0, 0]);
    assert_eq!(ints(CsrTensor::<2, Int>::eye(2, &device).kron(&a.prune(9.0).to_csr()).row_sums()).len(), 4);
    let mask: CooTensor<2, Bool> =
        CooTensor::from_dense(whole([[0, 1, 1], [0, 0, 0]], &device).to_dense().greater_elem(0), 0);
    assert_eq!(ints(a.intersect_with(&mask).values::<1>()), [-5, 2]);
    let batch: CooTensor<3, Bool> = ops::stack(&[mask.clone(), mask.triu(2)], 0);
    assert_eq!(batch.to_dense().int().sum().into_scalar::<i64>(), 3);
    assert_eq!(ops::block_diag(&[mask.to_csr(), mask.to_csr()]).nnz(), 4);
    assert_eq!(CooTensor::<2, Bool>::eye(3, &device).nnz(), 3);
    assert_eq!(mask.union_with(&CooTensor::eye(2, &device).widened()).nnz(), 4);
}

trait Widened {
    fn widened(&self) -> CooTensor<2>;
}
impl Widened for CooTensor<2> {
    /// The first two columns of three.
    fn widened(&self) -> CooTensor<2> {
        CooTensor::new(self.indices(), self.values::<1>(), [2, 3]).expect("valid coordinates")
    }
}

#[test]
fn blocks_of_dense_dims() {
    let device = Device::flex();
    let dense = Tensor::<3>::from_floats([[[1.0, 2.0], [0.0, 0.0]], [[0.1, 0.0], [0.2, 5.0]]], &device);
    let a = CooTensor::from_dense(dense.clone(), 1);
    assert_eq!(a.prune(0.5).nnz(), 2);
    assert_eq!(a.tril(0).nnz(), 3);
    assert_eq!(a.triu(0).nnz(), 2);
    let masked = ops::sparse_mask(dense.clone() * 2.0, &a);
    assert_eq!(masked.to_dense().into_data(), (dense.clone() * 2.0).into_data());
    for axis in 0..4 {
        let stacked: CooTensor<4> = ops::stack(&[a.clone(), masked.clone()], axis);
        assert_eq!(stacked.dense_dims(), if axis > 2 { 2 } else { 1 });
        let want: Tensor<4> = Tensor::stack(vec![dense.clone(), dense.clone() * 2.0], axis as usize);
        assert_eq!(stacked.to_dense().into_data(), want.into_data());
    }
}

#[test]
fn what_must_hold() {
    let device = Device::flex();
    let a = CsrTensor::<2>::from_dense(Tensor::ones([2, 3], &device));
    let filled = a.clone().with_fill(Fill::scalar(2));
    let undefined = a.clone().with_fill(Fill::Undefined);
    let square = CsrTensor::<2>::eye(2, &device);
    let none: [CsrTensor<2>; 0] = [];
    assert_eq!(ops::try_stack::<_, 2, 3, _>(&none, 0).unwrap_err().kind(), "empty_input");
    assert_eq!(ops::try_block_diag(&none).unwrap_err().kind(), "empty_input");
    assert_eq!(ops::try_stack::<_, 2, 3, _>(std::slice::from_ref(&a), 3).unwrap_err().kind(), "axis_out_of_range");
    assert_eq!(ops::try_stack::<_, 2, 4, _>(&[a.to_coo()], 0).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(ops::try_stack::<_, 2, 3, _>(&[a.clone(), square.clone()], 0).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(ops::try_stack::<_, 2, 3, _>(&[a.clone(), filled.clone()], 0).unwrap_err().kind(), "fill_mismatch");
    let batch: CsrTensor<3> = ops::stack(std::slice::from_ref(&a), 0);
    assert_eq!(ops::try_stack::<_, 3, 4, _>(&[batch], 0).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(ops::try_block_diag(&[a.clone(), filled.clone()]).unwrap_err().kind(), "would_densify");
    assert_eq!(ops::try_block_diag(&[a.clone(), undefined.clone()]).unwrap_err().kind(), "fill_mismatch");
    assert_eq!(filled.try_tril(0).unwrap_err().kind(), "would_densify");
    assert_eq!(filled.try_prune(0.0).unwrap_err().kind(), "would_densify");
    assert_eq!(filled.try_top_k_rows(1).unwrap_err().kind(), "would_densify");
    assert_eq!(filled.try_kron(&a).unwrap_err().kind(), "would_densify");
    assert_eq!(undefined.try_kron(&a).unwrap_err().kind(), "would_densify");
    assert!(undefined.kron(&undefined).fill().is_undefined());
    assert_eq!(undefined.try_diagonal().unwrap_err().kind(), "undefined_fill");
    assert_eq!(a.prune(2.0).with_fill(Fill::Undefined).try_union_with(&a).unwrap_err().kind(), "undefined_fill");
    assert_eq!(undefined.union_with(&a.prune(2.0)).nnz(), 6);
    assert_eq!(a.try_add_self_loops(1.0).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(a.try_remove_self_loops().unwrap_err().kind(), "shape_mismatch");
    assert_eq!(square.try_add_self_loops(Tensor::ones([2], &device)).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(a.try_sum_dim_dense(2).unwrap_err().kind(), "axis_out_of_range");
    assert_eq!(a.try_intersect_with(&square).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(ops::try_sparse_mask(Tensor::<2>::ones([3, 2], &device), &a).unwrap_err().kind(), "shape_mismatch");
    let huge = CooTensor::<2>::zeros([1 << 40, 1 << 40], (&device, DType::F32));
    assert_eq!(huge.try_kron(&huge).unwrap_err().kind(), "overflow");
    assert_eq!(huge.kron(&square.to_coo()).dims(), [1 << 41, 1 << 41]);
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
