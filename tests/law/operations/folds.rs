//! Reductions that floats and integers have.

use crate::answer::{Answer, law};
use crate::draw::{Build, Draw, Drawn, Input, Values};
use crate::huge::mask as truths;
use crate::reference::{
    elsewhere, extreme_dims, from_start, mask, prod_dims as dense_prod_dims, reshape, sum_dims as dense_sum_dims,
};
use burn::tensor::{Int, Tensor, TensorData};
use sparse_tensor::{Fill, Numeric};

operations! { "reductions";
    sum_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.sum_dim(axis));
    sum_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.sum_dims(axes));
    sum of Float Int [all] gradient, |h| { h.each(|x| x.sum()); h.each(|x| x.int().sum()) };
    prod_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.prod_dim(axis));
    prod_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.prod_dims(axes));
    prod of Float Int [all] gradient, |h| { h.each(|x| x.prod()); h.each(|x| x.int().prod()) };
    amax_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.amax_dim(axis));
    amax_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.amax_dims(axes));
    amax of Float Int [all] gradient, |h| { h.each(|x| x.amax()); h.each(|x| x.int().amax()) };
    amin_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.amin_dim(axis));
    amin_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.amin_dims(axes));
    amin of Float Int [all] gradient, |h| h.each(|x| x.amin());
    argmax_dim of Float Int [all] none, |h| h.sparse_axes(|x, axis| x.argmax_dim(axis));
    argmin_dim of Float Int [all] none, |h| h.sparse_axes(|x, axis| x.argmin_dim(axis));
    count_stored of Float Int [all] none, |h| h.each(|x| x.count_stored());
    count_stored_dim of Float Int [coo csr] none, |h| h.matrix().axes(|x, axis| x.count_stored_dim(axis));
    count_stored_dims of Float Int [all] none, |h| h.several(|x, axes| x.count_stored_dims(axes));
    count_nonzero of Float Int Bool [all] none,
        |h| { h.each(|x| x.count_nonzero()); h.each(|x| truths(x).count_nonzero()) };
    stored_sum_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.stored_sum_dim(axis));
    stored_sum_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.stored_sum_dims(axes));
    stored_sum of Float Int [all] gradient, |h| h.each(|x| x.stored_sum());
    stored_cumsum of Float Int [all] gradient, |h| h.axes(|x, axis| x.stored_cumsum(axis));
    stored_prod_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.stored_prod_dim(axis));
    stored_prod_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.stored_prod_dims(axes));
    stored_prod of Float Int [all] gradient, |h| h.each(|x| x.stored_prod());
    stored_amax_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.stored_amax_dim(axis));
    stored_amax_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.stored_amax_dims(axes));
    stored_amax of Float Int [all] gradient, |h| h.each(|x| x.stored_amax());
    stored_amin_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.stored_amin_dim(axis));
    stored_amin_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.stored_amin_dims(axes));
    stored_amin of Float Int [all] gradient, |h| h.each(|x| x.stored_amin());
}

fn largest<const D: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<D> {
    extreme_dims(x, axes, true)
}

fn smallest<const D: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<D> {
    extreme_dims(x, axes, false)
}

/// Some of the axes, at least one.
pub(super) fn some_axes<const D: usize>(draw: &mut Draw) -> Vec<usize> {
    let always = draw.below(D);
    (0..D).filter(|&axis| axis == always || draw.coin()).collect()
}

/// An axis from the start, and perhaps from the end.
pub(super) fn axis_of<const D: usize>(draw: &mut Draw) -> (usize, isize) {
    let axis = draw.axis(D);
    draw.inputs.push(format!("axis {axis}"));
    (from_start(axis, D), axis)
}

pub(super) fn axes_of<const D: usize>(draw: &mut Draw) -> (Vec<usize>, Vec<isize>) {
    let axes = some_axes::<D>(draw);
    let signed: Vec<isize> = axes.iter().map(|&axis| draw.signed(axis, D)).collect();
    draw.inputs.push(format!("axes {signed:?}"));
    (axes, signed)
}

pub(super) fn all<const D: usize>() -> Vec<usize> {
    (0..D).collect()
}

