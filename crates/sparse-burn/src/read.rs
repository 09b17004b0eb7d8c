//! Reading tensors to the host.

use burn::tensor::kind::Basic;
use burn::tensor::{Device, Tensor, TensorData};

#[cfg(any(feature = "flex", feature = "gpu", feature = "remote"))]
use burn::backend::DispatchDevice;

/// Whether a device is a GPU, here or on a server.
///
/// # Panics
///
/// For a remote device whose server stopped, or has other kernels. The first call for it asks the server.
pub fn is_gpu(device: &Device) -> bool {
    #[cfg(feature = "remote")]
    if let DispatchDevice::Remote(device) = device.clone().inner().as_dispatch() {
        return crate::backends::remote::is_gpu(device);
    }
    is_cube(device)
}

fn is_cube(device: &Device) -> bool {
    #[cfg(feature = "gpu")]
    return matches!(device.clone().inner().as_dispatch(), DispatchDevice::Cube(_));
    #[cfg(not(feature = "gpu"))]
    {
        let _ = device;
        false
    }
}

/// Whether threads of this library may work on tensors of a device each for itself: that of a CPU in this process,
/// outside of [`without_blocking`](crate::without_blocking), which answers reads in their order.
pub fn is_local(device: &Device) -> bool {
    !is_gpu(device) && !is_remote(device) && !crate::replay::is_running()
}

/// Whether a device is that of Flex, whose tensors are in memory of this process that kernels read in place.
pub fn is_flex(device: &Device) -> bool {
    #[cfg(feature = "flex")]
    return matches!(device.clone().inner().as_dispatch(), DispatchDevice::Flex(_));
    #[cfg(not(feature = "flex"))]
    {
        let _ = device;
        false
    }
}

/// Whether a device is one of a server.
pub fn is_remote(device: &Device) -> bool {
    #[cfg(feature = "remote")]
    return matches!(device.clone().inner().as_dispatch(), DispatchDevice::Remote(_));
    #[cfg(not(feature = "remote"))]
    {
        let _ = device;
        false
    }
}

/// The elements of a tensor, on the host. All reads that start from a user's tensor go through this function.
pub fn read_data<const D: usize, K: Basic + 'static>(tensor: Tensor<D, K>) -> TensorData {
    #[cfg(any(feature = "gpu", feature = "remote"))]
    if is_cube(&tensor.device()) || is_remote(&tensor.device()) {
        let (shape, dtype) = (tensor.shape(), tensor.dtype());
        let data = tensor.into_data_async();
        return crate::replay::read(shape, dtype, async {
            data.await.unwrap_or_else(|trouble| {
                panic!("a tensor must be readable (the server of a remote device must run), got {trouble}")
            })
        });
    }
    tensor.into_data()
}
