//! Reductions into, and reads from, positions along an axis.

use super::{elements_mut, list};
use crate::host_tensor::{Given, HostTensor};
use crate::kernel::{CheckIndices, Gather, PutBackward, PutRows};
use crate::kernel_views::Put;
use crate::options::PutTarget;
use burn::tensor::TensorData;
use sparse_core::dynamic::{self, DynRecorded, IdVec, Ids};
use sparse_core::{Record, Reduce, Result, Target, TargetIndex, records};

fn target(sizes: PutTarget, index: TargetIndex<'_>) -> Target<'_> {
    let PutTarget { outer, len, inner, count, .. } = sizes;
    Target { outer, len, inner, count, index }
}

impl Put<HostTensor> {
    fn target(&self) -> Target<'_> {
        let index = self.index.ids();
        let index = match &self.groups {
            Some((order, ptr)) => TargetIndex::Grouped { index, order: order.ids(), ptr: ptr.ids() },
            None if self.target.along_axis => TargetIndex::Axis(index),
            None => TargetIndex::Full(index),
        };
        target(self.target, index)
    }
}

impl CheckIndices<HostTensor> {
    pub(crate) fn host(self) -> Result<()> {
        let Self { op, axis, size, index } = self;
        dynamic::check_indices(op, axis, size, index.ids())
    }
}

impl PutRows<HostTensor> {
    pub(crate) fn host(self) -> (TensorData, Option<(TensorData, TensorData)>) {
        let Self { put, arr, values, record } = self;
        let (dtype, shape, reduce, include_self) = (arr.dtype(), arr.dims(), put.reduce, put.include_self);
        let (target, values) = (put.target(), values.elements());
        let counts = reduce == Reduce::Mean && !put.target.along_axis;
        let record = record && (counts || records(reduce));
        if !record && arr.is_shared() {
            let out = dynamic::put_copied(&target, reduce, include_self, values, arr.elements());
            return (out.data(shape, dtype), None);
        }
        let mut bytes = arr.into_bytes();
        let recorded = record
            .then(|| dynamic::put_recorded(&target, reduce, include_self, values, elements_mut(&mut bytes, dtype)));
        let recorded = recorded.flatten();
        if recorded.is_none() {
            dynamic::put(&target, reduce, include_self, values, elements_mut(&mut bytes, dtype));
        }
        let noted = recorded.map(|Record { winners, tied }| (list(IdVec::I32(winners)), list(IdVec::I32(tied))));
        (TensorData::from_bytes(bytes, shape, dtype), noted)
    }
}

impl PutBackward<HostTensor> {
    pub(crate) fn host(self) -> [Option<TensorData>; 2] {
        let Self { put, grad, record, reads, needs } = self;
        let (target, reads) = (put.target(), reads.each_ref().map(|read| read.as_ref().map(HostTensor::elements)));
        let grads = match &record {
            None => dynamic::put_backward(&target, put.reduce, put.include_self, reads, grad.elements(), needs),
            Some((winners, tied)) => {
                let (Ids::I32(winners), Ids::I32(tied)) = (winners.ids(), tied.ids()) else {
                    unreachable!("records are of i32")
                };
                let saved = DynRecorded { winners, tied, reads };
                dynamic::recorded_backward(&target, put.reduce, put.include_self, saved, grad.elements(), needs)
            }
        };
        grads.map(|list| {
            list.map(|list| {
                let length = list.len();
                list.data([length], grad.dtype())
            })
        })
    }
}

impl Gather<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { x, index, target: sizes } = self;
        let (length, dtype) = (sizes.outer * sizes.count * sizes.inner, x.dtype());
        let ids = index.ids();
        let ids = if sizes.along_axis { TargetIndex::Axis(ids) } else { TargetIndex::Full(ids) };
        dynamic::gather(&target(sizes, ids), x.bits()).data([length], dtype)
    }
}
