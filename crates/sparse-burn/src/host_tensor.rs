//! Tensors seen from the host, and how a backend gets them there.

use crate::any::AnyTensor;
use crate::bytes::{cast, size_of};
use burn::backend::Backend;
use burn::tensor::{Bytes, DType, Shape, TensorData, read_sync};

/// A contiguous tensor in host memory: borrowed from the backend where it lives there, else read.
#[derive(Debug)]
pub enum HostTensor {
    /// Read from the device.
    Data(TensorData),
    /// Storage of a Flex tensor, shared and not copied.
    #[cfg(feature = "flex")]
    Flex(burn_flex::FlexTensor),
}

impl HostTensor {
    /// Element type.
    pub fn dtype(&self) -> DType {
        match self {
            Self::Data(data) => data.dtype(),
            #[cfg(feature = "flex")]
            Self::Flex(tensor) => tensor.dtype(),
        }
    }

    /// Shape.
    pub fn dims(&self) -> Vec<usize> {
        match self {
            Self::Data(data) => data.shape().to_vec(),
            #[cfg(feature = "flex")]
            Self::Flex(tensor) => tensor.layout().shape().to_vec(),
        }
    }

    /// The elements' bytes, row-major.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Data(data) => data.as_bytes(),
            #[cfg(feature = "flex")]
            Self::Flex(tensor) => {
                if tensor.layout().num_elements() == 0 {
                    // An empty view may start beyond the end of its buffer.
                    return &[];
                }
                let size = size_of(tensor.dtype());
                let (start, end) = tensor.layout().contiguous_offsets().expect("made contiguous when read");
                &tensor.bytes()[start * size..end * size]
            }
        }
    }

    /// The elements, row-major. `T` must have the size of the dtype's storage.
    pub fn slice<T: bytemuck::Pod>(&self) -> &[T] {
        cast(self.bytes())
    }

    /// Whether another tensor holds the same memory, so that [`into_bytes`](Self::into_bytes) would copy it.
    pub fn is_shared(&self) -> bool {
        match self {
            Self::Data(_) => false,
            #[cfg(feature = "flex")]
            Self::Flex(tensor) => !tensor.is_unique(),
        }
    }

    /// The elements as owned memory: without a copy where the buffer is not shared.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Data(data) => data.into_bytes(),
            #[cfg(feature = "flex")]
            Self::Flex(tensor) => tensor.into_data().into_bytes(),
        }
    }
}

/// Elements with their shape and dtype, ready to be written to a device.
pub(crate) fn host_data<T: bytemuck::Pod + Send + Sync>(
    elements: Vec<T>,
    shape: impl Into<Shape>,
    dtype: DType,
) -> TensorData {
    TensorData::from_bytes(Bytes::from_elems(elements), shape, dtype)
}

/// How tensors of a backend reach the host and come back. The default bodies work on any backend.
pub trait HostAccess: Backend {
    /// The tensor as contiguous host memory. Waits for the device.
    fn to_host(tensor: AnyTensor<Self>) -> HostTensor {
        read(tensor)
    }

    /// A tensor on `device` that holds `data`, of the kind that its dtype says.
    fn to_device(data: TensorData, device: &Self::Device) -> AnyTensor<Self> {
        AnyTensor::of_dtype(
            data.dtype(),
            data,
            |data| Self::float_from_data(data, device),
            |data| Self::int_from_data(data, device),
            |data| Self::bool_from_data(data, device),
        )
    }
}

/// Reads a tensor from its device.
pub(crate) fn read<B: Backend>(tensor: AnyTensor<B>) -> HostTensor {
    let data = match tensor {
        AnyTensor::Float(tensor) => read_sync(B::float_into_data(tensor)),
        AnyTensor::Int(tensor) => read_sync(B::int_into_data(tensor)),
        AnyTensor::Bool(tensor) => read_sync(B::bool_into_data(tensor)),
    };
    HostTensor::Data(data.expect("a tensor can be read from its device"))
}

// The dispatch itself is a backend, and extension traits are implemented for it.
impl HostAccess for burn::backend::Dispatch {}
