//! Tensors in host memory, and how they are read from a backend.

use crate::any::AnyTensor;
use crate::bytes::cast;
use crate::dtype::unsupported;
use crate::memory::bytes;
use burn::backend::Backend;
use burn::tensor::{BoolStore, Bytes, DType, Shape, TensorData, read_sync};
use sparse_core::dynamic::{BitVec, Bits, ElementVec, Elements, IdVec, Ids};

/// A contiguous tensor in host memory. It shares the storage of a Flex tensor, or was read from another backend.
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

    /// The bytes of the elements, row-major.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Data(data) => data.as_bytes(),
            #[cfg(feature = "flex")]
            Self::Flex(tensor) => {
                if tensor.layout().num_elements() == 0 {
                    // The start of an empty view may be beyond the end of its buffer.
                    return &[];
                }
                let size = tensor.dtype().size();
                let (start, end) = tensor.layout().contiguous_offsets().expect("made contiguous when read");
                &tensor.bytes()[start * size..end * size]
            }
        }
    }

    /// The elements, row-major, for kernels that compute with them. Bool elements are 0 and 1, as they are stored.
    pub fn elements(&self) -> Elements<'_> {
        let bytes = self.bytes();
        match self.dtype() {
            #[cfg(feature = "f16")]
            DType::F16 => Elements::F16(cast(bytes)),
            #[cfg(feature = "f16")]
            DType::BF16 => Elements::Bf16(cast(bytes)),
            DType::F32 => Elements::F32(cast(bytes)),
            DType::F64 => Elements::F64(cast(bytes)),
            DType::I32 | DType::Bool(BoolStore::U32) => Elements::I32(cast(bytes)),
            DType::I64 => Elements::I64(cast(bytes)),
            DType::U8 | DType::Bool(_) => Elements::U8(bytes),
            other => panic!("{}", unsupported(other)),
        }
    }

    /// The elements, row-major, for kernels that only move them.
    pub fn bits(&self) -> Bits<'_> {
        let bytes = self.bytes();
        match self.dtype().size() {
            1 => Bits::B8(bytes),
            2 => Bits::B16(cast(bytes)),
            4 => Bits::B32(cast(bytes)),
            8 => Bits::B64(cast(bytes)),
            other => panic!("values must have 1, 2, 4 or 8 bytes, got {other}"),
        }
    }

    /// The elements as indices.
    pub fn ids(&self) -> Ids<'_> {
        match self.dtype() {
            DType::I32 => Ids::I32(cast(self.bytes())),
            DType::I64 => Ids::I64(cast(self.bytes())),
            other => panic!("indices must be i32 or i64, got {other:?}"),
        }
    }

    /// Whether another tensor uses the same memory. If so, [`into_bytes`](Self::into_bytes) makes a copy.
    pub fn is_shared(&self) -> bool {
        match self {
            Self::Data(_) => false,
            #[cfg(feature = "flex")]
            Self::Flex(tensor) => !tensor.is_unique(),
        }
    }

    /// The elements as owned memory. Without a copy if the buffer is not shared.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Data(data) => data.into_bytes(),
            #[cfg(feature = "flex")]
            Self::Flex(tensor) => tensor.into_data().into_bytes(),
        }
    }
}

/// The output of a kernel, which becomes the data of a tensor.
pub(crate) trait Given {
    /// The data, with the dtype and the shape of the tensor.
    fn data(self, shape: impl Into<Shape>, dtype: DType) -> TensorData;
}

macro_rules! given {
    ($($name:ident: $($variant:ident)*;)*) => {$(
        impl Given for $name {
            fn data(self, shape: impl Into<Shape>, dtype: DType) -> TensorData {
                let bytes = match self { $(Self::$variant(list) => bytes(list),)* };
                TensorData::from_bytes(bytes, shape, dtype)
            }
        }
    )*};
}

given! {
    ElementVec: F16 Bf16 F32 F64 I32 I64 U8;
    BitVec: B8 B16 B32 B64;
    IdVec: I32 I64;
}

/// How tensors of a backend reach the host and come back. The default bodies work on any backend.
pub trait HostAccess: Backend {
    /// The tensor as contiguous host memory. Waits for the device.
    fn to_host(tensor: AnyTensor<Self>) -> HostTensor {
        HostTensor::Data(read_sync(data(tensor)))
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

/// The data of a tensor.
pub(crate) async fn data<B: Backend>(tensor: AnyTensor<B>) -> TensorData {
    let data = match tensor {
        AnyTensor::Float(tensor) => B::float_into_data(tensor).await,
        AnyTensor::Int(tensor) => B::int_into_data(tensor).await,
        AnyTensor::Bool(tensor) => B::bool_into_data(tensor).await,
    };
    data.expect("a tensor can be read from its device")
}

// The dispatch is a backend too, and extension traits are implemented for it.
impl HostAccess for burn::backend::Dispatch {}