/// Along one axis, along several, over all: sizes of 0 for those that have an answer for nothing.
macro_rules! reductions {
    ($($draw:ident $reference:ident: $dim:ident $dims:ident $all:ident;)*) => {$(
        pub(super) fn $dim<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.$draw::<P, D, K>(Values::Any);
            let (at, axis) = axis_of::<D>(draw);
            law(|| a.sparse.$dim(axis), || $reference(K::real(a.dense), &[at]))
        }

        pub(super) fn $dims<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.$draw::<P, D, K>(Values::Any);
            let (axes, signed) = axes_of::<D>(draw);
            law(|| a.sparse.$dims(&signed), || $reference(K::real(a.dense), &axes))
        }

        pub(super) fn $all<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.$draw::<P, D, K>(Values::Any);
            law(|| a.sparse.$all(), || reshape($reference(K::real(a.dense), &all::<D>()), [1]))
        }
    )*};
}
reductions! {
    sparse dense_sum_dims: sum_dim sum_dims sum;
    full dense_prod_dims: prod_dim prod_dims prod;
    full largest: amax_dim amax_dims amax;
    full smallest: amin_dim amin_dims amin;
}

macro_rules! positions {
    ($($name:ident $dense:ident;)*) => {$(
        /// Along a sparse axis.
        pub(super) fn $name<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.full::<P, D, K>(Values::Any);
            let at = draw.below(a.host.sparse_dims);
            let axis = draw.signed(at, D);
            draw.inputs.push(format!("axis {axis}"));
            law(|| a.sparse.$name(axis), || K::real(a.dense).$dense(at))
        }
    )*};
}
positions! {
    argmax_dim argmax;
    argmin_dim argmin;
}

pub(super) fn count_stored<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let count = a.host.specified().into_iter().filter(|specified| *specified).count();
    law(|| a.sparse.count_stored(), || count)
}

/// One number for each line along the axis.
pub(super) fn count_stored_dim<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, 2, K>(Values::Any);
    let axis = draw.below(2);
    draw.inputs.push(format!("axis {axis}"));
    let [rows, columns] = a.sparse.dims();
    let specified = a.host.specified();
    let lines = if axis == 1 { rows } else { columns };
    let mut counts = vec![0i64; lines];
    specified.iter().enumerate().filter(|(_, specified)| **specified).for_each(|(cell, _)| {
        counts[if axis == 1 { cell / columns } else { cell % columns }] += 1;
    });
    let device = a.dense.device();
    law(
        || a.sparse.count_stored_dim(axis as isize),
        || Tensor::<1, Int>::from_data(TensorData::new(counts, [lines]), &device.inner()),
    )
}

/// Every element of a stored block counts.
pub(super) fn count_stored_dims<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, K>(Values::Any);
    let (axes, signed) = axes_of::<D>(draw);
    law(
        || a.sparse.count_stored_dims(&signed),
        || dense_sum_dims(mask(&K::real(a.dense.clone()), a.host.mask().into_iter()), &axes).int(),
    )
}

pub(super) fn count_nonzero<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    law(|| a.sparse.count_nonzero(), || K::real(a.dense).not_equal_elem(0.0).int().sum())
}

/// A reduction of the stored elements along axes; lines without any are not stored, and read as 0 here.
pub(super) fn dense_stored<P: Build, const D: usize, K: Drawn>(
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
pub(super) fn with_stored<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Input<P, D, K> {
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
            law(
                || a.sparse.$dim(axis).to_dense_or(K::scalar(0.0)),
                || dense_stored(&a, &[at], $neutral, $dense, false),
            )
        }

        pub(super) fn $dims<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.full::<P, D, K>(Values::Any);
            let (axes, signed) = axes_of::<D>(draw);
            law(
                || a.sparse.$dims(&signed).to_dense_or(K::scalar(0.0)),
                || dense_stored(&a, &axes, $neutral, $dense, false),
            )
        }

        pub(super) fn $all<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = with_stored::<P, D, K>(draw);
            law(|| a.sparse.$all(), || reshape(dense_stored(&a, &all::<D>(), $neutral, $dense, false), [1]))
        }
    )*};
}
stored! {
    (0.0) dense_sum_dims: stored_sum_dim stored_sum_dims stored_sum;
    (1.0) dense_prod_dims: stored_prod_dim stored_prod_dims stored_prod;
    (-1e6) largest: stored_amax_dim stored_amax_dims stored_amax;
    (1e6) smallest: stored_amin_dim stored_amin_dims stored_amin;
}

/// Running sums where something is specified; what is not adds nothing.
pub(super) fn stored_cumsum<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, K>(Values::Any);
    let (at, axis) = axis_of::<D>(draw);
    let zero = matches!(a.sparse.fill(), Fill::Zero);
    law(
        || {
            let own = if zero { a.sparse.clone() } else { a.sparse.clone().with_fill(Fill::Undefined) };
            own.stored_cumsum(axis).to_dense_or(K::scalar(0.0))
        },
        || {
            let real = K::real(a.dense.clone());
            let specified = mask(&real, a.host.mask().into_iter());
            elsewhere(real, &specified, 0.0).cumsum(at) * specified
        },
    )
}
