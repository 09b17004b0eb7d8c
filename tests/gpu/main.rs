//! What a GPU adds to the promises: native kernels agree with the CPU on sizes that reach every launch strategy, the same
//! bits on every run, and nothing read back by a training step. Runs on the software Vulkan device of CI, or on the device
//! in `SPARSE_TEST_DEVICE`.
//!
//! `SPARSE_TEST_DEVICE=wgpu cargo test --workspace --features wgpu --test gpu`
#![cfg(any(feature = "wgpu", feature = "cuda"))]

mod agree;
// The training loop of the example, as it stands.
#[allow(dead_code)]
#[path = "../../examples/gcn/args.rs"]
mod args;
mod data;
#[path = "../common/device.rs"]
mod device;
mod forced;
mod kernels;
#[allow(dead_code)]
#[path = "../../examples/gcn/model.rs"]
mod model;
mod patterns;
mod reads;
#[allow(dead_code)]
#[path = "../../examples/gcn/train.rs"]
mod train;
mod training;

use burn::tensor::Device;
use std::sync::Mutex;

/// Counters are of the process: tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// The GPU under test: `SPARSE_TEST_DEVICE`, or the one that wgpu finds.
fn gpu() -> Device {
    device::named(&std::env::var("SPARSE_TEST_DEVICE").unwrap_or_else(|_| "wgpu".into()))
}
