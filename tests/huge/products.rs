//! Products with dense and sparse operands, and what works on dense tensors alone.

use crate::inputs::{SIZE, device, filled, index, ones, undefined};
use crate::outcome::{done, refused, run};
use burn::tensor::{Device, Int, Tensor};
use sparse_tensor::nn::{self, GcnConvConfig};
use sparse_tensor::ops::{IndexPlan, Reduce};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CsrTensor, SparseTensor};

/// Of matrices, and of batches of them.
pub fn all<P: Pattern, const D: usize>(a: &SparseTensor<P, D>, b: &SparseTensor<P, D>) {
    let mut shape = a.dims();
    shape[D - 1] = 2;
    let x = ones(shape);
    shape.swap(D - 2, D - 1);
    let row = ones(shape);
    for a in [a, &filled(a), &undefined(a)] {
        run! { a => matmul(x.clone()), rmatmul(row.clone()), addmm(0.5, x.clone(), 2.0, x.clone()); }
        for reduce in [Reduce::Add, Reduce::Mul, Reduce::Mean, Reduce::Amax, Reduce::Amin] {
            run! { a => matmul_reduce(x.clone(), reduce); }
        }
    }
    for (a, b) in [(a, b), (&undefined(a), b)] {
        run! { a => matmul_sparse(&b.transpose()), matmul_transposed(b); }
        run! { a.int() => matmul_transposed(&b.int()); }
        done("product_pattern", || a.try_product_pattern(b).map(|pattern| pattern.nnz()));
    }
    let cells = a.num_elements();
    refused! { cells => filled(a) => try_matmul_sparse(b), try_matmul_transposed(b), try_product_pattern(b); }
    run! { ops => masked_matmul(x.clone(), row.clone(), a) }
}

/// Graphs of a million nodes.
pub fn graph(a: &CsrTensor<2>) {
    let seen = |name, out: CsrTensor<2>| done(name, || out);
    seen("sparse_dropout", nn::sparse_dropout(a, 0.5));
    seen("symmetric_normalization", nn::symmetric_normalization(a, true));
    seen("row_normalization", nn::row_normalization(a));
    let layer = GcnConvConfig::new(SIZE, 2).init(&device());
    run! { layer => forward_sparse(a, a); }
    let layer = GcnConvConfig::new(2, 2).init(&device());
    run! { layer => forward(a, ones([SIZE, 2])); }
}

/// Functions of dense tensors, which need no more than their operands.
pub fn dense_tensors() {
    let x = || ones([SIZE, 2]);
    let at = || index([0, 993, 331, -1]).reshape([4, 1]).repeat_dim(1, 2);
    // Both coordinates of each element of [4, 2].
    let both = [[[0i64, 0], [0, 1]], [[993, 1], [993, 0]], [[331, 0], [331, 1]], [[-1, -1], [-1, 0]]];
    let both = || Tensor::<3, Int>::from_data(both, &Device::flex());
    run! {
        ops =>
        gather(x(), at(), 0),
        scatter(x(), at(), ones([4, 2]), 0),
        gather_nd(x(), both(), None),
        scatter_nd(x(), both(), ones([4, 2]), None),
    }
    let plan = || IndexPlan::new(index([0, 993, 331, 993]), SIZE).expect("valid indices");
    for reduce in [Reduce::Assign, Reduce::Add, Reduce::Mul, Reduce::Mean, Reduce::Amax, Reduce::Amin] {
        run! { ops => put_along_axis(x(), at(), ones([4, 2]), 0, reduce, true) }
        run! { plan() => put(x(), ones([4, 2]), 0, reduce, true); }
    }
    run! { plan() => gather(x(), 0), len(), size(); }
}
