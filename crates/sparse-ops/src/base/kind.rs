//! The kinds of elements.

pub use sparse_burn::Kind;
pub(crate) use sparse_burn::of_kind;

use burn::tensor::{Bool, DType, Device, FloatDType, Tensor, kind};
use sparse_autograd::{Erased, record};

/// Kinds with arithmetic: Float and Int.
pub trait Numeric: Kind + kind::Numeric + kind::Ordered {}
impl<K: Kind + kind::Numeric + kind::Ordered> Numeric for K {}

/// The tensor as a float tensor, if it is one. Backward rules are only recorded for floats.
pub(crate) fn as_float<const D: usize, K: Kind>(tensor: &Tensor<D, K>) -> Option<Tensor<D>> {
    tensor.dtype().is_float().then(|| Tensor::from_dispatch(tensor.clone().into_dispatch()))
}

/// Whether the tensor takes part in a recorded graph.
pub(crate) fn is_tracked<const D: usize, K: Kind>(tensor: &Tensor<D, K>) -> bool {
    as_float(tensor).is_some_and(|tensor| tensor.is_tracked())
}

/// The tensor in the kind of the caller, which is known to be Float.
pub(crate) fn from_float<const D: usize, K: Kind>(tensor: Tensor<D>) -> Tensor<D, K> {
    Tensor::from_dispatch(tensor.into_dispatch())
}

/// Whether each element is not zero (of Bool: is true). NaN is not zero.
pub(crate) fn nonzero<const D: usize, K: Kind>(tensor: Tensor<D, K>) -> Tensor<D, Bool> {
    let dtype = tensor.dtype();
    if dtype.is_bool() {
        return Tensor::from_dispatch(tensor.into_dispatch());
    }
    // Some GPUs store 16-bit floats but do not compare them.
    if is_16_bit(dtype)
        && !tensor.device().inner().supports_dtype(dtype)
        && let Some(narrow) = as_float(&tensor)
    {
        return narrow.cast(FloatDType::F32).not_equal_scalar(0);
    }
    tensor.not_equal_scalar(0)
}

/// Whether this is a float of 16 bits.
pub(crate) fn is_16_bit(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// Name of a dtype as the library's messages and conformance cases spell it.
pub fn dtype_name(dtype: DType) -> String {
    match dtype {
        DType::Bool(_) => "bool".into(),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// Gives an untracked result the autodiff association of `device`, if that has one. It stays untracked.
pub fn associate<const D: usize>(tensor: Tensor<D>, device: &Device) -> Tensor<D> {
    if !device.is_autodiff() {
        return tensor;
    }
    let untracked = Tensor::<1>::zeros([1], device);
    record(tensor, [Erased::from(untracked)], (), |(), _, _| [None])
}
