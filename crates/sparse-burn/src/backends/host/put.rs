//! Reductions into, and reads from, positions along an axis.

use super::{ints, write_ints};
use crate::backend::PutTarget;
use crate::dtype::{Wide, cast_mut, with_index, with_size, with_wide};
use crate::host_tensor::host_data;
use crate::{AnyTensor, Groups, HostAccess, HostTensor, OptionalFloat, PutRecord};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{DType, TensorData};
use sparse_core::{Index, Record, Recorded, Reduce, Result, Target, TargetIndex, zeroed};
use std::borrow::Cow;

/// An index, and its groups where they are known.
struct Indexed {
    index: HostTensor,
    groups: Option<[HostTensor; 2]>,
}

impl Indexed {
    fn read<B: HostAccess>(index: IntTensor<B>, groups: Groups<B>) -> Self {
        let groups = match groups {
            Groups::Unknown => None,
            Groups::Given(order, ptr) => Some([ints::<B>(order), ints::<B>(ptr)]),
        };
        Self { index: ints::<B>(index), groups }
    }

    fn target<I: Index + bytemuck::Pod>(&self, sizes: &PutTarget) -> Target<'_, I> {
        let &PutTarget { outer, len, inner, count, along_axis } = sizes;
        let index = self.index.slice::<I>();
        let index = match &self.groups {
            Some([order, ptr]) => TargetIndex::Grouped { index, order: order.slice(), ptr: ptr.slice() },
            None if along_axis => TargetIndex::Axis(index),
            None => TargetIndex::Full(index),
        };
        Target { outer, len, inner, count, index }
    }
}

pub(crate) fn check_indices<B: HostAccess>(
    op: &'static str,
    axis: usize,
    size: usize,
    index: IntTensor<B>,
) -> Result<()> {
    let index = ints::<B>(index);
    with_index!(op, index.dtype(), I => sparse_core::check_indices::<I>(op, axis, size, index.slice()))
}

#[allow(clippy::too_many_arguments)]
pub(crate) fn put<B: HostAccess>(
    arr: AnyTensor<B>,
    index: IntTensor<B>,
    groups: Groups<B>,
    values: AnyTensor<B>,
    sizes: PutTarget,
    reduce: Reduce,
    include_self: bool,
    record: bool,
) -> (AnyTensor<B>, PutRecord<B>) {
    let (device, dtype, shape) = (arr.device(), arr.dtype(), arr.dims());
    let (arr, index, values) = (B::to_host(arr), Indexed::read::<B>(index, groups), B::to_host(values));
    let (out, record) = with_index!("put_along_axis", index.index.dtype(), I => with_wide!("put_along_axis", dtype, T => {
        let (target, values) = (index.target::<I>(&sizes), T::read(&values));
        let run = |out: &mut [T]| {
            let recorded = record.then(|| sparse_core::put_recorded(&target, reduce, include_self, &values, out));
            let recorded = recorded.flatten();
            if recorded.is_none() {
                sparse_core::put::<T, I>(&target, reduce, include_self, &values, out);
            }
            recorded
        };
        if !record && arr.is_shared() && let Cow::Borrowed(arr) = T::read(&arr) {
            (T::data(sparse_core::put_copied(&target, reduce, include_self, &values, arr), shape, dtype), None)
        } else {
            let mut bytes = arr.into_bytes();
            let recorded = if let Cow::Owned(mut wide) = T::widen_bytes(&bytes, dtype) {
                let recorded = run(&mut wide);
                T::narrow_into(&wide, &mut bytes, dtype);
                recorded
            } else {
                run(cast_mut(&mut bytes))
            };
            (TensorData::from_bytes(bytes, shape, dtype), recorded)
        }
    }));
    let out = B::to_device(out, &device);
    let list = |list: Vec<i32>| {
        let length = list.len();
        write_ints::<B, i32>(list, &[length], DType::I32, &device)
    };
    let record =
        record.map_or(PutRecord::Absent, |Record { winners, tied }| PutRecord::Given(list(winners), list(tied)));
    (out, record)
}

