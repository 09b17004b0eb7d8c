//! Operations on dense tensors: indexed reads and writes.

use crate::answer::{Answer, both_sides};
use crate::draw::{Draw, Drawn, Values, Variant};
use crate::oversized::{SIZE, index, ones, stored_index};
use crate::reference::{extreme_dims, flat, from_start, positions, prod_dims, reshape, sum_dims, take};
use burn::tensor::{Device, Int, Tensor, TensorData};
use sparse_tensor::Numeric;
use sparse_tensor::ops::{self, IndexPlan, PutValues, Reduce};

operations! { "dense tensors";
    put_along_axis of Float Int Bool [dense] gradient, |h| Reduce::ALL.into_iter().for_each(|reduce| {
        h.run(|| ops::put_along_axis(far(), far_rows(), ones([4, 2]), 0, reduce, true))
    });
    gather of Float Int Bool [dense] gradient, |h| h.run(|| ops::gather(far(), 0, far_rows()));
    scatter of Float Int Bool [dense] gradient, |h| h.run(|| ops::scatter(far(), 0, far_rows(), ones([4, 2])));
    scatter_reduce of Float Int Bool [dense] gradient, |h| Reduce::ALL.into_iter().for_each(|reduce| {
        h.run(|| ops::scatter_reduce(far(), 0, far_rows(), ones([4, 2]), reduce, true))
    });
    gather_nd of Float Int Bool [dense_up] gradient, |h| h.run(|| ops::gather_nd(far(), far_places(), None));
    scatter_nd of Float Int Bool [dense_up] gradient,
        |h| h.run(|| ops::scatter_nd(far(), far_places(), ones([4, 2]), None));
    "IndexPlan::select" plan_select of Float Int Bool [dense] gradient, |h| h.run(|| far_plan().select(far(), 0));
    "IndexPlan::put" plan_put of Float Int [dense] gradient, |h| Reduce::ALL.into_iter().for_each(|reduce| {
        h.run(|| far_plan().put(far(), 0, ones([4, 2]), reduce, true))
    });
}

/// A million rows.
fn far() -> Tensor<2> {
    ones([SIZE, 2])
}

/// A few of the rows, in both columns.
fn far_rows() -> Tensor<2, Int> {
    index(&[0, 993, 331, -1]).reshape([4, 1]).repeat_dim(1, 2)
}

/// Both coordinates of each element of `[4, 2]`.
fn far_places() -> Tensor<3, Int> {
    let both = [[[0i64, 0], [0, 1]], [[993, 1], [993, 0]], [[331, 0], [331, 1]], [[-1, -1], [-1, 0]]];
    Tensor::from_data(both, &Device::flex())
}

fn far_plan() -> IndexPlan {
    IndexPlan::new(stored_index(SIZE), SIZE).expect("valid indices")
}

/// Sizes of which one, the axis's, may be another one; nothing is read from an axis of size 0.
pub fn read_shape<const D: usize>(draw: &mut Draw, from: [usize; D], axis: usize) -> [usize; D] {
    let mut shape = from.map(|size| draw.below(size + 1));
    shape[axis] = if from[axis] == 0 { 0 } else { draw.size() };
    shape
}

/// Indices below `size` for a shape: on the device under test, and as plain data.
pub fn indices<const D: usize>(draw: &mut Draw, shape: [usize; D], size: usize) -> (Tensor<D, Int>, Vec<usize>) {
    let plain: Vec<usize> = (0..shape.iter().product()).map(|_| draw.below(size)).collect();
    (draw.signed_index(&plain, &vec![size; plain.len()], shape), plain)
}

/// Where every element of `shape` reads: at the index along the axis, at its own position elsewhere.
pub fn along<const D: usize>(shape: [usize; D], index: &[usize], axis: usize, from: [usize; D]) -> Vec<usize> {
    let at = positions(shape).zip(index).map(|(mut at, &index)| {
        at[axis] = index;
        flat(at, from)
    });
    at.collect()
}

