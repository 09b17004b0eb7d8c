//! Gather, scatter and put.

use super::*;
use burn::tensor::Bool;
use sparse_tensor::ops::{self, Reduce};

#[test]
fn dims_that_are_not_there() {
    let (x, at, v) = (|| ones([2, 3]), || ids([0, 0], [2, 1]), || ones([2, 1]));
    let says = &["[-2, 2)", "got 2"];
    refused("axis_out_of_range", "gather", says, ops::try_gather(x(), 2, at()));
    refused("axis_out_of_range", "scatter", says, ops::try_scatter(x(), 2, at(), v()));
    let got = ops::try_scatter_reduce(x(), 2, at(), v(), Reduce::Add, true);
    refused("axis_out_of_range", "scatter_reduce", says, got);
    let got = ops::try_put_along_axis(x(), at(), v(), 2, Reduce::Add, true);
    refused("axis_out_of_range", "put_along_axis", says, got);
    let at = || ids([0, 0], [2, 1, 1]);
    refused("axis_out_of_range", "gather_nd", says, ops::try_gather_nd(x(), at(), [2]));
    refused("axis_out_of_range", "scatter_nd", says, ops::try_scatter_nd(x(), at(), v(), [2]));
}

#[test]
fn indices_that_do_not_fit() {
    let x = || ones([2, 3]);
    let says = &["[-3, 3)", "got 3", "position 1"];
    refused("index_out_of_range", "gather", says, ops::try_gather(x(), 1, ids([0, 3], [2, 1])));
    refused("index_out_of_range", "scatter", says, ops::try_scatter(x(), 1, ids([0, 3], [2, 1]), ones([2, 1])));
    let got = ops::try_scatter_reduce(x(), 1, ids([0, 3], [2, 1]), 1.0, Reduce::Mul, true);
    refused("index_out_of_range", "scatter_reduce", says, got);
    let got = ops::try_put_along_axis(x(), ids([0, 3], [2, 1]), 1.0, 1, Reduce::Mul, true);
    refused("index_out_of_range", "put_along_axis", says, got);
    // The position is that in the indices as they were given: the second entry of the second pair.
    let says = &["dim 1", "[-3, 3)", "got -4", "position 3"];
    let pairs = || ids([0, 0, 1, -4], [2, 1, 2]);
    refused("index_out_of_range", "gather_nd", says, ops::try_gather_nd(x(), pairs(), None));
    refused("index_out_of_range", "scatter_nd", says, ops::try_scatter_nd(x(), pairs(), ones([2, 1]), [0, 1]));
    let says = &["[3, 1]", "[2, 3]"];
    refused("shape_mismatch", "scatter", says, ops::try_scatter(x(), 1, ids([0; 3], [3, 1]), ones([3, 1])));
    let got = ops::try_put_along_axis(x(), ids([0; 3], [3, 1]), 1.0, 1, Reduce::Add, true);
    refused("shape_mismatch", "put_along_axis", says, got);
}

#[test]
fn axes_that_indices_do_not_fit() {
    let x = || ones([2, 3]);
    let names = |at: Tensor<3, Int>, axes: &[isize]| ops::try_gather_nd(x(), at, axes);
    refused("shape_mismatch", "gather_nd", &["[2, 1, 2]", "[0, 0]", "once"], names(ids([0; 4], [2, 1, 2]), &[0, -2]));
    refused("shape_mismatch", "gather_nd", &["[2, 1, 2]", "[1]"], names(ids([0; 4], [2, 1, 2]), &[1]));
    refused("shape_mismatch", "gather_nd", &["[3, 1, 1]", "[2, 3]"], names(ids([0; 3], [3, 1, 1]), &[1]));
    let (many, flat) = (ids([0; 3], [1, 1, 3]), ids([0; 2], [2, 1]));
    refused("shape_mismatch", "scatter_nd", &["[1, 1, 3]"], ops::try_scatter_nd(x(), many, ones([1, 1]), None));
    refused("shape_mismatch", "scatter_nd", &["[2, 1]"], ops::try_scatter_nd(x(), flat, ones([2, 1]), None));
    let large = ids([0; 3], [3, 1, 1]);
    let got = ops::try_scatter_nd(x(), large, ones([3, 1]), [1]);
    refused("shape_mismatch", "scatter_nd", &["[3, 1, 1]", "[2, 3]", "except along the axes"], got);
}

