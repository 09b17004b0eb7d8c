//! Moving, summing and normalising rows.

use super::optional;
use crate::host_tensor::{Given, HostTensor};
use crate::kernel::{MoveRows, PlaceRows, SegmentCumsum, SegmentSoftmax, SegmentSoftmaxBackward, SegmentSum, SwapRows};
use burn::tensor::TensorData;
use sparse_core::dynamic;

impl MoveRows<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { values, fill, map } = self;
        let (rows, block, dtype) = (map.dims()[0], values.dims()[1], values.dtype());
        dynamic::move_rows(values.bits(), block, fill.bits(), map.ids()).data([rows, block], dtype)
    }
}

impl PlaceRows<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { values, rows, size } = self;
        let (block, dtype) = (values.dims()[1], values.dtype());
        dynamic::place_rows(values.bits(), block, rows.ids(), size).data([size, block], dtype)
    }
}

impl SwapRows<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { values, outer } = self;
        let (rows, block, dtype) = (values.dims()[0], values.dims()[1], values.dtype());
        dynamic::swap_blocks(values.bits(), outer, block).data([rows, block], dtype)
    }
}

impl SegmentSum<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { values, order, ptr } = self;
        let (segments, block, dtype) = (ptr.dims()[0] - 1, values.dims()[1], values.dtype());
        let sum = if dtype.is_bool() { dynamic::segment_any } else { dynamic::segment_sum };
        sum(values.elements(), block, optional(&order), ptr.ids()).data([segments, block], dtype)
    }
}

impl SegmentCumsum<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { values, order, ptr, reverse } = self;
        let (rows, block, dtype) = (values.dims()[0], values.dims()[1], values.dtype());
        let out = dynamic::segment_cumsum(values.elements(), block, optional(&order), ptr.ids(), reverse);
        out.data([rows, block], dtype)
    }
}

impl SegmentSoftmax<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { values, ptr, log } = self;
        let ([rows, block], dtype) = ([values.dims()[0], values.dims()[1]], values.dtype());
        dynamic::segment_softmax(values.elements(), block, ptr.ids(), log).data([rows, block], dtype)
    }
}

impl SegmentSoftmaxBackward<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { out, grad, ptr, log } = self;
        let ([rows, block], dtype) = ([out.dims()[0], out.dims()[1]], out.dtype());
        let d_values = dynamic::segment_softmax_backward(out.elements(), grad.elements(), block, ptr.ids(), log);
        d_values.data([rows, block], dtype)
    }
}
