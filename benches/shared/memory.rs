//! Memory of this process. Only Linux says; elsewhere all figures are 0.

// What the heap keeps of earlier work would hide what a call needs.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
unsafe extern "C" {
    safe fn malloc_trim(kept: usize) -> std::ffi::c_int;
}

/// What `run` returns, and the bytes of memory that it needs at most, beyond those in use before it.
pub(crate) fn peak_of<T>(run: impl FnOnce() -> T) -> (T, f64) {
    sparse_tensor::release_pool();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    malloc_trim(0);
    // The high-water mark starts again from what is in use.
    let known = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = bytes("/proc/self/status", "VmRSS");
    let out = run();
    let peak = bytes("/proc/self/status", "VmHWM") - before;
    (out, if known { peak.max(0.0) } else { 0.0 })
}

/// Bytes in a line of a file of the system.
pub(crate) fn bytes(file: &str, field: &str) -> f64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap_or("0 kB");
    line.trim().trim_end_matches("kB").trim().parse::<f64>().map_or(0.0, |kb| kb * 1024.0)
}

/// Writes to most of the free memory once: a virtual machine gets it from its host then, and this takes longer than
/// what the system does for a page.
#[allow(dead_code, reason = "not every benchmark times first calls")]
pub(crate) fn touch_free() {
    let free = bytes("/proc/meminfo", "MemAvailable") as usize;
    touch_huge(free.min(sparse_core::system_memory().unwrap_or(0)) / 4 * 3);
}

/// Writes once to so many bytes of new memory in small pages, then in huge ones: what was freed may have gone back to
/// the host since, whole huge pages first.
#[allow(dead_code, reason = "not every benchmark times first calls")]
pub(crate) fn touch(bytes: usize) {
    write_to_pages(vec![0; bytes]);
    touch_huge(bytes);
}

/// The same in huge pages only.
fn touch_huge(bytes: usize) {
    write_to_pages(sparse_core::zeroed(bytes));
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    malloc_trim(0);
}

fn write_to_pages(mut pages: Vec<u8>) {
    const PAGE: usize = 4096;
    pages.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    std::hint::black_box(pages);
}
