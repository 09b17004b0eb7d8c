//! The device under test.
#![allow(dead_code)] // Each test binary uses its part.
#![allow(deprecated)] // NdArray is, and is tested all the same.

use burn::tensor::Device;

/// The CPU backends of the build: Flex, and NdArray with its feature.
pub fn cpus() -> Vec<Device> {
    [
        Device::flex(),
        #[cfg(feature = "ndarray")]
        Device::ndarray(),
    ]
    .into()
}

/// Name of the device under test: `SPARSE_TEST_DEVICE`, or flex.
pub fn name() -> String {
    std::env::var("SPARSE_TEST_DEVICE").unwrap_or_else(|_| "flex".into())
}

/// The device by name. A test never falls back to another one.
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
        #[cfg(feature = "remote")]
        "remote" => remote(),
        other => panic!("the device {other} is not in this build: add --workspace --features {other}"),
    }
}

/// Flex on a server in a thread of this process. All callers share it.
#[cfg(feature = "remote")]
pub fn remote() -> Device {
    use sparse_tensor::remote::{WebSocketTransport, connect, server};
    static URL: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        std::thread::spawn(|| server([Device::flex()]).serve(WebSocketTransport::from_listener(listener)));
        url
    });
    connect(&URL).unwrap()
}

/// Whether f64 is complete on a device: GPUs may store and add it, but SPIR-V has no exponentials or sines of it.
pub fn has_f64(device: &Device) -> bool {
    #[cfg(feature = "remote")]
    if !sparse_tensor::extend::is_gpu(device) {
        return true;
    }
    cpus().contains(&device.clone().inner())
}
