//! Reductions that floats and integers have.

use super::family;
use crate::answer::{Answer, law};
use crate::draw::{Build, Draw, Drawn, Input, Layout, Values};
use crate::reference::{
    elsewhere, extreme_dims, from_start, mask, prod_dims as dense_prod_dims, reshape, sum_dims as dense_sum_dims,
};
use burn::tensor::{Float, Int, Tensor, TensorData};
use sparse_tensor::pattern::{CooPattern, CsrPattern};
use sparse_tensor::{Fill, Numeric};

family! { "reductions" of Float;
    "sum_dim" sum_dim [coo csr hybrid batched] gradient;
    "sum_dims" sum_dims [coo csr hybrid batched] gradient;
    "sum" sum [coo csr hybrid batched] gradient;
    "prod_dim" prod_dim [coo csr hybrid batched] gradient;
    "prod_dims" prod_dims [coo csr hybrid batched] gradient;
    "prod" prod [coo csr hybrid batched] gradient;
    "amax_dim" amax_dim [coo csr hybrid batched] gradient;
    "amax_dims" amax_dims [coo csr hybrid batched] gradient;
    "amax" amax [coo csr hybrid batched] gradient;
    "amin_dim" amin_dim [coo csr hybrid batched] gradient;
    "amin_dims" amin_dims [coo csr hybrid batched] gradient;
    "amin" amin [coo csr hybrid batched] gradient;
    "argmax_dim" argmax_dim [coo csr hybrid batched] none;
    "argmin_dim" argmin_dim [coo csr hybrid batched] none;
    "count_stored" count_stored [coo csr hybrid batched] none;
    "count_stored_dim" count_stored_dim [coo csr] none;
    "count_stored_dims" count_stored_dims [coo csr hybrid batched] none;
    "count_nonzero" count_nonzero [coo csr hybrid batched] none;
    "stored_sum_dim" stored_sum_dim [coo csr hybrid batched] gradient;
    "stored_sum_dims" stored_sum_dims [coo csr hybrid batched] gradient;
    "stored_sum" stored_sum [coo csr hybrid batched] gradient;
    "stored_cumsum" stored_cumsum [coo csr hybrid batched] gradient;
    "stored_prod_dim" stored_prod_dim [coo csr hybrid batched] gradient;
    "stored_prod_dims" stored_prod_dims [coo csr hybrid batched] gradient;
    "stored_prod" stored_prod [coo csr hybrid batched] gradient;
    "stored_amax_dim" stored_amax_dim [coo csr hybrid batched] gradient;
    "stored_amax_dims" stored_amax_dims [coo csr hybrid batched] gradient;
    "stored_amax" stored_amax [coo csr hybrid batched] gradient;
    "stored_amin_dim" stored_amin_dim [coo csr hybrid batched] gradient;
    "stored_amin_dims" stored_amin_dims [coo csr hybrid batched] gradient;
    "stored_amin" stored_amin [coo csr hybrid batched] gradient;
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
