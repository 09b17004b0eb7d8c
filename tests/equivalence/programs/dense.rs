//! Steps on dense results: indexed reads and writes, and back to sparse.

use super::item::{Made, Plain};
use super::steps::{Kinks, PlainStep, settled};
use crate::answer::floats;
use crate::draw::{Build, Draw, unravel};
use crate::operations::dense::{along, indices, read, read_shape, written};
use crate::reference::{flat, keep, pick, positions};
use burn::tensor::Tensor;
use sparse_tensor::ops::{self, IndexPlan, Reduce};
use sparse_tensor::pattern::{CooPattern, CsrPattern};

/// Where the numbers of `x` decide: what is exactly zero on both sides, or far from it.
fn nonzero<const D: usize>(x: &Tensor<D>) -> Vec<bool> {
    floats(x.clone().inner().into_data()).into_iter().map(|number| number != 0.0).collect()
}

/// A write of some values, which are a dense result or a leaf.
fn write<const D: usize>(
    draw: &mut Draw,
    s: &Plain<D>,
    own: impl FnOnce(&mut Draw, usize, [usize; D], Reduce, bool, [Tensor<D>; 2]) -> (Tensor<D>, Vec<usize>),
    reduces: &[Reduce],
    given: impl FnOnce(&mut Draw, [usize; D], usize) -> [usize; D],
) -> Made {
    let axis = draw.below(D);
    let given = given(draw, s.dims(), axis);
    let (reduce, include_self) = (reduces[draw.below(reduces.len())], draw.coin());
    let [values, y] = s.pool.dense_or_new::<CooPattern, D>(draw, given);
    if matches!(reduce, Reduce::Amax | Reduce::Amin) {
        let [mut own, mut reference] = s.numbers();
        own.extend(floats(values.clone().inner().into_data()));
        reference.extend(floats(y.clone().inner().into_data()));
        if !settled([own, reference], &[], s.gap()) {
            return Made::Unfit;
        }
    }
    let (own, writes) = own(draw, axis, given, reduce, include_self, [values, y.clone()]);
    s.dense(own, |x| written(x, y, &writes, reduce, include_self))
}

/// Back to sparse: what is exactly zero has no gradient. In any number of dense dims.
fn sparsified<P: Build, const D: usize>(s: &Plain<D>, dense_dims: usize) -> Made {
    if !s.is_settled(&[0.0]) {
        return Made::Unfit;
    }
    let block = s.dims()[D - dense_dims..].iter().product::<usize>().max(1);
    let nonzero = nonzero(s.x);
    let kept: Vec<bool> = nonzero.chunks(block).flat_map(|block| vec![block.contains(&true); block.len()]).collect();
    s.sparse(P::of_dense::<D, _>(s.own.clone(), dense_dims), |x| keep(x, kept))
}

