//! Dims, ranks, and parts of a tensor.

use super::*;
use burn::tensor::Slice;
use sparse_tensor::CsrTensor;

#[test]
fn dims_that_are_not_there() {
    let a = small();
    let dims = ["[-2, 2)", "got 2"];
    refused! {
        axis_out_of_range "permute" dims a.try_permute([0, 2]);
        axis_out_of_range "swap_dims" dims a.try_swap_dims(0, 2);
        axis_out_of_range "flatten" dims a.try_flatten::<1>(2, 1);
        axis_out_of_range "flatten" dims a.try_flatten::<1>(0, 2);
        axis_out_of_range "squeeze_dim" dims a.try_squeeze_dim::<1>(2);
        axis_out_of_range "repeat_dim" dims a.try_repeat_dim(2, 2);
        axis_out_of_range "flip" dims a.try_flip([2]);
        axis_out_of_range "roll" ["[-2, 2)", "got -3"] a.try_roll([1], [-3]);
        axis_out_of_range "roll_dim" dims a.try_roll_dim(1, 2);
        axis_out_of_range "narrow" dims a.try_narrow(2, 0, 1);
        axis_out_of_range "slice_dim" dims a.try_slice_dim(2, 0..1);
        axis_out_of_range "select" dims a.try_select(2, ids([0], [1]));
        axis_out_of_range "select_dim" dims a.try_select_dim::<1>(2, 0);
        axis_out_of_range "split" dims a.try_split(1, 2);
        axis_out_of_range "chunk" dims a.try_chunk(1, 2);
        axis_out_of_range "unsqueeze_dim" ["[-3, 3)", "got -4"] a.try_unsqueeze_dim::<3>(-4);
        axis_out_of_range "transpose" ["[-1, 1)", "got -2"] a.flatten::<1>(0, 1).try_transpose();
    }
}

#[test]
fn ranks_that_are_not_those_of_the_result() {
    let (a, column) = (small(), full([3, 1], 0));
    let (csr, thin) = (a.to_csr(), column.to_csr());
    refused! {
        shape_mismatch "flatten" ["is 1", "got 2"] a.try_flatten::<2>(0, 1);
        shape_mismatch "select_dim" ["is 1", "got 2"] a.try_select_dim::<2>(0, 0);
        shape_mismatch "squeeze_dim" ["is 1", "got 2"] column.try_squeeze_dim::<2>(1);
        shape_mismatch "unsqueeze_dim" ["is 3", "got 2"] a.try_unsqueeze_dim::<2>(0);
        shape_mismatch "from_dense" ["rank 2", "got 3"] CooTensor::try_from_dense(ones([2, 3]), 3);
        shape_mismatch "from_dense" ["rank 2 or 3", "[2]"] CsrTensor::try_from_dense(ones([2]));
        shape_mismatch "zeros" ["rank 2 or 3", "[1, 1, 1, 1]"] CsrTensor::<4>::try_zeros([1; 4], &flex());
        shape_mismatch "to_csr" ["rank 2 or 3", "[2]"] full([2, 3], 1).try_to_csr();
        shape_mismatch "reshape" ["rank 2 or 3", "[6]"] csr.try_reshape([6]);
        shape_mismatch "squeeze_dim" ["rank 2 or 3", "[3]"] thin.try_squeeze_dim::<1>(1);
        shape_mismatch "select_dim" ["rank 2 or 3", "[3]"] csr.try_select_dim::<1>(0, 0);
        shape_mismatch "triu" ["two sparse dims", "[2, 3]"] full([2, 3], 1).try_triu(0);
        shape_mismatch "tril" ["two sparse dims", "[2, 3]"] full([2, 3], 1).try_tril(0);
    }
}

