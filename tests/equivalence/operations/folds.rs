//! Reductions that floats and integers have.

use crate::answer::{Answer, both_sides};
use crate::draw::{Build, Draw, Drawn, Input, Values};
use crate::oversized::mask as truths;
use crate::reference::{
    elsewhere, extreme_dims, from_start, mask, prod_dims as dense_prod_dims, reshape, sum_dims as dense_sum_dims,
};
use burn::tensor::{Int, Tensor, TensorData};
use sparse_tensor::{Fill, Numeric, SparseTensor};

operations! { "reductions";
    sum_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.sum_dim(axis));
    sum_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.sum_dims(axes));
    sum_dim_dense of Float Int [all] gradient, |h| h.tall_axes(|x, axis| x.sum_dim_dense(axis));
    prod_dim_dense of Float Int [all] gradient, |h| h.tall_axes(|x, axis| x.prod_dim_dense(axis));
    max_dim_dense of Float Int [all] gradient, |h| h.tall_axes(|x, axis| x.max_dim_dense(axis));
    min_dim_dense of Float Int [all] gradient, |h| h.tall_axes(|x, axis| x.min_dim_dense(axis));
    sum of Float Int [all] gradient, |h| { h.each(|x| x.sum()); h.each(|x| x.int().sum()) };
    prod_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.prod_dim(axis));
    prod_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.prod_dims(axes));
    prod of Float Int [all] gradient, |h| { h.each(|x| x.prod()); h.each(|x| x.int().prod()) };
    max_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.max_dim(axis));
    max_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.max_dims(axes));
    max of Float Int [all] gradient, |h| { h.each(|x| x.max()); h.each(|x| x.int().max()) };
    min_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.min_dim(axis));
    min_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.min_dims(axes));
    min of Float Int [all] gradient, |h| h.each(|x| x.min());
    argmax of Float Int [all] none, |h| h.sparse_axes(|x, axis| x.argmax(axis));
    argmin of Float Int [all] none, |h| h.sparse_axes(|x, axis| x.argmin(axis));
    count_stored of Float Int [all] none, |h| h.each(|x| x.count_stored());
    row_counts of Float Int [coo csr] none, |h| h.matrix().each(|x| x.row_counts());
    col_counts of Float Int [coo csr] none, |h| h.matrix().each(|x| x.col_counts());
    count_stored_dims of Float Int [all] none, |h| h.several(|x, axes| x.count_stored_dims(axes));
    count_nonzero of Float Int Bool [all] none,
        |h| { h.each(|x| x.count_nonzero()); h.each(|x| truths(x).count_nonzero()) };
    stored_sum_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.stored_sum_dim(axis));
    stored_sum_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.stored_sum_dims(axes));
    stored_sum of Float Int [all] gradient, |h| h.each(|x| x.stored_sum());
    stored_cumsum of Float Int [all] gradient,
        |h| (0..h.a.dims().len() as isize).for_each(|axis| h.sparse(|x| x.stored_cumsum(axis)));
    stored_prod_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.stored_prod_dim(axis));
    stored_prod_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.stored_prod_dims(axes));
    stored_prod of Float Int [all] gradient, |h| h.each(|x| x.stored_prod());
    stored_max_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.stored_max_dim(axis));
    stored_max_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.stored_max_dims(axes));
    stored_max of Float Int [all] gradient, |h| h.each(|x| x.stored_max());
    stored_min_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.stored_min_dim(axis));
    stored_min_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.stored_min_dims(axes));
    stored_min of Float Int [all] gradient, |h| h.each(|x| x.stored_min());
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
            both_sides(|| a.sparse.$dim(axis), || $reference(K::real(a.dense), &[at]))
        }

        pub(super) fn $dims<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.$draw::<P, D, K>(Values::Any);
            let (axes, signed) = axes_of::<D>(draw);
            both_sides(|| a.sparse.$dims(&signed), || $reference(K::real(a.dense), &axes))
        }

        pub(super) fn $all<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.$draw::<P, D, K>(Values::Any);
            both_sides(|| a.sparse.$all(), || reshape($reference(K::real(a.dense), &all::<D>()), [1]))
        }
    )*};
}
reductions! {
    sparse dense_sum_dims: sum_dim sum_dims sum;
    full dense_prod_dims: prod_dim prod_dims prod;
    full largest: max_dim max_dims max;
    full smallest: min_dim min_dims min;
}

