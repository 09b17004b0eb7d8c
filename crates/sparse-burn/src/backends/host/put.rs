//! Reductions into, and reads from, positions along an axis.

use super::ints;
use crate::bytes::cast_mut;
use crate::carried::Put;
use crate::dtype::{Wide, with_index, with_size, with_wide};
use crate::host_tensor::{HostTensor, host_data};
use crate::kernel::{CheckIndices, Gather, PutBackward, PutRows};
use crate::options::PutTarget;
use burn::tensor::{DType, TensorData};
use sparse_core::{Index, Record, Recorded, Reduce, Result, Target, TargetIndex, zeroed};
use std::borrow::Cow;

fn target<I: Index + bytemuck::Pod>(sizes: PutTarget, index: TargetIndex<'_, I>) -> Target<'_, I> {
    let PutTarget { outer, len, inner, count, .. } = sizes;
    Target { outer, len, inner, count, index }
}

impl Put<HostTensor> {
    fn target<I: Index + bytemuck::Pod>(&self) -> Target<'_, I> {
        let index = self.index.slice::<I>();
        let index = match &self.groups {
            Some((order, ptr)) => TargetIndex::Grouped { index, order: order.slice(), ptr: ptr.slice() },
            None if self.target.along_axis => TargetIndex::Axis(index),
            None => TargetIndex::Full(index),
        };
        target(self.target, index)
    }
}

impl CheckIndices<HostTensor> {
    pub(crate) fn host(self) -> Result<()> {
        let Self { op, axis, size, index } = self;
        with_index!(op, index.dtype(), I => sparse_core::check_indices::<I>(op, axis, size, index.slice()))
    }
}

impl PutRows<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, Option<(TensorData, TensorData)>) {
        let Self { put, arr, values, record } = self;
        let (dtype, shape, reduce, include_self) = (arr.dtype(), arr.dims(), put.reduce, put.include_self);
        let (out, record) = with_index!("put_along_axis", put.index.dtype(), I => with_wide!("put_along_axis", dtype, T => {
            let (target, values) = (put.target::<I>(), T::read(&values));
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
        (out, record.map(|Record { winners, tied }| (ints(winners, DType::I32), ints(tied, DType::I32))))
    }
}

impl PutBackward<HostTensor> {
    pub(crate) fn host(self) -> [Option<TensorData>; 2] {
        with_index!("put_along_axis", self.put.index.dtype(), I => match self.grad.dtype() {
            DType::F64 => self.backward::<f64, I>(),
            _ => self.backward::<f32, I>(),
        })
    }

    fn backward<T: Wide, I: Index + bytemuck::Pod>(&self) -> [Option<TensorData>; 2] {
        let Self { put, grad, record, reads, needs } = self;
        let Put { reduce, include_self, .. } = *put;
        let [arr, values, out] = reads.each_ref().map(|read| read.as_ref().map_or(Cow::Borrowed(&[][..]), T::read));
        let (target, dense) = (put.target::<I>(), T::read(grad));
        // A product that was rounded to 16 bits says too little about its factors.
        let narrow = crate::bytes::size_of(grad.dtype()) < core::mem::size_of::<T>();
        let out = if narrow && reduce == Reduce::Mul {
            let mut wide = if include_self { arr.to_vec() } else { out.into_owned() };
            sparse_core::put::<T, I>(&target, reduce, include_self, &values, &mut wide);
            Cow::Owned(wide)
        } else {
            out
        };
        let grads = match record {
            None => {
                sparse_core::put_backward::<T, I>(&target, reduce, include_self, &arr, &values, &out, &dense, *needs)
            }
            Some((winners, tied)) => {
                let saved =
                    Recorded { winners: winners.slice(), tied: tied.slice(), arr: &arr, values: &values, out: &out };
                sparse_core::recorded_backward::<T, I>(&target, include_self, saved, &dense, *needs)
            }
        };
        grads.map(|list| {
            list.map(|list| {
                let length = list.len();
                T::data(list, vec![length], grad.dtype())
            })
        })
    }
}

impl Gather<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { x, index, target: sizes } = self;
        let (length, dtype) = (sizes.outer * sizes.count * sizes.inner, x.dtype());
        with_index!("gather", index.dtype(), I => with_size!("gather", dtype, T => {
            let slice = index.slice::<I>();
            let slice = if sizes.along_axis { TargetIndex::Axis(slice) } else { TargetIndex::Full(slice) };
            let mut out = zeroed::<T>(length);
            sparse_core::gather::<T, I>(&target(sizes, slice), x.slice(), &mut out);
            host_data(out, [length], dtype)
        }))
    }
}
