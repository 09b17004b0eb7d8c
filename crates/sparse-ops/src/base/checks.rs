//! Checks that operations share.

use super::kind::{Kind, dtype_name, is_16_bit};
use burn::tensor::{AsIndex, DType, Device, Tensor, TensorCreationOptions, kind};
use sparse_core::{Result, SparseError};

/// Resolves an axis in `[-rank, rank)`.
pub(crate) fn resolve_axis(op: &'static str, axis: impl AsIndex, rank: usize) -> Result<usize> {
    let axis = axis.as_index();
    let from_start = if axis < 0 { axis + rank as isize } else { axis };
    if (0..rank as isize).contains(&from_start) {
        Ok(from_start as usize)
    } else {
        Err(SparseError::AxisOutOfRange { op, axis, rank })
    }
}

/// Axes as numbers of one type.
pub(crate) fn as_axes(axes: &[impl AsIndex]) -> Vec<isize> {
    axes.iter().map(|axis| axis.as_index()).collect()
}

/// The name of an operation without `try_`. Macros get the name of the fallible method.
pub(crate) fn plain_name(fallible: &'static str) -> &'static str {
    fallible.strip_prefix("try_").unwrap_or(fallible)
}

/// Panics with the text of the error. For operations without a `try_` variant.
#[track_caller]
pub fn expect<T>(result: Result<T>) -> T {
    match result {
        Ok(value) => value,
        // A closure would lose the caller's line.
        Err(trouble) => panic!("{trouble}"),
    }
}

/// Checks that two tensors have the same device and the same dtype, and that there are kernels for this dtype.
pub fn same_elements<const D: usize, const E: usize, K: Kind>(
    op: &'static str,
    a: &Tensor<D, K>,
    b: &Tensor<E, K>,
) -> Result<()> {
    let (left, right) = (a.dtype(), b.dtype());
    same_dtype(op, left, right)?;
    if !sparse_burn::is_supported(left) {
        return Err(SparseError::unsupported_dtype(op, "a tensor", dtype_name(left)));
    }
    same_device(op, &a.device(), &b.device())
}

/// Checks that two dtypes are the same.
pub(crate) fn same_dtype(op: &'static str, left: DType, right: DType) -> Result<()> {
    if left == right { Ok(()) } else { Err(SparseError::dtype_mismatch(op, dtype_name(left), dtype_name(right))) }
}

/// Checks that a device has an element type, where Burn panics, and that its kernels are compiled.
pub fn has_dtype(op: &'static str, device: &Device, dtype: DType) -> Result<()> {
    let device = device.clone().inner();
    let compiled = sparse_burn::is_supported(dtype) || !is_16_bit(dtype);
    // Every device has some form of Bool.
    if dtype.is_bool() || compiled && device.supports_dtype(dtype) {
        return Ok(());
    }
    Err(SparseError::unsupported_dtype(op, format!("{device:?}"), dtype_name(dtype)))
}

/// The dtype of a new tensor of this kind: the one that `options` name, or the device's own. Checks that it is of the
/// kind, and that the device has it. Bool has one dtype on each device, whatever the options name.
pub fn creation_dtype<K: Kind>(op: &'static str, options: &TensorCreationOptions) -> Result<DType> {
    let settings = options.device.settings();
    let own: DType = match K::KIND {
        kind::Kind::Float => settings.float_dtype.into(),
        kind::Kind::Int => settings.int_dtype.into(),
        kind::Kind::Bool => return Ok(settings.bool_dtype.into()),
    };
    let Some(dtype) = options.dtype else { return Ok(own) };
    if dtype.is_bool() || dtype.is_float() != own.is_float() {
        return Err(SparseError::dtype_mismatch(op, dtype_name(dtype), dtype_name(own)));
    }
    has_dtype(op, &options.device, dtype)?;
    Ok(dtype)
}

/// Checks that two devices are the same, apart from their autodiff association.
pub fn same_device(op: &'static str, a: &Device, b: &Device) -> Result<()> {
    let (a, b) = (a.clone().inner(), b.clone().inner());
    if a == b {
        return Ok(());
    }
    Err(SparseError::DeviceMismatch { op, left: format!("{a:?}"), right: format!("{b:?}") })
}
