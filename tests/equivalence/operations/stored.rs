//! Functions of the stored elements alone: elsewhere the fill stays, or there is nothing.

use super::arithmetic::pair;
use super::folds::{all, axes_of, axis_of, largest, smallest};
use crate::answer::{Answer, both_sides};
use crate::draw::{Build, Draw, Drawn, Input, Values};
use crate::reference::{elsewhere, keep, mask, prod_dims as dense_prod_dims, reshape, sum_dims as dense_sum_dims};
use burn::tensor::FloatDType::F32;
use burn::tensor::{Float, Int, Tensor};
use sparse_tensor::{Fill, Numeric};

operations! { "stored elements";
    "Stored::map" map of Float Int [all] gradient, |h| h.each(|x| x.stored().map(|rows| rows.mul_scalar(3.0)));
    "Stored::zip" zip of Float Int [all] gradient, |h| h.pairs(|x, y| x.stored().zip(y, |x, y| x * y.exp()));
    "Stored::mul" mul of Float Int [all] gradient, |h| h.pairs(|x, y| x.stored().mul(y));
    "Stored::div" div [all] gradient, |h| h.pairs(|x, y| x.stored().div(y));
    "Stored::div (int)" div_int [all] none, |h| h.pairs(|x, y| x.int().stored().div(&y.int()).int());
    "Stored::count" count of Float Int [all] none, |h| h.each(|x| x.stored().count());
    "Stored::count_dims" count_dims of Float Int [all] none, |h| h.several(|x, axes| x.stored().count_dims(axes));
    "Stored::cumsum" cumsum of Float Int [all] gradient,
        |h| (0..h.a.dims().len() as isize).for_each(|axis| h.sparse(|x| x.stored().cumsum(axis)));
    "Stored::sum_dim" sum_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.stored().sum_dim(axis));
    "Stored::sum_dims" sum_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.stored().sum_dims(axes));
    "Stored::sum" sum of Float Int [all] gradient, |h| h.each(|x| x.stored().sum());
    "Stored::prod_dim" prod_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.stored().prod_dim(axis));
    "Stored::prod_dims" prod_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.stored().prod_dims(axes));
    "Stored::prod" prod of Float Int [all] gradient, |h| h.each(|x| x.stored().prod());
    "Stored::max_dim" max_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.stored().max_dim(axis));
    "Stored::max_dims" max_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.stored().max_dims(axes));
    "Stored::max" max of Float Int [all] gradient, |h| h.each(|x| x.stored().max());
    "Stored::min_dim" min_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.stored().min_dim(axis));
    "Stored::min_dims" min_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.stored().min_dims(axes));
    "Stored::min" min of Float Int [all] gradient, |h| h.each(|x| x.stored().min());
    "Stored::mean_dim" mean_dim [all] gradient, |h| h.axes(|x, axis| x.stored().mean_dim(axis));
    "Stored::mean_dims" mean_dims [all] gradient, |h| h.several(|x, axes| x.stored().mean_dims(axes));
    "Stored::mean" mean [all] gradient, |h| h.each(|x| x.stored().mean());
}

/// Whether both store an element.
fn both<P: Build, const D: usize, K: Drawn>(a: &Input<P, D, K>, b: &Input<P, D, K>) -> Vec<bool> {
    a.host.mask().into_iter().zip(b.host.mask()).map(|(a, b)| a && b).collect()
}

pub(super) fn map<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    both_sides(
        || a.sparse.stored().map(|rows| rows.mul_scalar(3).add_scalar(1)),
        || {
            let dense = K::real(a.dense);
            let stored = mask(&dense, a.host.mask().into_iter());
            dense.clone() + (dense.mul_scalar(2.0).add_scalar(1.0)) * stored
        },
    )
}

/// With values that differ from the fill's part, so that it shows where fills take part.
pub(super) fn zip<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let b = draw.second_operand::<P, D, K>(&a, Values::Any);
    let stored = both(&a, &b);
    both_sides(
        || a.sparse.stored().zip(&b.sparse, |a, b| a.clone() * b + a.add_scalar(1)),
        || {
            let (a, b) = (K::real(a.dense), K::real(b.dense));
            keep(a.clone() * b + a.add_scalar(1.0), stored)
        },
    )
}

pub(super) fn mul<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let (a, b) = pair::<P, D, K>(draw);
    let stored = both(&a, &b);
    both_sides(|| a.sparse.stored().mul(&b.sparse), || keep(K::real(a.dense) * K::real(b.dense), stored))
}

/// By zeros too where no gradient is compared.
fn div<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = if draw.tracked() {
        let a = draw.sparse::<P, D, Float>(Values::Any);
        let b = draw.second_operand::<P, D, Float>(&a, Values::Nonzero);
        (a, b)
    } else {
        pair(draw)
    };
    let stored = both(&a, &b);
    both_sides(|| a.sparse.stored().div(&b.sparse), || keep(a.dense / b.dense, stored))
}

