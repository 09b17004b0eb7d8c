//! What is promised of a GPU: its kernels agree with the CPU on sizes that reach every launch strategy, every run gives
//! the same bits, and a training step reads nothing back. Runs on the software Vulkan device of CI, or on the device in
//! `SPARSE_TEST_DEVICE`.
//!
//! `SPARSE_TEST_DEVICE=wgpu cargo test --workspace --features wgpu --test gpu`
#![cfg(any(feature = "wgpu", feature = "cuda"))]

// The training loop of the example, unchanged.
#[allow(dead_code)]
#[path = "../../examples/gcn/args.rs"]
mod args;
mod asynchronous;
mod cells;
mod common;
mod forced;
#[allow(dead_code)]
#[path = "../../examples/gcn/model.rs"]
mod model;
#[path = "../../examples/shared/numbers.rs"]
mod numbers;
mod processes;
mod put;
mod reads;
mod rows;
mod sampled;
mod softmax;
mod solves;
mod sorting;
mod spgemm;
mod structure;
mod sums;
#[allow(dead_code)]
#[path = "../../examples/gcn/train.rs"]
mod train;
mod training;