#[test]
fn shapes_that_do_not_fit() {
    let (a, hybrid) = (small(), full([2, 3, 4], 1));
    refused! {
        shape_mismatch "reshape" ["as many elements", "[4, 2]", "[2, 3]"] a.try_reshape([4, 2]);
        shape_mismatch "reshape" ["[4, 0]", "[2, 3]"] a.try_reshape([4, -1]);
        shape_mismatch "reshape" ["among themselves", "[24]", "[2, 3, 4]"] hybrid.try_reshape([24]);
        shape_mismatch "flatten" ["got 1 and 0"] a.try_flatten::<1>(1, 0);
        shape_mismatch "flatten" ["among themselves", "[1, 2]"] hybrid.try_flatten::<2>(1, 2);
        shape_mismatch "squeeze_dim" ["dim 0", "[2, 3]"] a.try_squeeze_dim::<1>(0);
        shape_mismatch "expand" ["[2, 3]", "[2, 4]"] a.try_expand([2, 4]);
        shape_mismatch "permute" ["[0, 0]", "[2, 0]"] a.try_permute([0, -2]);
        shape_mismatch "swap_dims" ["[1, 0]", "[1, 1]"] full([2, 3], 1).try_swap_dims(0, 1);
        shape_mismatch "flip" ["dim 0 twice", "[2, 3]"] a.try_flip([0, -2]);
        shape_mismatch "roll" ["as many shifts as dims", "got 2 and 1"] a.try_roll([1, 2], [0]);
    }
}

#[test]
fn parts_that_are_not_there() {
    let a = small();
    // What clippy does not let a range say.
    let reversed = Slice { start: 2, end: Some(1), step: 1 };
    let stands = Slice { start: 0, end: Some(2), step: 0 };
    refused! {
        index_out_of_range "narrow" ["dim 1", "[0, 3)", "got 3"] a.try_narrow(1, 2, 2);
        index_out_of_range "narrow" ["dim 1", "[0, 3)", "got 9223372036854775807"] a.try_narrow(1, usize::MAX, 2);
        index_out_of_range "slice" ["dim 1", "[0, 3)", "got 3"] a.try_slice([0..2, 1..4]);
        shape_mismatch "slice" ["got 2..1"] a.try_slice([reversed]);
        index_out_of_range "slice_dim" ["dim 0", "[0, 2)", "got 2"] a.try_slice_dim(0, 1..3);
        invalid "slice_dim" ["step", "got 0"] a.try_slice_dim(0, stands);
        index_out_of_range "select_dim" ["dim 1", "[-3, 3)", "got 3"] a.try_select_dim::<1>(1, 3);
        index_out_of_range "select_dim" ["dim 0", "[-2, 2)", "got -3"] a.try_select_dim::<1>(0, -3);
        index_out_of_range "select" ["dim 0", "2)", "got 2"] a.try_select(0, ids([2], [1]));
        index_out_of_range "get" ["dim 1", "[-3, 3)", "got 3", "position 1"] a.try_get([0, 3]);
        invalid "split" ["at least 1", "got 0"] a.try_split(0, 0);
        invalid "chunk" ["at least 1", "got 0"] a.try_chunk(0, 0);
    }
}

#[test]
fn what_only_matrices_have() {
    let (broad, hybrid) = (small(), full([2, 3], 1));
    let square = full([2, 2], 0);
    let sparse = ["must be sparse", "[2, 3]", "[1, 1]"];
    refused! {
        shape_mismatch "row_sums" sparse hybrid.try_row_sums();
        shape_mismatch "col_sums" sparse hybrid.try_col_sums();
        shape_mismatch "row_counts" sparse hybrid.try_row_counts();
        shape_mismatch "col_counts" sparse hybrid.try_col_counts();
        shape_mismatch "diagonal" sparse hybrid.try_diagonal();
        shape_mismatch "trace" sparse hybrid.try_trace();
        shape_mismatch "top_k_rows" sparse hybrid.try_top_k_rows(1);
        shape_mismatch "add_self_loops" ["2 rows", "3 columns"] broad.try_add_self_loops(1.0);
        shape_mismatch "add_self_loops" ["[1]", "[2]"] square.try_add_self_loops(ones([2]));
        shape_mismatch "remove_self_loops" ["2 rows", "3 columns"] broad.try_remove_self_loops();
    }
}
