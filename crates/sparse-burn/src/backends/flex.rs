//! Flex: its storage is host memory, so the default bodies run on it directly.

use crate::{AnyTensor, HostAccess, HostTensor, SparseBackend};
use burn::backend::Flex;
use burn::tensor::TensorData;
use burn_flex::{FlexDevice, FlexTensor};

impl SparseBackend for Flex {}

impl HostAccess for Flex {
    fn to_host(tensor: AnyTensor<Self>) -> HostTensor {
        crate::huge_pages::register();
        let (AnyTensor::Float(tensor) | AnyTensor::Int(tensor) | AnyTensor::Bool(tensor)) = tensor;
        HostTensor::Flex(if tensor.is_contiguous() { tensor } else { tensor.to_contiguous() })
    }

    fn to_device(data: TensorData, _device: &FlexDevice) -> AnyTensor<Self> {
        let dtype = data.dtype();
        let tensor = FlexTensor::from_data(data);
        match dtype {
            dtype if dtype.is_float() => AnyTensor::Float(tensor),
            dtype if dtype.is_bool() => AnyTensor::Bool(tensor),
            _ => AnyTensor::Int(tensor),
        }
    }
}
