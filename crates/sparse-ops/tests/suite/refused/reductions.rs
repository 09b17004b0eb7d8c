//! Sums, extremes, norms and the like along dims.

use super::*;
use sparse_tensor::Fill;

#[test]
fn dims_that_are_not_there() {
    let a = small();
    let mask = a.greater_elem(0.0);
    let dims = ["[-2, 2)", "got 2"];
    refused! {
        axis_out_of_range "mean_dim" dims a.try_mean_dim(2);
        axis_out_of_range "prod_dim" dims a.try_prod_dim(2);
        axis_out_of_range "max_dim" dims a.try_max_dim(2);
        axis_out_of_range "min_dim" dims a.try_min_dim(2);
        axis_out_of_range "sum_dim" dims a.stored().try_sum_dim(2);
        axis_out_of_range "max_dims" dims a.stored().try_max_dims(&[2]);
        axis_out_of_range "cumsum" dims a.stored().try_cumsum(2);
        axis_out_of_range "argmax" dims a.try_argmax(2);
        axis_out_of_range "argmin" dims a.try_argmin(2);
        axis_out_of_range "norm_dim" dims a.try_norm_dim(1.0, 2);
        axis_out_of_range "softmax" dims a.try_softmax(2);
        axis_out_of_range "log_softmax" dims a.try_log_softmax(2);
        axis_out_of_range "any_dim" dims mask.try_any_dim(2);
        axis_out_of_range "all_dim" dims mask.try_all_dim(2);
        axis_out_of_range "any_dims" dims mask.try_any_dims(&[2]);
        axis_out_of_range "all_dims" dims mask.try_all_dims(&[2]);
        axis_out_of_range "count_dims" dims a.stored().try_count_dims(&[2]);
    }
}

#[test]
fn dims_that_are_named_twice() {
    let a = small();
    let twice = ["once", "[0, 0]", "[2, 3]"];
    refused! {
        shape_mismatch "sum_dims" twice a.try_sum_dims(&[0, -2]);
        shape_mismatch "mean_dims" twice a.try_mean_dims(&[0, 0]);
        shape_mismatch "prod_dims" twice a.try_prod_dims(&[0, 0]);
        shape_mismatch "max_dims" twice a.try_max_dims(&[0, 0]);
        shape_mismatch "min_dims" twice a.try_min_dims(&[0, 0]);
        shape_mismatch "norm_dims" twice a.try_norm_dims(2.0, &[0, 0]);
        shape_mismatch "count_dims" twice a.stored().try_count_dims(&[0, -2]);
    }
}

#[test]
fn dims_that_are_dense() {
    let hybrid = full([2, 3, 4], 1);
    refused! {
        shape_mismatch "argmax" ["must be a sparse one", "[2, 3, 4]"] hybrid.try_argmax(2);
        shape_mismatch "argmin" ["must be a sparse one", "[2, 3, 4]"] hybrid.try_argmin(-1);
    }
}

/// Of nothing there is no extremum.
#[test]
fn dims_that_are_empty() {
    let none = bare([0, 2]);
    let empty = ["dim 0", "[0, 2]"];
    refused! {
        empty_input "min_dim" empty none.try_min_dim(0);
        empty_input "min_dims" empty none.try_min_dims(&[0, 1]);
        empty_input "min" empty none.try_min();
        empty_input "argmax" empty none.try_argmax(0);
        empty_input "min" ["at least one stored element"] none.stored().try_min();
    }
}

#[test]
fn orders_and_fills_without_an_answer() {
    let a = small();
    let filled = a.clone().with_fill(Fill::scalar(2.0));
    let undefined = a.clone().with_fill(Fill::Undefined);
    let stored_alone = "with_fill(Fill::Undefined)";
    refused! {
        invalid "norm" ["above 0", "got 0"] a.try_norm(0.0);
        invalid "norm_dim" ["above 0", "got 0"] a.try_norm_dim(0.0, 0);
        invalid "norm_dims" ["above 0", "got 0"] a.try_norm_dims(0.0, &[0]);
        would_densify "log_softmax" [stored_alone, "6 elements"] a.try_log_softmax(1);
        would_densify "cumsum" [stored_alone, "6 elements"] filled.stored().try_cumsum(0);
        undefined_fill "trace" ["with_fill"] undefined.try_trace();
        undefined_fill "diagonal" ["with_fill"] undefined.try_diagonal();
    }
}
