//! Reductions that floats and integers have.

use crate::answer::{Answer, both_sides};
use crate::draw::{Build, Draw, Drawn, Values};
use crate::oversized::mask as truths;
use crate::reference::{extreme_dims, from_start, prod_dims as dense_prod_dims, reshape, sum_dims as dense_sum_dims};
use burn::tensor::{Int, Tensor, TensorData};
use sparse_tensor::{Numeric, SparseTensor};

operations! { "reductions";
    sum_dim of Float Int [all] gradient, |h| h.axes(|x, axis| x.sum_dim(axis));
    sum_dims of Float Int [all] gradient, |h| h.several(|x, axes| x.sum_dims(axes));
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
    row_counts of Float Int [coo csr] none, |h| h.matrix().each(|x| x.row_counts());
    col_counts of Float Int [coo csr] none, |h| h.matrix().each(|x| x.col_counts());
    count_nonzero of Float Int Bool [all] none,
        |h| { h.each(|x| x.count_nonzero()); h.each(|x| truths(x).count_nonzero()) };
}

pub(super) fn largest<const D: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<D> {
    extreme_dims(x, axes, true)
}

pub(super) fn smallest<const D: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<D> {
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

pub(super) fn count_nonzero<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    both_sides(|| a.sparse.count_nonzero(), || K::real(a.dense).not_equal_elem(0.0).int().sum())
}
