//! The same elements elsewhere, and some of them.

use super::item::{Made, Sides};
use super::steps::{Kinks, Step};
use crate::answer::floats;
use crate::draw::{Build, Draw, Values};
use crate::reference::{keep, pick, positions, spread};
use burn::tensor::{Float, Slice, Tensor};
use sparse_tensor::ops::IndexPlan;
use sparse_tensor::pattern::{CsrPattern, Pattern};
use sparse_tensor::{Fill, SparseTensor, ops};

/// The most elements of a result along an axis.
const LONGEST: usize = 12;

/// A part of `0..size`; an empty one is rare, since little can follow.
fn range(draw: &mut Draw, size: usize) -> std::ops::Range<usize> {
    let (a, b) = (draw.below(size + 1), draw.below(size + 1));
    match draw.below(8) {
        0 => a.min(b)..a.max(b),
        _ if size == 0 => 0..0,
        _ => a.min(b).min(size - 1)..a.max(b).max(a.min(b).min(size - 1) + 1),
    }
}

/// The axes of a transposition, sparse dims among themselves and dense dims among themselves; of CSR the matrix stays
/// one.
fn swapped<P: Build, const D: usize>(draw: &mut Draw, s: &Sides<P, D>) -> (usize, usize) {
    let sparse = s.a.sparse_dims();
    if is_batched::<P, D>() {
        return (1, 2);
    }
    let one = draw.below(D);
    let other = if one < sparse { draw.below(sparse) } else { sparse + draw.below(D - sparse) };
    (one, other)
}

fn is_batched<P: Build, const D: usize>() -> bool {
    P::LAYOUT == CsrPattern::LAYOUT && D == 3
}

