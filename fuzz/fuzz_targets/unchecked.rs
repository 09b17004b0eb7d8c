//! `unchecked` of `tests/fuzz/targets.rs`.
#![no_main]

#[path = "../../tests/fuzz/targets.rs"]
mod targets;

use std::sync::Once;

static QUIET: Once = Once::new();

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // libFuzzer's own hook ends the process. Here a panic is no failure; a memory error is.
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    targets::unchecked(bytes);
});
