//! The device under test.
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
