//! Memory for large outputs.
//!
//! Writing to a fresh large `Vec` causes a page fault for every 4 KiB: ten times the cost of the write itself. Huge
//! pages avoid most page faults. The system call needs `unsafe`, which this crate forbids. So the crate calls a hook
//! that a higher crate may register.

use std::sync::OnceLock;

/// Allocations of at least this many bytes are reported to the hook. It is the size of a huge page on x86-64, so most
/// of these allocations contain a whole one.
const LARGE: usize = 2 << 20;

static HOOK: OnceLock<fn(*mut u8, usize)> = OnceLock::new();

/// Registers a function that receives the address and the length in bytes of each large output before it is written.
///
/// The function should pass a hint to the operating system, such as `madvise(MADV_HUGEPAGE)` for the pages inside the
/// range. It must not read or write the memory. Only the first registration in a process takes effect; the return value
/// tells whether it was this one.
pub fn set_large_alloc_hook(hook: fn(*mut u8, usize)) -> bool {
    HOOK.set(hook).is_ok()
}

/// A vector of `len` zeros. The operating system maps the pages of a large one on the first write, for the thread that
/// writes.
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
