//! Reductions, softmax, and products that reduce.

use super::family;
use crate::answer::{Answer, law};
use crate::draw::{Build, Draw, Fills, Host, Input, Layout, Values};
use crate::reference::{extreme_dims, from_start, mask, matmul, prod_dims, reshape, sum_dims};
use burn::tensor::{Int, Shape, Tensor, TensorData, activation};
use sparse_tensor::ops::Reduce;
use sparse_tensor::pattern::{CooPattern, CsrPattern};
use sparse_tensor::{Fill, SparseTensor};

family! { "reductions";
    "sum_dim" sum_dim [coo csr hybrid batched] gradient;
    "mean_dim" mean_dim [coo csr hybrid batched] gradient;
    "prod_dim" prod_dim [coo csr hybrid batched] gradient;
    "amax_dim" amax_dim [coo csr hybrid batched] gradient;
    "amin_dim" amin_dim [coo csr hybrid batched] gradient;
    "sum_dims" sum_dims_of [coo csr hybrid batched] gradient;
    "mean_dims" mean_dims [coo csr hybrid batched] gradient;
    "prod_dims" prod_dims_of [coo csr hybrid batched] gradient;
    "amax_dims" amax_dims [coo csr hybrid batched] gradient;
    "amin_dims" amin_dims [coo csr hybrid batched] gradient;
    "sum" sum [coo csr hybrid batched] gradient;
    "mean" mean [coo csr hybrid batched] gradient;
    "prod" prod [coo csr hybrid batched] gradient;
    "amax" amax [coo csr hybrid batched] gradient;
    "amin" amin [coo csr hybrid batched] gradient;
    "any_dim" any_dim [coo csr hybrid batched] none;
    "all_dim" all_dim [coo csr hybrid batched] none;
    "any" any [coo csr hybrid batched] none;
    "all" all [coo csr hybrid batched] none;
    "norm" norm [coo csr hybrid batched] gradient;
    "norm_dim" norm_dim [coo csr hybrid batched] gradient;
    "argmax_dim" argmax_dim [coo csr hybrid batched] none;
    "argmin_dim" argmin_dim [coo csr hybrid batched] none;
    "count_stored" count_stored [coo csr hybrid batched] none;
    "count_stored_dim" count_stored_dim [coo csr] none;
    "count_nonzero" count_nonzero [coo csr hybrid batched] none;
    "stored_sum_dim" stored_sum_dim [coo csr hybrid batched] gradient;
    "stored_mean_dim" stored_mean_dim [coo csr hybrid batched] gradient;
    "stored_prod_dim" stored_prod_dim [coo csr hybrid batched] gradient;
    "stored_amax_dim" stored_amax_dim [coo csr hybrid batched] gradient;
    "stored_amin_dim" stored_amin_dim [coo csr hybrid batched] gradient;
    "softmax" softmax [coo csr hybrid batched] gradient;
    "log_softmax" log_softmax [coo csr hybrid batched] gradient;
    "matmul_reduce" matmul_reduce [coo csr] gradient;
    "addmm" addmm [coo csr batched] gradient;
}

fn mean_of<const D: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<D> {
    let count: usize = axes.iter().map(|&axis| x.dims()[axis]).product();
    let sums = sum_dims(x, axes);
    // Burn's division by a number takes its slope in f32.
    let by = Tensor::full(Shape::from(sums.dims()), count as f64, (&sums.device().inner(), sums.dtype()));
    sums / by
}

fn largest<const D: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<D> {
    extreme_dims(x, axes, true)
}

fn smallest<const D: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<D> {
    extreme_dims(x, axes, false)
}

/// Along one axis, along several, over all: sizes of 0 for those that have an answer for nothing.
macro_rules! reductions {
    ($($draw:ident $reference:ident: $dim:ident, $dims:ident as $run:ident, $all:ident;)*) => {$(
        fn $dim<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.$draw::<P, D>(Values::Any);
            let axis = draw.axis(D);
            draw.inputs.push(format!("axis {axis}"));
            law(|| a.sparse.$dim(axis), || $reference(a.dense, &[from_start(axis, D)]))
        }

        fn $run<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.$draw::<P, D>(Values::Any);
            let axes: Vec<usize> = some_axes::<D>(draw);
            let signed: Vec<isize> = axes.iter().map(|&axis| draw.signed(axis, D)).collect();
            draw.inputs.push(format!("axes {signed:?}"));
            law(|| a.sparse.$dims(&signed), || $reference(a.dense, &axes))
        }

        fn $all<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.$draw::<P, D>(Values::Any);
            let axes: Vec<usize> = (0..D).collect();
            law(|| a.sparse.$all(), || reshape($reference(a.dense, &axes), [1]))
        }
    )*};
}
reductions! {
    sparse sum_dims: sum_dim, sum_dims as sum_dims_of, sum;
    full mean_of: mean_dim, mean_dims as mean_dims, mean;
    full prod_dims: prod_dim, prod_dims as prod_dims_of, prod;
    full largest: amax_dim, amax_dims as amax_dims, amax;
    full smallest: amin_dim, amin_dims as amin_dims, amin;
}

