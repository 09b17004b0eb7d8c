//! Products with dense results and with sparse ones.

use super::item::{Made, Sides};
use super::steps::{Kinks, Step, settled};
use crate::answer::floats;
use crate::draw::{Build, Draw, Values};
use crate::operations::products::reduced;
use crate::reference::{keep, mask, matmul, reshape, spread, sum_dims};
use burn::tensor::{Float, Tensor};
use sparse_tensor::ops::{self, Epilogue, Reduce};

/// The shape of a right operand, and that of the product.
fn right<P: Build, const D: usize>(draw: &mut Draw, s: &Sides<P, D>) -> ([usize; D], [usize; D]) {
    let (mut right, mut out) = (s.dims(), s.dims());
    let columns = if draw.coin() { right[D - 2] } else { 1 + draw.below(4) };
    (right[D - 2], right[D - 1], out[D - 1]) = (right[D - 1], columns, columns);
    (right, out)
}

/// A step on matrices without dense dims.
fn plain<P: Build, const D: usize>(s: &Sides<P, D>, made: impl FnOnce() -> Made) -> Made {
    if s.a.sparse_dims() == D { made() } else { Made::Unfit }
}

pub fn steps<P: Build, const D: usize>() -> Vec<Step<P, D>> {
    let all: &[Step<P, D>] = &[
        ("matmul", |draw, s| {
            plain(s, || {
                let (right, _) = right(draw, s);
                let [b, y] = s.pool.dense_or_new::<P, D>(draw, right);
                s.dense(s.a.matmul(b), |x| matmul(x, y))
            })
        }),
        ("matmul (any)", |_, s| {
            plain(s, || {
                let dims = s.dims();
                let fits = |right: [usize; D]| dims[D - 1] == right[D - 2] && dims[..D - 2] == right[..D - 2];
                let Some((b, y)) = s.pool.dense(fits) else { return Made::Unfit };
                s.dense(s.a.matmul(b), |x| matmul(x, y))
            })
        }),
        ("rmatmul", |draw, s| {
            plain(s, || {
                let mut left = s.dims();
                (left[D - 2], left[D - 1]) = (if draw.coin() { left[D - 1] } else { 1 + draw.below(4) }, left[D - 2]);
                let [b, y] = s.pool.dense_or_new::<P, D>(draw, left);
                s.dense(s.a.rmatmul(b), |x| matmul(y, x))
            })
        }),
        ("matmul (vector)", |draw, s| {
            let Some(a) = super::matrices::matrix(s.a) else { return Made::Unfit };
            let [rows, columns] = a.dims();
            let vector = draw.dense::<1, Float>([columns], Values::Any);
            s.dense(reshape(a.matmul(vector.own), [rows, 1]), |x| {
                matmul(super::matrices::matrix_of(x), reshape(vector.reference, [columns, 1]))
            })
        }),
        ("matmul (sparse)", |_, s| {
            plain(s, || {
                let dims = s.dims();
                let found = s.pool.sparse::<P, D>(|b| {
                    let right = b.dims();
                    let fits = dims[D - 1] == right[D - 2] && dims[..D - 2] == right[..D - 2];
                    fits && b.sparse_dims() == D && b.fill().is_zero()
                });
                match found {
                    Some((b, y)) if s.a.fill().is_zero() => s.sparse(s.a.matmul(b), |x| matmul(x, y)),
                    _ => Made::Unfit,
                }
            })
        }),
        ("matmul (sparse, transposed)", |_, s| {
            plain(s, || {
                let dims = s.dims();
                let found = s.pool.sparse::<P, D>(|b| {
                    let right = b.dims();
                    let fits = dims[D - 1] == right[D - 1] && dims[..D - 2] == right[..D - 2];
                    fits && b.sparse_dims() == D && b.fill().is_zero()
                });
                match found {
                    Some((b, y)) if s.a.fill().is_zero() => {
                        s.sparse(s.a.matmul(b.transpose()), |x| matmul(x, y.transpose()))
                    }
                    _ => Made::Unfit,
                }
            })
        }),
        // The subject is the mask: of it only the pattern counts.
        ("masked_matmul", |draw, s| {
            plain(s, || {
                let (mut left, mut right) = (s.dims(), s.dims());
                let inner = if draw.coin() { left[D - 1] } else { 1 + draw.below(4) };
                (left[D - 1], right[D - 2]) = (inner, inner);
                let [b, y] = s.pool.dense_or_new::<P, D>(draw, left);
                let [c, z] = s.pool.dense_or_new::<P, D>(draw, right);
                let own = ops::masked_matmul(b, c, &s.a.coalesce());
                s.sparse(own, |_| keep(matmul(y, z), s.specified()))
            })
        }),
        ("matmul_reduce", |draw, s| {
            plain(s, || {
                let (right, out) = right(draw, s);
                let reduces = [Reduce::Add, Reduce::Mul, Reduce::Mean, Reduce::Amax, Reduce::Amin];
                let reduce = reduces[draw.below(5)];
                let [b, y] = s.pool.dense_or_new::<P, D>(draw, right);
                if !s.is_full() || right.contains(&0) {
                    return Made::Unfit;
                }
                let (batch, rows) = (out[..D - 2].iter().product(), out[D - 2]);
                let (inner, columns) = (right[D - 2], right[D - 1]);
                let shape: [usize; 4] = [batch, rows, inner, columns];
                let left = |x: Tensor<D>| x.reshape([batch, rows, inner, 1]).expand(shape);
                let products = |x, y: Tensor<D>| left(x) * y.reshape([batch, 1, inner, columns]).expand(shape);
                if matches!(reduce, Reduce::Amax | Reduce::Amin) {
                    let own = products(s.a.coalesce().to_dense(), b.clone());
                    let both = [own, products(s.x.clone(), y.clone())];
                    if !settled(both.map(|side| floats(side.inner().into_data())), &[], s.gap()) {
                        return Made::Unfit;
                    }
                }
                s.dense(s.a.matmul_reduce(b, reduce), |x| {
                    let specified = left(mask(&x, s.specified().into_iter()));
                    reduced::<Float>(products(x, y), specified, 2, reduce).reshape(out)
                })
            })
        }),
        ("matmul_then", |draw, s| {
            plain(s, || {
                let (right, _) = right(draw, s);
                let [b, y] = s.pool.dense_or_new::<P, D>(draw, right);
                let bias = draw.dense::<1, Float>([right[D - 1]], Values::Any);
                let own = s.a.matmul_then(b, Epilogue { bias: Some(bias.own), relu: false });
                s.dense(own, |x| {
                    let product = matmul(x, y);
                    let bias = spread(bias.reference.unsqueeze(), product.dims());
                    product + bias
                })
            })
        }),
        ("addmm", |draw, s| {
            plain(s, || {
                let (right, out) = right(draw, s);
                let [b, y] = s.pool.dense_or_new::<P, D>(draw, right);
                let [c, z] = s.pool.dense_or_new::<P, D>(draw, out);
                s.dense(s.a.addmm(0.5, c, -2.0, b), |x| z.mul_scalar(0.5) + matmul(x, y).mul_scalar(-2.0))
            })
        }),
        // Heads are a dense dim: `[M, N, H]` by `[N, H, F]`.
        ("matmul (heads)", |draw, s| {
            if D != 3 || s.a.sparse_dims() != 2 || !s.is_full() {
                return Made::Unfit;
            }
            let [m, n, h] = [0, 1, 2].map(|dim| s.dims()[dim]);
            let f = if draw.coin() { h } else { 1 + draw.below(3) };
            let shape = |list: [usize; 3]| std::array::from_fn::<usize, D, _>(|dim| list[dim]);
            let [b, y] = s.pool.dense_or_new::<P, D>(draw, shape([n, h, f]));
            s.dense(s.a.matmul(b), |x| {
                let whole = [m, n, h, f];
                let (x, y) = (x.reshape([m, n, h, 1]).expand(whole), y.reshape([1, n, h, f]).expand(whole));
                sum_dims(x * y, &[1]).reshape(shape([m, h, f]))
            })
        }),
    ];
    all.to_vec()
}
