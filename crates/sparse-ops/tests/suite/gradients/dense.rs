//! put_along_axis, gather and scatter: every reduction, rank and form of index.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::draw::{nonzero, value};
use sparse_dev::gradients::check;
use sparse_tensor::ops::{self, IndexPlan, Reduce};

/// Shape, axis, steps along it, indices (full or along the axis), array and values.
#[derive(Clone, Debug)]
struct Put {
    shape: Vec<usize>,
    axis: usize,
    given: Vec<usize>,
    index: Vec<i64>,
    arr: Vec<f64>,
    values: Vec<f64>,
    value_shape: Vec<usize>,
}

fn put(rank: usize) -> impl Strategy<Value = Put> {
    let sizes = proptest::collection::vec(1usize..4, rank);
    (sizes, 0..rank, 0usize..5, 0u8..3, any::<bool>()).prop_flat_map(|(shape, axis, count, form, broadcast)| {
        let mut given = shape.clone();
        given[axis] = count;
        let mut full = given.clone();
        // Full, along the axis only, or broadcast along the first dim off the axis.
        for (dim, size) in given.iter_mut().enumerate() {
            if dim != axis && (form == 1 || (form == 2 && dim == usize::from(axis == 0))) {
                *size = 1;
            }
        }
        full[axis] = count;
        let mut value_shape = full.clone();
        if broadcast && count > 0 {
            value_shape[0] = 1;
        }
        let (n, size) = (shape[axis] as i64, shape.iter().product::<usize>());
        let index = proptest::collection::vec(-n..n, given.iter().product::<usize>());
        let values = proptest::collection::vec(nonzero(), value_shape.iter().product::<usize>());
        (index, proptest::collection::vec(nonzero(), size), values).prop_map(move |(index, arr, values)| Put {
            shape: shape.clone(),
            axis,
            given: given.clone(),
            index,
            arr,
            values,
            value_shape: value_shape.clone(),
        })
    })
}

fn distinct(put: &mut Put) {
    // A kink of amax or amin has no gradient to difference: make every number its own.
    let numbers = put.arr.iter_mut().chain(&mut put.values);
    numbers.enumerate().for_each(|(k, number)| *number += k as f64 * 0.0137);
    let mut all: Vec<f64> = put.arr.iter().chain(&put.values).copied().collect();
    all.sort_by(f64::total_cmp);
    let close = all.windows(2).any(|pair| pair[1] - pair[0] < 1e-3);
    if close {
        put.arr
            .iter_mut()
            .chain(&mut put.values)
            .enumerate()
            .for_each(|(k, number)| *number = ((k * 37) % 101) as f64 * 0.1 - 3.0);
    }
}

fn run<const D: usize>(case: &Put, reduce: Reduce, include_self: bool, pick: usize) -> Result<(), TestCaseError> {
    let shape = |list: &[usize]| -> [usize; D] { list.to_vec().try_into().expect("the rank") };
    let inputs = [
        TensorData::new(case.arr.clone(), shape(&case.shape)),
        TensorData::new(case.values.clone(), shape(&case.value_shape)),
    ];
    check::<D>(pick, &inputs, |xs| {
        let device: Device = xs[0].tensor::<D>().device().inner();
        let index = TensorData::new(case.index.clone(), shape(&case.given));
        let index = Tensor::<D, Int>::from_data(index, (&device, DType::I64));
        ops::put_along_axis(xs[0].tensor::<D>(), index, xs[1].tensor::<D>(), case.axis as isize, reduce, include_self)
    })
}

