//! Large results on huge pages.
//!
//! A fresh large buffer costs a page fault for every 4 KiB that is touched. This can take longer than writing it. So we
//! advise the system to use huge pages, as NumPy does for its arrays.

use std::sync::Once;

/// Tells `sparse-core` how to advise huge pages for large outputs. Cheap after the first call.
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
