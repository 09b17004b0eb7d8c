//! File formats: those that other programs wrote, round trips, wrong files, limits.
//!
//! `io::safetensors` runs on the device in `SPARSE_TEST_DEVICE`, the others on the CPU.
#![allow(deprecated)] // NdArray is, and is tested all the same.

mod io;
