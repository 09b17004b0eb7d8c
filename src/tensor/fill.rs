//! The value of every element that is not stored.

use crate::tensor::{Exact, Kind};
use burn::tensor::{Bool, DType, Device, Float, Scalar, Shape, Tensor};
use half::{bf16, f16};
use sparse_burn::{BinaryOp, read_data};
use std::any::TypeId;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// What the *unspecified* elements of a sparse tensor are.
#[derive(Clone, Debug, Default)]
pub enum Fill<K: Kind = Float> {
    /// Zero (false for Bool): what PyTorch, SciPy and Paddle mean.
    #[default]
    Zero,
    /// Not defined: a missing edge stays missing. Such a tensor has no dense equivalent.
    Undefined,
    /// A value of your own.
    Value(FillValue<K>),
}

/// The value of a [`Fill::Value`].
#[derive(Clone, Debug)]
pub enum FillValue<K: Kind = Float> {
    /// One number, kept on the host: no kernel reads the device for it.
    Scalar(Scalar),
    /// The elements of a block of the dense dims (one element where there are none), on the device.
    Block(FillBlock<K>),
}

/// A fill that is a tensor: one row `[1, block]`, on the tape when tracked.
///
/// Its numbers, once they were read, are known to every copy of it.
#[derive(Clone, Debug)]
pub struct FillBlock<K: Kind = Float> {
    row: Tensor<2, K>,
    numbers: Arc<OnceLock<Vec<f64>>>,
}

impl<K: Kind> FillBlock<K> {
    /// The row.
    pub fn row(&self) -> &Tensor<2, K> {
        &self.row
    }

    /// The same numbers in another tensor: on another device, or off the tape.
    fn with_row(&self, row: Tensor<2, K>) -> Self {
        Self { row, numbers: self.numbers.clone() }
    }

    /// The elements on the host. Reads the device the first time.
    fn numbers(&self) -> &[f64] {
        self.numbers.get_or_init(|| read_data(self.row.clone().inner()).convert::<f64>().iter().collect())
    }
}

impl<K: Kind> From<Tensor<2, K>> for FillBlock<K> {
    fn from(row: Tensor<2, K>) -> Self {
        Self { row, numbers: Arc::default() }
    }
}

impl<K: Kind> Fill<K> {
    /// A fill of one number.
    pub fn scalar(value: impl Into<Scalar>) -> Self {
        Self::Value(FillValue::Scalar(value.into()))
    }

    /// A fill held by a tensor, on the tape when it is tracked: `[1]` for one number, or the shape of the dense dims.
    pub fn tensor<const D: usize>(value: Tensor<D, K>) -> Self {
        let block = value.shape().num_elements();
        Self::block(value.reshape(Exact([1, block])))
    }

    /// A fill of a row `[1, block]`.
    pub(crate) fn block(row: Tensor<2, K>) -> Self {
        Self::Value(FillValue::Block(row.into()))
    }

