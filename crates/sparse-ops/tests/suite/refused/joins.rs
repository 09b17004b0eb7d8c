//! Several tensors that do not join.

use super::*;
use sparse_tensor::ops;
use sparse_tensor::{CsrTensor, Fill};

#[test]
fn parts_of_other_shapes() {
    let a = full([2, 3], 0).to_csr();
    let square = full([2, 2], 0).to_csr();
    let batch: CsrTensor<3> = ops::stack(std::slice::from_ref(&a), 0);
    let blocks = full([3, 3], 1);
    refused! {
        shape_mismatch "stack" ["[2, 3]", "[2, 2]"] ops::try_stack::<_, 2, 3, _>(&[a.clone(), square], 0);
        shape_mismatch "stack" ["rank 2", "rank 4"] ops::try_stack::<_, 2, 4, _>(&[a.to_coo()], 0);
        shape_mismatch "stack" ["rank 2 or 3", "rank 4"] ops::try_stack::<_, 3, 4, _>(&[batch], 0);
        shape_mismatch "sparse_mask" ["[3, 2]", "[2, 3]"] ops::try_sparse_mask(ones([3, 2]), &a);
        shape_mismatch "block_diag" ["must be sparse", "[1, 1]"] ops::try_block_diag(&[full([3, 3], 1)]);
        shape_mismatch "kron" ["must be sparse", "[1, 1]"] blocks.try_kron(&blocks);
    }
}

#[test]
fn parts_of_another_type_or_structure() {
    let (a, hybrid) = (full([2, 3], 0), full([2, 3], 1));
    let double = CooTensor::<2>::from_dense(wide([2, 3]), 0);
    refused! {
        layout_mismatch "concat" ["0 dense dims", "1 dense dims"] ops::try_concat(&[a.clone(), hybrid], 0);
        dtype_mismatch "concat" ["f32", "f64"] ops::try_concat(&[a.clone(), double.clone()], 0);
        dtype_mismatch "block_diag" ["f32", "f64"] ops::try_block_diag(&[a, double]);
    }
}

#[test]
fn dims_and_parts_that_are_not_there() {
    let a = small();
    let none: &[CsrTensor<2>] = &[];
    refused! {
        axis_out_of_range "concat" ["[-2, 2)", "got 2"] ops::try_concat(&[a.clone(), a.clone()], 2);
        axis_out_of_range "stack" ["[-3, 3)", "got -4"] ops::try_stack::<_, 2, 3, _>(&[a.clone(), a], -4);
        empty_input "stack" ["empty list"] ops::try_stack::<_, 2, 3, _>(none, 0);
        empty_input "block_diag" ["empty list"] ops::try_block_diag(none);
    }
}

#[test]
fn fills_that_do_not_join() {
    let a = full([2, 3], 0);
    let (filled, undefined) = (a.clone().with_fill(Fill::scalar(2.0)), a.clone().with_fill(Fill::Undefined));
    // Along a dense dim, blocks that only some parts store would be half undefined.
    let first = CooTensor::<2>::new(ids([0], [1, 1]), ones([1, 3]), [2, 3]).unwrap().with_fill(Fill::Undefined);
    let parts = [first, full([2, 3], 1).with_fill(Fill::Undefined)];
    refused! {
        fill_mismatch "stack" ["with_fill"] ops::try_stack::<_, 2, 3, _>(&[a.clone(), filled], 0);
        fill_mismatch "block_diag" ["with_fill"] ops::try_block_diag(&[a.clone(), undefined.clone()]);
        would_densify "kron" ["to_dense first", "36 elements"] undefined.try_kron(&a);
        undefined_fill "concat" ["intersect_with"] ops::try_concat(&parts, 1);
    }
}
