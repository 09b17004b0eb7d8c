//! Shapes, and parts of tensors.

use crate::answer::{Answer, both_sides};
use crate::draw::{Build, Draw, Drawn, Fills, Input, Values};
use crate::oversized::{mask, stored_at, stored_index};
use crate::reference::{flat, from_start, pick, positions, reshape as dense_reshape, take};
use burn::tensor::{Bool, Int, Slice, Tensor};
use sparse_tensor::Kind;
use sparse_tensor::ops::IndexPlan;

operations! { "shape and selection";
    reshape of Float Int Bool [coo_up coo_down coo_same csr_up csr_same hybrid_up hybrid_down hybrid_same batched_down
        batched_same] gradient,
        |h| h.each(|x| x.reshape(oversized_shape::<D, D2>(x.dims(), h.rows())));
    flatten of Float Int Bool [coo_down hybrid_down batched_down] gradient, |h| h.each(|x| x.flatten::<D2>(0, 1));
    squeeze_dim of Float Int Bool [coo_down hybrid_down batched_down] gradient,
        |h| h.each(|x| x.narrow(0, 0, 1).squeeze_dim::<D2>(0));
    unsqueeze_dim of Float Int Bool [coo_up csr_up hybrid_up] gradient,
        |h| [0, 1].into_iter().for_each(|axis| h.each(|x| x.unsqueeze_dim::<D2>(axis)));
    expand of Float Int Bool [all] gradient, |h| h.each(|x| {
        let mut to = x.dims();
        to[h.rows()] = 3;
        x.narrow(h.rows() as isize, 0, 1).expand(to)
    });
    repeat_dim of Float Int Bool [all] gradient, |h| h.axes(|x, axis| x.repeat_dim(axis, 2));
    flip of Float Int Bool [all] gradient, |h| { h.axes(|x, axis| x.flip([axis])); h.each(|x| x.flip([0, 1])) };
    roll of Float Int Bool [all] gradient, |h| h.parts(|x, size, axis| x.roll([size / 2, 1], [axis, 0]));
    roll_dim of Float Int Bool [all] gradient, |h| h.axes(|x, axis| x.roll_dim(-7, axis));
    narrow of Float Int Bool [all] gradient, |h| h.parts(|x, size, axis| x.narrow(axis, size / 2, size - size / 2));
    slice of Float Int Bool [all] gradient, |h| h.each(|x| x.slice(x.dims().map(|size| size / 2..size)));
    slice_dim of Float Int Bool [all] gradient,
        |h| h.parts(|x, size, axis| x.slice_dim(axis, Slice::from_range_stepped(0..size, -3)));
    select of Float Int Bool [all] gradient,
        |h| h.parts(|x, size, axis| x.select(axis, stored_index(size)));
    "IndexPlan::select_sparse" plan_select_sparse of Float [all] gradient,
        |h| h.parts(|x, size, axis| IndexPlan::new(stored_index(size), size)?.try_select_sparse(x, axis));
    select_dim of Float Int Bool [coo_down hybrid_down batched_down] gradient,
        |h| h.parts(|x, size, axis| x.select_dim::<D2>(axis, stored_at(size) as isize));
    get of Float Int Bool [all] gradient,
        |h| { h.each(|x| x.get([0; D])); h.defined(|x| x.get(x.dims().map(|size| size - 1))) };
    mask_select of Float Int Bool [all] gradient, |h| {
        h.each(|x| x.mask_select(&mask(&h.a)));
        h.refuses(h.cells(), h.a.try_mask_select(&mask(&h.b).bool_not()));
    };
    split of Float Int Bool [all] gradient, |h| h.parts(|x, size, axis| x.split(size / 2, axis));
    chunk of Float Int Bool [all] gradient, |h| h.axes(|x, axis| x.chunk(2, axis));
}

