//! What reaches the host.

use burn::backend::DispatchDevice;
use burn::tensor::kind::Basic;
use burn::tensor::{Device, Tensor, TensorData};

/// Whether a device is a GPU: reading it waits for all its work and is counted, see `device_reads`.
pub fn is_gpu(device: &Device) -> bool {
    match device.clone().inner().as_dispatch() {
        #[cfg(feature = "gpu")]
        DispatchDevice::Cube(_) => true,
        _ => false,
    }
}

/// The elements of a tensor, on the host. All reads of the library that go over a user's tensor are this one.
pub fn read_data<const D: usize, K: Basic>(tensor: Tensor<D, K>) -> TensorData {
    #[cfg(feature = "gpu")]
    if is_gpu(&tensor.device()) {
        crate::backends::count_read();
    }
    tensor.into_data()
}
