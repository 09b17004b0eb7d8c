//! Every rule against central differences in f64, on both CPU backends, with and without gradient checkpointing.
//!
//! With `SPARSE_TEST_DEVICE` set to a GPU: every rule there, in f32, against Flex in f64.
#![allow(deprecated)] // NdArray is, and is tested all the same.

#[path = "gradients/arithmetic.rs"]
mod arithmetic;
#[path = "gradients/dense.rs"]
mod dense;
#[path = "common/device.rs"]
mod device;
#[path = "common/draw.rs"]
mod draw;
#[path = "gradients/functions.rs"]
mod functions;
#[path = "gradients/graph.rs"]
mod graph;
#[path = "gradients/patterns.rs"]
mod patterns;
#[path = "gradients/reductions.rs"]
mod reductions;
#[path = "gradients/selection.rs"]
mod selection;
#[path = "gradients/structure.rs"]
mod structure;

use burn::tensor::{DType, Device, Tensor, TensorData};
use proptest::test_runner::{Config, TestCaseError};
use sparse_autograd::{Gradcheck, Var};

/// Autodiff devices under test.
pub fn devices() -> Vec<Device> {
    let plain = [Device::flex(), Device::ndarray()];
    plain
        .into_iter()
        .flat_map(|device| [device.clone().autodiff(), device.autodiff().gradient_checkpointing()])
        .collect()
}

/// Random cases for each property: 256 (`PROPTEST_CASES` asks for more), and committed regressions.
pub fn config() -> Config {
    Config { source_file: Some(file!()), ..Config::default() }
}

/// Checks `f` on one of the devices, chosen by `pick`.
pub fn check<const D: usize>(
    pick: usize,
    inputs: &[TensorData],
    f: impl Fn(&[Var]) -> Tensor<D>,
) -> Result<(), TestCaseError> {
    let devices = devices();
    let device = &devices[pick % devices.len()];
    let name = device::name();
    let checked = if ["flex", "ndarray"].contains(&name.as_str()) {
        Gradcheck { eps: 1e-5, tolerance: 1e-6 }.run(device, inputs, f)
    } else {
        let plain = device::named(&name).autodiff();
        let gpu = if pick.is_multiple_of(2) { plain } else { plain.gradient_checkpointing() };
        Gradcheck { eps: 0.0, tolerance: 2e-3 }.agree(&devices[pick % 2], &gpu, DType::F32, inputs, f)
    };
    checked.map(|_| ()).map_err(|trouble| TestCaseError::fail(format!("{trouble} on {device:?}")))
}