/// Some of the axes, at least one.
fn some_axes<const D: usize>(draw: &mut Draw) -> Vec<usize> {
    let always = draw.below(D);
    (0..D).filter(|&axis| axis == always || draw.coin()).collect()
}

macro_rules! truths {
    ($($dim:ident $all:ident;)*) => {$(
        fn $dim<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let shape = draw.full_shape::<D>();
            let dims = draw.sparse_dims(D);
            let a = draw.truths::<P, D>(shape, dims, Fills::Any);
            let axis = draw.axis(D);
            law(|| a.sparse.$dim(axis), || a.dense.$dim(from_start(axis, D)))
        }

        fn $all<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let shape = draw.full_shape::<D>();
            let dims = draw.sparse_dims(D);
            let a = draw.truths::<P, D>(shape, dims, Fills::Any);
            law(|| a.sparse.$all(), || a.dense.$all())
        }
    )*};
}
truths! {
    any_dim any;
    all_dim all;
}

const NORMS: [f64; 4] = [1.0, 2.0, 3.0, f64::INFINITY];

/// Of numbers that are not zero: the dense rule divides by the norm.
fn dense_norm<const D: usize>(x: Tensor<D>, p: f64, axes: &[usize]) -> Tensor<D> {
    match p {
        1.0 => sum_dims(x.abs(), axes),
        2.0 => sum_dims(x.square(), axes).sqrt(),
        f64::INFINITY => extreme_dims(x.abs(), axes, true),
        p => sum_dims(x.abs().powf_scalar(p), axes).powf_scalar(1.0 / p),
    }
}

fn norm<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D>(Values::Nonzero);
    let p = NORMS[draw.below(4)];
    draw.inputs.push(format!("p {p}"));
    let axes: Vec<usize> = (0..D).collect();
    law(|| a.sparse.norm(p), || reshape(dense_norm(a.dense, p, &axes), [1]))
}

fn norm_dim<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D>(Values::Nonzero);
    let (p, axis) = (NORMS[draw.below(4)], draw.axis(D));
    draw.inputs.push(format!("p {p}, axis {axis}"));
    law(|| a.sparse.norm_dim(p, axis), || dense_norm(a.dense, p, &[from_start(axis, D)]))
}

macro_rules! positions {
    ($($name:ident $dense:ident;)*) => {$(
        /// Along a sparse axis.
        fn $name<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.full::<P, D>(Values::Any);
            let at = draw.below(a.host.sparse_dims);
            let axis = draw.signed(at, D);
            draw.inputs.push(format!("axis {axis}"));
            law(|| a.sparse.$name(axis), || a.dense.$dense(at))
        }
    )*};
}
positions! {
    argmax_dim argmax;
    argmin_dim argmin;
}

fn count_stored<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    let count = a.host.specified().into_iter().filter(|specified| *specified).count();
    law(|| a.sparse.count_stored(), || count)
}

/// One number for each line along the axis.
fn count_stored_dim<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, 2>(Values::Any);
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

fn count_nonzero<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    law(|| a.sparse.count_nonzero(), || a.dense.not_equal_elem(0.0).int().sum())
}

/// The specified elements as zeros and ones.
fn specified<const D: usize>(host: &Host, dense: &Tensor<D>) -> Tensor<D> {
    mask(dense, host.mask().into_iter())
}

/// The dense tensor with a number where nothing is stored.
fn elsewhere<const D: usize>(dense: Tensor<D>, specified: &Tensor<D>, number: f64) -> Tensor<D> {
    dense.mask_fill(specified.clone().equal_elem(0.0), number)
}