    /// The fill of a result that leaves `full` nothing unspecified: off the tape then, since a slope that is not finite
    /// there must not meet a gradient of zero.
    pub(crate) fn counting(self, full: bool) -> Self {
        match self {
            Self::Value(FillValue::Block(block)) if full => {
                Self::Value(FillValue::Block(block.with_row(block.row.clone().inner())))
            }
            fill => fill,
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

    /// The fill as a row `[1, block]` (zeros where it is undefined: whoever reads that row must not count it).
    pub(crate) fn row(&self, block: usize, dtype: DType, device: &Device) -> Tensor<2, K> {
        match self {
            Self::Zero | Self::Undefined => Tensor::zeros([1, block], (device, dtype)),
            Self::Value(FillValue::Scalar(value)) => match *value {
                Scalar::Float(value) => Tensor::full([1, block], value, (device, dtype)),
                Scalar::Int(value) => Tensor::full([1, block], value, (device, dtype)),
                Scalar::UInt(value) => Tensor::full([1, block], value, (device, dtype)),
                Scalar::Bool(value) => Tensor::full([1, block], value, (device, dtype)),
            },
            Self::Value(FillValue::Block(own)) if own.row.dims()[1] == block => own.row.clone(),
            Self::Value(FillValue::Block(own)) => own.row.clone().expand(Shape::from([1, block])),
        }
    }

    /// The fill with another row, where it has a value.
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
        match self {
            Self::Value(FillValue::Block(block)) => {
                Self::Value(FillValue::Block(block.with_row(block.row.clone().to_device(device))))
            }
            other => other.clone(),
        }
    }

    /// Whether two fills are the same. The numbers of a block are read from the device the first time, unless both are
    /// one block.
    pub(crate) fn same(&self, other: &Self, dtype: DType) -> bool {
        if let (Self::Value(FillValue::Block(a)), Self::Value(FillValue::Block(b))) = (self, other)
            && Arc::ptr_eq(&a.numbers, &b.numbers)
        {
            return true;
        }
        let numbers = |fill: &Self| match fill {
            Self::Undefined => vec![],
            Self::Value(FillValue::Block(block)) => block.numbers().to_vec(),
            fill => fill.host().map(|value| element(value, dtype)).into_iter().collect(),
        };
        let (a, b) = (numbers(self), numbers(other));
        if a.is_empty() || b.is_empty() {
            return self.is_undefined() == other.is_undefined();
        }
        // One number stands for a block of it.
        (0..a.len().max(b.len())).all(|k| equal(a[k % a.len()], b[k % b.len()]))
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
    /// The fill cut off the tape.
    pub(crate) fn detach(self) -> Self {
        match self {
            Self::Value(FillValue::Block(block)) => {
                Self::Value(FillValue::Block(block.with_row(block.row.clone().detach())))
            }
            other => other,
        }
    }
}

/// How two numbers of the host compare, as two elements of `dtype` would (`None`: NaN).
pub(crate) fn host_order(a: Scalar, b: Scalar, dtype: DType) -> Option<std::cmp::Ordering> {
    if dtype.is_float() {
        element(a, dtype).partial_cmp(&element(b, dtype))
    } else {
        Some(scalar_i64(a).cmp(&scalar_i64(b)))
    }
}

/// A number of the host as an f64, rounded as an element of a float `dtype` is.
pub(crate) fn host_float(value: Scalar, dtype: DType) -> f64 {
    element(value, dtype)
}

/// `op` of two numbers of the host, as it would be of two elements of `dtype`.
pub(crate) fn host_apply(op: BinaryOp, a: Scalar, b: Scalar, dtype: DType) -> Scalar {
    if dtype.is_float() {
        let (a, b) = (element(a, dtype), element(b, dtype));
        // Twice the precision and more: rounding its result is rounding the exact one.
        let exact = match op {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::Div => a / b,
        };
        return Scalar::Float(element(Scalar::Float(exact), dtype));
    }
    let (a, b) = (scalar_i64(a), scalar_i64(b));
    let wide = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => a.checked_div(b).unwrap_or(0),
    };
    Scalar::Int(match dtype {
        DType::I32 => i64::from(wide as i32),
        DType::U8 => i64::from(wide as u8),
        _ => wide,
    })
}

/// A number of the host as an element of `dtype`.
fn element(value: Scalar, dtype: DType) -> f64 {
    let value = scalar_f64(value);
    match dtype {
        DType::F16 => f16::from_f64(value).to_f64(),
        DType::BF16 => bf16::from_f64(value).to_f64(),
        DType::F32 => f64::from(value as f32),
        _ => value,
    }
}

fn scalar_i64(value: Scalar) -> i64 {
    match value {
        Scalar::Float(value) => value as i64,
        Scalar::Int(value) => value,
        Scalar::UInt(value) => value as i64,
        Scalar::Bool(value) => i64::from(value),
    }
}

fn equal(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

fn scalar_f64(value: Scalar) -> f64 {
    match value {
        Scalar::Float(value) => value,
        Scalar::Int(value) => value as f64,
        Scalar::UInt(value) => value as f64,
        Scalar::Bool(value) => f64::from(u8::from(value)),
    }
}

impl<K: Kind> fmt::Display for Fill<K> {
    /// `0` (`false` for Bool), `undefined`, or the value: one number, or a list of the dense dims' elements. Reads the device
    /// for a block.
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
            Self::Value(FillValue::Block(block)) => {
                let data = read_data(block.row.clone().inner());
                let shown: Vec<String> = match data.dtype() {
                    DType::F64 => data.iter::<f64>().map(|value| value.to_string()).collect(),
                    dtype if dtype.is_float() => data.iter::<f32>().map(|value| value.to_string()).collect(),
                    dtype if dtype.is_bool() => data.iter::<bool>().map(|value| value.to_string()).collect(),
                    _ => data.iter::<i64>().map(|value| value.to_string()).collect(),
                };
                if let [one] = &shown[..] { f.write_str(one) } else { write!(f, "[{}]", shown.join(", ")) }
            }
        }
    }
}
