//! Reading tensors to the host.

use burn::tensor::kind::Basic;
use burn::tensor::{Device, Tensor, TensorData};

/// Whether a device is a GPU. A read waits for all its work, and `device_reads` counts it.
pub fn is_gpu(device: &Device) -> bool {
    #[cfg(feature = "gpu")]
    return matches!(device.clone().inner().as_dispatch(), burn::backend::DispatchDevice::Cube(_));
    #[cfg(not(feature = "gpu"))]
    {
        let _ = device;
        false
    }
}

/// The elements of a tensor, on the host. All reads that start from a user's tensor go through this function.
pub fn read_data<const D: usize, K: Basic + 'static>(tensor: Tensor<D, K>) -> TensorData {
    #[cfg(feature = "gpu")]
    if is_gpu(&tensor.device()) {
        let (shape, dtype) = (tensor.shape(), tensor.dtype());
        let data = async { tensor.into_data_async().await.expect("a tensor can be read from its device") };
        return crate::replay::read(shape, dtype, data);
    }
    tensor.into_data()
}
