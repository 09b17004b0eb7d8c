//! Shape and selection: dims that no table would fit, and corners.

use super::{count, flex, ids, near, read, small};
use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
use sparse_tensor::{CooTensor, CsrTensor, Fill, ops};

fn index(values: &[i64], device: &Device) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(values.to_vec(), [values.len()]), (device, DType::I64))
}

/// Dims that no table would fit.
#[test]
fn far_beyond_memory() {
    let device = Device::flex();
    let big = 1usize << 40;
    let at = TensorData::new(vec![7i64, 7, 1 << 39, 0, (1 << 40) - 1, 5], [2, 3]);
    let at = Tensor::<2, Int>::from_data(at, (&device, DType::I64));
    let a = CooTensor::<2>::new(at, Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device), [big, big]).unwrap();
    let list = |tensor: &CooTensor<2>| -> (Vec<i64>, Vec<f32>) {
        let at = tensor.indices().into_data().convert::<i64>().iter().collect();
        (at, tensor.values::<1>().into_data().iter().collect())
    };
    let (half, last) = (1i64 << 39, (1i64 << 40) - 1);
    let rows = a.select(0, index(&[half, 3, 7, half - big as i64], &device));
    assert_eq!(rows.dims(), [4, big]);
    assert_eq!(list(&rows), (vec![0, 2, 2, 3, 5, 0, last, 5], vec![3.0, 1.0, 2.0, 3.0]));
    let cols = a.select(1, index(&[5, -1, 5], &device));
    assert_eq!(list(&cols), (vec![7, half, half, 1, 0, 2], vec![2.0, 3.0, 3.0]));
    assert_eq!(list(&a.flip([1])).0, [7, 7, half, 0, last, last - 5]);
    assert_eq!(list(&a.roll([half], [0])).0, [0, half + 7, half + 7, 5, 0, last]);
    assert_eq!(list(&a.roll_dim(isize::MIN, 1)).0, list(&a.roll_dim(0, 1)).0);
    assert_eq!(list(&a.narrow(0, 8, big - 8)).0, [half - 8, 5]);
    assert_eq!(a.reshape([big, 4, big / 4]).coalesce().nnz(), 3);
    assert_eq!(a.try_reshape([big / 2, big * 2]).unwrap_err().kind(), "overflow");
    assert_eq!(a.try_flatten::<1>(0, 1).unwrap_err().kind(), "overflow");
    assert_eq!(a.try_repeat_dim(0, big).unwrap_err().kind(), "overflow");
    assert_eq!(a.get([7, big - 1]).into_data().iter::<f32>().collect::<Vec<_>>(), [2.0]);
    assert_eq!(a.unsqueeze_dim::<3>(2).expand([big, big, 2]).nnz(), 6);
}

/// Where nothing is left of an axis, or of the sparse dims.
#[test]
fn axes_may_become_empty() {
    let device = Device::flex();
    let dense = Tensor::<3>::from_floats([[[1.0, 2.0]], [[0.0, 0.0]], [[3.0, 0.0]]], &device);
    let a = CooTensor::<3>::from_dense(dense, 2).with_fill(Fill::scalar(4.0));
    assert_eq!(a.repeat_dim(0, 0).to_dense().dims(), [0, 1, 2]);
    assert_eq!(a.expand([3, 0, 2]).to_dense().dims(), [3, 0, 2]);
    assert_eq!(a.select(2, index(&[], &device)).to_dense().dims(), [3, 1, 0]);
    // One block is left, with no coordinates.
    let block: CooTensor<2> = a.select_dim(0, -1);
    assert_eq!(
        (block.sparse_dims(), block.values::<3>().into_data().iter().collect::<Vec<f32>>()),
        (0, vec![3.0, 0.0])
    );
    assert_eq!(a.unsqueeze_dim::<4>(1).sparse_dims(), 2);
    assert_eq!(a.chunk(2, 0).iter().map(|part| part.dims()[0]).collect::<Vec<_>>(), [2, 1]);
    let none = CooTensor::<2>::zeros([2, 3], &device).with_fill(Fill::Undefined);
    assert!(none.select(0, index(&[1], &device)).flip([0]).repeat_dim(1, 2).fill().is_undefined());
}

/// Without a fill what is stored can be chosen all the same, also of blocks.
#[test]
fn a_mask_over_what_is_stored() {
    let a = small().with_fill(Fill::Undefined);
    let mask = |list: [[bool; 3]; 2], dense| CooTensor::<2, Bool>::from_dense(Tensor::from_data(list, &flex()), dense);
    assert_eq!(read(a.mask_select(&mask([[false, false, true], [false, true, false]], 0))), [2.0, 3.0]);
    assert_eq!(a.mask_select(&mask([[false; 3]; 2], 0)).dims(), [0]);
    let rows = CooTensor::<2>::new(ids([1], [1, 1]), count([1, 3]), [2, 3]).unwrap().with_fill(Fill::Undefined);
    assert_eq!(read(rows.mask_select(&mask([[false; 3], [true, false, true]], 1))), [1.0, 3.0]);
}