/// As ordinary tensors.
macro_rules! dense_reductions {
    ($($draw:ident $reference:ident: $dim:ident;)*) => {$(
        pub(super) fn $dim<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.$draw::<P, D, K>(Values::Any);
            let (at, axis) = axis_of::<D>(draw);
            both_sides(|| a.sparse.$dim(axis), || $reference(K::real(a.dense), &[at]))
        }
    )*};
}
dense_reductions! {
    sparse dense_sum_dims: sum_dim_dense;
    full dense_prod_dims: prod_dim_dense;
    full largest: max_dim_dense;
    full smallest: min_dim_dense;
}

macro_rules! positions {
    ($($name:ident $dense:ident;)*) => {$(
        /// Along a sparse axis.
        pub(super) fn $name<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.full::<P, D, K>(Values::Any);
            let at = draw.below(a.host.sparse_dims);
            let axis = draw.signed(at, D);
            draw.inputs.push(format!("axis {axis}"));
            both_sides(|| a.sparse.$name(axis), || K::real(a.dense).$dense(at))
        }
    )*};
}
positions! {
    argmax argmax;
    argmin argmin;
}

pub(super) fn count_stored<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let count = a.host.specified().into_iter().filter(|specified| *specified).count();
    both_sides(|| a.sparse.count_stored(), || count)
}

pub(super) fn row_counts<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    counts::<P, K>(draw, 1, |a| a.row_counts())
}

pub(super) fn col_counts<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    counts::<P, K>(draw, 0, |a| a.col_counts())
}

/// One number for each line along the axis.
fn counts<P: Build, K: Drawn>(
    draw: &mut Draw,
    axis: usize,
    own: impl Fn(&SparseTensor<P, 2, K>) -> Tensor<1, Int>,
) -> Answer {
    let a = draw.full::<P, 2, K>(Values::Any);
    let [rows, columns] = a.sparse.dims();
    let specified = a.host.specified();
    let lines = if axis == 1 { rows } else { columns };
    let mut counts = vec![0i64; lines];
    specified.iter().enumerate().filter(|(_, specified)| **specified).for_each(|(cell, _)| {
        counts[if axis == 1 { cell / columns } else { cell % columns }] += 1;
    });
    let device = a.dense.device();
    both_sides(|| own(&a.sparse), || Tensor::<1, Int>::from_data(TensorData::new(counts, [lines]), &device.inner()))
}

/// Every element of a stored block counts.
pub(super) fn count_stored_dims<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, K>(Values::Any);
    let (axes, signed) = axes_of::<D>(draw);
    both_sides(
        || a.sparse.count_stored_dims(&signed),
        || dense_sum_dims(mask(&K::real(a.dense.clone()), a.host.mask().into_iter()), &axes).int(),
    )
}

pub(super) fn count_nonzero<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    both_sides(|| a.sparse.count_nonzero(), || K::real(a.dense).not_equal_elem(0.0).int().sum())
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
            both_sides(
                || a.sparse.$dim(axis).to_dense_or(K::scalar(0.0)),
                || dense_stored(&a, &[at], $neutral, $dense, false),
            )
        }

        pub(super) fn $dims<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.full::<P, D, K>(Values::Any);
            let (axes, signed) = axes_of::<D>(draw);
            both_sides(
                || a.sparse.$dims(&signed).to_dense_or(K::scalar(0.0)),
                || dense_stored(&a, &axes, $neutral, $dense, false),
            )
        }

        pub(super) fn $all<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = with_stored::<P, D, K>(draw);
            both_sides(|| a.sparse.$all(), || reshape(dense_stored(&a, &all::<D>(), $neutral, $dense, false), [1]))
        }
    )*};
}
stored! {
    (0.0) dense_sum_dims: stored_sum_dim stored_sum_dims stored_sum;
    (1.0) dense_prod_dims: stored_prod_dim stored_prod_dims stored_prod;
    (-1e6) largest: stored_max_dim stored_max_dims stored_max;
    (1e6) smallest: stored_min_dim stored_min_dims stored_min;
}

/// Running sums where something is specified; what is not adds nothing.
pub(super) fn stored_cumsum<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, K>(Values::Any);
    let (at, axis) = axis_of::<D>(draw);
    let zero = matches!(a.sparse.fill(), Fill::Zero);
    both_sides(
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
