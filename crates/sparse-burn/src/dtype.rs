//! Which dtypes there are kernels for.

use burn::tensor::DType;

/// Whether the library has kernels for values of this dtype.
pub fn is_supported(dtype: DType) -> bool {
    use DType::*;
    matches!(dtype, F16 | BF16 | F32 | F64 | I32 | I64 | U8 | Bool(_))
}

/// i32 where every size fits, else i64.
pub fn index_dtype_for(largest: usize) -> DType {
    // One less than the maximum, because `nnz` is an index too ("missing").
    if largest < sparse_core::narrow_limit() { DType::I32 } else { DType::I64 }
}
