//! The one thin layer that matches dtypes; everything below is generic.

use burn::tensor::{BoolStore, DType};

/// Whether the library has kernels for values of this dtype.
pub fn is_supported(dtype: DType) -> bool {
    use DType::*;
    matches!(dtype, F16 | BF16 | F32 | F64 | I32 | I64 | U8 | Bool(_))
}

/// i32 where every size fits, else i64.
pub fn index_dtype_for(largest: usize) -> DType {
    // One below the maximum: `nnz` itself is an index too ("missing").
    if largest < i32::MAX as usize { DType::I32 } else { DType::I64 }
}

/// Runs `$body` with `$T` bound to the element type of `$dtype`. Bool runs as the integer of its storage: its values
/// are only moved, and a sum of duplicates is a maximum.
macro_rules! with_element {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {{
        use burn::tensor::{BoolStore, DType};
        match $dtype {
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            DType::F16 => {
                type $T = half::f16;
                $body
            }
            DType::BF16 => {
                type $T = half::bf16;
                $body
            }
            DType::I32 => {
                type $T = i32;
                $body
            }
            DType::I64 => {
                type $T = i64;
                $body
            }
            DType::U8 | DType::Bool(BoolStore::Native | BoolStore::U8) => {
                type $T = u8;
                $body
            }
            DType::Bool(BoolStore::U32) => {
                type $T = i32;
                $body
            }
            other => panic!("{}: values must be f16, bf16, f32, f64, i32, i64, u8 or bool, got {other:?}", $op),
        }
    }};
}

/// Runs `$body` with `$I` bound to the index type of `$dtype`.
macro_rules! with_index {
    ($op:expr, $dtype:expr, $I:ident => $body:expr) => {{
        use burn::tensor::DType;
        match $dtype {
            DType::I32 => {
                type $I = i32;
                $body
            }
            DType::I64 => {
                type $I = i64;
                $body
            }
            other => panic!("{}: indices must be i32 or i64, got {other:?}", $op),
        }
    }};
}

pub(crate) use {with_element, with_index};

/// Size of one stored element in bytes.
pub(crate) fn size_of(dtype: DType) -> usize {
    match dtype {
        DType::Bool(BoolStore::U32) => 4,
        other => other.size(),
    }
}
