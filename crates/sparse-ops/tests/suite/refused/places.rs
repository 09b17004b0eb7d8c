//! Gather, scatter, put and plans.

use super::*;
use burn::tensor::Bool;
use sparse_tensor::ops::{self, IndexPlan, Reduce};

fn x() -> Tensor<2> {
    ones([2, 3])
}

fn plan(list: impl Into<Vec<i64>>, size: usize) -> IndexPlan {
    let list = list.into();
    let count = list.len();
    IndexPlan::new(ids(list, [count]), size).unwrap()
}

#[test]
fn dims_that_are_not_there() {
    let (at, v) = (|| ids([0, 0], [2, 1]), || ones([2, 1]));
    let nd = || ids([0, 0], [2, 1, 1]);
    let dims = ["[-2, 2)", "got 2"];
    refused! {
        axis_out_of_range "gather" dims ops::try_gather(x(), 2, at());
        axis_out_of_range "scatter" dims ops::try_scatter(x(), 2, at(), v());
        axis_out_of_range "scatter_reduce" dims ops::try_scatter_reduce(x(), 2, at(), v(), Reduce::Add, true);
        axis_out_of_range "put_along_axis" dims ops::try_put_along_axis(x(), at(), v(), 2, Reduce::Add, true);
        axis_out_of_range "gather_nd" dims ops::try_gather_nd(x(), nd(), [2]);
        axis_out_of_range "scatter_nd" dims ops::try_scatter_nd(x(), nd(), v(), [2]);
        axis_out_of_range "IndexPlan::select" dims plan([0], 2).try_select(x(), 2);
    }
}

/// A position is that in the indices as they were given: the second entry of the second pair.
#[test]
fn indices_that_are_out_of_range() {
    let (at, v) = (|| ids([0, 3], [2, 1]), || ones([2, 1]));
    let pairs = || ids([0, 0, 1, -4], [2, 1, 2]);
    let index = ["[-3, 3)", "got 3", "position 1"];
    let pair = ["dim 1", "[-3, 3)", "got -4", "position 3"];
    refused! {
        index_out_of_range "gather" index ops::try_gather(x(), 1, at());
        index_out_of_range "scatter" index ops::try_scatter(x(), 1, at(), v());
        index_out_of_range "scatter_reduce" index ops::try_scatter_reduce(x(), 1, at(), 1.0, Reduce::Mul, true);
        index_out_of_range "put_along_axis" index ops::try_put_along_axis(x(), at(), 1.0, 1, Reduce::Mul, true);
        index_out_of_range "gather_nd" pair ops::try_gather_nd(x(), pairs(), None);
        index_out_of_range "scatter_nd" pair ops::try_scatter_nd(x(), pairs(), v(), [0, 1]);
        index_out_of_range "IndexPlan::new" ["[-1, 1)", "got 1", "position 2"] IndexPlan::new(ids([0, 0, 1], [3]), 1);
    }
}

#[test]
fn indices_of_other_shapes() {
    let tall = || ids([0; 3], [3, 1]);
    let larger = ["[3, 1]", "[2, 3]", "except along the dim"];
    refused! {
        shape_mismatch "gather" larger ops::try_gather(x(), 1, tall());
        shape_mismatch "scatter" larger ops::try_scatter(x(), 1, tall(), ones([3, 1]));
        shape_mismatch "scatter_reduce" larger ops::try_scatter_reduce(x(), 1, tall(), ones([3, 1]), Reduce::Add, true);
        shape_mismatch "put_along_axis" ["[3, 1]", "[2, 3]"] {
            ops::try_put_along_axis(x(), tall(), 1.0, 1, Reduce::Add, true)
        };
        shape_mismatch "IndexPlan::select" ["size 5", "[2, 3]"] plan([0], 5).try_select(x(), 0);
        shape_mismatch "IndexPlan::select_sparse" ["size 5", "[2, 3]"] plan([0], 5).try_select_sparse(&small(), 0);
        shape_mismatch "IndexPlan::put" ["size 5", "[2, 3]"] {
            plan([0], 5).try_put(x(), 0, ones([1, 3]), Reduce::Add, true)
        };
    }
}

