//! What the law does not say: known answers, kinds of errors, hostile inputs, rules against central differences, files,
//! layers, training, and what a loop over fixed patterns finds again.
//!
//! `matmul_reduce`, `gradients` and `io::safetensors` run on the device in `SPARSE_TEST_DEVICE`, the others on the CPU.
#![allow(deprecated)] // NdArray is, and is tested all the same.

mod answers;
mod api;
mod data;
#[path = "../common/device.rs"]
mod device;
mod draw;
mod gradients;
mod io;
mod matmul_reduce;
mod nn;
mod panics;
mod printing;
mod raw_graphs;
mod steps;
mod training;
