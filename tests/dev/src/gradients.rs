//! Backward rules against central differences.

use crate::device;
use burn::tensor::{DType, Device, Tensor, TensorData};
use proptest::test_runner::TestCaseError;
use sparse_autograd::{Gradcheck, Var};

/// Autodiff devices under test.
pub fn devices() -> Vec<Device> {
    device::cpus()
        .into_iter()
        .flat_map(|device| [device.clone().autodiff(), device.autodiff().gradient_checkpointing()])
        .collect()
}

/// Checks `f` on one of the devices, chosen by `pick`.
pub fn check<const D: usize>(
    pick: usize,
    inputs: &[TensorData],
    f: impl Fn(&[Var]) -> Tensor<D>,
) -> Result<(), TestCaseError> {
    let devices = devices();
    let device = &devices[pick % devices.len()];
    let asked = device::named(&device::name());
    let checked = if device::cpus().contains(&asked) {
        Gradcheck { eps: 1e-5, tolerance: 1e-6 }.run(device, inputs, f)
    } else {
        let plain = asked.autodiff();
        let gpu = if pick.is_multiple_of(2) { plain } else { plain.gradient_checkpointing() };
        Gradcheck { eps: 0.0, tolerance: 2e-3 }.agree(&devices[pick % 2], &gpu, DType::F32, inputs, f)
    };
    let report = checked.map_err(|trouble| TestCaseError::fail(format!("{trouble} on {device:?}")))?;
    let elements = inputs.iter().map(TensorData::num_elements).sum::<usize>();
    if report.compared != elements {
        return Err(TestCaseError::fail(format!("{} of {elements} elements compared", report.compared)));
    }
    Ok(())
}
