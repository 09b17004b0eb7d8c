//! Bytes as elements.

use burn::tensor::{BoolStore, DType};

/// Size of one stored element in bytes.
pub(crate) fn size_of(dtype: DType) -> usize {
    match dtype {
        DType::Bool(BoolStore::U32) => 4,
        other => other.size(),
    }
}

/// A slice of bytes as elements; an empty buffer may be dangling and misaligned.
pub(crate) fn cast<T: bytemuck::Pod>(bytes: &[u8]) -> &[T] {
    if bytes.is_empty() { &[] } else { bytemuck::cast_slice(bytes) }
}

/// [`cast`] of bytes that are written.
pub(crate) fn cast_mut<T: bytemuck::Pod>(bytes: &mut [u8]) -> &mut [T] {
    if bytes.is_empty() { &mut [] } else { bytemuck::cast_slice_mut(bytes) }
}