pub fn moves<P: Build, const D: usize>() -> Vec<Step<P, D>> {
    let all: &[Step<P, D>] = &[
        ("flip", |draw, s| {
            let axes: Vec<usize> = (0..D).filter(|_| draw.coin()).collect();
            let signed: Vec<isize> = axes.iter().map(|&axis| draw.signed(axis, D)).collect();
            s.sparse(s.a.flip(&signed), |x| {
                axes.iter().fold(x, |x, &axis| {
                    let index: Vec<usize> = (0..x.dims()[axis]).rev().collect();
                    pick(x, axis, &index)
                })
            })
        }),
        ("roll_dim", |draw, s| {
            let (shift, (axis, at)) = (draw.below(7) as isize - 3, s.axis(draw));
            let size = s.dims()[axis] as isize;
            let index: Vec<usize> = (0..size).map(|at| (at - shift).rem_euclid(size) as usize).collect();
            s.sparse(s.a.roll_dim(shift, at), |x| pick(x, axis, &index))
        }),
        ("swap_dims", |draw, s| {
            let (one, two) = swapped(draw, s);
            s.sparse(s.a.swap_dims(one, two), |x| x.swap_dims(one, two))
        }),
        ("permute", |draw, s| {
            let (one, two) = swapped(draw, s);
            let mut axes: [isize; D] = std::array::from_fn(|axis| axis as isize);
            axes.swap(one, two);
            let signed = axes.map(|axis| draw.signed(axis as usize, D));
            s.sparse(s.a.permute(signed), |x| x.permute(axes))
        }),
        ("narrow", |draw, s| {
            let (axis, at) = s.axis(draw);
            let range = range(draw, s.dims()[axis]);
            let index: Vec<usize> = range.clone().collect();
            s.sparse(s.a.narrow(at, range.start, range.len()), |x| pick(x, axis, &index))
        }),
        ("slice", |draw, s| {
            let ranges = s.dims().map(|size| range(draw, size));
            s.sparse(s.a.slice(ranges.clone()), |x| {
                ranges.into_iter().enumerate().fold(x, |x, (axis, range)| pick(x, axis, &range.collect::<Vec<_>>()))
            })
        }),
        ("slice_dim", |draw, s| {
            let (axis, at) = s.axis(draw);
            let range = range(draw, s.dims()[axis]);
            let step = [2, 3, -1, -2][draw.below(4)];
            let every = isize::unsigned_abs(step);
            // A negative step walks the range from its end.
            let index: Vec<usize> = match step > 0 {
                true => range.clone().step_by(every).collect(),
                false => range.clone().rev().step_by(every).collect(),
            };
            s.sparse(s.a.slice_dim(at, Slice::from_range_stepped(range, step)), |x| pick(x, axis, &index))
        }),
        ("select", |draw, s| {
            let (axis, at) = s.axis(draw);
            let size = s.dims()[axis];
            // More than there are repeats some.
            let count = if size == 0 { 0 } else { 1 + draw.below((size + 2).min(LONGEST)) };
            let (index, plain) = draw.index(count, size);
            s.sparse(s.a.select(at, index), |x| pick(x, axis, &plain))
        }),
        ("IndexPlan::select_sparse", |draw, s| {
            let (axis, at) = s.axis(draw);
            let size = s.dims()[axis];
            let count = if size == 0 { 0 } else { 1 + draw.below((size + 2).min(LONGEST)) };
            let (index, plain) = draw.index(count, size);
            let plan = IndexPlan::new(index, size).expect("indices within");
            s.sparse(plan.select_sparse(s.a, at), |x| pick(x, axis, &plain))
        }),
        // The same fill on both sides.
        ("concat", |draw, s| {
            let (axis, at) = s.axis(draw);
            let size = s.dims()[axis];
            if 2 * size > LONGEST {
                return Made::Unfit;
            }
            let range = range(draw, size);
            let part = s.a.narrow(at, range.start, range.len());
            let first = draw.coin();
            let own = if first { [part, s.a.clone()] } else { [s.a.clone(), part] };
            let index: Vec<usize> =
                if first { range.chain(0..size).collect() } else { (0..size).chain(range).collect() };
            s.sparse(ops::concat(&own, at), |x| pick(x, axis, &index))
        }),
        ("concat (two)", |draw, s| {
            let (axis, at) = s.axis(draw);
            let dims = s.a.sparse_dims();
            let fits = |b: &SparseTensor<P, D>| {
                let (mut shape, sum) = (b.dims(), b.dims()[axis] + s.dims()[axis]);
                shape[axis] = s.dims()[axis];
                // Along a dense dim each part keeps its own fill.
                let fills = axis >= dims || (b.fill().is_zero() && s.a.fill().is_zero());
                shape == s.dims() && sum <= LONGEST && b.sparse_dims() == dims && fills
            };
            let Some((b, y)) = s.pool.sparse(fits) else { return Made::Unfit };
            s.sparse(ops::concat(&[s.a.clone(), b.clone()], at), |x| Tensor::cat(vec![x, y], axis))
        }),
        ("repeat_dim", |draw, s| {
            let (axis, at) = s.axis(draw);
            let size = s.dims()[axis];
            if 2 * size > LONGEST {
                return Made::Unfit;
            }
            let index: Vec<usize> = (0..2 * size).map(|k| k % size).collect();
            s.sparse(s.a.repeat_dim(at, 2), |x| pick(x, axis, &index))
        }),
        ("expand", |draw, s| {
            let (axis, at) = s.axis(draw);
            let (size, count) = (s.dims()[axis], 1 + draw.below(4));
            if size == 0 {
                return Made::Unfit;
            }
            let place = draw.below(size);
            let mut to = s.dims();
            to[axis] = count;
            s.sparse(s.a.narrow(at, place, 1).expand(to), |x| pick(x, axis, &vec![place; count]))
        }),
        ("split", |draw, s| {
            let (axis, at) = s.axis(draw);
            let size = s.dims()[axis];
            let (count, part) = (1 + draw.below(3), draw.below(size.max(1)));
            let parts = s.a.split(count, at);
            let Some(own) = parts.into_iter().nth(part / count) else { return Made::Unfit };
            let start = part / count * count;
            let index: Vec<usize> = (start..(start + count).min(size)).collect();
            s.sparse(own, |x| pick(x, axis, &index))
        }),
    ];
    all.to_vec()
}

/// The elements that a condition on position and specification keeps, of a tensor whose fill is zero or becomes it.
fn kept<P: Build, const D: usize>(
    draw: &mut Draw,
    s: &Sides<P, D>,
    own: impl Fn(&SparseTensor<P, D>) -> SparseTensor<P, D>,
    inside: Vec<bool>,
) -> Made {
    if s.a.fill().is_zero() && draw.coin() {
        return s.sparse(own(s.a), |x| keep(x, inside));
    }
    let stored: Vec<bool> = s.specified().into_iter().zip(inside).map(|(a, b)| a && b).collect();
    let undefined = s.undefined();
    s.sparse(own(&undefined).with_fill(Fill::Zero), |x| keep(x, stored))
}

