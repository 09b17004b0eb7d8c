//! Stacks, diagonals, triangles, masks, graphs and Kronecker products.

use crate::draw::{Plain, plain, value};
use crate::{any_value, close, config, device, matrix, read, special};
use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
use proptest::prelude::*;
use sparse_tensor::{CooTensor, CsrTensor, Fill, ops};
use std::collections::BTreeSet;

fn pair() -> impl Strategy<Value = (Plain, Plain)> {
    (0usize..5, 0usize..5).prop_flat_map(|(m, n)| (plain(vec![m, n], true), plain(vec![m, n], true)))
}

/// Every element of a matrix, by row and column.
fn each(shape: &[usize], element: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..shape[0] * shape[1]).map(|at| element(at / shape[1], at % shape[1])).collect()
}

/// The stored coordinates and values of a matrix, and its fill where there is one.
fn stored(a: &CooTensor<2>) -> (Vec<[i64; 2]>, Vec<f64>) {
    let lines: Vec<i64> = a.indices().into_data().convert::<i64>().iter().collect();
    let nnz = a.nnz();
    ((0..nnz).map(|k| [lines[k], lines[nnz + k]]).collect(), read(a.values::<1>()))
}

fn set(a: &Plain) -> BTreeSet<[i64; 2]> {
    a.coordinates.iter().map(|at| [at[0] as i64, at[1] as i64]).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn stack_is_dense_stack(
        a in plain(vec![2, 3], true), b in plain(vec![2, 3], true), fill in value(), axis in 0usize..3, back: bool, pick: bool,
    ) {
        let device = device(pick);
        let parts = [&a, &b, &a].map(|part| part.coo::<2>(part.leaf(&device)).with_fill(Fill::scalar(fill)));
        let want: Tensor<3> = Tensor::stack(parts.iter().map(|part| part.to_dense()).collect(), axis);
        let axis = if back { axis as isize - 3 } else { axis as isize };
        let coo: CooTensor<3> = ops::stack(&parts, axis);
        close(&read(coo.to_dense()), &read(want.clone()))?;
        let csr: CsrTensor<3> = ops::stack(&parts.map(|part| part.to_csr()), axis);
        prop_assert_eq!(csr.nnz(), coo.coalesce().nnz());
        close(&read(csr.to_dense()), &read(want))?;
    }

    /// Sizes of 0, one part, and parts without elements.
    #[test]
    fn stack_of_any_size(a in matrix(), count in 1usize..4, axis in 0isize..3, pick: bool) {
        let device = device(pick);
        let parts = vec![a.coo::<2>(a.leaf(&device)); count];
        let dense = a.dense(0.0);
        let (m, n) = (a.shape[0], a.shape[1]);
        let want: Vec<f64> = match axis {
            0 => dense.repeat(count),
            1 => (0..m).flat_map(|i| dense[i * n..(i + 1) * n].repeat(count)).collect(),
            _ => dense.iter().flat_map(|&value| vec![value; count]).collect(),
        };
        close(&read(ops::stack::<_, 2, 3, _>(&parts, axis).to_dense()), &want)?;
        let parts: Vec<CsrTensor<2>> = parts.iter().map(CooTensor::to_csr).collect();
        close(&read(ops::stack::<_, 2, 3, _>(&parts, axis).to_dense()), &want)?;
    }

    #[test]
    fn blocks_on_a_diagonal(a in matrix(), b in matrix(), pick: bool) {
        let device = device(pick);
        let shape = [a.shape[0] + b.shape[0], a.shape[1] + b.shape[1]];
        let (left, right) = (a.dense(0.0), b.dense(0.0));
        let want = each(&shape, |i, j| {
            if i < a.shape[0] && j < a.shape[1] {
                left[i * a.shape[1] + j]
            } else if i >= a.shape[0] && j >= a.shape[1] {
                right[(i - a.shape[0]) * b.shape[1] + j - a.shape[1]]
            } else {
                0.0
            }
        });
        let (a, b) = (a.coo::<2>(a.leaf(&device)), b.coo::<2>(b.leaf(&device)));
        close(&read(ops::block_diag(&[a.clone(), b.clone()]).to_dense()), &want)?;
        // The second time from what was kept.
        for _ in 0..2 {
            let csr = ops::block_diag(&[a.to_csr(), b.to_csr()]);
            prop_assert_eq!(csr.dims(), shape);
            close(&read(csr.to_dense()), &want)?;
        }
    }

    #[test]
    fn triangles_of_matrices(a in matrix(), k in -7isize..8, pick: bool) {
        let coo = a.coo::<2>(a.leaf(&device(pick)));
        let (dense, n) = (a.dense(0.0), a.shape[1]);
        let offset = |i: usize, j: usize| j as isize - i as isize;
        let low = each(&a.shape, |i, j| if offset(i, j) <= k { dense[i * n + j] } else { 0.0 });
        let high = each(&a.shape, |i, j| if offset(i, j) >= k { dense[i * n + j] } else { 0.0 });
        close(&read(coo.tril(k).to_dense()), &low)?;
        close(&read(coo.triu(k).to_dense()), &high)?;
        close(&read(coo.to_csr().tril(k).to_dense()), &low)?;
        close(&read(coo.to_csr().triu(k).to_dense()), &high)?;
        let undefined = coo.with_fill(Fill::Undefined).tril(k);
        prop_assert!(undefined.fill().is_undefined());
        close(&read(undefined.to_dense_or(0.0)), &low)?;
    }

    #[test]
    fn triangles_of_batches(a in plain(vec![2, 3, 4], false), k in -4isize..5, pick: bool) {
        let csr = a.csr::<3>(a.leaf(&device(pick)));
        let dense = csr.to_dense();
        close(&read(csr.tril(k).to_dense()), &read(dense.clone().tril(k as i64)))?;
        close(&read(csr.to_coo().triu(k).to_dense()), &read(dense.triu(k as i64)))?;
    }

    #[test]
    fn diagonals_of_matrices(a in matrix(), fill in value(), pick: bool) {
        let device = device(pick);
        let coo = a.coo::<2>(a.leaf(&device)).with_fill(Fill::scalar(fill));
        let (dense, n) = (a.dense(fill), a.shape[1]);
        let want: Vec<f64> = (0..a.shape[0].min(n)).map(|i| dense[i * n + i]).collect();
        close(&read(coo.diagonal()), &want)?;
        close(&read(coo.to_csr().diagonal()), &want)?;
        close(&read(coo.to_csr().trace()), &[want.iter().sum::<f64>()])?;
        let made = CsrTensor::<2>::from_diagonal(coo.diagonal());
        prop_assert_eq!(made.nnz(), want.len());
        close(&read(made.diagonal()), &want)?;
        let eye = CooTensor::<2>::eye(want.len(), (&device, DType::F64));
        close(&read(eye.diagonal()), &vec![1.0; want.len()])?;
    }

    #[test]
    fn dense_values_of_a_mask(mask in matrix(), fill in value(), pick: bool) {
        let device = device(pick);
        let count = mask.shape[0] * mask.shape[1];
        let dense: Vec<f64> = (0..count).map(|at| at as f64 - 3.5).collect();
        let flat = |at: &[i64; 2]| at[0] as usize * mask.shape[1] + at[1] as usize;
        let want: Vec<f64> = set(&mask).iter().map(|at| dense[flat(at)]).collect();
        let shape = [mask.shape[0], mask.shape[1]];
        let dense = Tensor::<2>::from_data(TensorData::new(dense, shape), (&device, DType::F64));
        let mask = mask.coo::<2>(mask.leaf(&device)).with_fill(Fill::scalar(fill));
        let out = ops::sparse_mask(dense.clone(), &mask);
        prop_assert!(out.is_coalesced() && out.fill().is_zero());
        close(&read(out.values::<1>()), &want)?;
        close(&read(ops::sparse_mask(dense, &mask.to_csr()).values::<1>()), &want)?;
    }

    #[test]
    fn patterns_as_sets((a, b) in pair(), fill in value(), pick: bool) {
        let device = device(pick);
        let own = a.coo::<2>(a.leaf(&device)).with_fill(Fill::scalar(fill));
        let other = b.coo::<2>(b.leaf(&device));
        let (set_a, set_b) = (set(&a), set(&b));
        let (dense, n) = (a.dense(fill), a.shape[1]);
        let at = |places: Vec<[i64; 2]>| -> (Vec<[i64; 2]>, Vec<f64>) {
            let values = places.iter().map(|at| dense[at[0] as usize * n + at[1] as usize]).collect();
            (places, values)
        };
        let want = [
            at(set_a.union(&set_b).copied().collect()),
            at(set_a.intersection(&set_b).copied().collect()),
            at(set_a.difference(&set_b).copied().collect()),
        ];
        let got = [own.union_with(&other), own.intersect_with(&other), own.difference(&other)];
        let (own, other) = (own.to_csr(), other.to_csr());
        let csr = [own.union_with(&other), own.mask_by(&other), own.difference(&other)];
        for ((coo, csr), (places, values)) in got.iter().zip(&csr).zip(&want) {
            for tensor in [coo, &csr.to_coo()] {
                let (got_places, got_values) = stored(tensor);
                prop_assert_eq!(&got_places, places);
                close(&got_values, values)?;
                prop_assert!(tensor.is_coalesced() && !tensor.fill().is_undefined());
            }
        }
        close(&read(got[0].to_dense()), &dense)?;
    }

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
        prop_assert_eq!(stored(&top).0, places);
        close(&read(top.values::<1>()), &values)?;
        close(&read(coo.to_csr().top_k_rows(k).values::<1>()), &values)?;
    }

    #[test]
    fn loops_and_degrees(
        a in (0usize..6).prop_flat_map(|n| plain(vec![n, n], true)), s in value(), fill in value(), pick: bool,
    ) {
        let coo = a.coo::<2>(a.leaf(&device(pick)));
        let (dense, filled, n) = (a.dense(0.0), a.dense(fill), a.shape[0]);
        let rows: Vec<f64> = (0..n).map(|i| (0..n).map(|j| dense[i * n + j]).sum()).collect();
        let cols: Vec<f64> = (0..n).map(|j| (0..n).map(|i| dense[i * n + j]).sum()).collect();
        close(&read(coo.degree(0)), &rows)?;
        close(&read(coo.degree(1)), &cols)?;
        close(&read(coo.to_csr().degree(-2)), &rows)?;
        close(&read(coo.to_csr().degree(-1)), &cols)?;
        let coo = coo.with_fill(Fill::scalar(fill));
        let with = each(&a.shape, |i, j| filled[i * n + j] + if i == j { s } else { 0.0 });
        let without = each(&a.shape, |i, j| if i == j { fill } else { filled[i * n + j] });
        close(&read(coo.add_self_loops(s).to_dense()), &with)?;
        close(&read(coo.to_csr().add_self_loops(s).to_dense()), &with)?;
        close(&read(coo.remove_self_loops().to_dense()), &without)?;
        close(&read(coo.to_csr().remove_self_loops().to_dense()), &without)?;
        let missing = coo.with_fill(Fill::Undefined).add_self_loops(s);
        let want = each(&a.shape, |i, j| dense[i * n + j] + if i == j { s } else { 0.0 });
        close(&read(missing.to_dense_or(0.0)), &want)?;
    }

    #[test]
    fn kronecker(
        a in matrix(), b in (0usize..4, 0usize..4).prop_flat_map(|(m, n)| plain(vec![m, n], true)), pick: bool,
    ) {
        let device = device(pick);
        let (left, right) = (a.dense(0.0), b.dense(0.0));
        let (p, q) = (b.shape[0], b.shape[1]);
        let shape = [a.shape[0] * p, a.shape[1] * q];
        let want = each(&shape, |i, j| left[i / p * a.shape[1] + j / q] * right[i % p * q + j % q]);
        let (a, b) = (a.coo::<2>(a.leaf(&device)), b.coo::<2>(b.leaf(&device)));
        let out = a.kron(&b);
        prop_assert_eq!(out.dims(), shape);
        prop_assert_eq!(out.nnz(), a.coalesce().nnz() * b.coalesce().nnz());
        close(&read(out.to_dense()), &want)?;
        close(&read(a.to_csr().kron(&b.to_csr()).to_dense()), &want)?;
    }
}

