//! Reductions of floats: means, norms and softmax.

use super::folds::{all, axes_of, axis_of, some_axes};
use crate::answer::{Answer, both_sides};
use crate::draw::{Build, Draw, Input, Values};
use crate::oversized::{Oversized, filled, undefined};
use crate::reference::{elsewhere, extreme_dims, from_start, mask, reshape, sum_dims};
use burn::tensor::{Float, Shape, Tensor, activation};
use sparse_tensor::{Fill, SparseTensor};

operations! { "reductions";
    mean_dim [all] gradient, |h| h.axes(|x, axis| x.mean_dim(axis));
    mean_dims [all] gradient, |h| h.several(|x, axes| x.mean_dims(axes));
    mean [all] gradient, |h| h.each(|x| x.mean());
    norm_dim [all] gradient, |h| NORMS.into_iter().for_each(|p| h.axes(|x, axis| x.norm_dim(p, axis)));
    norm_dims [all] gradient, |h| h.several(|x, axes| x.norm_dims(2.0, axes));
    norm [all] gradient, |h| [2.0, f64::INFINITY].into_iter().for_each(|p| h.each(|x| x.norm(p)));
    softmax [all] gradient, |h| oversized_lines(h, |x, axis| x.try_softmax(axis));
    log_softmax [all] gradient, |h| oversized_lines(h, |x, axis| x.try_log_softmax(axis));
}

pub fn mean_of<const D: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<D> {
    let count: usize = axes.iter().map(|&axis| x.dims()[axis]).product();
    let sums = sum_dims(x, axes);
    // Burn's division by a number takes its slope in f32.
    let by = Tensor::full(Shape::from(sums.dims()), count as f64, (&sums.device().inner(), sums.dtype()));
    sums / by
}

fn mean_dim<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, Float>(Values::Any);
    let (at, axis) = axis_of::<D>(draw);
    both_sides(|| a.sparse.mean_dim(axis), || mean_of(a.dense, &[at]))
}

fn mean_dims<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, Float>(Values::Any);
    let (axes, signed) = axes_of::<D>(draw);
    both_sides(|| a.sparse.mean_dims(&signed), || mean_of(a.dense, &axes))
}

fn mean<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, Float>(Values::Any);
    both_sides(|| a.sparse.mean(), || reshape(mean_of(a.dense, &all::<D>()), [1]))
}

const NORMS: [f64; 4] = [1.0, 2.0, 3.0, f64::INFINITY];

/// Of numbers that are not zero: the dense rule divides by the norm.
pub fn dense_norm<const D: usize>(x: Tensor<D>, p: f64, axes: &[usize]) -> Tensor<D> {
    match p {
        1.0 => sum_dims(x.abs(), axes),
        2.0 => sum_dims(x.square(), axes).sqrt(),
        f64::INFINITY => extreme_dims(x.abs(), axes, true),
        p => sum_dims(x.abs().powf_scalar(p), axes).powf_scalar(1.0 / p),
    }
}

fn norm<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, Float>(Values::Nonzero);
    let p = NORMS[draw.below(4)];
    draw.inputs.push(format!("p {p}"));
    let axes: Vec<usize> = (0..D).collect();
    both_sides(|| a.sparse.norm(p), || reshape(dense_norm(a.dense, p, &axes), [1]))
}

fn norm_dim<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, Float>(Values::Nonzero);
    let (p, axis) = (NORMS[draw.below(4)], draw.axis(D));
    draw.inputs.push(format!("p {p}, axis {axis}"));
    both_sides(|| a.sparse.norm_dim(p, axis), || dense_norm(a.dense, p, &[from_start(axis, D)]))
}

fn norm_dims<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, Float>(Values::Nonzero);
    let (p, axes) = (NORMS[draw.below(4)], some_axes::<D>(draw));
    let signed: Vec<isize> = axes.iter().map(|&axis| draw.signed(axis, D)).collect();
    draw.inputs.push(format!("p {p}, axes {signed:?}"));
    both_sides(|| a.sparse.norm_dims(p, &signed), || dense_norm(a.dense, p, &axes))
}

/// With a fill where there is one sparse dim or the axis is dense; else over the specified elements.
fn along_lines<P: Build, const D: usize>(
    draw: &mut Draw,
    own: impl Fn(&SparseTensor<P, D>, isize) -> SparseTensor<P, D>,
    dense: impl Fn(Tensor<D>, usize) -> Tensor<D>,
) -> Answer {
    let Input { sparse, dense: variant, host } = draw.full::<P, D, Float>(Values::Any);
    let axis = draw.axis(D);
    draw.inputs.push(format!("axis {axis}"));
    let at = from_start(axis, D);
    let counts_fill = host.sparse_dims < D && (at >= host.sparse_dims || host.sparse_dims == 1);
    if counts_fill && draw.coin() {
        return both_sides(|| own(&sparse, axis), || dense(variant, at));
    }
    both_sides(
        || own(&sparse.clone().with_fill(Fill::Undefined), axis).to_dense_or(0.0),
        || {
            let specified = mask(&variant, host.mask().into_iter());
            // So far below the others that its exponential is exactly 0.
            dense(elsewhere(variant.clone(), &specified, -1e4), at) * specified
        },
    )
}

/// Every line has a fill of its own, unless it lies in the blocks or only what is specified counts.
fn oversized_lines<P: Build, const D: usize>(
    h: &Oversized<P, D>,
    own: impl Fn(&SparseTensor<P, D>, isize) -> sparse_tensor::Result<SparseTensor<P, D>>,
) {
    for (x, axis) in [&h.a, &h.b].into_iter().flat_map(|x| (0..D).map(move |axis| (x, axis))) {
        let along = axis as isize;
        h.run(|| own(&undefined(x), along));
        if axis < x.sparse_dims() {
            h.refuses(h.cells(), own(x, along));
            h.refuses(h.cells(), own(&filled(x), along));
        } else {
            h.run(|| own(&filled(x), along));
        }
    }
}

fn softmax<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    along_lines::<P, D>(draw, |a, axis| a.softmax(axis), activation::softmax)
}

fn log_softmax<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    along_lines::<P, D>(draw, |a, axis| a.log_softmax(axis), activation::log_softmax)
}
