//! The value of every element that is not stored.

use crate::base::empty::constant;
use crate::base::exact::Exact;
use crate::base::kind::{Kind, is_tracked};
use crate::base::lazy::Lazy;
use crate::base::scalar::{element, equal, integer, scalar_f64};
use burn::tensor::{Bool, DType, Device, Float, Scalar, Shape, Tensor};
use sparse_burn::read_data;
use sparse_core::{Result, SparseError};
use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

/// The value of the *unspecified* elements of a sparse tensor.
#[derive(Clone, Default)]
pub enum Fill<K: Kind = Float> {
    /// Zero (false for Bool): what PyTorch, SciPy and Paddle mean.
    #[default]
    Zero,
    /// Not defined: elements that are not stored have no value. Such a tensor has no dense equivalent.
    Undefined,
    /// A given value.
    Value(FillValue<K>),
}

/// The value of a [`Fill::Value`].
#[derive(Clone, Debug)]
pub enum FillValue<K: Kind = Float> {
    /// One number, kept on the host. No kernel reads the device for it.
    Scalar(Scalar),
    /// A block of the dense dims (one element if there are none), on the device.
    Block(FillBlock<K>),
}

/// A fill held by a tensor: one row `[1, block]`, on the tape if it is tracked.
///
/// Once its numbers have been read from the device, all copies of it know them.
#[derive(Clone)]
pub struct FillBlock<K: Kind = Float> {
    row: Tensor<2, K>,
    /// The shape of the given tensor: `[block]` for a list of elements.
    shape: Vec<usize>,
    numbers: Arc<Lazy<Vec<Scalar>>>,
}

impl<K: Kind> FillBlock<K> {
    /// The row.
    pub fn row(&self) -> &Tensor<2, K> {
        &self.row
    }

    /// The same numbers in another tensor, which is on another device or off the tape.
    fn with_row(&self, row: Tensor<2, K>) -> Self {
        Self { row, shape: self.shape.clone(), numbers: self.numbers.clone() }
    }

    /// The elements on the host. Reads the device the first time.
    fn numbers(&self) -> Vec<Scalar> {
        self.numbers.read(|| {
            let data = read_data(self.row.clone().inner());
            if data.dtype().is_float() {
                data.convert::<f64>().iter::<f64>().map(Scalar::Float).collect()
            } else {
                data.convert::<i64>().iter::<i64>().map(Scalar::Int).collect()
            }
        })
    }
}

impl<K: Kind> From<Tensor<2, K>> for FillBlock<K> {
    fn from(row: Tensor<2, K>) -> Self {
        let shape = vec![row.dims()[1]];
        Self { row, shape, numbers: Arc::default() }
    }
}

impl<K: Kind> Fill<K> {
    /// A fill of one number. A tensor converts it to its dtype. Integers wrap. A float that becomes an integer loses
    /// its fraction; NaN becomes 0, and a number beyond 64 bits becomes the nearest one that fits. For Bool every
    /// number but 0 is true.
    pub fn scalar(value: impl Into<Scalar>) -> Self {
        Self::Value(FillValue::Scalar(value.into()))
    }

    /// A fill held by a tensor, on the tape if it is tracked. Its shape is `[1]` for one number, or that of the dense
    /// dims, or the tensor is a list of their elements.
    pub fn tensor<const D: usize>(value: Tensor<D, K>) -> Self {
        let (shape, block) = (value.dims().to_vec(), value.shape().num_elements());
        let row = value.reshape(Exact([1, block]));
        Self::Value(FillValue::Block(FillBlock { row, shape, numbers: Arc::default() }))
    }

    /// A fill of a row `[1, block]`.
    pub(crate) fn block(row: Tensor<2, K>) -> Self {
        Self::Value(FillValue::Block(row.into()))
    }