pub fn read<const D: usize, K: Drawn>(x: Tensor<D, K>, from: &[usize], shape: [usize; D]) -> Tensor<D, K> {
    take(x, &from.iter().copied().map(Some).collect::<Vec<_>>(), shape)
}

/// The reduction of what is written to each element: `writes[k]` is where element `k` of `values` goes.
pub fn written<const D: usize, const DV: usize, K: Drawn>(
    arr: Tensor<D, K>,
    values: Tensor<DV, K>,
    writes: &[usize],
    reduce: Reduce,
    include_self: bool,
) -> Tensor<D> {
    let (shape, own, count) = (arr.dims(), arr.shape().num_elements(), writes.len());
    if own == 0 || count == 0 {
        return K::real(arr);
    }
    let mut parts: Vec<Vec<usize>> = vec![vec![]; own];
    writes.iter().enumerate().for_each(|(k, &to)| parts[to].push(own + k));
    for (at, parts) in parts.iter_mut().enumerate() {
        match reduce {
            Reduce::Assign => *parts = vec![parts.last().copied().unwrap_or(at)],
            _ if include_self || parts.is_empty() => parts.insert(0, at),
            _ => {}
        }
    }
    let most = parts.iter().map(Vec::len).max().unwrap_or(0);
    let from: Vec<Option<usize>> = parts.iter().flat_map(|parts| (0..most).map(|k| parts.get(k).copied())).collect();
    let joined = Tensor::cat(vec![K::real(arr).reshape([own]), K::real(values).reshape([count])], 0);
    let number = |list: Vec<f64>, shape: [usize; 2]| {
        let device = joined.device();
        Tensor::<2>::from_data(TensorData::new(list, shape), (&device, joined.dtype()))
    };
    let absent = number(from.iter().map(|from| f64::from(u8::from(from.is_none()))).collect(), [own, most]);
    let counts = number(parts.iter().map(|parts| parts.len() as f64).collect(), [own, 1]);
    let terms: Tensor<2> = take(joined.clone(), &from, [own, most]);
    let out = match reduce {
        Reduce::Assign | Reduce::Add => sum_dims(terms, &[1]),
        Reduce::Mean if K::IS_FLOAT => sum_dims(terms, &[1]) / counts,
        Reduce::Mean => (sum_dims(terms, &[1]) / counts).floor(),
        Reduce::Mul => prod_dims(terms + absent, &[1]),
        Reduce::Amax => extreme_dims(terms - absent * 1e6, &[1], true),
        Reduce::Amin => extreme_dims(terms + absent * 1e6, &[1], false),
    };
    out.reshape(shape)
}

/// Indices and values that broadcast, or one number.
pub(super) fn put_along_axis<const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let shape = draw.shape::<D>();
    let axis = draw.axis(D);
    let at = from_start(axis, D);
    let mut full = shape;
    full[at] = if shape[at] == 0 { 0 } else { draw.size() };
    let mut given = full.map(|size| if draw.below(3) == 0 { 1 } else { size });
    given[at] = full[at];
    let arr = draw.dense::<D, K>(shape, Values::Any);
    let (index, plain) = indices(draw, given, shape[at].max(1));
    let spread = |from: [usize; D]| {
        positions(full).map(move |at| flat(std::array::from_fn(|dim| if from[dim] == 1 { 0 } else { at[dim] }), from))
    };
    let wide: Vec<usize> = spread(given).map(|at| plain[at]).collect();
    let writes = along(full, &wide, at, shape);
    // Of truths there is no sum.
    let reduce = if K::NUMERIC { Reduce::ALL[draw.below(6)] } else { Reduce::Assign };
    let include_self = draw.coin();
    draw.inputs.push(format!("axis {axis}, {reduce:?}, include_self {include_self}"));
    if draw.below(4) == 0 {
        let number = draw.value(Values::Any).trunc();
        draw.inputs.push(format!("number {number}"));
        let values = K::number(number, full, &arr.reference);
        return both_sides(
            || {
                let number = PutValues::Scalar(K::scalar(number));
                ops::put_along_axis(arr.own, index, number, axis, reduce, include_self)
            },
            || written(arr.reference, values, &writes, reduce, include_self),
        );
    }
    let own = full.map(|size| if draw.below(3) == 0 { 1 } else { size });
    let values = draw.dense::<D, K>(own, Values::Any);
    both_sides(
        || ops::put_along_axis(arr.own, index, values.own, axis, reduce, include_self),
        || {
            let values = read(values.reference, &spread(own).collect::<Vec<_>>(), full);
            written(arr.reference, values, &writes, reduce, include_self)
        },
    )
}

