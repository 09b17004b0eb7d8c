//! Flex. Its storage is host memory, so the default bodies use it directly.

use crate::any::AnyTensor;
use crate::backend::SparseBackend;
use crate::host_tensor::{HostAccess, HostTensor};
use burn::backend::Flex;
use burn::tensor::TensorData;
use burn_flex::{FlexDevice, FlexTensor};
use std::convert::identity;

impl SparseBackend for Flex {}

impl HostAccess for Flex {
    fn to_host(tensor: AnyTensor<Self>) -> HostTensor {
        crate::memory::register();
        let (AnyTensor::Float(tensor) | AnyTensor::Int(tensor) | AnyTensor::Bool(tensor)) = tensor;
        HostTensor::Flex(if tensor.is_contiguous() { tensor } else { tensor.to_contiguous() })
    }

    fn to_device(data: TensorData, _device: &FlexDevice) -> AnyTensor<Self> {
        AnyTensor::of_dtype(data.dtype(), FlexTensor::from_data(data), identity, identity, identity)
    }
}