    /// The fill for a tensor with these dense dims. A block must be one number, have the shape of the dense dims, or be
    /// a list of their elements; it is kept as such a list.
    pub(crate) fn fitted(self, op: &'static str, dense_shape: &[usize]) -> Result<Self> {
        let Self::Value(FillValue::Block(mut block)) = self else { return Ok(self) };
        let (elements, own) = (block.row.dims()[1], dense_shape.iter().product::<usize>());
        if elements != 1 && block.shape != dense_shape && block.shape != [own] {
            let rule = "the fill {left} must be one number, have the shape {right} of the dense dims, or be a list of \
                        their elements";
            return Err(SparseError::shape_mismatch(op, rule, block.shape, dense_shape));
        }
        block.shape = vec![elements];
        Ok(Self::Value(FillValue::Block(block)))
    }

    /// The fill as an element of `dtype`. A number that is zero there becomes [`Fill::Zero`]; minus zero stays a
    /// number.
    pub(crate) fn of_dtype(self, dtype: DType) -> Self {
        let Self::Value(FillValue::Scalar(value)) = self else { return self };
        let own = if dtype.is_float() {
            match element(value, dtype) {
                0.0 if element(value, dtype).is_sign_positive() => return Self::Zero,
                0.0 => Scalar::Float(-0.0),
                _ => value,
            }
        } else {
            match integer(value, dtype) {
                0 => return Self::Zero,
                _ if dtype.is_bool() => Scalar::Bool(true),
                value => Scalar::Int(value),
            }
        };
        Self::Value(FillValue::Scalar(own))
    }

    /// The fill of a result. If every element is stored (`full`), the fill is unused. Its gradient is then zero,
    /// whatever follows: an infinite slope times a zero gradient would be NaN.
    pub(crate) fn counting(self, full: bool) -> Self {
        if full { self.map_block(|row| constant(row.clone().inner(), &[&row])) } else { self }
    }

    /// `out`, on the tape as computed from the fill, whose gradient is zero. So a trained fill has a gradient even
    /// where an operation does not use it.
    pub(crate) fn without_gradient<const E: usize, K2: Kind>(&self, out: Tensor<E, K2>) -> Tensor<E, K2> {
        match self {
            Self::Value(FillValue::Block(block)) if is_tracked(&block.row) => constant(out, &[&block.row]),
            _ => out,
        }
    }

    /// The same fill with its tensor, if it is held by one, on another device or off the tape.
    pub(crate) fn map_block(&self, f: impl FnOnce(Tensor<2, K>) -> Tensor<2, K>) -> Self {
        match self {
            Self::Value(FillValue::Block(block)) => Self::Value(FillValue::Block(block.with_row(f(block.row.clone())))),
            other => other.clone(),
        }
    }

    /// Whether the fill is [`Fill::Undefined`].
    pub fn is_undefined(&self) -> bool {
        matches!(self, Self::Undefined)
    }

