//! Index tensors: their dtypes, and how they are made and read.

use super::exact::Exact;
use super::kind::{Numeric, from_float};
use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData};
use sparse_burn::kernel::{cast_ids, cast_ints, scan};
use sparse_burn::{PutTarget, is_gpu, is_remote};
use sparse_core::{Result, SparseError};

/// The index dtype of a pattern: i32 where every size fits, else i64.
pub(crate) fn index_dtype(shape: &[usize], nnz: usize) -> DType {
    sparse_burn::index_dtype_for(shape.iter().copied().chain([nnz]).max().unwrap_or(0))
}

/// An index tensor of the given dtype, without autodiff association, as patterns keep it.
///
/// An empty tensor is not cast but created again. Burn 0.22's fusion fuses a cast of an empty tensor, or empty zeros,
/// with later operations and then runs none of them.
pub fn index_tensor<const D: usize>(tensor: Tensor<D, Int>, dtype: DType) -> Tensor<D, Int> {
    let tensor = tensor.inner();
    match tensor.shape().num_elements() {
        _ if tensor.dtype() == dtype => tensor,
        0 => Tensor::empty(tensor.shape(), (&tensor.device(), dtype)),
        count if !is_gpu(&tensor.device()) && [tensor.dtype(), dtype].iter().all(is_index) => {
            // On all threads, into memory that is used again. Burn's cast does neither on a CPU.
            let shape = tensor.dims();
            cast_ids(tensor.reshape(Exact([count]))).reshape(Exact(shape))
        }
        _ => cast_integers(tensor, dtype),
    }
}

/// A checked index with one entry for each value, as i32 where a CPU reads it once for each group of columns. 16
/// columns of an i64 index that does not start on a cache line are on three lines, of an i32 one on two: on Zen 4 a sum
/// of 64 columns and its gradient took 390 ms, then 250 with the copy.
pub(crate) fn short_index<const D: usize>(index: Tensor<D, Int>, target: PutTarget) -> Tensor<D, Int> {
    const LONG: usize = 1 << 20;
    let PutTarget { outer, len, inner, count, along_axis } = target;
    let long = inner >= 16 && count >= len && outer * count * inner >= LONG;
    let pays = long && !along_axis && !is_gpu(&index.device());
    if pays && sparse_burn::index_dtype_for(len) == DType::I32 { index_tensor(index, DType::I32) } else { index }
}

/// The integers in another dtype. Without autodiff association on a remote device: its server has no cast in Burn 0.22.
pub(crate) fn cast_integers<const D: usize>(tensor: Tensor<D, Int>, dtype: DType) -> Tensor<D, Int> {
    match is_remote(&tensor.device()) {
        _ if tensor.dtype() == dtype => tensor,
        true if tensor.shape().num_elements() == 0 => Tensor::empty(tensor.shape(), (&tensor.device(), dtype)),
        true => cast_ints(tensor, dtype),
        false => tensor.cast(dtype),
    }
}

fn is_index(dtype: &DType) -> bool {
    matches!(dtype, DType::I32 | DType::I64)
}

/// An index tensor for validation: i32 or i64. Other dtypes are cast to i64. A u64 that does not fit becomes the
/// largest i64, which is out of range for every dim; a plain cast would make it negative.
pub fn signed<const D: usize>(tensor: Tensor<D, Int>) -> Tensor<D, Int> {
    match tensor.dtype() {
        DType::I32 | DType::I64 => tensor.inner(),
        DType::U64 if tensor.shape().num_elements() > 0 => {
            let wrapped = index_tensor(tensor, DType::I64);
            let large = wrapped.clone().lower_elem(0);
            wrapped.mask_fill(large, i64::MAX)
        }
        _ => index_tensor(tensor, DType::I64),
    }
}

/// An index tensor from numbers of the host: i32 if all of them fit, else i64.
pub fn ints<const R: usize>(values: Vec<i64>, shape: [usize; R], device: &Device) -> Tensor<R, Int> {
    let largest = values.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0) as usize;
    let dtype = sparse_burn::index_dtype_for(largest);
    Tensor::from_data(TensorData::new(values, shape).convert_dtype(dtype), (device, dtype))
}

/// An index tensor of numbers that fit i32.
pub fn narrow_index(list: Vec<i32>, device: &Device) -> Tensor<1, Int> {
    let length = list.len();
    Tensor::from_data(TensorData::new(list, [length]), (&device.clone().inner(), DType::I32))
}

/// Numbers below `end` as an index tensor.
pub fn index_below(list: &[usize], end: usize, device: &Device) -> Tensor<1, Int> {
    if sparse_burn::index_dtype_for(end) == DType::I32 {
        return narrow_index(list.iter().map(|&id| id as i32).collect(), device);
    }
    let wide: Vec<i64> = list.iter().map(|&id| id as i64).collect();
    Tensor::from_data(TensorData::new(wide, [list.len()]), (&device.clone().inner(), DType::I64))
}

/// Checks that all ids are in `[0, size)`.
pub fn check_ids(op: &'static str, ids: &[usize], size: usize) -> Result<()> {
    check_below(op, 0, ids, size)
}

/// Checks that all indices along an axis are in `[0, size)`.
pub(crate) fn check_below(op: &'static str, axis: usize, ids: &[usize], size: usize) -> Result<()> {
    match ids.iter().position(|&id| id >= size) {
        None => Ok(()),
        Some(position) => Err(SparseError::index_out_of_range(op, axis, size, ids[position], position)),
    }
}

/// `0 .. length`, in the dtype and on the device of `like`.
pub(crate) fn count_up<const R: usize>(length: usize, like: &Tensor<R, Int>) -> Tensor<1, Int> {
    count_up_on(length, &like.device(), like.dtype())
}

/// `0 .. length` on a device. Burn 0.22 makes such a list on the host and copies it to the GPU.
pub(crate) fn count_up_on(length: usize, device: &Device, dtype: DType) -> Tensor<1, Int> {
    match length {
        0 => Tensor::empty([0], (device, dtype)),
        1.. if is_gpu(device) => scan(Tensor::<1, Int>::ones([length - 1], (device, dtype))),
        _ => Tensor::arange(0..length as i64, (device, dtype)),
    }
}

/// The sizes of segments that start at `ptr[k]` and end at `ptr[k + 1]`.
pub(crate) fn differences(ptr: &Tensor<1, Int>) -> Tensor<1, Int> {
    let count = ptr.dims()[0] - 1;
    if count == 0 {
        return Tensor::empty([0], (&ptr.device(), ptr.dtype()));
    }
    ptr.clone().narrow(0, 1, count) - ptr.clone().narrow(0, 0, count)
}

/// Reads one number from the device.
pub(crate) fn read(number: Tensor<1, Int>) -> usize {
    sparse_burn::read_data(number).convert::<i64>().iter::<i64>().next().expect("one number") as usize
}

/// Reads all numbers of a tensor from the device.
pub fn read_all<const D: usize>(numbers: Tensor<D, Int>) -> Vec<i64> {
    sparse_burn::read_data(numbers).convert::<i64>().iter().collect()
}

/// Counts, converted to elements of a dtype.
pub(crate) fn numbers<K: Numeric>(counts: Tensor<2, Int>, dtype: DType) -> Tensor<2, K> {
    if dtype.is_float() {
        return from_float(counts.cast(FloatDType::from(dtype)));
    }
    Tensor::from_dispatch(index_tensor(counts, dtype).into_dispatch())
}
