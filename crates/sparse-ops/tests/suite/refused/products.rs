//! Products, attention and layers.

use super::*;
use sparse_tensor::nn::{GcnConvConfig, try_row_normalization};
use sparse_tensor::ops::{self, Epilogue, Reduce};
use sparse_tensor::{CsrTensor, Fill};

#[test]
fn factors_of_other_shapes() {
    let (a, line, blocks) = (small(), full([7], 0), full([3, 3], 1));
    let then = |width: usize| Epilogue { bias: Some(ones([width])), relu: true };
    let not_a_matrix = ["[7]", "[1, 0]"];
    refused! {
        shape_mismatch "addmm" ["[2, 3]", "[4, 5]"] a.try_addmm(1.0, ones([2, 5]), 1.0, ones([4, 5]));
        shape_mismatch "addmm" ["broadcast", "[2, 7]", "[2, 4]"] a.try_addmm(1.0, ones([2, 7]), 1.0, ones([3, 4]));
        shape_mismatch "addmm" not_a_matrix line.try_addmm(1.0, ones([7]), 1.0, ones([7]));
        shape_mismatch "matmul_then" ["[2, 3]", "[4, 5]"] a.try_matmul_then(ones([4, 5]), then(5));
        shape_mismatch "matmul_then" ["[5]", "[3, 4]"] a.try_matmul_then(ones([3, 4]), then(5));
        shape_mismatch "matmul_then" not_a_matrix line.try_matmul_then(ones([7]), then(5));
        shape_mismatch "matmul" not_a_matrix line.try_matmul(&line);
        shape_mismatch "matmul" ["without dense dims", "[3, 3]"] blocks.try_matmul(&blocks);
        shape_mismatch "product_pattern" ["[2, 3]"] a.try_product_pattern(&a);
        shape_mismatch "product_pattern" ["without dense dims", "[3, 3]"] blocks.try_product_pattern(&blocks);
        shape_mismatch "rmatmul" ["[1, 3]", "[2, 3]"] a.try_rmatmul(ones([1, 3]));
        shape_mismatch "matmul_reduce" ["[2, 2]", "[2, 3]"] a.try_matmul_reduce(ones([2, 2]), Reduce::Mean);
        shape_mismatch "masked_matmul" ["[2, 3, 2, 3]"] ops::try_masked_matmul(ones([2, 3]), ones([2, 3]), &a);
    }
}

#[test]
fn a_product_that_would_assign() {
    refused! {
        invalid "matmul_reduce" ["mean", "got assign"] small().try_matmul_reduce(ones([3, 1]), Reduce::Assign);
    }
}

#[test]
fn factors_of_another_type() {
    let (a, double) = (small(), CooTensor::<2>::from_dense(wide([3, 4]), 0));
    let then = |bias: Tensor<1>| Epilogue { bias: Some(bias), relu: true };
    let types = ["f32", "f64"];
    refused! {
        dtype_mismatch "addmm" types a.try_addmm(1.0, ones([2, 5]), 1.0, wide([3, 5]));
        dtype_mismatch "addmm" types a.try_addmm(1.0, wide([2, 5]), 1.0, ones([3, 5]));
        dtype_mismatch "matmul_then" types a.try_matmul_then(wide([3, 5]), then(ones([5])));
        dtype_mismatch "matmul_then" types a.try_matmul_then(ones([3, 4]), then(wide([4])));
        dtype_mismatch "matmul" types a.try_matmul(&double);
        dtype_mismatch "product_pattern" types a.try_product_pattern(&double);
    }
}

#[test]
fn operands_of_attention_that_do_not_fit() {
    let mask = small();
    let run = |query: Tensor<3>, key, value, dropout| ops::try_attention(query, key, value, &mask, None, dropout);
    let (query, key, value) = (|| ones([2, 2, 4]), || ones([3, 2, 4]), || ones([3, 2, 5]));
    let line = full([3], 0);
    let types = ["f32", "f64"];
    refused! {
        shape_mismatch "attention" ["[2, 2, 4, 3, 2, 4, 2, 2, 5]", "[2, 3]"] run(query(), key(), ones([2, 2, 5]), 0.0);
        shape_mismatch "attention" ["[3]", "[1, 0]"] ops::try_attention(query(), key(), value(), &line, None, 0.0);
        dtype_mismatch "attention" types run(query(), wide([3, 2, 4]), value(), 0.0);
        dtype_mismatch "attention" types run(query(), key(), wide([3, 2, 5]), 0.0);
        invalid "attention" ["[0, 1)", "got 1"] run(query(), key(), value(), 1.0);
        invalid "attention" ["[0, 1)", "got -0.5"] run(query(), key(), value(), -0.5);
    }
}

#[test]
fn features_and_adjacencies_that_do_not_fit() {
    let layer = GcnConvConfig::new(4, 2).init(&flex());
    let (square, broad) = (CsrTensor::<2>::eye(2, &flex()), small().to_csr());
    let filled = broad.clone().with_fill(Fill::scalar(1.0));
    refused! {
        shape_mismatch "GcnConv::forward" ["[2, 2]", "[3, 4]"] layer.try_forward(&square, ones([3, 4]));
        shape_mismatch "GcnConv::forward" ["[2, 3]", "[4, 2]"] layer.try_forward(&square, ones([2, 3]));
        shape_mismatch "GcnConv::forward_sparse" ["[2, 3]", "[4, 2]"] layer.try_forward_sparse(&square, &broad);
        fill_mismatch "row_normalization" ["with_fill", "got 1"] try_row_normalization(&filled);
    }
}