    /// Whether unspecified elements are known to be zero without reading the device.
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Zero => true,
            Self::Undefined => false,
            Self::Value(FillValue::Scalar(value)) => scalar_f64(*value) == 0.0,
            Self::Value(FillValue::Block(_)) => false,
        }
    }

    /// The fill as a row `[1, block]`. An undefined fill gives zeros, which the caller must not count.
    pub(crate) fn row(&self, block: usize, dtype: DType, device: &Device) -> Tensor<2, K> {
        match self {
            Self::Zero | Self::Undefined => Tensor::zeros([1, block], (device, dtype)),
            Self::Value(FillValue::Scalar(value)) => match *value {
                value if !dtype.is_float() && !dtype.is_bool() => {
                    Tensor::full([1, block], integer(value, dtype), (device, dtype))
                }
                Scalar::Float(value) => Tensor::full([1, block], value, (device, dtype)),
                Scalar::Int(value) => Tensor::full([1, block], value, (device, dtype)),
                Scalar::UInt(value) => Tensor::full([1, block], value, (device, dtype)),
                Scalar::Bool(value) => Tensor::full([1, block], value, (device, dtype)),
            },
            Self::Value(FillValue::Block(own)) if own.row.dims()[1] == block => own.row.clone(),
            Self::Value(FillValue::Block(own)) => own.row.clone().expand(Shape::from([1, block])),
        }
    }

    /// A fill of `f` of this fill's row; `Undefined` stays so.
    pub(crate) fn map_row<K2: Kind>(
        &self,
        block: usize,
        dtype: DType,
        device: &Device,
        f: impl FnOnce(Tensor<2, K>) -> Tensor<2, K2>,
    ) -> Fill<K2> {
        match self {
            Self::Undefined => Fill::Undefined,
            _ => Fill::block(f(self.row(block, dtype, device))),
        }
    }

    pub(crate) fn to_device(&self, device: &Device) -> Self {
        self.map_block(|row| row.to_device(device))
    }

    /// Whether two fills are equal. The numbers of a block are read from the device the first time, unless both are
    /// copies of one block.
    pub(crate) fn same(&self, other: &Self, dtype: DType) -> bool {
        if let (Self::Value(FillValue::Block(a)), Self::Value(FillValue::Block(b))) = (self, other)
            && Arc::ptr_eq(&a.numbers, &b.numbers)
        {
            return true;
        }
        let numbers = |fill: &Self| match fill {
            Self::Undefined => vec![],
            Self::Value(FillValue::Block(block)) => block.numbers(),
            fill => fill.host().into_iter().collect(),
        };
        let (a, b) = (numbers(self), numbers(other));
        if a.is_empty() || b.is_empty() {
            return self.is_undefined() == other.is_undefined();
        }
        // A fill of one number equals a block that repeats it.
        (0..a.len().max(b.len())).all(|k| equal(a[k % a.len()], b[k % b.len()], dtype))
    }

    /// The fill as a number of the host, where it is one.
    pub(crate) fn host(&self) -> Option<Scalar> {
        match self {
            Self::Zero => Some(Scalar::Int(0)),
            Self::Value(FillValue::Scalar(value)) => Some(*value),
            _ => None,
        }
    }
}

impl Fill {
    /// The fill as a constant. (Burn's `detach` of a leaf is another leaf.)
    pub(crate) fn detach(self) -> Self {
        self.map_block(|block| block.set_require_grad(false))
    }
}

impl<K: Kind> fmt::Display for Fill<K> {
    /// `0` (`false` for Bool), `undefined`, or the value: one number, or a list of the dense dims' elements. Reads the
    /// device for a block.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero if TypeId::of::<K>() == TypeId::of::<Bool>() => f.write_str("false"),
            Self::Zero => f.write_str("0"),
            Self::Undefined => f.write_str("undefined"),
            Self::Value(FillValue::Scalar(value)) => match value {
                Scalar::Float(value) => write!(f, "{value}"),
                Scalar::Int(value) => write!(f, "{value}"),
                Scalar::UInt(value) => write!(f, "{value}"),
                Scalar::Bool(value) => write!(f, "{value}"),
            },
            Self::Value(FillValue::Block(block)) => fmt::Debug::fmt(block, f),
        }
    }
}

impl<K: Kind> fmt::Debug for Fill<K> {
    /// The same as `Display`. Reads the device for a block.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<K: Kind> fmt::Debug for FillBlock<K> {
    /// One number, or a list of the dense dims' elements. Reads the device the first time.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dtype = self.row.dtype();
        let shown = self.numbers().into_iter().map(|number| match number {
            Scalar::Float(value) if dtype == DType::F64 => value.to_string(),
            // A float of 32 or 16 bits prints in its own precision.
            Scalar::Float(value) => (value as f32).to_string(),
            Scalar::Int(value) if dtype.is_bool() => (value != 0).to_string(),
            Scalar::Int(value) => value.to_string(),
            Scalar::UInt(value) => value.to_string(),
            Scalar::Bool(value) => value.to_string(),
        });
        let shown: Vec<String> = shown.collect();
        if let [one] = &shown[..] { f.write_str(one) } else { write!(f, "[{}]", shown.join(", ")) }
    }
}