/// Another shape of `D2` dims for oversized inputs, whose rows are at `rows`.
fn oversized_shape<const D: usize, const D2: usize>(shape: [usize; D], rows: usize) -> [usize; D2] {
    let mut to = shape.to_vec();
    if D2 > D {
        to[rows] /= 10;
        to.insert(rows, 10);
    } else if D2 < D {
        to[0] *= to.remove(1);
    } else {
        (to[rows], to[rows + 1]) = (to[rows] / 4, to[rows + 1] * 4);
    }
    to.try_into().expect("the rank")
}

/// Another shape of `D2` dims: a dim split or two joined on one side of the boundary, or the sparse sizes turned round.
fn other_shape<const D: usize, const D2: usize>(draw: &mut Draw, shape: [usize; D], sparse: usize) -> [usize; D2] {
    let mut to = shape.to_vec();
    if D2 > D {
        let at = draw.below(D);
        let divisors: Vec<usize> = (1..=to[at]).filter(|divisor| to[at].is_multiple_of(*divisor)).collect();
        let divisor = divisors[draw.below(divisors.len())];
        to[at] /= divisor;
        to.insert(at, divisor);
    } else if D2 < D {
        let joins: Vec<usize> = (0..D - 1).filter(|&at| at + 1 != sparse).collect();
        let at = joins[draw.below(joins.len())];
        to[at] *= to.remove(at + 1);
    } else {
        to[..sparse].reverse();
    }
    to.try_into().expect("the rank")
}

pub(super) fn reshape<P: Build, const D: usize, const D2: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, K>(Values::Any);
    let shape = other_shape::<D, D2>(draw, a.sparse.dims(), a.host.sparse_dims);
    draw.inputs.push(format!("shape {shape:?}"));
    both_sides(|| a.sparse.reshape(shape), || dense_reshape(a.dense, shape))
}

pub(super) fn flatten<P: Build, const D: usize, const D2: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let mut shape = a.sparse.dims().to_vec();
    let starts: Vec<usize> = (0..D - 1).filter(|&at| at + 1 != a.host.sparse_dims).collect();
    let start = starts[draw.below(starts.len())];
    draw.inputs.push(format!("start {start}"));
    shape[start] *= shape.remove(start + 1);
    let shape: [usize; D2] = shape.try_into().expect("one dim less");
    both_sides(
        || a.sparse.flatten::<D2>(start as isize, start as isize + 1 - D as isize),
        || dense_reshape(a.dense, shape),
    )
}

pub(super) fn squeeze_dim<P: Build, const D: usize, const D2: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let mut shape = draw.shape::<D>();
    let dims = draw.sparse_dims(D);
    let axis = draw.axis(D);
    shape[from_start(axis, D)] = 1;
    // The last sparse dim stays.
    let dims = if dims == 1 && from_start(axis, D) == 0 { dims + 1 } else { dims };
    let a = draw.shaped::<P, D, K>(shape, dims, Values::Any, Fills::Any);
    draw.inputs.push(format!("axis {axis}"));
    let mut to = shape.to_vec();
    to.remove(from_start(axis, D));
    let to: [usize; D2] = to.try_into().expect("one dim less");
    both_sides(|| a.sparse.squeeze_dim::<D2>(axis), || dense_reshape(a.dense, to))
}

pub(super) fn unsqueeze_dim<P: Build, const D: usize, const D2: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let axis = draw.below(D2);
    draw.inputs.push(format!("axis {axis}"));
    let mut to = a.sparse.dims().to_vec();
    to.insert(axis, 1);
    let to: [usize; D2] = to.try_into().expect("one dim more");
    both_sides(|| a.sparse.unsqueeze_dim::<D2>(axis as isize), || dense_reshape(a.dense, to))
}

pub(super) fn expand<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let to = draw.full_shape::<D>();
    let from = to.map(|size| if draw.coin() { 1 } else { size });
    let dims = draw.sparse_dims(D);
    let a = draw.shaped::<P, D, K>(from, dims, Values::Any, Fills::Any);
    draw.inputs.push(format!("to {to:?}"));
    both_sides(|| a.sparse.expand(to), || a.dense.expand(to))
}

