//! Products with dense operands and with sparse ones.

use crate::answer::{Answer, law};
use crate::draw::{Build, Draw, Drawn, Fills, Values};
use crate::huge::{SIZE, filled, ones};
use crate::reference::{elsewhere, extreme_dims, keep, mask, matmul as dense_matmul, prod_dims, sum_dims, take};
use burn::tensor::{Int, Tensor};
use sparse_tensor::Numeric;
use sparse_tensor::ops::{self, Reduce};

operations! { "products";
    matmul of Float Int [coo csr batched] gradient, |h| h.with_dense(|x| x.matmul(h.columns()));
    rmatmul of Float Int [coo csr batched] gradient, |h| h.with_dense(|x| x.rmatmul(h.lying()));
    "matmul (vector)" matvec of Float Int [coo csr] gradient, |h| h.matrix().each(|x| x.matmul(ones([SIZE])));
    masked_matmul of Float Int [coo csr batched] gradient,
        |h| h.run(|| ops::masked_matmul(h.columns(), h.lying(), &h.a));
    "matmul (sparse)" matmul_sparse of Float Int [coo csr batched] gradient, |h| {
        h.sparse(|x| x.matmul(&h.b.transpose()));
        h.refuses(h.cells(), filled(&h.a).try_matmul(&h.b));
    };
    "matmul (sparse, transposed)" matmul_transposed of Float Int [coo csr batched] gradient, |h| {
        h.sparse(|x| x.matmul(h.b.transpose()));
        h.sparse(|x| x.int().matmul(h.b.int().transpose()));
        h.refuses(h.cells(), filled(&h.a).try_matmul(h.b.transpose()));
    };
    product_pattern of Float [coo csr batched] none, |h| {
        h.sparse(|x| x.try_product_pattern(&h.b).map(|pattern| pattern.nnz()));
        h.refuses(h.cells(), filled(&h.a).try_product_pattern(&h.b));
    };
    matmul_reduce of Float Int [coo csr batched] gradient,
        |h| REDUCES.into_iter().for_each(|reduce| h.with_dense(|x| x.matmul_reduce(h.columns(), reduce)));
    addmm of Float Int [coo csr batched] gradient,
        |h| h.with_dense(|x| x.addmm(0.5, h.columns(), 2.0, h.columns()));
}

pub(super) fn matmul<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let mut shape = a.sparse.dims();
    (shape[D - 2], shape[D - 1]) = (shape[D - 1], draw.size());
    let x = draw.dense::<D, K>(shape, Values::Any);
    law(|| a.sparse.matmul(x.own), || dense_matmul(K::real(a.dense), K::real(x.reference)))
}

pub(super) fn rmatmul<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let mut shape = a.sparse.dims();
    (shape[D - 2], shape[D - 1]) = (draw.size(), shape[D - 2]);
    let x = draw.dense::<D, K>(shape, Values::Any);
    law(|| a.sparse.rmatmul(x.own), || dense_matmul(K::real(x.reference), K::real(a.dense)))
}

/// Of matrices only, whatever the rank of the table.
pub(super) fn matvec<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, 2, K>(Values::Any);
    let [rows, columns] = a.sparse.dims();
    let x = draw.dense::<1, K>([columns], Values::Any);
    let column = |x: Tensor<1>| take(x, &(0..columns).map(Some).collect::<Vec<_>>(), [columns, 1]);
    law(
        || a.sparse.matmul(x.own),
        || {
            let product = dense_matmul(K::real(a.dense), column(K::real(x.reference)));
            take(product, &(0..rows).map(Some).collect::<Vec<_>>(), [rows])
        },
    )
}

/// The product at the mask's elements, zero elsewhere. A mask without duplicates: each of them has the product.
pub(super) fn masked_matmul<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let shape = draw.shape::<D>();
    let mask = draw.shaped::<P, D, Int>(shape, D, Values::Any, Fills::Zero);
    let inner = draw.size();
    let (mut left, mut right) = (shape, shape);
    (left[D - 1], right[D - 2]) = (inner, inner);
    let (x, y) = (draw.dense::<D, K>(left, Values::Any), draw.dense::<D, K>(right, Values::Any));
    let coalesced = mask.sparse.coalesce();
    law(
        || ops::masked_matmul(x.own, y.own, &coalesced),
        || keep(dense_matmul(K::real(x.reference), K::real(y.reference)), mask.host.specified()),
    )
}

