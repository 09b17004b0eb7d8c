//! Rows that move, and rows that meet.

use super::{ints, optional};
use crate::dtype::{Wide, with_index, with_size, with_wide};
use crate::host_tensor::host_data;
use crate::{AnyTensor, HostAccess, HostTensor, OptionalInt};
use burn::backend::tensor::IntTensor;
use sparse_core::zeroed;

pub(crate) fn move_rows<B: HostAccess>(values: AnyTensor<B>, fill: AnyTensor<B>, map: IntTensor<B>) -> AnyTensor<B> {
    let (device, dtype) = (values.device(), values.dtype());
    let (values, fill, map) = (B::to_host(values), B::to_host(fill), ints::<B>(map));
    let (rows, block) = (map.dims()[0], values.dims()[1]);
    let out = with_index!("move_rows", map.dtype(), I => with_size!("move_rows", dtype, T => {
        let mut out = zeroed::<T>(rows * block);
        sparse_core::move_rows::<T, I>(values.slice(), block, fill.slice(), map.slice(), &mut out);
        host_data(out, [rows, block], dtype)
    }));
    B::to_device(out, &device)
}

pub(crate) fn segment_sum<B: HostAccess>(
    values: AnyTensor<B>,
    order: OptionalInt<B>,
    ptr: IntTensor<B>,
) -> AnyTensor<B> {
    let (device, dtype) = (values.device(), values.dtype());
    let (values, order, ptr) = (B::to_host(values), optional::<B>(order), ints::<B>(ptr));
    let (segments, block) = (ptr.dims()[0] - 1, values.dims()[1]);
    let out = with_index!("segment_sum", ptr.dtype(), I => with_wide!("segment_sum", dtype, T => {
        let mut out = zeroed::<T>(segments * block);
        let order = order.as_ref().map(HostTensor::slice::<I>);
        if dtype.is_bool() {
            sparse_core::segment_max::<T, I>(&T::read(&values), block, order, ptr.slice(), &mut out);
        } else {
            sparse_core::segment_sum::<T, I>(&T::read(&values), block, order, ptr.slice(), &mut out);
        }
        T::data(out, vec![segments, block], dtype)
    }));
    B::to_device(out, &device)
}
