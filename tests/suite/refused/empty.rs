//! Tensors that store nothing, and blocks without elements.

use super::*;
use burn::tensor::activation::{log_softmax, softmax};
use sparse_tensor::{Fill, ops};

/// The fill is the softmax of its block, or an equal share, whatever holds it.
#[test]
fn softmax_of_the_fill_alone() {
    let row = Tensor::<1>::from_floats([1.0, -2.0, 0.5, 3.0], &flex());
    let hybrid = bare([2, 3, 4], 1).with_fill(Fill::tensor(row));
    for dim in 0..3 {
        let (a, dense) = (&hybrid, hybrid.to_dense());
        near(a.softmax(dim).to_dense(), softmax(dense.clone(), dim));
        near(a.log_softmax(dim).to_dense(), log_softmax(dense, dim));
    }
    for fill in [0.0, -3.0, f32::INFINITY, f32::NAN] {
        for a in [Fill::scalar(fill), Fill::tensor(Tensor::<1>::from_floats([fill], &flex()))] {
            let a = bare([2, 3], 0).with_fill(a);
            near(a.softmax(1).to_dense(), softmax(a.to_dense(), 1));
            near(a.log_softmax(0).to_dense(), log_softmax(a.to_dense(), 0));
        }
    }
    let unknown = bare([2, 3], 0).with_fill(Fill::Undefined).softmax(1);
    assert!(unknown.fill().is_undefined() && unknown.nnz() == 0);
}

#[test]
fn softmax_of_blocks_without_elements() {
    let at = || ids([0, 1], [1, 2]);
    let a = CooTensor::<2>::new(at(), ones([2, 0]), [2, 0]).unwrap();
    for a in [a.clone(), a.with_fill(Fill::Undefined)] {
        for dim in 0..2 {
            for out in [a.softmax(dim), a.log_softmax(dim)] {
                assert_eq!((out.dims(), out.nnz(), out.values::<2>().dims()), ([2, 0], 2, [2, 0]));
            }
        }
    }
}

/// Blocks are joined in the fill where none is stored.
#[test]
fn joined_blocks_that_nobody_stores() {
    let fill = |list: Vec<f32>| {
        let size = list.len();
        Fill::tensor(Tensor::<1>::from_data(TensorData::new(list, [size]), &flex()))
    };
    let a = bare([3, 2], 1).with_fill(fill(vec![1.0, 2.0]));
    let b = bare([3, 1], 1).with_fill(fill(vec![3.0]));
    let out = ops::concat(&[a.clone(), b.clone()], 1);
    assert_eq!((out.nnz(), out.values::<2>().dims()), (0, [0, 3]));
    near(out.to_dense(), Tensor::cat(vec![a.to_dense(), b.to_dense()], 1));
}

#[test]
fn running_sums() {
    let at = ids([1, 0, 1], [1, 3]);
    let a = CooTensor::<3>::new(at, count([3, 2, 3]), [3, 2, 3]).unwrap();
    for dim in [1, 2] {
        near(a.stored_cumsum(dim).to_dense(), a.to_dense().cumsum(dim));
    }
    let none = bare([2, 3], 0).stored_cumsum(1);
    assert_eq!((none.dims(), none.nnz()), ([2, 3], 0));
    assert_eq!(CooTensor::<2>::new(ids([0], [1, 1]), ones([1, 0]), [2, 0]).unwrap().stored_cumsum(0).nnz(), 1);
}

#[test]
fn reductions_of_nothing() {
    let none = bare([2, 3], 0);
    near(none.stored_prod(), ones([1]));
    near(none.stored_sum(), Tensor::zeros([1], &flex()));
    assert!(list(none.stored_mean())[0].is_nan());
    let none = none.with_fill(Fill::Undefined);
    near(none.prod(), ones([1]));
    assert!(list(none.mean())[0].is_nan());
    let none = bare([3, 3], 0).with_fill(Fill::scalar(2.0));
    near(none.trace(), Tensor::from_floats([6.0], &flex()));
    near(none.diagonal(), ones([3]) * 2.0);
}

#[test]
fn selections_of_nothing() {
    let none = bare([3, 3], 0);
    assert_eq!(none.prune(0.5).nnz(), 0);
    assert_eq!(none.top_k_rows(1).nnz(), 0);
    assert_eq!(none.tril(0).nnz(), 0);
    assert_eq!(none.difference(&none).nnz(), 0);
    near(none.slice([1..3, 0..2]).to_dense(), Tensor::zeros([2, 2], &flex()));
    near(none.slice_dim(1, burn::tensor::Slice::new(0, None, 2)).to_dense(), Tensor::zeros([3, 2], &flex()));
}