/// A reduction of the stored elements; lines without any are not stored, and read as 0 here.
fn stored<P: Build, const D: usize>(
    draw: &mut Draw,
    own: impl Fn(&SparseTensor<P, D>, isize) -> SparseTensor<P, D>,
    neutral: f64,
    dense: impl Fn(Tensor<D>, &[usize]) -> Tensor<D>,
    mean: bool,
) -> Answer {
    let a = draw.full::<P, D>(Values::Any);
    let axis = draw.axis(D);
    draw.inputs.push(format!("axis {axis}"));
    let at = from_start(axis, D);
    law(
        || own(&a.sparse, axis).to_dense_or(0.0),
        || {
            let specified = specified(&a.host, &a.dense);
            let count = sum_dims(specified.clone(), &[at]);
            let out = dense(elsewhere(a.dense.clone(), &specified, neutral), &[at]) * count.clone().clamp_max(1.0);
            if mean { out / count.clamp_min(1.0) } else { out }
        },
    )
}

fn stored_sum_dim<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    stored::<P, D>(draw, |a, axis| a.stored_sum_dim(axis), 0.0, sum_dims, false)
}

fn stored_mean_dim<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    stored::<P, D>(draw, |a, axis| a.stored_mean_dim(axis), 0.0, sum_dims, true)
}

fn stored_prod_dim<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    stored::<P, D>(draw, |a, axis| a.stored_prod_dim(axis), 1.0, prod_dims, false)
}

fn stored_amax_dim<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    stored::<P, D>(draw, |a, axis| a.stored_amax_dim(axis), -1e6, largest, false)
}

fn stored_amin_dim<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    stored::<P, D>(draw, |a, axis| a.stored_amin_dim(axis), 1e6, smallest, false)
}

/// With a fill where there is one sparse dim or the axis is dense; else over the specified elements.
fn along_lines<P: Build, const D: usize>(
    draw: &mut Draw,
    own: impl Fn(&SparseTensor<P, D>, isize) -> SparseTensor<P, D>,
    dense: impl Fn(Tensor<D>, usize) -> Tensor<D>,
) -> Answer {
    let Input { sparse, dense: twin, host } = draw.full::<P, D>(Values::Any);
    let axis = draw.axis(D);
    draw.inputs.push(format!("axis {axis}"));
    let at = from_start(axis, D);
    let counts_fill = host.sparse_dims < D && (at >= host.sparse_dims || host.sparse_dims == 1);
    if counts_fill && draw.coin() {
        return law(|| own(&sparse, axis), || dense(twin, at));
    }
    law(
        || own(&sparse.clone().with_fill(Fill::Undefined), axis).to_dense_or(0.0),
        || {
            let specified = specified(&host, &twin);
            // So far below the others that its exponential is exactly 0.
            dense(elsewhere(twin.clone(), &specified, -1e4), at) * specified
        },
    )
}

fn softmax<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    along_lines::<P, D>(draw, |a, axis| a.softmax(axis), activation::softmax)
}

fn log_softmax<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    along_lines::<P, D>(draw, |a, axis| a.log_softmax(axis), activation::log_softmax)
}

/// Over the stored elements of each row; a row without any gives 0.
fn matmul_reduce<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, 2>(Values::Any);
    let [rows, inner] = a.sparse.dims();
    let columns = draw.size().max(1);
    let x = draw.dense([inner, columns], Values::Any);
    let reduce = [Reduce::Mean, Reduce::Amax, Reduce::Amin][draw.below(3)];
    draw.inputs.push(format!("{reduce:?}"));
    law(
        || a.sparse.matmul_reduce(x.own, reduce),
        || {
            let shape = [rows, inner, columns];
            let specified = specified(&a.host, &a.dense).reshape([rows, inner, 1]);
            let count = sum_dims(specified.clone(), &[1]).clamp_min(1.0);
            let any = sum_dims(specified.clone(), &[1]).clamp_max(1.0);
            let specified = specified.expand(shape);
            let products = a.dense.clone().reshape([rows, inner, 1]).expand(shape)
                * x.reference.reshape([1, inner, columns]).expand(shape);
            let out = match reduce {
                Reduce::Mean => sum_dims(products * specified, &[1]) / count.expand([rows, 1, columns]),
                Reduce::Amax => largest(elsewhere(products, &specified, -1e6), &[1]),
                _ => smallest(elsewhere(products, &specified, 1e6), &[1]),
            };
            (out * any.expand([rows, 1, columns])).reshape([rows, columns])
        },
    )
}

fn addmm<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D>(Values::Any);
    let (mut right, mut out) = (a.sparse.dims(), a.sparse.dims());
    let columns = draw.size().max(1);
    (right[D - 2], right[D - 1], out[D - 1]) = (right[D - 1], columns, columns);
    let (x, c) = (draw.dense(right, Values::Any), draw.dense(out, Values::Any));
    law(
        || a.sparse.addmm(0.5, c.own, -2.0, x.own),
        || c.reference.mul_scalar(0.5) + matmul(a.dense, x.reference).mul_scalar(-2.0),
    )
}
