//! Patterns by themselves.

use super::*;
use sparse_tensor::CsrTensor;
use sparse_tensor::pattern::{CooPattern, CsrPattern, Pattern};

fn numbers<const D: usize>(tensor: Tensor<D, Int>) -> Vec<i64> {
    tensor.into_data().convert::<i64>().iter().collect()
}

#[test]
fn tell_what_they_hold() {
    let a = small();
    assert_eq!(format!("{:?}", a.pattern()), "COO pattern [2, 3], nnz 3");
    assert_eq!(format!("{:?}", a.to_csr().pattern()), "CSR pattern [2, 3], nnz 3");
    let twice = CooTensor::<2>::new(ids([1, 1, 0, 0], [2, 2]), ones([2]), [2, 3]).unwrap();
    assert_eq!(format!("{:?}", twice.pattern()), "COO pattern [2, 3], nnz 2, not coalesced");
}

#[test]
fn move_with_all_that_they_hold() {
    let twice = CooTensor::<2>::new(ids([1, 1, 0, 0], [2, 2]), ones([2]), [2, 3]).unwrap();
    let moved = twice.pattern().to_device(&flex());
    assert!(!moved.is_same(twice.pattern()) && !moved.is_coalesced());
    assert_eq!(moved.shape(), [2, 3]);
    assert_eq!(numbers(moved.coordinates().clone()), [1, 1, 0, 0]);
    let rows = CsrTensor::<3>::from_dense(count([2, 1, 2]));
    let moved = rows.pattern().to_device(&flex());
    assert!(!moved.is_same(rows.pattern()) && moved.is_coalesced());
    assert_eq!(moved.shape(), [2, 1, 2]);
    assert_eq!((numbers(moved.row_ptr().clone()), numbers(moved.col_idx().clone())), (vec![0, 2, 4], vec![0, 1, 0, 1]));
}

#[test]
fn rows_that_do_not_fit() {
    let new =
        |pointers: usize, shape: &[usize]| CsrPattern::new(ids(vec![0; pointers], [pointers]), ids([], [0]), shape);
    let says = &["rank 2 or 3", "[3]"];
    refused("shape_mismatch", "CsrPattern::new", says, new(4, &[3]));
    let got = (1u128 << 80).to_string();
    refused("overflow", "CsrPattern::new", &["batch * columns", &got], new(1, &[1 << 40, 1, 1 << 40]));
    refused("overflow", "CsrPattern::new", &["batch * rows", &got], new(1, &[1 << 40, 1 << 40, 1]));
    refused("overflow", "CsrPattern::new", &["a dimension", "9223372036854775808"], new(1, &[1 << 63, 1]));
    refused("length_mismatch", "CsrPattern::new", &["length 3", "got 2"], new(2, &[2, 5]));
    refused("length_mismatch", "CsrPattern::new", &["length 6", "got 5"], new(5, &[2, 2, 5]));
    let lines = CsrTensor::<2>::try_from_dense(ones([2, 2])).unwrap();
    refused("shape_mismatch", "unsqueeze_dim", &["got 2"], lines.try_unsqueeze_dim::<2>(0));
    let flat = CooPattern::new(ids([0, 5], [2, 1]), &[2, 5]);
    refused("index_out_of_range", "CooPattern::new", &["dim 1", "[0, 5)", "got 5"], flat);
}

/// Each matrix of a batch has one pointer more than rows, also where it has no row.
#[test]
fn pointers_of_matrices_without_rows() {
    let batch = CsrTensor::<3>::from_dense(ones([4, 0, 3]));
    assert_eq!(numbers(batch.row_ptr()), [0; 4]);
    let none = CsrTensor::<3>::from_dense(ones([0, 2, 3]));
    assert_eq!(none.row_ptr().dims(), [0]);
    let again = CsrTensor::<3>::new(batch.row_ptr(), batch.col_idx(), ones([0]), [4, 0, 3]).unwrap();
    assert_eq!(again.to_dense().dims(), [4, 0, 3]);
}

/// Pointers of a batch that are larger than any index of 32 bits.
#[test]
fn pointers_beyond_all_elements() {
    for beyond in [4, 1 << 31, i64::MAX] {
        let pointers = ids([0, 1, 2, 0, 1, beyond], [6]);
        let made = CsrTensor::<3>::new(pointers, ids([0, 1, 0, 1], [4]), ones([4]), [2, 2, 2]);
        let kind = if beyond == i64::MAX { "overflow" } else { "invalid_row_ptr" };
        refused(kind, "CsrTensor::new", &[], made);
        let made = CsrTensor::<3>::new(ids([0, 0, beyond], [3]), ids([0], [1]), ones([1]), [1, 2, 2]);
        refused("invalid_row_ptr", "CsrTensor::new", &[&beyond.to_string()], made);
    }
}

/// A tensor without sparse dims stores one block, or several that are its sum.
#[test]
fn no_sparse_dims() {
    let at = Tensor::<2, Int>::zeros([0, 2], &flex());
    let a = CooTensor::<2>::new(at, count([2, 2, 3]), [2, 3]).unwrap();
    assert_eq!((a.sparse_dims(), a.nnz()), (0, 2));
    let dense = Tensor::<2>::from_floats([[8.0, 10.0, 12.0], [14.0, 16.0, 18.0]], &flex());
    near(a.to_dense(), dense.clone());
    near(a.permute([1, 0]).to_dense(), dense.transpose());
}
