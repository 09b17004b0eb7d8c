//! Products with dense operands.

use super::family;
use crate::answer::{Answer, law};
use crate::draw::{Build, Draw, Fills, Layout, Values};
use crate::reference::{matmul as dense_matmul, positions, take};
use burn::tensor::Tensor;
use sparse_tensor::ops;
use sparse_tensor::pattern::{CooPattern, CsrPattern};

family! { "products";
    "matmul" matmul [coo csr batched] gradient;
    "rmatmul" rmatmul [coo csr batched] gradient;
    "matvec" matvec [coo csr] gradient;
    "matmul (int)" matmul_int [coo csr batched] none;
    "masked_matmul" masked_matmul [coo csr batched] gradient;
}

fn matmul<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    let mut shape = a.sparse.dims();
    (shape[D - 2], shape[D - 1]) = (shape[D - 1], draw.size());
    let x = draw.dense(shape, Values::Any);
    law(|| a.sparse.matmul(x.own), || dense_matmul(a.dense, x.reference))
}

fn rmatmul<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    let mut shape = a.sparse.dims();
    (shape[D - 2], shape[D - 1]) = (draw.size(), shape[D - 2]);
    let x = draw.dense(shape, Values::Any);
    law(|| a.sparse.rmatmul(x.own), || dense_matmul(x.reference, a.dense))
}

/// Of matrices only, whatever the rank of the table.
fn matvec<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, 2>(Values::Any);
    let [rows, columns] = a.sparse.dims();
    let x = draw.dense([columns], Values::Any);
    let column = |x: Tensor<1>| take(x, &(0..columns).map(Some).collect::<Vec<_>>(), [columns, 1]);
    law(
        || a.sparse.matvec(x.own),
        || take(dense_matmul(a.dense, column(x.reference)), &(0..rows).map(Some).collect::<Vec<_>>(), [rows]),
    )
}

fn matmul_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let shape = draw.shape::<D>();
    let a = draw.whole::<P, D>(shape, D, Values::Any, Fills::Any);
    let mut shape = shape;
    (shape[D - 2], shape[D - 1]) = (shape[D - 1], draw.size());
    let x = draw.whole::<CooPattern, D>(shape, D, Values::Any, Fills::Any);
    // Small whole numbers are exact as floats.
    law(|| a.sparse.matmul(x.sparse.to_dense()), || dense_matmul(a.dense.float(), x.dense.float()))
}

/// The product at the mask's elements, zero elsewhere. A mask without duplicates: each of them has the product.
fn masked_matmul<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let shape = draw.shape::<D>();
    let mask = draw.whole::<P, D>(shape, D, Values::Any, Fills::Zero);
    let inner = draw.size();
    let (mut left, mut right) = (shape, shape);
    (left[D - 1], right[D - 2]) = (inner, inner);
    let (x, y) = (draw.dense(left, Values::Any), draw.dense(right, Values::Any));
    let coalesced = mask.sparse.coalesce();
    let specified = mask.host.specified();
    let kept: Vec<Option<usize>> = positions(shape).enumerate().map(|(k, _)| specified[k].then_some(k)).collect();
    law(|| ops::masked_matmul(x.own, y.own, &coalesced), || take(dense_matmul(x.reference, y.reference), &kept, shape))
}
