//! The value of every element that is not stored.

use crate::tensor::{Exact, Kind};
use burn::tensor::{DType, Device, Float, Scalar, Shape, Tensor};
use half::{bf16, f16};
use sparse_burn::BinaryOp;
use std::fmt;

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
    /// A block `[1, block]` of the dense dims' elements (one element where there are none); on the tape when tracked.
    Block(Tensor<2, K>),
}

impl<K: Kind> Fill<K> {
    /// A fill of one number.
    pub fn scalar(value: impl Into<Scalar>) -> Self {
        Self::Value(FillValue::Scalar(value.into()))
    }

    /// A fill held by a tensor, on the tape when it is tracked: `[1]` for one number, or the shape of the dense dims.
    pub fn tensor<const D: usize>(value: Tensor<D, K>) -> Self {
        let block = value.shape().num_elements();
        Self::Value(FillValue::Block(value.reshape(Exact([1, block]))))
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
            Self::Value(FillValue::Block(row)) => {
                if row.dims()[1] == block {
                    row.clone()
                } else {
                    row.clone().expand(Shape::from([1, block]))
                }
            }
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
            _ => Fill::Value(FillValue::Block(f(self.row(block, dtype, device)))),
        }
    }

    pub(crate) fn to_device(&self, device: &Device) -> Self {
        match self {
            Self::Value(FillValue::Block(row)) => Self::Value(FillValue::Block(row.clone().to_device(device))),
            other => other.clone(),
        }
    }

    /// Whether two fills are the same. Blocks are compared by value, which reads the device.
    pub(crate) fn same(&self, other: &Self, block: usize, dtype: DType, device: &Device) -> bool {
        match (self, other) {
            (Self::Undefined, Self::Undefined) => true,
            (Self::Undefined, _) | (_, Self::Undefined) => false,
            (Self::Value(FillValue::Block(_)), _) | (_, Self::Value(FillValue::Block(_))) => {
                let read = |fill: &Self| -> Vec<f64> {
                    sparse_burn::read_data(fill.row(block, dtype, device).inner()).convert::<f64>().iter().collect()
                };
                read(self).iter().zip(read(other)).all(|(&a, b)| equal(a, b))
            }
            (a, b) => match (a.host(), b.host()) {
                (Some(a), Some(b)) => equal(element(a, dtype), element(b, dtype)),
                _ => false,
            },
        }
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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("0"),
            Self::Undefined => f.write_str("undefined"),
            Self::Value(FillValue::Scalar(value)) => write!(f, "{}", scalar_f64(*value)),
            Self::Value(FillValue::Block(row)) => {
                let values: Vec<f64> = sparse_burn::read_data(row.clone().inner()).convert::<f64>().iter().collect();
                if let [one] = values[..] { write!(f, "{one}") } else { write!(f, "{values:?}") }
            }
        }
    }
}
