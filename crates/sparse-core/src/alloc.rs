//! Where large outputs get their memory.
//!
//! A fresh large `Vec` costs a page fault for every 4 KiB touched: ten times the cost of writing it. Advising the
//! kernel to use huge pages removes nearly all of them, but the system call is foreign code. This crate forbids
//! `unsafe`, so it calls a hook that a crate above may register.

use std::sync::OnceLock;

/// Allocations from this many bytes on are announced to the hook: a huge page of x86-64, so most of them hold one.
const LARGE: usize = 2 << 20;

static HOOK: OnceLock<fn(*mut u8, usize)> = OnceLock::new();

/// Registers a function that is told address and length in bytes of each large output before it is written.
///
/// It is meant to pass a hint to the operating system, such as `madvise(MADV_HUGEPAGE)` over the pages inside the
/// range; it must not read or write the memory. The first registration of a process stays; the result says
/// whether this one was it.
pub fn set_large_alloc_hook(hook: fn(*mut u8, usize)) -> bool {
    HOOK.set(hook).is_ok()
}

/// A vector of `len` zeros. The pages of a large one are mapped when first written, by the thread that writes them.
pub fn zeroed<T: Copy + Default>(len: usize) -> Vec<T> {
    let mut out = vec![T::default(); len];
    announce(&mut out);
    out
}

/// A copy of a slice.
pub(crate) fn copied<T: Copy>(src: &[T]) -> Vec<T> {
    let mut out = Vec::with_capacity(src.len());
    announce(&mut out);
    out.extend_from_slice(src);
    out
}

fn announce<T>(out: &mut Vec<T>) {
    let bytes = out.capacity().saturating_mul(size_of::<T>());
    if bytes >= LARGE
        && let Some(hook) = HOOK.get()
    {
        hook(out.as_mut_ptr().cast(), bytes);
    }
}