#[test]
fn axes_that_indices_do_not_fit() {
    let gather = |at: Tensor<3, Int>, axes: &[isize]| ops::try_gather_nd(x(), at, axes);
    let (pair, many, tall) = (|| ids([0; 4], [2, 1, 2]), || ids([0; 3], [1, 1, 3]), || ids([0; 3], [3, 1, 1]));
    let (flat, v) = (|| ids([0; 2], [2, 1]), ones::<2>);
    let larger = ["[3, 1, 1]", "[2, 3]", "except along the axes"];
    refused! {
        shape_mismatch "gather_nd" ["[2, 1, 2]", "[0, 0]", "once"] gather(pair(), &[0, -2]);
        shape_mismatch "gather_nd" ["[2, 1, 2]", "[1]"] gather(pair(), &[1]);
        shape_mismatch "gather_nd" larger gather(tall(), &[1]);
        shape_mismatch "gather_nd" ["one dim more", "[2, 1]"] ops::try_gather_nd(x(), flat(), None);
        shape_mismatch "gather_nd" ["rank", "[1, 1, 3]"] ops::try_gather_nd(x(), many(), None);
        shape_mismatch "scatter_nd" ["[1, 1, 3]"] ops::try_scatter_nd(x(), many(), v([1, 1]), None);
        shape_mismatch "scatter_nd" ["[2, 1]"] ops::try_scatter_nd(x(), flat(), v([2, 1]), None);
        shape_mismatch "scatter_nd" larger ops::try_scatter_nd(x(), tall(), v([3, 1]), [1]);
    }
}

#[test]
fn values_of_other_shapes() {
    let (at, pairs) = (|| ids([0, 0], [2, 1]), || ids([0, 1], [2, 1, 1]));
    let broad = || ones([2, 2]);
    let shapes = ["[2, 2]", "[2, 1]"];
    refused! {
        shape_mismatch "scatter" shapes ops::try_scatter(x(), 1, at(), broad());
        shape_mismatch "scatter_reduce" shapes ops::try_scatter_reduce(x(), 1, at(), broad(), Reduce::Add, true);
        shape_mismatch "scatter_nd" shapes ops::try_scatter_nd(x(), pairs(), broad(), [1]);
        shape_mismatch "put_along_axis" ["broadcast", "[2, 2]", "[2, 1]"] {
            ops::try_put_along_axis(x(), at(), broad(), 1, Reduce::Add, false)
        };
        shape_mismatch "IndexPlan::put" ["size 2", "[2, 3]"] plan([0, 0], 3).try_put(x(), 1, x(), Reduce::Add, true);
        shape_mismatch "IndexPlan::put" ["except along the dim", "[3, 2]", "[2, 3]"] {
            plan([0, 0], 3).try_put(x(), 1, ones([3, 2]), Reduce::Add, true)
        };
    }
}

#[test]
fn values_of_another_type() {
    let (at, pairs) = (|| ids([0, 1], [2, 1]), || ids([0, 1], [2, 1, 1]));
    let v = || wide([2, 1]);
    let types = ["f32", "f64"];
    let truths = || Tensor::<2, Bool>::from_data([[true, false, true], [false, true, false]], &flex());
    let (bools, brief) = (|| truths().narrow(1, 0, 1), || short([2, 3]));
    let sum = ["add", "bool"];
    refused! {
        dtype_mismatch "scatter" types ops::try_scatter(x(), 1, at(), v());
        dtype_mismatch "scatter_reduce" types ops::try_scatter_reduce(x(), 1, at(), v(), Reduce::Add, true);
        dtype_mismatch "put_along_axis" types ops::try_put_along_axis(x(), at(), v(), 1, Reduce::Add, true);
        dtype_mismatch "scatter_nd" types ops::try_scatter_nd(x(), pairs(), v(), [1]);
        dtype_mismatch "IndexPlan::put" types plan([0], 2).try_put(x(), 0, wide([1, 3]), Reduce::Add, true);
        unsupported_dtype "scatter_reduce" sum ops::try_scatter_reduce(truths(), 1, at(), bools(), Reduce::Add, true);
        unsupported_dtype "put_along_axis" sum ops::try_put_along_axis(truths(), at(), bools(), 1, Reduce::Add, true);
        unsupported_dtype "put_along_axis" ["i16"] {
            ops::try_put_along_axis(brief(), at(), brief().narrow(1, 0, 1), 1, Reduce::Add, true)
        };
    }
}