#[allow(clippy::too_many_arguments)]
pub(crate) fn put_backward<B: HostAccess>(
    grad: FloatTensor<B>,
    index: IntTensor<B>,
    groups: Groups<B>,
    record: PutRecord<B>,
    reads: [OptionalFloat<B>; 3],
    sizes: PutTarget,
    reduce: Reduce,
    include_self: bool,
    needs: [bool; 2],
) -> (OptionalFloat<B>, OptionalFloat<B>) {
    let grad = AnyTensor::<B>::Float(grad);
    let (device, dtype) = (grad.device(), grad.dtype());
    let (grad, index) = (B::to_host(grad), Indexed::read::<B>(index, groups));
    let reads = reads.map(|tensor| match tensor {
        OptionalFloat::Absent => None,
        OptionalFloat::Given(tensor) => Some(B::to_host(AnyTensor::Float(tensor))),
    });
    let record = match record {
        PutRecord::Absent => None,
        PutRecord::Given(winners, tied) => Some([ints::<B>(winners), ints::<B>(tied)]),
    };
    let saved = Saved { index, record, reads };
    let grads = with_index!("put_along_axis", saved.index.index.dtype(), I => match dtype {
        DType::F64 => backward::<f64, I>(&sizes, &saved, reduce, include_self, &grad, needs),
        _ => backward::<f32, I>(&sizes, &saved, reduce, include_self, &grad, needs),
    });
    let [arr, values] = grads;
    let write = |data: Option<TensorData>| match data.map(|data| B::to_device(data, &device)) {
        Some(AnyTensor::Float(tensor)) => OptionalFloat::Given(tensor),
        _ => OptionalFloat::Absent,
    };
    (write(arr), write(values))
}

/// What the gradient reads beside the incoming one.
struct Saved {
    index: Indexed,
    record: Option<[HostTensor; 2]>,
    reads: [Option<HostTensor>; 3],
}

fn backward<T: Wide, I: Index + bytemuck::Pod>(
    sizes: &PutTarget,
    saved: &Saved,
    reduce: Reduce,
    include_self: bool,
    grad: &HostTensor,
    needs: [bool; 2],
) -> [Option<TensorData>; 2] {
    let reads = saved.reads.each_ref();
    let [arr, values, out] = reads.map(|read| read.as_ref().map_or(Cow::Borrowed(&[][..]), T::read));
    let target = saved.index.target::<I>(sizes);
    let dense = T::read(grad);
    // A product that was rounded to 16 bits says too little about its factors.
    let narrow = crate::dtype::size_of(grad.dtype()) < core::mem::size_of::<T>();
    let out = if narrow && reduce == Reduce::Mul {
        let mut wide = if include_self { arr.to_vec() } else { out.into_owned() };
        sparse_core::put::<T, I>(&target, reduce, include_self, &values, &mut wide);
        Cow::Owned(wide)
    } else {
        out
    };
    let grads = match &saved.record {
        None => sparse_core::put_backward::<T, I>(&target, reduce, include_self, &arr, &values, &out, &dense, needs),
        Some([winners, tied]) => {
            let saved =
                Recorded { winners: winners.slice(), tied: tied.slice(), arr: &arr, values: &values, out: &out };
            sparse_core::recorded_backward::<T, I>(&target, include_self, saved, &dense, needs)
        }
    };
    grads.map(|list| {
        list.map(|list| {
            let length = list.len();
            T::data(list, vec![length], grad.dtype())
        })
    })
}

pub(crate) fn gather<B: HostAccess>(x: AnyTensor<B>, index: IntTensor<B>, sizes: PutTarget) -> AnyTensor<B> {
    let (device, dtype) = (x.device(), x.dtype());
    let (x, index) = (B::to_host(x), Indexed::read::<B>(index, Groups::Unknown));
    let length = sizes.outer * sizes.count * sizes.inner;
    let out = with_index!("gather", index.index.dtype(), I => with_size!("gather", dtype, T => {
        let mut out = zeroed::<T>(length);
        sparse_core::gather::<T, I>(&index.target(&sizes), x.slice(), &mut out);
        host_data(out, [length], dtype)
    }));
    B::to_device(out, &device)
}