pub(super) fn matmul_sparse<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<P, D, K>(Values::Any);
    let mut shape = a.sparse.dims();
    (shape[D - 2], shape[D - 1]) = (shape[D - 1], draw.size());
    let b = draw.shaped::<P, D, K>(shape, D, Values::Any, Fills::Zero);
    law(|| a.sparse.matmul(&b.sparse), || dense_matmul(K::real(a.dense), K::real(b.dense)))
}

pub(super) fn matmul_transposed<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<P, D, K>(Values::Any);
    let mut shape = a.sparse.dims();
    shape[D - 2] = draw.size();
    let b = draw.shaped::<P, D, K>(shape, D, Values::Any, Fills::Zero);
    law(|| a.sparse.matmul(b.sparse.transpose()), || dense_matmul(K::real(a.dense), K::real(b.dense).transpose()))
}

/// Where two stored elements meet, whatever their values are.
pub(super) fn product_pattern<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<P, D, K>(Values::Any);
    let mut shape = a.sparse.dims();
    (shape[D - 2], shape[D - 1]) = (shape[D - 1], draw.size());
    let b = draw.shaped::<P, D, K>(shape, D, Values::Any, Fills::Zero);
    let device = draw.device().clone().inner();
    law(
        || {
            let pattern = a.sparse.try_product_pattern(&b.sparse).expect("shapes agree");
            let ones = Tensor::<1, Int>::ones([pattern.nnz()], &device);
            P::of_pattern::<D, Int>(pattern, ones)
        },
        || {
            let stored = |dense: Tensor<D>, host: &crate::draw::Host| mask(&dense, host.mask().into_iter());
            let (a, b) = (stored(K::real(a.dense), &a.host), stored(K::real(b.dense), &b.host));
            dense_matmul(a, b).clamp_max(1.0)
        },
    )
}

const REDUCES: [Reduce; 5] = [Reduce::Add, Reduce::Mul, Reduce::Mean, Reduce::Amax, Reduce::Amin];

/// Over the stored elements of each row; a row without any gives 0.
pub(super) fn matmul_reduce<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, K>(Values::Any);
    let dims = a.sparse.dims();
    let (batch, [rows, inner]) = (dims[..D - 2].iter().product::<usize>(), [dims[D - 2], dims[D - 1]]);
    let columns = draw.size().max(1);
    let (mut right, mut out) = (dims, dims);
    (right[D - 2], right[D - 1], out[D - 1]) = (inner, columns, columns);
    let x = draw.dense::<D, K>(right, Values::Any);
    let reduce = REDUCES[draw.below(5)];
    draw.inputs.push(format!("{reduce:?}"));
    law(
        || a.sparse.matmul_reduce(x.own, reduce),
        || {
            let shape = [batch, rows, inner, columns];
            let dense = K::real(a.dense);
            let spread = |x: Tensor<D>| x.reshape([batch, rows, inner, 1]).expand(shape);
            let specified = spread(mask(&dense, a.host.mask().into_iter()));
            let count = sum_dims(specified.clone(), &[2]);
            let products = spread(dense) * K::real(x.reference).reshape([batch, 1, inner, columns]).expand(shape);
            let stored = |neutral| elsewhere(products.clone(), &specified, neutral);
            let reduced = match reduce {
                Reduce::Amax => extreme_dims(stored(-1e6), &[2], true),
                Reduce::Amin => extreme_dims(stored(1e6), &[2], false),
                Reduce::Mul => prod_dims(stored(1.0), &[2]),
                Reduce::Add => sum_dims(stored(0.0), &[2]),
                _ => sum_dims(stored(0.0), &[2]) / count.clone().clamp_min(1.0),
            };
            let reduced = if K::IS_FLOAT { reduced } else { reduced.floor() };
            (reduced * count.clamp_max(1.0)).reshape(out)
        },
    )
}

pub(super) fn addmm<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, K>(Values::Any);
    let (mut right, mut out) = (a.sparse.dims(), a.sparse.dims());
    let columns = draw.size().max(1);
    (right[D - 2], right[D - 1], out[D - 1]) = (right[D - 1], columns, columns);
    // What is added may be broadcast.
    let given = out.map(|size| if draw.below(4) == 0 { 1 } else { size });
    let (x, c) = (draw.dense::<D, K>(right, Values::Any), draw.dense::<D, K>(given, Values::Any));
    let beta = if K::IS_FLOAT { 0.5 } else { 3.0 };
    law(
        || a.sparse.addmm(beta, c.own, -2.0, x.own),
        || {
            let product = dense_matmul(K::real(a.dense), K::real(x.reference)).mul_scalar(-2.0);
            K::real(c.reference).expand(out).mul_scalar(beta) + product
        },
    )
}
