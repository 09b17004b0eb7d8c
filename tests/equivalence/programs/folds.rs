//! Reductions, and what runs along lines.

use super::item::{Made, Sides};
use super::steps::{Kinks, Step};
use crate::draw::{Build, Draw};
use crate::operations::reductions::{dense_norm, mean_of};
use crate::reference::{elsewhere, extreme_dims, keep, mask, prod_dims, sum_dims};
use burn::tensor::{Tensor, activation};
use sparse_tensor::{Fill, SparseTensor};

type Along<P, const D: usize> = fn(&SparseTensor<P, D>, isize) -> SparseTensor<P, D>;
type Several<P, const D: usize> = fn(&SparseTensor<P, D>, &[isize]) -> SparseTensor<P, D>;
type Whole<P, const D: usize> = fn(&SparseTensor<P, D>) -> Tensor<1>;
type Reference<const D: usize> = fn(Tensor<D>, &[usize]) -> Tensor<D>;

fn largest<const D: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<D> {
    extreme_dims(x, axes, true)
}

fn smallest<const D: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<D> {
    extreme_dims(x, axes, false)
}

/// Along one axis; for sums there may be nothing to add.
fn along<P: Build, const D: usize>(
    draw: &mut Draw,
    s: &Sides<P, D>,
    own: Along<P, D>,
    reference: Reference<D>,
) -> Made {
    let (axis, at) = s.axis(draw);
    s.sparse(own(s.a, at), |x| reference(x, &[axis]))
}

fn several<P: Build, const D: usize>(
    draw: &mut Draw,
    s: &Sides<P, D>,
    own: Several<P, D>,
    reference: Reference<D>,
) -> Made {
    let always = draw.below(D);
    let axes: Vec<usize> = (0..D).filter(|&axis| axis == always || draw.coin()).collect();
    let signed: Vec<isize> = axes.iter().map(|&axis| draw.signed(axis, D)).collect();
    s.sparse(own(s.a, &signed), |x| reference(x, &axes))
}

/// One number, of rank `D`.
fn whole<P: Build, const D: usize>(s: &Sides<P, D>, own: Whole<P, D>, reference: Reference<D>) -> Made {
    let axes: Vec<usize> = (0..D).collect();
    s.dense(own(s.a).reshape([1; D]), |x| reference(x, &axes))
}

/// A step that has no answer for nothing.
fn full<P: Build, const D: usize>(s: &Sides<P, D>, made: impl FnOnce() -> Made) -> Made {
    if s.is_full() { made() } else { Made::Unfit }
}

/// A step whose order of elements rounding must not choose.
fn settled<P: Build, const D: usize>(s: &Sides<P, D>, made: impl FnOnce() -> Made) -> Made {
    if s.is_full() && s.is_settled(&[]) { made() } else { Made::Unfit }
}

/// The specified elements reduced along an axis; a line without any is 0.
fn stored<P: Build, const D: usize>(
    draw: &mut Draw,
    s: &Sides<P, D>,
    own: Along<P, D>,
    reference: Reference<D>,
    neutral: f64,
    mean: bool,
) -> Made {
    let (axis, at) = s.axis(draw);
    s.dense(own(s.a, at).to_dense_or(0.0), |x| {
        let specified = mask(&x, s.specified().into_iter());
        let count = sum_dims(specified.clone(), &[axis]);
        let out = reference(elsewhere(x, &specified, neutral), &[axis]) * count.clone().clamp_max(1.0);
        if mean { out / count.clamp_min(1.0) } else { out }
    })
}

/// With the fill where the answer fits its shape, else over the specified elements.
fn lines<P: Build, const D: usize>(
    draw: &mut Draw,
    s: &Sides<P, D>,
    own: Along<P, D>,
    reference: fn(Tensor<D>, usize) -> Tensor<D>,
) -> Made {
    let dims = s.a.sparse_dims();
    // The last sparse dim in every second draw.
    let axis = if dims > 0 && draw.coin() { dims - 1 } else { draw.below(D) };
    let at = draw.signed(axis, D);
    if !s.is_full() {
        return Made::Unfit;
    }
    if dims < D && (axis >= dims || dims == 1) && draw.coin() {
        return s.sparse(own(s.a, at), |x| reference(x, axis));
    }
    let undefined = s.undefined();
    s.sparse(own(&undefined, at).with_fill(Fill::Zero), |x| {
        let specified = mask(&x, s.specified().into_iter());
        // So far below the others that its exponential is exactly 0.
        reference(elsewhere(x, &specified, -1e6), axis) * specified
    })
}