#[test]
fn values_that_do_not_fit() {
    let (x, at) = (|| ones([2, 3]), || ids([0, 1], [2, 1]));
    let says = &["f32", "f64"];
    refused("dtype_mismatch", "scatter", says, ops::try_scatter(x(), 1, at(), wide([2, 1])));
    let got = ops::try_scatter_reduce(x(), 1, at(), wide([2, 1]), Reduce::Add, true);
    refused("dtype_mismatch", "scatter_reduce", says, got);
    let got = ops::try_put_along_axis(x(), at(), wide([2, 1]), 1, Reduce::Add, true);
    refused("dtype_mismatch", "put_along_axis", says, got);
    let pairs = || ids([0, 1], [2, 1, 1]);
    refused("dtype_mismatch", "scatter_nd", says, ops::try_scatter_nd(x(), pairs(), wide([2, 1]), [1]));
    let says = &["[2, 2]", "[2, 1]"];
    refused("shape_mismatch", "scatter_nd", says, ops::try_scatter_nd(x(), pairs(), ones([2, 2]), [1]));
    let truths = || Tensor::<2, Bool>::from_data([[true, false, true], [false, true, false]], &flex());
    let says = &["add", "bool"];
    let got = ops::try_scatter_reduce(truths(), 1, at(), truths().narrow(1, 0, 1), Reduce::Add, true);
    refused("unsupported_dtype", "scatter_reduce", says, got);
    let got = ops::try_put_along_axis(truths(), at(), truths().narrow(1, 0, 1), 1, Reduce::Add, true);
    refused("unsupported_dtype", "put_along_axis", says, got);
    let brief = short([2, 3]);
    let got = ops::try_put_along_axis(brief.clone(), at(), brief.narrow(1, 0, 1), 1, Reduce::Add, true);
    refused("unsupported_dtype", "put_along_axis", &["i16"], got);
}

/// Values of size 1 along a dim are those of all its places.
#[test]
fn values_are_broadcast() {
    let x = count([2, 3]);
    let column = Tensor::<2>::from_floats([[10.0], [20.0]], &flex());
    let out = ops::put_along_axis(x.clone(), ids([0, 2, 0, 1], [2, 2]), column.clone(), 1, Reduce::Add, true);
    near(out, Tensor::from_floats([[11.0, 2.0, 13.0], [24.0, 25.0, 6.0]], &flex()));
    let out = ops::put_along_axis(x, ids([0, 2, 0, 1], [2, 2]), column, 1, Reduce::Assign, true);
    near(out, Tensor::from_floats([[10.0, 2.0, 10.0], [20.0, 20.0, 6.0]], &flex()));
}

/// The array of a sum that includes it has the gradient of the result, wherever values were added.
#[test]
fn gradients_of_the_array_alone() {
    let device = flex().autodiff();
    for (reduce, include_self) in [(Reduce::Add, true), (Reduce::Add, false), (Reduce::Mul, true)] {
        let x = Tensor::from_data(count([2, 3]).into_data(), &device).require_grad();
        let values = Tensor::<2>::from_floats([[10.0], [20.0]], &device);
        let at = ids([0, 2], [2, 1]).to_device(&device);
        let weights = Tensor::from_data(count([2, 3]).into_data(), &device);
        let out = ops::put_along_axis(x.clone(), at, values, 1, reduce, include_self);
        let grads = (out * weights).sum().backward();
        let [first, last] = match (reduce, include_self) {
            (Reduce::Add, true) => [1.0, 6.0],
            (Reduce::Add, false) => [0.0, 0.0],
            _ => [10.0, 120.0],
        };
        let want = Tensor::from_floats([[first, 2.0, 3.0], [4.0, 5.0, last]], &flex());
        near(x.grad(&grads).unwrap(), want);
    }
}
