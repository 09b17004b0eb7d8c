//! Large results: in memory that is used again, and on huge pages.
//!
//! A fresh large buffer costs a page fault for every 4 KiB that is touched. This can take longer than writing it. So
//! the memory of a result goes back to the pool of `sparse-core` when Burn drops its last tensor. For new memory we
//! advise the system to use huge pages, as NumPy does for its arrays.

use burn::tensor::{Bytes, TensorData};
use burn_std::{AccessError, AccessPolicy, AllocationController, AllocationProperty};
use bytemuck::{Pod, Zeroable};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
#[cfg(feature = "flex")]
use std::sync::Once;

/// The size of a huge page.
#[cfg(target_os = "linux")]
const HUGE: usize = 2 << 20;

/// Tells `sparse-core` how to advise huge pages for large outputs. Cheap after the first call.
#[cfg(feature = "flex")]
pub(crate) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(target_os = "linux")]
        sparse_core::set_large_alloc_hook(advise);
    });
}

#[cfg(target_os = "linux")]
fn advise(address: *mut u8, bytes: usize) {
    const PAGE: usize = 4096;
    let start = (address as usize).next_multiple_of(PAGE);
    let end = (address as usize + bytes) / PAGE * PAGE;
    if start < end {
        // SAFETY: the range is inside one allocation of this process. The advice does not change its contents. If the
        // call fails, nothing changes.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}

/// The elements as the storage of a tensor. A large one is recycled when dropped.
pub(crate) fn bytes<T: Pod + Send + Sync>(list: Vec<T>) -> Bytes {
    const LARGE: usize = 128 << 10;
    let len = size_of_val(&list[..]);
    if len < LARGE {
        return Bytes::from_elems(list);
    }
    // SAFETY: the list has `len` initialized bytes.
    unsafe { Bytes::from_controller(Box::new(Recycled(list)), len) }
}

/// A cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

// SAFETY: it has no padding, and every pattern of bits is a valid one.
unsafe impl Zeroable for Line {}
// SAFETY: as above.
unsafe impl Pod for Line {}

/// A copy that starts on a cache line, in huge pages if it is large.
pub fn aligned(data: TensorData) -> TensorData {
    let (from, len) = (data.as_bytes(), data.as_bytes().len());
    let mut lines = Vec::with_capacity(len.div_ceil(size_of::<Line>()));
    #[cfg(target_os = "linux")]
    if len >= HUGE {
        advise(lines.as_mut_ptr() as *mut u8, lines.capacity() * size_of::<Line>());
    }
    let (whole, rest) = from.as_chunks::<64>();
    lines.extend(whole.iter().map(|line| Line(*line)));
    if !rest.is_empty() {
        let mut last = [0; 64];
        last[..rest.len()].copy_from_slice(rest);
        lines.push(Line(last));
    }
    // SAFETY: the lines have `len` initialized bytes.
    let bytes = unsafe { Bytes::from_controller(Box::new(Recycled(lines)), len) };
    TensorData::from_bytes(bytes, data.shape().clone(), data.dtype())
}

/// Memory of Rust's allocator that goes to the pool when dropped, if it is of words that the pool has. Lines are freed.
struct Recycled<T: Pod>(Vec<T>);

impl<T: Pod> AllocationController for Recycled<T> {
    fn alloc_align(&self) -> usize {
        align_of::<T>()
    }

    fn property(&self) -> AllocationProperty {
        AllocationProperty::Native
    }

    unsafe fn memory_mut(&mut self, _policy: AccessPolicy) -> Result<&mut [MaybeUninit<u8>], AccessError> {
        let (start, bytes) = (self.0.as_mut_ptr().cast(), self.capacity());
        // SAFETY: the vector owns its capacity. The caller writes initialized bytes only, and every pattern of bits is
        // a valid `T`.
        Ok(unsafe { core::slice::from_raw_parts_mut(start, bytes) })
    }

    fn memory(&self, _policy: AccessPolicy) -> Result<&[MaybeUninit<u8>], AccessError> {
        // SAFETY: the vector owns its capacity.
        Ok(unsafe { core::slice::from_raw_parts(self.0.as_ptr().cast(), self.capacity()) })
    }

    fn capacity(&self) -> usize {
        self.0.capacity() * size_of::<T>()
    }

    /// The memory leaves the pool: the caller makes a `Vec` of it.
    fn try_detach(&mut self) -> Option<NonNull<u8>> {
        let mut list = core::mem::ManuallyDrop::new(core::mem::take(&mut self.0));
        NonNull::new(list.as_mut_ptr().cast())
    }
}

impl<T: Pod> Drop for Recycled<T> {
    fn drop(&mut self) {
        sparse_core::recycle(core::mem::take(&mut self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::{aligned, bytes};
    use burn::tensor::TensorData;

    /// Of odd lengths too; `into_vec` copies, for a `Vec` of another alignment could not be freed.
    #[test]
    fn aligned_copies_start_on_a_cache_line_and_are_written_and_read() {
        for len in [0, 1, 15, 16, 17, 1000, 600_001] {
            let list: Vec<f32> = (0..len).map(|k| k as f32).collect();
            let mut data = aligned(TensorData::new(list.clone(), [len]));
            assert_eq!(data.as_bytes().as_ptr() as usize % 64, 0);
            assert_eq!(data.as_bytes(), bytemuck::cast_slice::<f32, u8>(&list));
            if let Some(first) = data.as_mut_slice::<f32>().unwrap().first_mut() {
                *first = 7.0;
            }
            let back = data.try_into_vec::<f32>().unwrap();
            assert_eq!((back.len(), back.first().copied().unwrap_or(7.0)), (len, 7.0));
        }
    }

    /// Every way in which Burn reaches the storage of a result. Miri runs it too.
    #[test]
    fn storage_is_read_written_taken_grown_and_dropped() {
        const LEN: usize = 40_000;
        let list: Vec<u32> = (0..LEN as u32).collect();
        let mut storage = bytes(list.clone());
        assert_eq!(storage[4..8], 1u32.to_ne_bytes());
        storage[..4].copy_from_slice(&7u32.to_ne_bytes());
        let copy = storage.clone();
        assert_eq!(copy, storage);
        let taken = storage.try_into_vec::<u32>().expect("the elements that it was made of");
        assert_eq!((taken.len(), taken[0], taken[LEN - 1]), (LEN, 7, LEN as u32 - 1));
        // Dropped: the next block of this size is this one, for elements of another type too.
        drop((bytes(list), copy));
        let used = sparse_core::unwritten::<f32>(LEN);
        let mut grown = bytes(used);
        grown.extend_from_byte_slice(&[1; 8]);
        assert_eq!((grown.len(), grown[4 * LEN]), (4 * LEN + 8, 1));
    }
}