fn div_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = pair::<P, D, Int>(draw);
    let stored = both(&a, &b);
    both_sides(
        || a.sparse.stored().div(&b.sparse),
        || keep(a.dense.float().cast(F32) / b.dense.float().cast(F32), stored),
    )
}

pub(super) fn count<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let count = a.host.specified().into_iter().filter(|specified| *specified).count();
    both_sides(|| a.sparse.stored().count(), || count)
}

/// Every element of a stored block counts.
pub(super) fn count_dims<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, K>(Values::Any);
    let (axes, signed) = axes_of::<D>(draw);
    both_sides(
        || a.sparse.stored().count_dims(&signed),
        || dense_sum_dims(mask(&K::real(a.dense.clone()), a.host.mask().into_iter()), &axes).int(),
    )
}

/// A reduction of the stored elements along axes; lines without any are not stored, and read as 0 here.
fn dense_stored<P: Build, const D: usize, K: Drawn>(
    a: &Input<P, D, K>,
    axes: &[usize],
    neutral: f64,
    dense: impl Fn(Tensor<D>, &[usize]) -> Tensor<D>,
    mean: bool,
) -> Tensor<D> {
    let real = K::real(a.dense.clone());
    let specified = mask(&real, a.host.mask().into_iter());
    let count = dense_sum_dims(specified.clone(), axes);
    let out = dense(elsewhere(real, &specified, neutral), axes) * count.clone().clamp_max(1.0);
    if mean { out / count.clamp_min(1.0) } else { out }
}

/// With something stored: the extremes of nothing are errors.
fn with_stored<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Input<P, D, K> {
    loop {
        draw.leaves.clear();
        draw.inputs.clear();
        let a = draw.full::<P, D, K>(Values::Any);
        if !a.host.coordinates.is_empty() {
            return a;
        }
    }
}

macro_rules! stored {
    ($(($neutral:expr) $dense:ident: $dim:ident $dims:ident $all:ident;)*) => {$(
        pub(super) fn $dim<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.full::<P, D, K>(Values::Any);
            let (at, axis) = axis_of::<D>(draw);
            both_sides(
                || a.sparse.stored().$dim(axis).to_dense_or(K::scalar(0.0)),
                || dense_stored(&a, &[at], $neutral, $dense, false),
            )
        }

        pub(super) fn $dims<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.full::<P, D, K>(Values::Any);
            let (axes, signed) = axes_of::<D>(draw);
            both_sides(
                || a.sparse.stored().$dims(&signed).to_dense_or(K::scalar(0.0)),
                || dense_stored(&a, &axes, $neutral, $dense, false),
            )
        }

        pub(super) fn $all<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = with_stored::<P, D, K>(draw);
            both_sides(
                || a.sparse.stored().$all(),
                || reshape(dense_stored(&a, &all::<D>(), $neutral, $dense, false), [1]),
            )
        }
    )*};
}
stored! {
    (0.0) dense_sum_dims: sum_dim sum_dims sum;
    (1.0) dense_prod_dims: prod_dim prod_dims prod;
    (-1e6) largest: max_dim max_dims max;
    (1e6) smallest: min_dim min_dims min;
}

/// Running sums where something is specified; what is not adds nothing.
pub(super) fn cumsum<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, K>(Values::Any);
    let (at, axis) = axis_of::<D>(draw);
    let zero = matches!(a.sparse.fill(), Fill::Zero);
    both_sides(
        || {
            let own = if zero { a.sparse.clone() } else { a.sparse.clone().with_fill(Fill::Undefined) };
            own.stored().cumsum(axis).to_dense_or(K::scalar(0.0))
        },
        || {
            let real = K::real(a.dense.clone());
            let specified = mask(&real, a.host.mask().into_iter());
            elsewhere(real, &specified, 0.0).cumsum(at) * specified
        },
    )
}

fn mean_dim<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, Float>(Values::Any);
    let (at, axis) = axis_of::<D>(draw);
    both_sides(
        || a.sparse.stored().mean_dim(axis).to_dense_or(0.0),
        || dense_stored(&a, &[at], 0.0, dense_sum_dims, true),
    )
}

fn mean_dims<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, Float>(Values::Any);
    let (axes, signed) = axes_of::<D>(draw);
    both_sides(
        || a.sparse.stored().mean_dims(&signed).to_dense_or(0.0),
        || dense_stored(&a, &axes, 0.0, dense_sum_dims, true),
    )
}

fn mean<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = with_stored::<P, D, Float>(draw);
    both_sides(|| a.sparse.stored().mean(), || reshape(dense_stored(&a, &all::<D>(), 0.0, dense_sum_dims, true), [1]))
}
