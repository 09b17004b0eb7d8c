//! Arithmetic on host numbers as on elements of a dtype.

use burn::tensor::{DType, Scalar};
use half::{bf16, f16};
use sparse_burn::BinaryOp;

/// Compares two host numbers as elements of `dtype` (`None`: NaN).
pub(crate) fn host_order(a: Scalar, b: Scalar, dtype: DType) -> Option<std::cmp::Ordering> {
    if dtype.is_float() {
        element(a, dtype).partial_cmp(&element(b, dtype))
    } else {
        Some(integer(a, dtype).cmp(&integer(b, dtype)))
    }
}

/// A host number as an f64, rounded to a float `dtype`.
pub(crate) fn host_float(value: Scalar, dtype: DType) -> f64 {
    element(value, dtype)
}

/// `op` of two host numbers, computed as for two elements of `dtype`.
pub(crate) fn host_apply(op: BinaryOp, a: Scalar, b: Scalar, dtype: DType) -> Scalar {
    if dtype.is_float() {
        let (a, b) = (element(a, dtype), element(b, dtype));
        // f64 has at least twice the precision, so rounding its result gives the same as rounding the exact result.
        let exact = match op {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::Div => a / b,
        };
        return Scalar::Float(element(Scalar::Float(exact), dtype));
    }
    let (a, b) = (integer(a, dtype), integer(b, dtype));
    let wide = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => a.checked_div(b).unwrap_or(0),
    };
    Scalar::Int(integer(Scalar::Int(wide), dtype))
}

/// A host number rounded to `dtype`, as an f64.
pub(crate) fn element(value: Scalar, dtype: DType) -> f64 {
    let value = scalar_f64(value);
    match dtype {
        DType::F16 => f16::from_f64(value).to_f64(),
        DType::BF16 => bf16::from_f64(value).to_f64(),
        DType::F32 => f64::from(value as f32),
        _ => value,
    }
}

/// A host number as an element of an integer or Bool `dtype`. Integers wrap; true is 1.
pub(crate) fn integer(value: Scalar, dtype: DType) -> i64 {
    let wide = match value {
        Scalar::Float(value) => value as i64,
        Scalar::Int(value) => value,
        Scalar::UInt(value) => value as i64,
        Scalar::Bool(value) => i64::from(value),
    };
    match dtype {
        DType::I32 => i64::from(wide as i32),
        DType::U8 => i64::from(wide as u8),
        DType::Bool(_) => i64::from(scalar_f64(value) != 0.0),
        _ => wide,
    }
}

/// The least and the greatest number of an integer dtype; `None` for other dtypes.
pub fn int_range(dtype: DType) -> Option<(i128, i128)> {
    let (low, high) = match dtype {
        DType::I64 => (i64::MIN.into(), i64::MAX.into()),
        DType::I32 => (i32::MIN.into(), i32::MAX.into()),
        DType::I16 => (i16::MIN.into(), i16::MAX.into()),
        DType::I8 => (i8::MIN.into(), i8::MAX.into()),
        DType::U64 => (0, u64::MAX.into()),
        DType::U32 => (0, u32::MAX.into()),
        DType::U16 => (0, u16::MAX.into()),
        DType::U8 => (0, u8::MAX.into()),
        _ => return None,
    };
    Some((low, high))
}

/// Whether two host numbers are the same element of `dtype`. NaN equals NaN.
pub(crate) fn equal(a: Scalar, b: Scalar, dtype: DType) -> bool {
    match host_order(a, b, dtype) {
        Some(order) => order.is_eq(),
        None => element(a, dtype).is_nan() && element(b, dtype).is_nan(),
    }
}

pub(crate) fn scalar_f64(value: Scalar) -> f64 {
    match value {
        Scalar::Float(value) => value,
        Scalar::Int(value) => value as f64,
        Scalar::UInt(value) => value as f64,
        Scalar::Bool(value) => f64::from(u8::from(value)),
    }
}