fn ints(values: [[i32; 3]; 2], device: &Device) -> CooTensor<2, Int> {
    CooTensor::from_dense(Tensor::from_ints(values, device), 0)
}

fn list<const D: usize>(tensor: Tensor<D, Int>) -> Vec<i64> {
    tensor.into_data().convert::<i64>().iter().collect()
}

#[test]
fn integers_and_booleans() {
    let device = Device::flex();
    let a = ints([[0, -5, 2], [i32::MIN, 0, 7]], &device);
    assert_eq!(list(a.prune(2.5).values::<1>()), [-5, i64::from(i32::MIN), 7]);
    assert_eq!(list(a.prune(1e30).values::<1>()), [i64::from(i32::MIN)]);
    assert_eq!(list(a.top_k_rows(1).values::<1>()), [-5, i64::from(i32::MIN)]);
    assert_eq!(list(a.tril(1).to_dense()), [0, -5, 0, i64::from(i32::MIN), 0, 7]);
    assert_eq!(list(a.diagonal()), [0, 0]);
    assert_eq!(list(CsrTensor::<2, Int>::eye(2, &device).kron(&a.prune(9.0).to_csr()).degree(0)).len(), 4);
    let mask: CooTensor<2, Bool> =
        CooTensor::from_dense(ints([[0, 1, 1], [0, 0, 0]], &device).to_dense().greater_elem(0), 0);
    assert_eq!(list(a.mask_by(&mask).values::<1>()), [-5, 2]);
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
    assert_eq!(a.try_degree(2).unwrap_err().kind(), "axis_out_of_range");
    assert_eq!(a.try_mask_by(&square).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(ops::try_sparse_mask(Tensor::<2>::ones([3, 2], &device), &a).unwrap_err().kind(), "shape_mismatch");
    let huge = CooTensor::<2>::empty([1 << 40, 1 << 40], &device, DType::F32);
    assert_eq!(huge.try_kron(&huge).unwrap_err().kind(), "overflow");
    assert_eq!(huge.kron(&square.to_coo()).dims(), [1 << 41, 1 << 41]);
}
