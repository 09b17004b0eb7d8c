//! Tensors that store nothing, blocks without elements, and matrices without rows.

use super::{count, flex, ids, ints, near, ones, read};
use burn::tensor::Tensor;
use burn::tensor::activation::{log_softmax, softmax};
use sparse_tensor::{CooTensor, CsrTensor, Fill};

/// A tensor that stores nothing; its last `dense` dims are dense.
fn bare<const D: usize>(shape: [usize; D], dense: usize) -> CooTensor<D> {
    CooTensor::from_dense(Tensor::zeros(shape, &flex()), dense)
}

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
fn blocks_without_elements() {
    let a = CooTensor::<2>::new(ids([0, 1], [1, 2]), ones([2, 0]), [2, 0]).unwrap();
    assert_eq!(a.stored().cumsum(0).nnz(), 2);
    for a in [a.clone(), a.with_fill(Fill::Undefined)] {
        for dim in 0..2 {
            for out in [a.softmax(dim), a.log_softmax(dim)] {
                assert_eq!((out.dims(), out.nnz(), out.values::<2>().dims()), ([2, 0], 2, [2, 0]));
            }
        }
    }
}

#[test]
fn reductions_of_nothing() {
    let none = bare([2, 3], 0);
    near(none.stored().prod(), ones([1]));
    near(none.stored().sum(), Tensor::zeros([1], &flex()));
    assert!(read(none.stored().mean())[0].is_nan());
    let none = none.with_fill(Fill::Undefined);
    near(none.prod(), ones([1]));
    assert!(read(none.mean())[0].is_nan());
}

/// Each matrix of a batch has one pointer more than rows, also where it has no row.
#[test]
fn pointers_of_matrices_without_rows() {
    let batch = CsrTensor::<3>::from_dense(ones([4, 0, 3]));
    assert_eq!(ints(batch.row_ptr()), [0; 4]);
    let none = CsrTensor::<3>::from_dense(ones([0, 2, 3]));
    assert_eq!(none.row_ptr().dims(), [0]);
    let again = CsrTensor::<3>::new(batch.row_ptr(), batch.col_idx(), ones([0]), [4, 0, 3]).unwrap();
    assert_eq!(again.to_dense().dims(), [4, 0, 3]);
}

/// A tensor without sparse dims stores one block, or several that are its sum.
#[test]
fn no_sparse_dims() {
    let a = CooTensor::<2>::new(Tensor::zeros([0, 2], &flex()), count([2, 2, 3]), [2, 3]).unwrap();
    assert_eq!((a.sparse_dims(), a.nnz()), (0, 2));
    let dense = Tensor::<2>::from_floats([[8.0, 10.0, 12.0], [14.0, 16.0, 18.0]], &flex());
    near(a.to_dense(), dense.clone());
    near(a.permute([1, 0]).to_dense(), dense.transpose());
}
