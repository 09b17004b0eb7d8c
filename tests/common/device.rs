//! The device under test.
#![allow(dead_code)] // Each test binary uses its part.
#![allow(deprecated)] // NdArray is, and is tested all the same.

use burn::tensor::Device;

/// Name of the device under test: `SPARSE_TEST_DEVICE`, or flex.
pub fn name() -> String {
    std::env::var("SPARSE_TEST_DEVICE").unwrap_or_else(|_| "flex".into())
}

/// The device by name.
pub fn named(name: &str) -> Device {
    match name {
        "flex" => Device::flex(),
        #[cfg(feature = "ndarray")]
        "ndarray" => Device::ndarray(),
        #[cfg(feature = "wgpu")]
        "wgpu" => Device::wgpu(Default::default()),
        #[cfg(feature = "vulkan")]
        "vulkan" => Device::vulkan(Default::default()),
        #[cfg(feature = "cuda")]
        "cuda" => Device::cuda(0),
        other => panic!("device {other} is not compiled in"),
    }
}

/// Whether f64 is complete on a device: GPUs may store and add it, but SPIR-V has no exponentials or sines of it.
pub fn has_f64(device: &Device) -> bool {
    let plain = device.clone().inner();
    plain == Device::flex() || is_ndarray(&plain)
}

#[cfg(feature = "ndarray")]
fn is_ndarray(device: &Device) -> bool {
    *device == Device::ndarray()
}

#[cfg(not(feature = "ndarray"))]
fn is_ndarray(_: &Device) -> bool {
    false
}
