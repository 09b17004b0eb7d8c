//! Products with dense operands and with sparse ones.

use crate::answer::{Answer, both_sides};
use crate::draw::{Build, Draw, Drawn, Fills, Input, Values, Variant};
use crate::oversized::{SIZE, filled, ones};
use crate::reference::{elsewhere, extreme_dims, keep, mask, matmul as dense_matmul, prod_dims, sum_dims, take};
use burn::tensor::{Float, Int, Tensor, activation};
use sparse_tensor::Numeric;
use sparse_tensor::ops::{self, Epilogue, Reduce};

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
    "matmul (heads)" head_matmul of Float Int [hybrid_matrix] gradient, |h| h.with_dense(|x| x.matmul(h.features()));
    "matmul_reduce (heads)" head_matmul_reduce of Float Int [hybrid_matrix] gradient,
        |h| REDUCES.into_iter().for_each(|reduce| h.with_dense(|x| x.matmul_reduce(h.features(), reduce)));
    head_sddmm of Float Int [coo_up csr_up] gradient,
        |h| h.run(|| ops::head_sddmm(h.rows_of_heads::<D2>(D - 2), h.rows_of_heads(D - 1), &h.a));
    attention of Float [coo_up csr_up] gradient, |h| h.run(|| {
        let [query, key] = [D - 2, D - 1].map(|side| h.rows_of_heads::<D2>(side));
        ops::attention(query, key.clone(), key, &h.a, None, 0.0)
    });
    matmul_then of Float [coo csr batched] gradient,
        |h| h.with_dense(|x| x.matmul_then(h.columns(), Epilogue { bias: None, relu: true }));
    addmm of Float Int [coo csr batched] gradient,
        |h| h.with_dense(|x| x.addmm(0.5, h.columns(), 2.0, h.columns()));
}

pub(super) fn matmul<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let mut shape = a.sparse.dims();
    (shape[D - 2], shape[D - 1]) = (shape[D - 1], draw.size());
    let x = draw.dense::<D, K>(shape, Values::Any);
    both_sides(|| a.sparse.matmul(x.own), || dense_matmul(K::real(a.dense), K::real(x.reference)))
}

pub(super) fn rmatmul<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let mut shape = a.sparse.dims();
    (shape[D - 2], shape[D - 1]) = (draw.size(), shape[D - 2]);
    let x = draw.dense::<D, K>(shape, Values::Any);
    both_sides(|| a.sparse.rmatmul(x.own), || dense_matmul(K::real(x.reference), K::real(a.dense)))
}

/// Of matrices only, whatever the rank of the table.
pub(super) fn matvec<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, 2, K>(Values::Any);
    let [rows, columns] = a.sparse.dims();
    let x = draw.dense::<1, K>([columns], Values::Any);
    let column = |x: Tensor<1>| take(x, &(0..columns).map(Some).collect::<Vec<_>>(), [columns, 1]);
    both_sides(
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
    both_sides(
        || ops::masked_matmul(x.own, y.own, &coalesced),
        || keep(dense_matmul(K::real(x.reference), K::real(y.reference)), mask.host.specified()),
    )
}

pub(super) fn matmul_sparse<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<P, D, K>(Values::Any);
    let mut shape = a.sparse.dims();
    (shape[D - 2], shape[D - 1]) = (shape[D - 1], draw.size());
    let b = draw.shaped::<P, D, K>(shape, D, Values::Any, Fills::Zero);
    both_sides(|| a.sparse.matmul(&b.sparse), || dense_matmul(K::real(a.dense), K::real(b.dense)))
}

pub(super) fn matmul_transposed<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<P, D, K>(Values::Any);
    let mut shape = a.sparse.dims();
    shape[D - 2] = draw.size();
    let b = draw.shaped::<P, D, K>(shape, D, Values::Any, Fills::Zero);
    both_sides(
        || a.sparse.matmul(b.sparse.transpose()),
        || dense_matmul(K::real(a.dense), K::real(b.dense).transpose()),
    )
}

