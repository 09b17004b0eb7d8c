//! Bytes as elements.

/// A slice of bytes as elements. An empty buffer may be dangling and misaligned, and is not cast.
pub(crate) fn cast<T: bytemuck::Pod>(bytes: &[u8]) -> &[T] {
    if bytes.is_empty() { &[] } else { bytemuck::cast_slice(bytes) }
}

/// [`cast`] for bytes that are written to.
pub(crate) fn cast_mut<T: bytemuck::Pod>(bytes: &mut [u8]) -> &mut [T] {
    if bytes.is_empty() { &mut [] } else { bytemuck::cast_slice_mut(bytes) }
}