pub fn offsets<P: Build, const D: usize>(s: &Sides<P, D>, holds: impl Fn(isize) -> bool) -> Vec<bool> {
    let last = s.a.sparse_dims();
    positions(s.dims()).map(|at| holds(at[last - 1] as isize - at[last - 2] as isize)).collect()
}

/// Where the numbers of `x` decide what is kept.
fn mask_of<const D: usize>(x: &Tensor<D>, holds: impl Fn(f64) -> bool) -> Vec<bool> {
    floats(x.clone().inner().into_data()).into_iter().map(holds).collect()
}

pub fn patterns<P: Build, const D: usize>() -> Vec<Step<P, D>> {
    let all: &[Step<P, D>] = &[
        ("coalesce", |_, s| s.sparse(s.a.coalesce(), |x| x)),
        ("tril", |draw, s| {
            if s.a.sparse_dims() < 2 {
                return Made::Unfit;
            }
            let k = draw.below(5) as isize - 2;
            kept(draw, s, |a| a.tril(k), offsets(s, |offset| offset <= k))
        }),
        ("triu", |draw, s| {
            if s.a.sparse_dims() < 2 {
                return Made::Unfit;
            }
            let k = draw.below(5) as isize - 2;
            kept(draw, s, |a| a.triu(k), offsets(s, |offset| offset >= k))
        }),
        // A block stays if any of its elements does.
        ("prune", |draw, s| {
            if !s.a.fill().is_zero() || !s.is_settled(&[-0.7, 0.7]) {
                return Made::Unfit;
            }
            let block = s.dims()[s.a.sparse_dims()..].iter().product::<usize>().max(1);
            let large = mask_of(s.x, |number| number.abs() > 0.7);
            let blocks = large.chunks(block);
            let inside = blocks.flat_map(|block| vec![block.contains(&true); block.len()]).collect();
            kept(draw, s, |a| a.prune(0.7), inside)
        }),
        ("union_with", |_, s| match s.partner() {
            Some((b, _)) => s.sparse(s.a.union_with(b), |x| x),
            None => Made::Unfit,
        }),
        ("intersect_with", |draw, s| {
            let Some((b, _)) = s.partner() else { return Made::Unfit };
            kept(draw, s, |a| a.intersect_with(b), super::item::specified(b))
        }),
        ("difference", |draw, s| {
            let Some((b, _)) = s.partner() else { return Made::Unfit };
            let others = super::item::specified(b).into_iter().map(|stored| !stored).collect();
            kept(draw, s, |a| a.difference(b), others)
        }),
        ("sparse_mask", |draw, s| {
            let [b, y] = s.pool.dense_or_new::<P, D>(draw, s.dims());
            s.sparse(ops::sparse_mask(b, s.a), |_| keep(y, s.specified()))
        }),
        // The values of a dense result, and what is not stored of the tensor. What is replaced may be all that was on
        // the tape.
        ("with_values", |draw, s| {
            s.pool.partial.set(true);
            let [b, y] = s.pool.dense_or_new::<P, D>(draw, s.dims());
            let a = s.a.coalesce();
            let other = ops::sparse_mask(b, &a);
            let own = match a.dense_dims() {
                0 => a.with_values(other.values::<1>()),
                1 => a.with_values(other.values::<2>()),
                2 => a.with_values(other.values::<3>()),
                _ => a.with_values(other.values::<4>()),
            };
            s.sparse(own, |x| {
                let stored = s.specified();
                keep(x, stored.iter().map(|stored| !stored)) + keep(y, stored)
            })
        }),
        ("with_fill", |draw, s| {
            s.pool.partial.set(true);
            let number = draw.dense::<1, Float>([1], Values::Any);
            s.sparse(s.a.clone().with_fill(Fill::tensor(number.own)), |x| {
                let (fill, stored) = (spread(number.reference.reshape([1; D]), x.dims()), s.specified());
                keep(x, stored.clone()) + keep(fill, stored.iter().map(|stored| !stored))
            })
        }),
    ];
    all.to_vec()
}
