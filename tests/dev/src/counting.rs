//! The system's allocator, with a count of the bytes in use.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that are in use.
pub static USED: AtomicUsize = AtomicUsize::new(0);

/// Tells how many bytes are asked for, and how many are then in use.
pub struct Counting(pub fn(usize, usize));

impl Counting {
    fn ask(&self, bytes: usize) {
        (self.0)(bytes, USED.fetch_add(bytes, Ordering::Relaxed).wrapping_add(bytes));
    }
}

// SAFETY: every call is passed on as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.ask(layout.size());
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.ask(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        self.ask(size);
        // SAFETY: as above.
        unsafe { System.realloc(old, layout, size) }
    }
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(old, layout) }
    }
}
