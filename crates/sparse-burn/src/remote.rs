//! Devices of another machine, by Burn Remote.

pub use crate::backends::remote::server::registry;
pub use crate::backends::remote::with_default_bodies;
pub use burn::server::RemoteServer;

use burn::backend::DispatchDevice;
use burn::tensor::Device;

/// A server that runs the kernels on `devices`, all of one backend: Flex, NdArray or CubeCL.
///
/// Others have no sparse kernels. Burn says so when the server starts.
pub fn server(devices: impl IntoIterator<Item = Device>) -> RemoteServer {
    let devices: Vec<Device> = devices.into_iter().collect();
    let server = RemoteServer::new(devices.clone());
    match devices.first().map(|device| device.clone().inner()).as_ref().map(Device::as_dispatch) {
        #[cfg(feature = "flex")]
        Some(DispatchDevice::Flex(_)) => server.with_custom_ops(registry::<burn::backend::Flex>()),
        #[cfg(feature = "ndarray")]
        Some(DispatchDevice::NdArray(_)) => server.with_custom_ops(registry::<burn::backend::NdArray>()),
        #[cfg(feature = "gpu")]
        Some(DispatchDevice::Cube(_)) => server.with_custom_ops(registry::<burn::backend::Cube>()),
        _ => server,
    }
}

/// Checks that a device is remote, and that its server has the kernels of this program.
pub fn check(device: &Device) -> Result<(), String> {
    match device.clone().inner().as_dispatch() {
        DispatchDevice::Remote(device) => crate::backends::remote::ask(device).map(|_| ()),
        other => Err(format!("the device must be one of a server, got {other:?}")),
    }
}