pub(super) fn gather<const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let shape = draw.shape::<D>();
    let axis = draw.axis(D);
    let at = from_start(axis, D);
    let x = draw.dense::<D, K>(shape, Values::Any);
    let given = read_shape(draw, shape, at);
    let (index, plain) = indices(draw, given, shape[at].max(1));
    draw.inputs.push(format!("axis {axis}"));
    both_sides(|| ops::gather(x.own, axis, index), || read(x.reference, &along(given, &plain, at, shape), given))
}

/// The last write wins.
pub(super) fn scatter<const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let shape = draw.shape::<D>();
    let axis = draw.axis(D);
    let at = from_start(axis, D);
    let x = draw.dense::<D, K>(shape, Values::Any);
    let given = read_shape(draw, shape, at);
    let src = draw.dense::<D, K>(given, Values::Any);
    let (index, plain) = indices(draw, given, shape[at].max(1));
    draw.inputs.push(format!("axis {axis}"));
    let writes = along(given, &plain, at, shape);
    both_sides(
        || ops::scatter(x.own, axis, index, src.own),
        || written(x.reference, src.reference, &writes, Reduce::Assign, true),
    )
}

/// Indices of the shape of the values, or one number; not larger than the tensor off the axis.
pub(super) fn scatter_reduce<const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let shape = draw.shape::<D>();
    let axis = draw.axis(D);
    let at = from_start(axis, D);
    let x = draw.dense::<D, K>(shape, Values::Any);
    let given = read_shape(draw, shape, at);
    let (index, plain) = indices(draw, given, shape[at].max(1));
    let writes = along(given, &plain, at, shape);
    let reduce = if K::NUMERIC { Reduce::ALL[draw.below(6)] } else { Reduce::Assign };
    let include_self = draw.coin();
    draw.inputs.push(format!("axis {axis}, {reduce:?}, include_self {include_self}"));
    if draw.below(4) == 0 {
        let number = draw.value(Values::Any).trunc();
        draw.inputs.push(format!("number {number}"));
        let values = K::number(number, given, &x.reference);
        let number = PutValues::Scalar(K::scalar(number));
        return both_sides(
            || ops::scatter_reduce(x.own, axis, index, number, reduce, include_self),
            || written(x.reference, values, &writes, reduce, include_self),
        );
    }
    let values = draw.dense::<D, K>(given, Values::Any);
    both_sides(
        || ops::scatter_reduce(x.own, axis, index, values.own, reduce, include_self),
        || written(x.reference, values.reference, &writes, reduce, include_self),
    )
}

/// Some axes of a dense tensor that an index addresses, and where its elements stand.
struct Over<const D: usize, const DI: usize, K: Drawn> {
    x: Variant<D, K>,
    /// `None` for the first ones.
    axes: Option<Vec<isize>>,
    index: Tensor<DI, Int>,
    /// The index's shape without its last dim.
    given: [usize; D],
    places: Vec<usize>,
}

