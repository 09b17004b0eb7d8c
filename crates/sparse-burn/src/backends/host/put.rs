//! Reductions into, and reads from, positions along an axis.

use super::ints;
use crate::backend::PutTarget;
use crate::dtype::{Wide, cast_mut, with_index, with_size, with_wide};
use crate::host_tensor::host_data;
use crate::{AnyTensor, HostAccess, HostTensor, OptionalFloat};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::TensorData;
use sparse_core::{Index, Reduce, Result, Target, TargetIndex, zeroed};
use std::borrow::Cow;

fn target<'a, I: Index + bytemuck::Pod>(sizes: &PutTarget, index: &'a HostTensor) -> Target<'a, I> {
    let &PutTarget { outer, len, inner, count, along_axis } = sizes;
    let index = index.slice::<I>();
    let index = if along_axis { TargetIndex::Axis(index) } else { TargetIndex::Full(index) };
    Target { outer, len, inner, count, index }
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

pub(crate) fn put<B: HostAccess>(
    arr: AnyTensor<B>,
    index: IntTensor<B>,
    values: AnyTensor<B>,
    sizes: PutTarget,
    reduce: Reduce,
    include_self: bool,
) -> AnyTensor<B> {
    let (device, dtype, shape) = (arr.device(), arr.dtype(), arr.dims());
    let (index, values) = (ints::<B>(index), B::to_host(values));
    let mut bytes = B::to_host(arr).into_bytes();
    with_index!("put_along_axis", index.dtype(), I => with_wide!("put_along_axis", dtype, T => {
        let (target, values) = (target::<I>(&sizes, &index), T::read(&values));
        if let Cow::Owned(mut wide) = T::widen_bytes(&bytes, dtype) {
            sparse_core::put::<T, I>(&target, reduce, include_self, &values, &mut wide);
            T::narrow_into(&wide, &mut bytes, dtype);
        } else {
            sparse_core::put::<T, I>(&target, reduce, include_self, &values, cast_mut(&mut bytes));
        }
    }));
    B::to_device(TensorData::from_bytes(bytes, shape, dtype), &device)
}

pub(crate) fn put_backward<B: HostAccess>(
    grad: FloatTensor<B>,
    index: IntTensor<B>,
    reads: [OptionalFloat<B>; 3],
    sizes: PutTarget,
    reduce: Reduce,
    include_self: bool,
    needs: [bool; 2],
) -> (OptionalFloat<B>, OptionalFloat<B>) {
    let grad = AnyTensor::<B>::Float(grad);
    let (device, dtype) = (grad.device(), grad.dtype());
    let (grad, index) = (B::to_host(grad), ints::<B>(index));
    let reads = reads.map(|tensor| match tensor {
        OptionalFloat::Absent => None,
        OptionalFloat::Given(tensor) => Some(B::to_host(AnyTensor::Float(tensor))),
    });
    let grads = with_index!("put_along_axis", index.dtype(), I => match dtype {
        DType::F64 => backward::<f64, I>(&sizes, &index, &reads, reduce, include_self, &grad, needs),
        _ => backward::<f32, I>(&sizes, &index, &reads, reduce, include_self, &grad, needs),
    });
    let [arr, values] = grads;
    let write = |data: Option<TensorData>| match data.map(|data| B::to_device(data, &device)) {
        Some(AnyTensor::Float(tensor)) => OptionalFloat::Given(tensor),
        _ => OptionalFloat::Absent,
    };
    (write(arr), write(values))
}

fn backward<T: Wide, I: Index + bytemuck::Pod>(
    sizes: &PutTarget,
    index: &HostTensor,
    reads: &[Option<HostTensor>; 3],
    reduce: Reduce,
    include_self: bool,
    grad: &HostTensor,
    needs: [bool; 2],
) -> [Option<TensorData>; 2] {
    let [arr, values, out] = reads.each_ref().map(|read| read.as_ref().map_or(Cow::Borrowed(&[][..]), T::read));
    let target = target::<I>(sizes, index);
    let grads =
        sparse_core::put_backward::<T, I>(&target, reduce, include_self, &arr, &values, &out, &T::read(grad), needs);
    grads.map(|list| {
        list.map(|list| {
            let length = list.len();
            T::data(list, vec![length], grad.dtype())
        })
    })
}

pub(crate) fn gather<B: HostAccess>(x: AnyTensor<B>, index: IntTensor<B>, sizes: PutTarget) -> AnyTensor<B> {
    let (device, dtype) = (x.device(), x.dtype());
    let (x, index) = (B::to_host(x), ints::<B>(index));
    let length = sizes.outer * sizes.count * sizes.inner;
    let out = with_index!("gather", index.dtype(), I => with_size!("gather", dtype, T => {
        let mut out = zeroed::<T>(length);
        sparse_core::gather::<T, I>(&target(&sizes, &index), x.slice(), &mut out);
        host_data(out, [length], dtype)
    }));
    B::to_device(out, &device)
}