pub(super) fn repeat_dim<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let (axis, times) = (draw.axis(D), draw.below(4));
    draw.inputs.push(format!("axis {axis}, {times} times"));
    let at = from_start(axis, D);
    let size = a.sparse.dims()[at];
    let index: Vec<usize> = (0..size * times).map(|k| k % size).collect();
    both_sides(|| a.sparse.repeat_dim(axis, times), || pick(a.dense, at, &index))
}

pub(super) fn flip<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let axes: Vec<usize> = (0..D).filter(|_| draw.coin()).collect();
    let signed: Vec<isize> = axes.iter().map(|&axis| draw.signed(axis, D)).collect();
    draw.inputs.push(format!("axes {signed:?}"));
    both_sides(
        || a.sparse.flip(&signed),
        || {
            axes.iter().fold(a.dense, |dense, &axis| {
                let index: Vec<usize> = (0..dense.dims()[axis]).rev().collect();
                pick(dense, axis, &index)
            })
        },
    )
}

/// Shifts in both directions, beyond the size too.
fn shift(draw: &mut Draw) -> isize {
    draw.below(13) as isize - 6
}

fn dense_roll<const D: usize, K: Kind>(dense: Tensor<D, K>, axis: usize, shift: isize) -> Tensor<D, K> {
    let size = dense.dims()[axis] as isize;
    let index: Vec<usize> = (0..size).map(|at| (at - shift).rem_euclid(size) as usize).collect();
    pick(dense, axis, &index)
}

/// Perhaps a dim several times, perhaps none.
pub(super) fn roll<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let rolls: Vec<(isize, isize)> = (0..draw.below(4)).map(|_| (shift(draw), draw.axis(D))).collect();
    draw.inputs.push(format!("(shift, dim): {rolls:?}"));
    let (shifts, dims): (Vec<isize>, Vec<isize>) = rolls.iter().copied().unzip();
    both_sides(
        || a.sparse.roll(&shifts, &dims),
        || rolls.iter().fold(a.dense, |dense, &(shift, axis)| dense_roll(dense, from_start(axis, D), shift)),
    )
}

pub(super) fn roll_dim<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let (shift, axis) = (shift(draw), draw.axis(D));
    draw.inputs.push(format!("shift {shift}, dim {axis}"));
    both_sides(|| a.sparse.roll_dim(shift, axis), || dense_roll(a.dense, from_start(axis, D), shift))
}

/// A part of `0..size`, perhaps empty.
fn range(draw: &mut Draw, size: usize) -> std::ops::Range<usize> {
    let (a, b) = (draw.below(size + 1), draw.below(size + 1));
    a.min(b)..a.max(b)
}

pub(super) fn narrow<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let axis = draw.axis(D);
    let at = from_start(axis, D);
    let range = range(draw, a.sparse.dims()[at]);
    draw.inputs.push(format!("axis {axis}, {range:?}"));
    let index: Vec<usize> = range.clone().collect();
    both_sides(|| a.sparse.narrow(axis, range.start, range.len()), || pick(a.dense, at, &index))
}

pub(super) fn slice<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let ranges = a.sparse.dims().map(|size| range(draw, size));
    draw.inputs.push(format!("{ranges:?}"));
    let indices = ranges.clone().map(|range| range.collect::<Vec<usize>>());
    both_sides(
        || a.sparse.slice(ranges),
        || indices.iter().enumerate().fold(a.dense, |dense, (axis, index)| pick(dense, axis, index)),
    )
}

/// A negative step walks the range from its end.
pub(super) fn slice_dim<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let axis = draw.axis(D);
    let at = from_start(axis, D);
    let range = range(draw, a.sparse.dims()[at]);
    let step = [1, 2, 3, -1, -2, isize::MIN][draw.below(6)];
    draw.inputs.push(format!("axis {axis}, {range:?} by {step}"));
    let every = isize::unsigned_abs(step);
    let index: Vec<usize> =
        if step > 0 { range.clone().step_by(every).collect() } else { range.clone().rev().step_by(every).collect() };
    both_sides(|| a.sparse.slice_dim(axis, Slice::from_range_stepped(range, step)), || pick(a.dense, at, &index))
}

