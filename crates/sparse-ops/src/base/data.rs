//! Numbers of the host in the dtype that a caller asks for.

use super::checks::has_dtype;
use super::kind::{Kind, dtype_name};
use super::scalar::int_range;
use burn::tensor::{Bool, DType, Device, Float, Int, TensorData};
use sparse_core::{Result, SparseError};
use std::any::TypeId;

/// Name of the kind of a dtype.
fn kind_name(dtype: DType) -> &'static str {
    if dtype.is_float() {
        "float"
    } else if dtype.is_bool() {
        "bool"
    } else {
        "int"
    }
}

/// The numbers in the dtype asked for, which must be of kind `K` and on the device. Without one they keep theirs.
///
/// # Errors
///
/// `dtype_mismatch` for another kind, and for floats as integers; `unsupported_dtype`; `overflow` for an integer that
/// the dtype does not hold.
pub fn converted<K: Kind>(
    op: &'static str,
    data: TensorData,
    asked: Option<DType>,
    device: &Device,
) -> Result<TensorData> {
    let kinds = [(TypeId::of::<Float>(), "float"), (TypeId::of::<Bool>(), "bool"), (TypeId::of::<Int>(), "int")];
    let kind = kinds.into_iter().find(|(id, _)| *id == TypeId::of::<K>()).map_or("another kind", |(_, name)| name);
    let (found, dtype) = (data.dtype(), asked.unwrap_or(data.dtype()));
    if kind_name(dtype) != kind {
        return Err(SparseError::dtype_mismatch(op, kind, dtype_name(dtype)));
    }
    // Rounding is for the caller to do.
    if found.is_float() && !dtype.is_float() {
        return Err(SparseError::dtype_mismatch(op, dtype_name(dtype), dtype_name(found)));
    }
    has_dtype(op, device, dtype)?;
    if dtype == found || dtype.is_bool() && found.is_bool() {
        return Ok(data);
    }
    if kind == "int" && !found.is_bool() {
        let (low, high) = int_range(dtype).expect("an integer dtype");
        if let Some(value) = data.iter::<i64>().map(i128::from).find(|value| !(low..=high).contains(value)) {
            let limit = if value < 0 { low } else { high }.unsigned_abs();
            return Err(SparseError::overflow(op, "the magnitude of a value", limit, value.unsigned_abs()));
        }
    }
    Ok(data.convert_dtype(dtype))
}