/// Where two stored elements meet, whatever their values are.
pub(super) fn product_pattern<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<P, D, K>(Values::Any);
    let mut shape = a.sparse.dims();
    (shape[D - 2], shape[D - 1]) = (shape[D - 1], draw.size());
    let b = draw.shaped::<P, D, K>(shape, D, Values::Any, Fills::Zero);
    let device = draw.device().clone().inner();
    both_sides(
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
    both_sides(
        || a.sparse.matmul_reduce(x.own, reduce),
        || {
            let shape = [batch, rows, inner, columns];
            let dense = K::real(a.dense);
            let spread = |x: Tensor<D>| x.reshape([batch, rows, inner, 1]).expand(shape);
            let specified = spread(mask(&dense, a.host.mask().into_iter()));
            let products = spread(dense) * K::real(x.reference).reshape([batch, 1, inner, columns]).expand(shape);
            reduced::<K>(products, specified, 2, reduce).reshape(out)
        },
    )
}

/// The products reduced along an axis, over the specified ones.
pub fn reduced<K: Drawn>(products: Tensor<4>, specified: Tensor<4>, axis: usize, reduce: Reduce) -> Tensor<4> {
    let count = sum_dims(specified.clone(), &[axis]);
    let stored = |neutral| elsewhere(products.clone(), &specified, neutral);
    let reduced = match reduce {
        Reduce::Amax => extreme_dims(stored(-1e6), &[axis], true),
        Reduce::Amin => extreme_dims(stored(1e6), &[axis], false),
        Reduce::Mul => prod_dims(stored(1.0), &[axis]),
        Reduce::Add => sum_dims(stored(0.0), &[axis]),
        _ => sum_dims(stored(0.0), &[axis]) / count.clone().clamp_min(1.0),
    };
    let reduced = if K::IS_FLOAT { reduced } else { reduced.floor() };
    reduced * count.clamp_max(1.0)
}

/// A matrix with a dense dim for the heads, `[M, N, H]`, and an operand `[N, H, F]`.
fn with_heads<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> (Input<P, D, K>, Variant<D, K>) {
    let shape = draw.full_shape::<D>();
    let a = draw.shaped::<P, D, K>(shape, 2, Values::Any, Fills::Any);
    let columns = draw.size().max(1);
    let x =
        draw.dense::<D, K>(std::array::from_fn(|dim| if dim + 1 < D { shape[dim + 1] } else { columns }), Values::Any);
    (a, x)
}

/// Repeats a tensor `[M, N, H]`, and an operand `[N, H, F]` if `features`, to `[M, N, H, F]`.
fn repeated<const D: usize>(x: Tensor<D>, whole: [usize; 4], features: bool) -> Tensor<4> {
    let [m, n, h, f] = whole;
    x.reshape(if features { [1, n, h, f] } else { [m, n, h, 1] }).expand(whole)
}

pub(super) fn head_matmul<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let (a, x) = with_heads::<P, D, K>(draw);
    let mut out = x.own.dims();
    out[0] = a.sparse.dims()[0];
    both_sides(
        || a.sparse.matmul(x.own),
        || {
            let ([m, n, h], f) = ([0, 1, 2].map(|dim| a.sparse.dims()[dim]), out[D - 1]);
            let whole = [m, n, h, f];
            let products = repeated(K::real(a.dense), whole, false) * repeated(K::real(x.reference), whole, true);
            sum_dims(products, &[1]).reshape(out)
        },
    )
}

pub(super) fn head_matmul_reduce<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let (a, x) = with_heads::<P, D, K>(draw);
    let mut out = x.own.dims();
    out[0] = a.sparse.dims()[0];
    let reduce = REDUCES[draw.below(5)];
    draw.inputs.push(format!("{reduce:?}"));
    both_sides(
        || a.sparse.matmul_reduce(x.own, reduce),
        || {
            let ([m, n, h], f) = ([0, 1, 2].map(|dim| a.sparse.dims()[dim]), out[D - 1]);
            let whole = [m, n, h, f];
            let dense = K::real(a.dense);
            let specified = repeated(mask(&dense, a.host.mask().into_iter()), whole, false);
            let products = repeated(dense, whole, false) * repeated(K::real(x.reference), whole, true);
            reduced::<K>(products, specified, 1, reduce).reshape(out)
        },
    )
}