/// A tensor, an axis (as drawn, and from the start), its size, and an index of it on the device and off it.
type Indexed<P, const D: usize, K> = (Input<P, D, K>, (isize, usize), usize, (Tensor<1, Int>, Vec<usize>));

fn indexed<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Indexed<P, D, K> {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let axis = draw.axis(D);
    let at = from_start(axis, D);
    let size = a.sparse.dims()[at];
    let count = if size == 0 { 0 } else { draw.size() };
    let index = draw.index(count, size);
    draw.inputs.push(format!("axis {axis}"));
    (a, (axis, at), size, index)
}

pub(super) fn select<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let (a, (axis, at), _, (index, plain)) = indexed::<P, D, K>(draw);
    both_sides(|| a.sparse.select(axis, index), || pick(a.dense, at, &plain))
}

pub(super) fn plan_select_sparse<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let (a, (axis, at), size, (index, plain)) = indexed::<P, D, K>(draw);
    let plan = IndexPlan::new(index, size).expect("indices within");
    both_sides(|| plan.select_sparse(&a.sparse, axis), || pick(a.dense, at, &plain))
}

pub(super) fn select_dim<P: Build, const D: usize, const D2: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let shape = draw.full_shape::<D>();
    let dims = draw.sparse_dims(D);
    let axis = draw.axis(D);
    let at = from_start(axis, D);
    // The last sparse dim stays.
    let dims = if dims == 1 && at == 0 { dims + 1 } else { dims };
    let a = draw.shaped::<P, D, K>(shape, dims, Values::Any, Fills::Any);
    let place = draw.below(shape[at]);
    draw.inputs.push(format!("axis {axis}, at {place}"));
    let mut to = shape.to_vec();
    to.remove(at);
    let to: [usize; D2] = to.try_into().expect("one dim less");
    both_sides(|| a.sparse.select_dim::<D2>(axis, place as isize), || dense_reshape(pick(a.dense, at, &[place]), to))
}

pub(super) fn get<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, K>(Values::Any);
    let shape = a.sparse.dims();
    let at = shape.map(|size| draw.below(size));
    draw.inputs.push(format!("at {at:?}"));
    both_sides(|| a.sparse.get(at), || take(a.dense, &[Some(flat(at, shape))], [1]))
}

/// In row-major order, whatever the order of either.
pub(super) fn mask_select<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let shape = a.sparse.dims();
    let mask = draw.shaped::<P, D, Bool>(shape, a.host.sparse_dims, Values::Any, Fills::Zero);
    let chosen = mask.host.dense();
    let from: Vec<Option<usize>> =
        positions(shape).map(|at| flat(at, shape)).filter(|&at| chosen[at] != 0.0).map(Some).collect();
    draw.has_empty |= from.is_empty();
    let count = from.len();
    both_sides(|| a.sparse.mask_select(&mask.sparse), || take(a.dense, &from, [count]))
}

pub(super) fn split<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, K>(Values::Any);
    let (size, axis) = (1 + draw.below(3), draw.axis(D));
    draw.inputs.push(format!("size {size}, axis {axis}"));
    both_sides(|| a.sparse.split(size, axis), || a.dense.split(size, from_start(axis, D)))
}

pub(super) fn chunk<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.full::<P, D, K>(Values::Any);
    let (count, axis) = (1 + draw.below(3), draw.axis(D));
    draw.inputs.push(format!("count {count}, axis {axis}"));
    let dim = from_start(axis, D);
    let size = a.dense.dims()[dim];
    let step = size.div_ceil(count).max(1);
    // PyTorch's rule; Burn's own panics where it has no part left.
    both_sides(
        || a.sparse.chunk(count, axis),
        || {
            if size == 0 {
                return a.dense.chunk(count, dim);
            }
            (0..size).step_by(step).map(|at| a.dense.clone().narrow(dim, at, step.min(size - at))).collect()
        },
    )
}
