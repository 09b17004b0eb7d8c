//! `grow` of `tests/fuzz/targets.rs`.
#![no_main]

#[path = "../../tests/fuzz/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    targets::grow(bytes);
});
