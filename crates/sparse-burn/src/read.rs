//! What reaches the host.

use burn::tensor::kind::Basic;
use burn::tensor::{Device, Tensor, TensorData};

/// Whether a device is a GPU: reading it waits for all its work and is counted, see `device_reads`.
pub fn is_gpu(device: &Device) -> bool {
    #[cfg(feature = "gpu")]
    return matches!(device.clone().inner().as_dispatch(), burn::backend::DispatchDevice::Cube(_));
    #[cfg(not(feature = "gpu"))]
    {
        let _ = device;
        false
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