fn over<const D: usize, const DI: usize, K: Drawn>(draw: &mut Draw) -> Over<D, DI, K> {
    let shape = draw.full_shape::<D>();
    let x = draw.dense::<D, K>(shape, Values::Any);
    let count = 1 + draw.below(D);
    let mut axes: Vec<usize> = (0..count).collect();
    let mut named = None;
    if draw.coin() {
        let mut all: Vec<usize> = (0..D).collect();
        axes = (0..count).map(|_| all.remove(draw.below(all.len()))).collect();
        named = Some(axes.iter().map(|&axis| draw.signed(axis, D)).collect());
    }
    let given: [usize; D] =
        std::array::from_fn(|dim| if axes.contains(&dim) { draw.size() } else { draw.below(shape[dim] + 1) });
    let mut wide = [axes.len(); DI];
    wide[..D].copy_from_slice(&given);
    let sizes: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
    let cells: usize = given.iter().product();
    let plain: Vec<usize> = (0..cells).flat_map(|_| sizes.clone()).map(|size| draw.below(size)).collect();
    let index = draw.signed_index(&plain, &sizes.repeat(cells), wide);
    draw.inputs.push(format!("axes {named:?}"));
    let places = positions(given).zip(plain.chunks(axes.len())).map(|(mut at, index)| {
        axes.iter().zip(index).for_each(|(&axis, &index)| at[axis] = index);
        flat(at, shape)
    });
    let places = places.collect();
    Over { x, axes: named, index, given, places }
}

pub(super) fn gather_nd<const D: usize, const DI: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let Over { x, axes, index, given, places } = over::<D, DI, K>(draw);
    both_sides(|| ops::gather_nd(x.own, index, axes.as_deref()), || read(x.reference, &places, given))
}

pub(super) fn scatter_nd<const D: usize, const DI: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let Over { x, axes, index, given, places } = over::<D, DI, K>(draw);
    let src = draw.dense::<D, K>(given, Values::Any);
    both_sides(
        || ops::scatter_nd(x.own, index, src.own, axes.as_deref()),
        || written(x.reference, src.reference, &places, Reduce::Assign, true),
    )
}

/// An index of whole slices along an axis, and where their elements stand.
fn plan<const D: usize>(draw: &mut Draw, shape: [usize; D], axis: usize) -> (Tensor<1, Int>, [usize; D], Vec<usize>) {
    let count = if shape[axis] == 0 { 0 } else { draw.size() };
    let (index, plain) = indices(draw, [count], shape[axis].max(1));
    let mut given = shape;
    given[axis] = count;
    let wide: Vec<usize> = positions(given).map(|at| plain[at[axis]]).collect();
    (index, given, along(given, &wide, axis, shape))
}

pub(super) fn plan_select<const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let shape = draw.shape::<D>();
    let axis = draw.axis(D);
    let at = from_start(axis, D);
    let x = draw.dense::<D, K>(shape, Values::Any);
    let (index, given, places) = plan(draw, shape, at);
    draw.inputs.push(format!("axis {axis}"));
    both_sides(
        || IndexPlan::new(index, shape[at]).expect("indices within").select(x.own, axis),
        || reshape(read(x.reference, &places, given), given),
    )
}

pub(super) fn plan_put<const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let shape = draw.shape::<D>();
    let axis = draw.axis(D);
    let at = from_start(axis, D);
    let arr = draw.dense::<D, K>(shape, Values::Any);
    let (index, given, places) = plan(draw, shape, at);
    let values = draw.dense::<D, K>(given, Values::Any);
    let (reduce, include_self) = (Reduce::ALL[draw.below(6)], draw.coin());
    draw.inputs.push(format!("axis {axis}, {reduce:?}, include_self {include_self}"));
    both_sides(
        || {
            let plan = IndexPlan::new(index, shape[at]).expect("indices within");
            plan.put(arr.own, axis, values.own, reduce, include_self)
        },
        || written(arr.reference, values.reference, &places, reduce, include_self),
    )
}