/// Products at the mask's elements, head by head; zero elsewhere. A mask without duplicates.
pub(super) fn head_sddmm<P: Build, const D: usize, const D2: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let shape = draw.full_shape::<D>();
    let mask = draw.shaped::<P, D, Int>(shape, D, Values::Any, Fills::Zero);
    let (heads, f) = (draw.size().max(1), draw.size().max(1));
    // `[batch.., rows, heads, f]`.
    let sides = [D - 2, D - 1].map(|rows| {
        std::array::from_fn::<usize, D2, _>(|dim| match dim {
            _ if dim == D2 - 1 => f,
            _ if dim == D2 - 2 => heads,
            _ if dim == D2 - 3 => shape[rows],
            _ => shape[dim],
        })
    });
    let [x, y] = sides.map(|side| draw.dense::<D2, K>(side, Values::Any));
    let (batch, m, n) = (shape[..D - 2].iter().product(), shape[D - 2], shape[D - 1]);
    let out = std::array::from_fn::<usize, D2, _>(|dim| if dim < D { shape[dim] } else { heads });
    let coalesced = mask.sparse.coalesce();
    both_sides(
        || ops::head_sddmm(x.own, y.own, &coalesced),
        || {
            let whole = [batch, m, n, heads, f];
            let x = K::real(x.reference).reshape([batch, m, 1, heads, f]).expand(whole);
            let y = K::real(y.reference).reshape([batch, 1, n, heads, f]).expand(whole);
            let specified = mask.host.specified().into_iter().flat_map(|kept| vec![kept; heads]);
            keep(sum_dims(x * y, &[4]).reshape(out), specified)
        },
    )
}

/// Weighted means of values, by the softmax of products at the mask's elements. A mask without duplicates.
pub(super) fn attention<P: Build, const D: usize, const D2: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let shape = draw.full_shape::<D>();
    let mask = draw.shaped::<P, D, Int>(shape, D, Values::Any, Fills::Zero);
    let [heads, f, g] = std::array::from_fn(|_| draw.size().max(1));
    // `[batch.., rows, heads, columns]`.
    let side = |rows: usize, columns: usize| {
        std::array::from_fn::<usize, D2, _>(|dim| match dim {
            _ if dim == D2 - 1 => columns,
            _ if dim == D2 - 2 => heads,
            _ if dim == D2 - 3 => shape[rows],
            _ => shape[dim],
        })
    };
    let sides = [side(D - 2, f), side(D - 1, f), side(D - 1, g)];
    let [query, key, value] = sides.map(|side| draw.dense::<D2, Float>(side, Values::Unit));
    let (batch, m, n) = (shape[..D - 2].iter().product(), shape[D - 2], shape[D - 1]);
    let coalesced = mask.sparse.coalesce();
    both_sides(
        || ops::attention(query.own, key.own, value.own, &coalesced, Some(0.75), 0.0),
        || {
            let whole = |last: usize| [batch, m, n, heads, last];
            let query = query.reference.reshape([batch, m, 1, heads, f]).expand(whole(f));
            let key = key.reference.reshape([batch, 1, n, heads, f]).expand(whole(f));
            let exp = sum_dims(query * key, &[4]).mul_scalar(0.75).exp();
            let specified = mask.host.specified().into_iter().flat_map(|kept| vec![kept; heads]);
            let exp = keep(exp, specified);
            // A row without elements has weights of 0.
            let weights = exp.clone() / sum_dims(exp, &[2]).clamp_min(1e-6);
            let value = value.reference.reshape([batch, 1, n, heads, g]).expand(whole(g));
            sum_dims(weights.expand(whole(g)) * value, &[2]).reshape(side(D - 2, g))
        },
    )
}

pub(super) fn matmul_then<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Float>(Values::Any);
    let mut right = a.sparse.dims();
    let columns = draw.size().max(1);
    (right[D - 2], right[D - 1]) = (right[D - 1], columns);
    let (x, bias) = (draw.dense::<D, Float>(right, Values::Any), draw.dense::<1, Float>([columns], Values::Any));
    let (added, relu) = (draw.below(3) > 0, draw.below(3) > 0);
    let epilogue = Epilogue { bias: added.then_some(bias.own), relu };
    both_sides(
        || a.sparse.matmul_then(x.own, epilogue),
        || {
            let product = dense_matmul(a.dense, x.reference);
            let sum = if added { product + bias.reference.unsqueeze() } else { product };
            if relu { activation::relu(sum) } else { sum }
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
    both_sides(
        || a.sparse.addmm(beta, c.own, -2.0, x.own),
        || {
            let product = dense_matmul(K::real(a.dense), K::real(x.reference)).mul_scalar(-2.0);
            K::real(c.reference).expand(out).mul_scalar(beta) + product
        },
    )
}