pub fn steps<const D: usize>() -> Vec<PlainStep<D>> {
    let all: &[PlainStep<D>] = &[
        ("gather", |draw, s| {
            let (axis, from) = (draw.below(D), s.dims());
            let given = read_shape(draw, from, axis);
            let (index, plain) = indices(draw, given, from[axis].max(1));
            let at = draw.signed(axis, D);
            s.dense(ops::gather(s.own.clone(), at, index), |x| read(x, &along(given, &plain, axis, from), given))
        }),
        ("scatter", |draw, s| {
            let own = |draw: &mut Draw, axis: usize, given, _, _, [values, _]: [Tensor<D>; 2]| {
                let (index, plain) = indices(draw, given, s.dims()[axis].max(1));
                let writes = along(given, &plain, axis, s.dims());
                (ops::scatter(s.own.clone(), draw.signed(axis, D), index, values), writes)
            };
            write(draw, s, own, &[Reduce::Assign], part)
        }),
        ("scatter_reduce", |draw, s| {
            let own = |draw: &mut Draw, axis: usize, given, reduce, include_self, [values, _]: [Tensor<D>; 2]| {
                let (index, plain) = indices(draw, given, s.dims()[axis].max(1));
                let writes = along(given, &plain, axis, s.dims());
                let at = draw.signed(axis, D);
                (ops::scatter_reduce(s.own.clone(), at, index, values, reduce, include_self), writes)
            };
            write(draw, s, own, &Reduce::ALL, part)
        }),
        // The index may broadcast.
        ("put_along_axis", |draw, s| {
            let own =
                |draw: &mut Draw, axis: usize, full: [usize; D], reduce, include_self, [values, _]: [Tensor<D>; 2]| {
                    let mut given = full.map(|size| if draw.below(3) == 0 { 1 } else { size });
                    given[axis] = full[axis];
                    let (index, plain) = indices(draw, given, s.dims()[axis].max(1));
                    let spread = positions(full).map(|at| {
                        let own: [usize; D] = std::array::from_fn(|dim| if given[dim] == 1 { 0 } else { at[dim] });
                        plain[flat(own, given)]
                    });
                    let writes = along(full, &spread.collect::<Vec<_>>(), axis, s.dims());
                    let at = draw.signed(axis, D);
                    (ops::put_along_axis(s.own.clone(), index, values, at, reduce, include_self), writes)
                };
            write(draw, s, own, &Reduce::ALL, whole)
        }),
        ("IndexPlan::put", |draw, s| {
            let own =
                |draw: &mut Draw, axis: usize, given: [usize; D], reduce, include_self, [values, _]: [Tensor<D>; 2]| {
                    let size = s.dims()[axis];
                    let (index, plain) = draw.index(given[axis], size.max(1));
                    let wide: Vec<usize> = positions(given).map(|at| plain[at[axis]]).collect();
                    let writes = along(given, &wide, axis, s.dims());
                    let plan = IndexPlan::new(index, size).expect("indices within");
                    (plan.put(s.own.clone(), draw.signed(axis, D), values, reduce, include_self), writes)
                };
            write(draw, s, own, &Reduce::ALL, whole)
        }),
        ("IndexPlan::select", |draw, s| {
            let axis = draw.below(D);
            let size = s.dims()[axis];
            let count = if size == 0 { 0 } else { 1 + draw.below(5) };
            let (index, plain) = draw.index(count, size.max(1));
            let plan = IndexPlan::new(index, size).expect("indices within");
            s.dense(plan.select(s.own.clone(), draw.signed(axis, D)), |x| pick(x, axis, &plain))
        }),
        ("from_dense (coo)", |draw, s| {
            let dense_dims = draw.below(D);
            sparsified::<CooPattern, D>(s, dense_dims)
        }),
        ("from_dense (csr)", |_, s| sparsified::<CsrPattern, D>(s, 0)),
        // Burn's own: a program mixes them with those of the library.
        ("dense mul", |draw, s| {
            let [values, y] = s.pool.dense_or_new::<CooPattern, D>(draw, s.dims());
            s.dense(s.own.clone() * values, |x| x * y)
        }),
        ("dense sin", |_, s| s.dense(s.own.clone().sin(), |x| x.sin())),
        ("dense sum_dim", |draw, s| {
            let axis = draw.below(D);
            match s.dims().contains(&0) {
                true => Made::Unfit,
                false => s.dense(s.own.clone().sum_dim(axis), |x| x.sum_dim(axis)),
            }
        }),
    ];
    all.to_vec()
}

/// The subject's shape, with another size along the axis; nothing is written to an axis of size 0.
fn whole<const D: usize>(draw: &mut Draw, mut shape: [usize; D], axis: usize) -> [usize; D] {
    if shape[axis] > 0 && draw.coin() {
        shape[axis] = draw.size();
    }
    shape
}

/// Not larger than the subject off the axis.
fn part<const D: usize>(draw: &mut Draw, shape: [usize; D], axis: usize) -> [usize; D] {
    match draw.below(3) {
        0 => read_shape(draw, shape, axis),
        _ => whole(draw, shape, axis),
    }
}

/// Reads and writes over several axes.
pub fn nd<const D: usize, const DI: usize>() -> Vec<PlainStep<D>> {
    let all: &[PlainStep<D>] = &[
        ("gather_nd", |draw, s| {
            if s.dims().contains(&0) {
                return Made::Unfit;
            }
            let count = 1 + draw.below(D);
            let mut given = s.dims().map(|size| 1 + draw.below(size));
            given[0] = draw.size().max(1);
            let (places, index) = places::<D, DI>(draw, s, given, count);
            s.dense(ops::gather_nd(s.own.clone(), index, None), |x| read(x, &places, given))
        }),
        ("scatter_nd", |draw, s| {
            if s.dims().contains(&0) {
                return Made::Unfit;
            }
            let count = 1 + draw.below(D);
            let given = s.dims();
            let (places, index) = places::<D, DI>(draw, s, given, count);
            let [values, y] = s.pool.dense_or_new::<CooPattern, D>(draw, given);
            let own = ops::scatter_nd(s.own.clone(), index, values, None);
            s.dense(own, |x| written(x, y, &places, Reduce::Assign, true))
        }),
    ];
    all.to_vec()
}

/// Indices of the first axes for each element of a shape, and where these stand.
fn places<const D: usize, const DI: usize>(
    draw: &mut Draw,
    s: &Plain<D>,
    given: [usize; D],
    count: usize,
) -> (Vec<usize>, Tensor<DI, burn::tensor::Int>) {
    let (shape, cells) = (s.dims(), given.iter().product::<usize>());
    let sizes = shape[..count].repeat(cells);
    let plain: Vec<usize> = sizes.iter().map(|&size| draw.below(size)).collect();
    let mut wide = [count; DI];
    wide[..D].copy_from_slice(&given);
    let index = draw.signed_index(&plain, &sizes, wide);
    let place = |cell: usize| {
        let mut at: [usize; D] = unravel(cell, &given).try_into().expect("the rank");
        at[..count].copy_from_slice(&plain[cell * count..][..count]);
        flat(at, shape)
    };
    ((0..cells).map(place).collect(), index)
}