pub fn steps<P: Build, const D: usize>() -> Vec<Step<P, D>> {
    let all: &[Step<P, D>] = &[
        ("sum_dim", |draw, s| along(draw, s, |a, axis| a.sum_dim(axis), sum_dims)),
        ("sum_dims", |draw, s| several(draw, s, |a, axes| a.sum_dims(axes), sum_dims)),
        ("mean_dim", |draw, s| full(s, || along(draw, s, |a, axis| a.mean_dim(axis), mean_of))),
        ("mean_dims", |draw, s| full(s, || several(draw, s, |a, axes| a.mean_dims(axes), mean_of))),
        ("prod_dim", |draw, s| full(s, || along(draw, s, |a, axis| a.prod_dim(axis), prod_dims))),
        ("prod_dims", |draw, s| full(s, || several(draw, s, |a, axes| a.prod_dims(axes), prod_dims))),
        ("max_dim", |draw, s| settled(s, || along(draw, s, |a, axis| a.max_dim(axis), largest))),
        ("max_dims", |draw, s| settled(s, || several(draw, s, |a, axes| a.max_dims(axes), largest))),
        ("min_dim", |draw, s| settled(s, || along(draw, s, |a, axis| a.min_dim(axis), smallest))),
        ("min_dims", |draw, s| settled(s, || several(draw, s, |a, axes| a.min_dims(axes), smallest))),
        ("sum", |_, s| whole(s, |a| a.sum(), sum_dims)),
        ("mean", |_, s| full(s, || whole(s, |a| a.mean(), mean_of))),
        ("prod", |_, s| full(s, || whole(s, |a| a.prod(), prod_dims))),
        ("max", |_, s| settled(s, || whole(s, |a| a.max(), largest))),
        ("min", |_, s| settled(s, || whole(s, |a| a.min(), smallest))),
        // Of numbers that are not 0: the dense rule divides by the norm.
        ("norm_dim", |draw, s| {
            full(s, || {
                let p = [1.0, 2.0, 3.0][draw.below(3)];
                let (axis, at) = s.axis(draw);
                let own = s.a.square().add_scalar(1.0).norm_dim(p, at);
                s.sparse(own, |x| dense_norm(x.square().add_scalar(1.0), p, &[axis]))
            })
        }),
        ("norm", |_, s| {
            full(s, || {
                let axes: Vec<usize> = (0..D).collect();
                let own = s.a.square().add_scalar(1.0).norm(2.0).reshape([1; D]);
                s.dense(own, |x| dense_norm(x.square().add_scalar(1.0), 2.0, &axes))
            })
        }),
        ("Stored::sum_dim", |draw, s| {
            full(s, || stored(draw, s, |a, axis| a.stored().sum_dim(axis), sum_dims, 0.0, false))
        }),
        ("Stored::mean_dim", |draw, s| {
            full(s, || stored(draw, s, |a, axis| a.stored().mean_dim(axis), sum_dims, 0.0, true))
        }),
        ("Stored::prod_dim", |draw, s| {
            full(s, || stored(draw, s, |a, axis| a.stored().prod_dim(axis), prod_dims, 1.0, false))
        }),
        ("Stored::max_dim", |draw, s| {
            settled(s, || stored(draw, s, |a, axis| a.stored().max_dim(axis), largest, -1e6, false))
        }),
        ("Stored::min_dim", |draw, s| {
            settled(s, || stored(draw, s, |a, axis| a.stored().min_dim(axis), smallest, 1e6, false))
        }),
        ("Stored::cumsum", |draw, s| {
            full(s, || {
                let (axis, at) = s.axis(draw);
                let undefined = s.undefined();
                s.sparse(undefined.stored().cumsum(at).with_fill(Fill::Zero), |x| {
                    let specified = s.specified();
                    keep(keep(x, specified.clone()).cumsum(axis), specified)
                })
            })
        }),
        ("softmax", |draw, s| lines(draw, s, |a, axis| a.softmax(axis), activation::softmax)),
        ("log_softmax", |draw, s| lines(draw, s, |a, axis| a.log_softmax(axis), activation::log_softmax)),
        ("to_dense", |_, s| s.dense(s.a.to_dense(), |x| x)),
    ];
    all.to_vec()
}
