//! Rows that move, and rows that meet.

use crate::dtype::{Wide, with_index, with_size, with_wide};
use crate::host_tensor::{HostTensor, host_data};
use crate::kernel::{MoveRows, SegmentCumsum, SegmentSum};
use burn::tensor::TensorData;
use sparse_core::zeroed;

impl MoveRows<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { values, fill, map } = self;
        let (rows, block, dtype) = (map.dims()[0], values.dims()[1], values.dtype());
        with_index!("move_rows", map.dtype(), I => with_size!("move_rows", dtype, T => {
            let mut out = zeroed::<T>(rows * block);
            sparse_core::move_rows::<T, I>(values.slice(), block, fill.slice(), map.slice(), &mut out);
            host_data(out, [rows, block], dtype)
        }))
    }
}

impl SegmentSum<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { values, order, ptr } = self;
        let (segments, block, dtype) = (ptr.dims()[0] - 1, values.dims()[1], values.dtype());
        with_index!("segment_sum", ptr.dtype(), I => with_wide!("segment_sum", dtype, T => {
            let mut out = zeroed::<T>(segments * block);
            let order = order.as_ref().map(HostTensor::slice::<I>);
            if dtype.is_bool() {
                sparse_core::segment_max::<T, I>(&T::read(&values), block, order, ptr.slice(), &mut out);
            } else {
                sparse_core::segment_sum::<T, I>(&T::read(&values), block, order, ptr.slice(), &mut out);
            }
            T::data(out, vec![segments, block], dtype)
        }))
    }
}

impl SegmentCumsum<HostTensor> {
    pub(crate) fn host(self) -> TensorData {
        let Self { values, order, ptr, reverse } = self;
        let (rows, block, dtype) = (values.dims()[0], values.dims()[1], values.dtype());
        with_index!("stored_cumsum", ptr.dtype(), I => with_wide!("stored_cumsum", dtype, T => {
            let mut out = zeroed::<T>(rows * block);
            let order = order.as_ref().map(HostTensor::slice::<I>);
            sparse_core::segment_cumsum::<T, I>(&T::read(&values), block, order, ptr.slice(), reverse, &mut out);
            T::data(out, vec![rows, block], dtype)
        }))
    }
}
