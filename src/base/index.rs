//! Index tensors: their dtypes, and how they are made and read.

use super::kind::{Numeric, from_float};
use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData};

/// The index dtype of a pattern: i32 where every size fits, else i64.
pub(crate) fn index_dtype(shape: &[usize], nnz: usize) -> DType {
    sparse_burn::index_dtype_for(shape.iter().copied().chain([nnz]).max().unwrap_or(0))
}

/// An index tensor as patterns keep them: without autodiff, of the given dtype.
///
/// One without elements is made anew: Burn 0.22's fusion joins a cast of nothing, or zeros of it, with operations that
/// follow, and then runs none of them.
pub(crate) fn index_tensor<const D: usize>(tensor: Tensor<D, Int>, dtype: DType) -> Tensor<D, Int> {
    let tensor = tensor.inner();
    match tensor.shape().num_elements() {
        _ if tensor.dtype() == dtype => tensor,
        0 => Tensor::empty(tensor.shape(), (&tensor.device(), dtype)),
        _ => tensor.cast(dtype),
    }
}

/// An index tensor that can be validated: i32 and i64 stay, narrower or unsigned ones are widened. A u64 that i64 lacks
/// becomes its largest number, which no dim has room for: cast as it is, it would be a negative one.
pub(crate) fn signed<const D: usize>(tensor: Tensor<D, Int>) -> Tensor<D, Int> {
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

/// Indices made on the host, i64 there and converted to the device's Int.
pub(crate) fn ints<const R: usize>(values: Vec<i64>, shape: [usize; R], device: &Device) -> Tensor<R, Int> {
    let largest = values.iter().copied().max().unwrap_or(0).unsigned_abs() as usize;
    let dtype = sparse_burn::index_dtype_for(largest);
    Tensor::from_data(TensorData::new(values, shape).convert_dtype(dtype), (device, dtype))
}

/// `0 .. length`, in the dtype and on the device of `like`.
pub(crate) fn count_up<const R: usize>(length: usize, like: &Tensor<R, Int>) -> Tensor<1, Int> {
    if length == 0 {
        return Tensor::empty([0], (&like.device(), like.dtype()));
    }
    Tensor::arange(0..length as i64, (&like.device(), like.dtype()))
}

/// One number of the device.
pub(crate) fn read(number: Tensor<1, Int>) -> usize {
    sparse_burn::read_data(number).convert::<i64>().iter::<i64>().next().expect("one number") as usize
}

/// Counts as elements of a dtype.
pub(crate) fn numbers<K: Numeric>(counts: Tensor<2, Int>, dtype: DType) -> Tensor<2, K> {
    if dtype.is_float() {
        return from_float(counts.cast(FloatDType::from(dtype)));
    }
    Tensor::from_dispatch(index_tensor(counts, dtype).into_dispatch())
}
