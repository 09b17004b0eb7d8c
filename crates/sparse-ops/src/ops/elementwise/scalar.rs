//! `+ - * /` with one number.

use crate::base::checks::same_elements;
use crate::base::exact::Exact;
use crate::base::kind::{Kind, Numeric};
use crate::base::scalar::host_apply;
use crate::pattern::layout::{Pattern, stores_all};
use crate::rows::zip::apply;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Float, Int, Scalar, Tensor};
use sparse_burn::BinaryOp;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// One number: on the host, or in a tensor `[1]` that may be tracked.
#[derive(Clone, Debug)]
pub enum ScalarArg<K: Numeric> {
    /// A number of the host.
    Host(Scalar),
    /// A tensor of one element.
    Tensor(Tensor<1, K>),
}

macro_rules! from_number {
    ($($number:ty),*) => {$(
        impl<K: Numeric> From<$number> for ScalarArg<K> {
            fn from(value: $number) -> Self {
                Self::Host(value.into())
            }
        }
    )*};
}
from_number!(f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, usize);

impl<K: Numeric> From<Tensor<1, K>> for ScalarArg<K> {
    fn from(value: Tensor<1, K>) -> Self {
        Self::Tensor(value)
    }
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    /// `self + value`, element by element, the fill included. The pattern stays. Duplicates are summed first.
    ///
    /// Backward: the gradient. A tensor `value` gets its sum over the stored elements and the fill.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if a tensor `value` has another shape than `[1]`; `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_add_scalar(&self, value: impl Into<ScalarArg<K>>) -> Result<Self> {
        self.with_scalar("add_scalar", BinaryOp::Add, value.into())
    }

    /// `self - value`, element by element, the fill included (see [`add_scalar`](Self::add_scalar)).
    ///
    /// # Errors
    ///
    /// As [`try_add_scalar`](Self::try_add_scalar).
    #[or_panic]
    pub fn try_sub_scalar(&self, value: impl Into<ScalarArg<K>>) -> Result<Self> {
        self.with_scalar("sub_scalar", BinaryOp::Sub, value.into())
    }

    /// `self * value`, element by element, the fill included.
    ///
    /// A zero fill stays zero, unless `value` is a number of the host that is not finite (`0 * inf` is NaN). A `value`
    /// in a tensor is assumed to be finite, since a check would read the device.
    ///
    /// Backward: the gradient times `value`. A tensor `value` gets the sum of the gradient times the elements.
    ///
    /// # Errors
    ///
    /// As [`try_add_scalar`](Self::try_add_scalar).
    #[or_panic]
    pub fn try_mul_scalar(&self, value: impl Into<ScalarArg<K>>) -> Result<Self> {
        self.with_scalar("mul_scalar", BinaryOp::Mul, value.into())
    }

    fn with_scalar(&self, name: &'static str, op: BinaryOp, value: ScalarArg<K>) -> Result<Self> {
        let (dtype, device) = (self.dtype(), self.device());
        let (row, host) = match value {
            ScalarArg::Host(value) => (Fill::<K>::scalar(value).row(1, dtype, &device), Some(value)),
            ScalarArg::Tensor(value) => (one_number(name, &self.values, value)?, None),
        };
        let linear = match (op, host) {
            (BinaryOp::Add | BinaryOp::Sub, _) => false,
            (BinaryOp::Mul, Some(Scalar::Float(value))) => value.is_finite(),
            (BinaryOp::Div, Some(Scalar::Float(value))) => value != 0.0 && !value.is_nan(),
            (BinaryOp::Div, Some(Scalar::Int(value))) => value != 0,
            (BinaryOp::Div, Some(Scalar::UInt(value))) => value != 0,
            _ => true,
        };
        let fill = match (&self.fill, self.fill.host(), host) {
            (Fill::Undefined, ..) => Fill::Undefined,
            (fill, _, None) if linear && fill.is_zero() => fill.clone(),
            (_, Some(fill), Some(value)) => Fill::scalar(host_apply(op, fill, value, dtype)),
            _ => {
                let full = stores_all(&self.pattern);
                let own = SparseTensor { fill: self.fill.clone().counting(full), ..self.clone() };
                let number = Fill::block(row.clone()).counting(full).row(1, dtype, &device);
                Fill::block(apply(op, own.fill_row(), number))
            }
        };
        // Duplicates may be scaled one by one, unless a single term may be infinite or NaN.
        let summed = if linear { self.clone() } else { self.coalesce() };
        Ok(summed.with_rows(apply(op, summed.values.clone(), row), fill))
    }
}

/// A number in a tensor `[1]` of the dtype and device of `values`, as a row.
pub(crate) fn one_number<K: Kind>(
    op: &'static str,
    values: &Tensor<2, K>,
    number: Tensor<1, K>,
) -> Result<Tensor<2, K>> {
    if number.dims() != [1] {
        let rule = "a number in a tensor must have shape {right}, got {left}";
        return Err(SparseError::shape_mismatch(op, rule, number.dims(), [1]));
    }
    same_elements(op, values, &number)?;
    Ok(number.reshape(Exact([1, 1])))
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Float> {
    /// `self / value`, element by element, the fill included.
    ///
    /// A zero fill stays zero, unless `value` is a number of the host that is 0 or NaN (`0 / 0` is NaN). A `value` in a
    /// tensor is assumed not to be zero, since a check would read the device.
    ///
    /// # Errors
    ///
    /// As [`try_add_scalar`](Self::try_add_scalar).
    #[or_panic]
    pub fn try_div_scalar(&self, value: impl Into<ScalarArg<Float>>) -> Result<Self> {
        self.with_scalar("div_scalar", BinaryOp::Div, value.into())
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Int> {
    /// `self / value`, element by element, as a true division in f32.
    ///
    /// # Errors
    ///
    /// As [`try_add_scalar`](Self::try_add_scalar).
    #[or_panic]
    pub fn try_div_scalar(&self, value: impl Into<ScalarArg<Float>>) -> Result<SparseTensor<P, D, Float>> {
        self.real().try_div_scalar(value)
    }
}

macro_rules! operators {
    ($($number:ty),*) => {$(
        operators!(@one Add, add, add_scalar, K => K, $number, K: Numeric);
        operators!(@one Sub, sub, sub_scalar, K => K, $number, K: Numeric);
        operators!(@one Mul, mul, mul_scalar, K => K, $number, K: Numeric);
        operators!(@one Div, div, div_scalar, Float => Float, $number,);
        operators!(@one Div, div, div_scalar, Int => Float, $number,);
    )*};
    (@one $trait:ident, $method:ident, $call:ident, $kind:ident => $out:ident, $number:ty, $($own:tt)*) => {
        impl<P: Pattern, const D: usize, $($own)*> std::ops::$trait<$number> for &SparseTensor<P, D, $kind> {
            type Output = SparseTensor<P, D, $out>;
            #[track_caller]
            fn $method(self, value: $number) -> Self::Output {
                self.$call(value)
            }
        }
        impl<P: Pattern, const D: usize, $($own)*> std::ops::$trait<$number> for SparseTensor<P, D, $kind> {
            type Output = SparseTensor<P, D, $out>;
            #[track_caller]
            fn $method(self, value: $number) -> Self::Output {
                self.$call(value)
            }
        }
    };
}
// One float and one integer type, so that literals need no annotation; `mul_scalar` and the like take any number.
operators!(f64, i64);
