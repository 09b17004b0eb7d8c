//! What every launch needs: contiguous inputs, outputs that fit the device, and a grid.
//!
//! Launches are checked ones: an index that nobody validated (`_unchecked` constructors) reads or writes nothing outside
//! its buffer.

use burn::backend::DType;
use burn::backend::cubecl::dtype_to_storage_type;
use burn::tensor::{BoolStore, Shape};
use burn_cubecl::cubecl::client::Client;
use burn_cubecl::cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use burn_cubecl::cubecl::prelude::TensorArg;
use burn_cubecl::cubecl::{CubeCount, CubeDim, calculate_cube_count_elemwise};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;

/// The type that values of a dtype are stored in.
pub(super) fn stored(dtype: DType) -> ElemType {
    dtype_to_storage_type(dtype)
}

/// The type that sums of values of a dtype are kept in: f32 for f16 and bf16, 32 bits for u8 and Bool.
pub(super) fn accumulated(dtype: DType) -> ElemType {
    match dtype {
        DType::F16 | DType::BF16 | DType::F32 => ElemType::Float(FloatKind::F32),
        DType::U8 => ElemType::Int(IntKind::I32),
        DType::Bool(_) => ElemType::UInt(UIntKind::U32),
        _ => stored(dtype),
    }
}

/// Whether the device has kernels for all of these tensors: their types, and sizes that a 32-bit position addresses.
pub(super) fn runs<'a>(tensors: impl IntoIterator<Item = &'a CubeTensor>) -> bool {
    tensors.into_iter().all(|tensor| {
        let native = tensor.dtype != DType::Bool(BoolStore::Native);
        native && tensor.client.properties().supports_type(stored(tensor.dtype)) && count(tensor) < i32::MAX as usize
    })
}

/// Whether the device binds as many buffers at once as a kernel takes, beside one of sizes. All bind seven.
pub(super) fn binds(like: &CubeTensor, buffers: usize) -> bool {
    like.client.properties().hardware.max_bindings as usize >= buffers
}

/// Number of elements.
pub(super) fn count(tensor: &CubeTensor) -> usize {
    tensor.meta.num_elements()
}

/// The tensor with its elements in row-major order.
pub(super) fn flat(tensor: CubeTensor) -> CubeTensor {
    into_contiguous(tensor)
}

/// A tensor to be written, on the device of `like`.
///
/// # Panics
///
/// If the device cannot bind a buffer of that size.
pub(super) fn empty<const D: usize>(like: &CubeTensor, shape: [usize; D], dtype: DType) -> CubeTensor {
    let bytes = shape.iter().product::<usize>() as u64 * dtype.size() as u64;
    let limit = like.client.properties().memory.max_page_size;
    assert!(bytes <= limit, "a buffer must fit the device's limit of {limit} bytes, got {bytes} for {shape:?}");
    empty_device_contiguous_dtype(like.client.clone(), like.device.clone(), Shape::from(shape), dtype)
}

/// A grid of at least `units` units.
pub(super) fn grid(client: &Client, units: usize) -> (CubeCount, CubeDim) {
    let dim = CubeDim::new(client, units);
    (calculate_cube_count_elemwise(client, units, dim), dim)
}

/// Launches `kernels::$kernel` of the calling module over so many units, or `cubes(number, units of each)`: `(arguments)`
/// follow the grid, the element types follow them.
macro_rules! launch {
    ($kernel:ident, $like:expr, cubes($number:expr, $size:expr), ($($arg:expr),* $(,)?), $types:expr) => {{
        let client = $like.client.clone();
        let (cubes, dim) = $crate::backends::cube::launch::cubes(&client, $number, $size);
        kernels::$kernel::launch(&client, cubes, dim, $($arg,)* $types);
    }};
    ($kernel:ident, $like:expr, $units:expr, ($($arg:expr),* $(,)?), $types:expr) => {{
        let client = $like.client.clone();
        let (cubes, dim) = $crate::backends::cube::launch::grid(&client, $units);
        kernels::$kernel::launch(&client, cubes, dim, $($arg,)* $types);
    }};
}
pub(super) use launch;

/// A tensor as an argument of a launch.
pub(super) fn arg(tensor: &CubeTensor) -> TensorArg {
    tensor.clone().into_tensor_arg()
}

/// A grid of at least `number` cubes of `units` units.
pub(super) fn cubes(client: &Client, number: usize, units: usize) -> (CubeCount, CubeDim) {
    let dim = CubeDim::new_1d(units as u32);
    (calculate_cube_count_elemwise(client, number * units, dim), dim)
}

/// Elements that one unit moves at once: the most that divide a row of `width` elements of all `tensors`.
pub(super) fn vector_size(width: usize, tensors: &[&CubeTensor]) -> usize {
    let fits = |size: usize| {
        width.is_multiple_of(size)
            && tensors.iter().all(|tensor| {
                tensor.client.io_optimized_vector_sizes(tensor.dtype.size()).any(|possible| possible == size)
            })
    };
    [4, 2].into_iter().find(|&size| fits(size)).unwrap_or(1)
}
