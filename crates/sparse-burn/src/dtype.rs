//! Which dtypes there are kernels for.

use burn::tensor::DType;

/// Whether the library has kernels for values of this dtype.
pub fn is_supported(dtype: DType) -> bool {
    use DType::*;
    match dtype {
        F16 | BF16 => cfg!(feature = "f16"),
        dtype => matches!(dtype, F32 | F64 | I32 | I64 | U8 | Bool(_)),
    }
}

/// What a kernel says of values that it cannot compute with.
pub(crate) fn unsupported(dtype: DType) -> String {
    match dtype {
        DType::F16 | DType::BF16 => format!("values of {dtype:?} need the feature `f16`"),
        dtype => format!("values must be f16, bf16, f32, f64, i32, i64, u8 or bool, got {dtype:?}"),
    }
}

/// i32 where every size fits, else i64.
pub fn index_dtype_for(largest: usize) -> DType {
    // One less than the maximum, because `nnz` is an index too ("missing").
    if largest < sparse_core::narrow_limit() { DType::I32 } else { DType::I64 }
}