/// Elements of a tensor that is all dense and of one of blocks, from either end.
#[test]
fn single_elements() {
    for dense in [1, 2] {
        let a = CooTensor::<2>::from_dense(count([2, 3]), dense);
        for (at, want) in [([0, 1], 2.0), ([1, 2], 6.0), ([-1, -3], 4.0)] {
            assert_eq!(read(a.get(at)), [want]);
        }
    }
}

#[test]
fn one_part_and_one_dim_stay_what_they_are() {
    let a = small();
    near(ops::concat(std::slice::from_ref(&a), 1).to_dense(), a.to_dense());
    near(a.flatten::<2>(1, 1).to_dense(), a.to_dense());
    // An end that is the last one.
    near(a.narrow(1, 3, 0).to_dense(), Tensor::zeros([2, 0], &flex()));
}

/// CSR finds slices along dim 0 through its row pointers, COO among its coordinates. Both give the same.
#[test]
fn slices_along_dim_0_by_row_pointers() {
    let device = Device::flex();
    let numbers = [0, 4, 0, 0, 0, 0, 7, 0, 9, 0, 0, 2, 0, 0, 0, 3, 0, 0, 5, 0, 0, 0, 0, 8].map(|x| x as f32);
    let dense = Tensor::<1>::from_floats(numbers, &device);
    fn same<const D: usize>(dense: Tensor<D>, index: Tensor<1, Int>, ranges: [[usize; 2]; 4]) {
        let (csr, coo) = (CsrTensor::from_dense(dense.clone()), CooTensor::from_dense(dense.clone(), 0));
        let check = |a: CsrTensor<D>, b: CooTensor<D>| {
            assert_eq!(a.to_coo().indices().into_data(), b.indices().into_data());
            assert_eq!(a.values::<1>().into_data(), b.values::<1>().into_data());
            assert_eq!(a.dims(), b.dims());
        };
        check(csr.select(0, index.clone()), coo.select(0, index.clone()));
        assert_eq!(csr.select(0, index.clone()).to_dense().into_data(), dense.clone().select(0, index).into_data());
        for [start, length] in ranges {
            check(csr.narrow(0, start, length), coo.narrow(0, start, length));
        }
        let at = csr.dims().map(|size| size - 1);
        assert_eq!(csr.get(at).into_data(), coo.get(at).into_data());
        assert_eq!(csr.get([0; D]).into_data(), coo.get([0; D]).into_data());
    }
    // Rows 2 and 4 are empty. The first test of each rank has repeats, the second selects nothing that is stored.
    let rows = dense.clone().reshape([6, 4]);
    let rows = rows.slice_assign([2..3, 0..4], Tensor::zeros([1, 4], &device));
    same(rows.clone(), index(&[5, 2, 0, 5, 1], &device), [[0, 6], [2, 1], [1, 3], [5, 1]]);
    same(rows, index(&[4, 2], &device), [[4, 1], [0, 1], [3, 2], [0, 2]]);
    let batch = dense.reshape([3, 2, 4]);
    same(batch.clone(), index(&[2, 0, 2], &device), [[0, 3], [1, 1], [1, 2], [2, 1]]);
    same(batch.mul_scalar(0.0), index(&[1, 0], &device), [[0, 1], [1, 1], [0, 2], [2, 1]]);
}

#[test]
fn lists_of_the_host_are_indices() {
    let device = flex();
    let a = small();
    let [rows, cols] = a.dims();
    let dense = a.to_dense();
    for (dim, list) in [(0, vec![rows - 1, 0, rows - 1]), (1, vec![cols - 1, 0]), (0, vec![])] {
        let places = index(&list.iter().map(|&at| at as i64).collect::<Vec<_>>(), &device);
        let want = a.select(dim, places).to_dense().into_data();
        assert_eq!(a.select(dim, &list).to_dense().into_data(), want);
        assert_eq!(a.to_csr().select(dim, &list[..]).to_dense().into_data(), want);
        assert_eq!(a.select(dim, list.clone()).to_dense().into_data(), want);
        let plan = ops::IndexPlan::from_list(&list, a.dims()[dim], &device).unwrap();
        assert_eq!(plan.select(dense.clone(), dim).into_data(), want);
    }
    let told = a.try_select(0, [0, rows]).unwrap_err().to_string();
    assert_eq!(told, format!("select: index along dim 0 must be in [0, {rows}), got {rows} at position 1"));
    let told = ops::IndexPlan::from_list(&[usize::MAX], 3, &device).unwrap_err().to_string();
    assert_eq!(
        told,
        format!("IndexPlan::from_list: index along dim 0 must be in [0, 3), got {} at position 0", i64::MAX)
    );
}