proptest! {
    #[test]
    fn put_assign(case in (1usize..4).prop_flat_map(put), own: bool, pick in 0usize..4) {
        by_rank(&case, Reduce::Assign, own, pick)?;
    }
    #[test]
    fn put_add(case in (1usize..4).prop_flat_map(put), own: bool, pick in 0usize..4) {
        by_rank(&case, Reduce::Add, own, pick)?;
    }
    #[test]
    fn put_mean(case in (1usize..4).prop_flat_map(put), own: bool, pick in 0usize..4) {
        by_rank(&case, Reduce::Mean, own, pick)?;
    }
    #[test]
    fn put_mul(mut case in (1usize..4).prop_flat_map(put), own: bool, pick in 0usize..4, zeros in 0usize..4) {
        // None, one or more zeros in a group, in arr and in the values.
        let stride = [usize::MAX, 5, 3, 2][zeros];
        let some = case.arr.iter_mut().chain(&mut case.values).enumerate().filter(|(k, _)| k % stride == 1);
        some.for_each(|(_, v)| *v = 0.0);
        by_rank(&case, Reduce::Mul, own, pick)?;
    }
    #[test]
    fn put_amax(mut case in (1usize..4).prop_flat_map(put), own: bool, pick in 0usize..4) {
        distinct(&mut case);
        // A value that is broadcast to two places of one group is a tie with itself, which is no kink.
        by_rank(&case, Reduce::Amax, own, pick)?;
    }
    #[test]
    fn put_amin(mut case in (1usize..4).prop_flat_map(put), own: bool, pick in 0usize..4) {
        distinct(&mut case);
        by_rank(&case, Reduce::Amin, own, pick)?;
    }

    #[test]
    fn gather_and_scatter(
        x in proptest::collection::vec(value(), 27), src in proptest::collection::vec(value(), 27),
        index in proptest::collection::vec(-3i64..3, 27),
        sizes in (1usize..4, 1usize..4, 1usize..4), given in (1usize..4, 1usize..4, 1usize..4), axis in -3isize..3,
        rank in 1usize..4, pick in 0usize..4,
    ) {
        // The axis has 3 places; off it the index may be smaller.
        let axis = axis.rem_euclid(rank as isize) as usize;
        let (mut shape, mut small) = (vec![sizes.0, sizes.1, sizes.2], vec![given.0, given.1, given.2]);
        shape.truncate(rank);
        small.truncate(rank);
        shape[axis] = 3;
        (0..rank).filter(|&dim| dim != axis).for_each(|dim| small[dim] = small[dim].min(shape[dim]));
        match rank {
            1 => read_and_write::<1>(&shape, &small, axis, &x, &src, &index, pick)?,
            2 => read_and_write::<2>(&shape, &small, axis, &x, &src, &index, pick)?,
            _ => read_and_write::<3>(&shape, &small, axis, &x, &src, &index, pick)?,
        }
    }

    #[test]
    fn gather_nd_and_scatter_nd(
        x in proptest::collection::vec(value(), 12), src in proptest::collection::vec(value(), 6),
        index in proptest::collection::vec(-3i64..3, 12), pick in 0usize..4, both: bool,
    ) {
        let inputs = [TensorData::new(x, [4, 3]), TensorData::new(src, [3, 2])];
        check(pick, &inputs, |xs| {
            let x = xs[0].tensor::<2>();
            let device = x.device().inner();
            let named = if both { 2 } else { 1 };
            let at = TensorData::new(index[..6 * named].to_vec(), [3, 2, named]);
            let at = Tensor::<3, Int>::from_data(at, (&device, DType::I64));
            let axes: &[isize] = if both { &[1, 0] } else { &[-1] };
            let put = ops::scatter_nd(x.clone(), at.clone(), xs[1].tensor::<2>(), Some(axes));
            ops::gather_nd(put * x, at, Some(axes))
        })?;
    }

    #[test]
    fn put_and_select_by_a_plan(
        x in proptest::collection::vec(value(), 6), v in proptest::collection::vec(nonzero(), 8),
        index in proptest::collection::vec(-3i64..3, 4), axis in 0isize..2, reduce in 0usize..6, own: bool,
        pick in 0usize..4,
    ) {
        let shapes = if axis == 0 { ([3, 2], [4, 2]) } else { ([2, 3], [2, 4]) };
        let reduce = Reduce::ALL[reduce];
        let none = Vec::new;
        let mut case =
            Put { shape: none(), axis: 0, given: none(), index: vec![], arr: x, values: v, value_shape: none() };
        if matches!(reduce, Reduce::Amax | Reduce::Amin) {
            distinct(&mut case);
        }
        let inputs = [TensorData::new(case.arr, shapes.0), TensorData::new(case.values, shapes.1)];
        check(pick, &inputs, |xs| {
            let device = xs[0].tensor::<2>().device().inner();
            let at = Tensor::<1, Int>::from_data(TensorData::new(index.clone(), [4]), (&device, DType::I64));
            let plan = IndexPlan::new(at, 3).unwrap();
            let put = plan.put(xs[0].tensor::<2>(), axis, xs[1].tensor::<2>(), reduce, own);
            plan.select(put * xs[0].tensor::<2>(), axis)
        })?;
    }
}

fn read_and_write<const D: usize>(
    shape: &[usize],
    small: &[usize],
    axis: usize,
    x: &[f64],
    src: &[f64],
    index: &[i64],
    pick: usize,
) -> Result<(), TestCaseError> {
    let dims = |list: &[usize]| -> [usize; D] { list.to_vec().try_into().expect("the rank") };
    let (cells, places): (usize, usize) = (shape.iter().product(), small.iter().product());
    let inputs =
        [TensorData::new(x[..cells].to_vec(), dims(shape)), TensorData::new(src[..places].to_vec(), dims(small))];
    check::<D>(pick, &inputs, |xs| {
        let x = xs[0].tensor::<D>();
        let device = x.device().inner();
        let at = TensorData::new(index[..places].to_vec(), dims(small));
        let at = Tensor::<D, Int>::from_data(at, (&device, DType::I64));
        let put = ops::scatter(x.clone(), axis, at.clone(), xs[1].tensor::<D>());
        let back = axis as isize - D as isize;
        ops::gather(put * x.clone(), back, at.clone()) + ops::gather(x, axis, at).powi_scalar(2)
    })
}

fn by_rank(case: &Put, reduce: Reduce, include_self: bool, pick: usize) -> Result<(), TestCaseError> {
    match case.shape.len() {
        1 => run::<1>(case, reduce, include_self, pick),
        2 => run::<2>(case, reduce, include_self, pick),
        _ => run::<3>(case, reduce, include_self, pick),
    }
}
