//! Functions of one element by name.

use crate::base::empty::constant;
use crate::base::kind::{Kind, Numeric};
use crate::base::scalar::{host_apply, host_float};
use crate::ops::elementwise::map::rows_of;
use crate::pattern::layout::Pattern;
use crate::rows::zip::apply;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Bool, ElementConversion, Float, Int, Scalar, Tensor};
use sparse_autograd::{Erased, record};
use sparse_burn::BinaryOp;
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;

/// The logistic function in full precision, without an exponential that overflows. NdArray's own is that of f32.
fn logistic(rows: Tensor<2>) -> Tensor<2> {
    let plain = rows.clone().inner();
    let small = plain.clone().abs().neg().exp();
    let top = small.clone().mask_where(plain.greater_equal_elem(0.0), small.ones_like());
    let out = top / small.add_scalar(1.0);
    record(out.clone(), [Erased::from(rows)], out, |out, grad, _| {
        [Some((grad * out.clone() * out.clone().neg().add_scalar(1.0)).into())]
    })
}

macro_rules! functions {
    ($map:ident: $($name:ident $formula:literal;)*) => {$(
        #[doc = concat!("`", $formula, "` of every element, the fill included (see [`map`](Self::map)).")]
        pub fn $name(&self) -> Self {
            self.clone().$map(|rows| rows.$name())
        }
    )*};
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Float> {
    functions! { map_keeping_zero:
        sin "sin x";
        tan "tan x";
        asin "arcsin x";
        atan "arctan x";
        sinh "sinh x";
        tanh "tanh x";
        asinh "arsinh x";
        atanh "artanh x";
        log1p "ln (1 + x)";
        sqrt "square root of x";
        erf "erf x";
        floor "the largest integer not above x";
        ceil "the smallest integer not below x";
        round "x rounded to the nearest integer, ties to even";
        trunc "x without its fraction";
        deg2rad "x in radians";
        rad2deg "x in degrees";
    }
    functions! { map_zero_to_one:
        exp "e^x";
        cos "cos x";
        cosh "cosh x";
    }
    functions! { map:
        log "ln x";
        acos "arccos x";
        acosh "arcosh x";
        recip "1 / x";
    }

    /// `e^x - 1` of every element, exact near zero (see [`map`](Self::map)): as `2 sinh(x / 2) e^(x / 2)`.
    pub fn expm1(&self) -> Self {
        self.map_keeping_zero(|rows| {
            let half = rows.div_scalar(2.0);
            half.clone().sinh() * half.exp() * 2.0
        })
    }

    /// `max(x, 0)` of every element (see [`map`](Self::map)).
    pub fn relu(&self) -> Self {
        self.map_to_plain_zero(burn::tensor::activation::relu)
    }

    fn map_zero_to_one(&self, f: impl Fn(Tensor<2>) -> Tensor<2>) -> Self {
        self.map_zero(Fill::scalar(1.0), f)
    }

    /// `1 / (1 + e^-x)` of every element (see [`map`](Self::map)).
    pub fn sigmoid(&self) -> Self {
        self.map_zero(Fill::scalar(0.5), logistic)
    }

    /// `x^p` of every element (see [`map`](Self::map)).
    pub fn powf_scalar(&self, power: impl ElementConversion) -> Self {
        let power: f64 = power.elem();
        let power_of = |rows: Tensor<2>| rows.powf_scalar(power);
        match host_float(Scalar::Float(power), self.dtype()) {
            _ if power == 0.0 => self.map_zero(Fill::scalar(1.0), ones),
            own if own > 0.0 && own % 2.0 == 1.0 => self.map_keeping_zero(power_of),
            own if own > 0.0 => self.map_to_plain_zero(power_of),
            _ => self.clone().map(power_of),
        }
    }

    /// The remainder of dividing every element by `divisor`, with the sign of the divisor (see [`map`](Self::map)).
    ///
    /// # Errors
    ///
    /// `invalid` if `divisor` is 0.
    #[or_panic]
    pub fn try_remainder_scalar(&self, divisor: impl ElementConversion) -> Result<Self> {
        let divisor: f64 = divisor.elem();
        check_divisor("remainder_scalar", divisor != 0.0)?;
        Ok(self.map_keeping_zero(|rows| rows.remainder_scalar(divisor)))
    }

    /// The remainder of dividing every element by `divisor`, with the sign of the element (see [`map`](Self::map)).
    ///
    /// # Errors
    ///
    /// `invalid` if `divisor` is 0.
    #[or_panic]
    pub fn try_fmod_scalar(&self, divisor: impl ElementConversion) -> Result<Self> {
        let divisor: f64 = divisor.elem();
        check_divisor("fmod_scalar", divisor != 0.0)?;
        Ok(self.map_keeping_zero(|rows| {
            let by = Tensor::full(rows.dims(), divisor, (&rows.device().inner(), rows.dtype()));
            rows.fmod(by)
        }))
    }

    /// Whether each element is NaN (see [`map`](Self::map)).
    pub fn is_nan(&self) -> SparseTensor<P, D, Bool> {
        self.map_to_bool(|rows| rows.inner().is_nan(), |x, dtype| host_float(x, dtype).is_nan())
    }

    /// Whether each element is infinite (see [`map`](Self::map)).
    pub fn is_inf(&self) -> SparseTensor<P, D, Bool> {
        self.map_to_bool(|rows| rows.inner().is_inf(), |x, dtype| host_float(x, dtype).is_infinite())
    }

    /// Whether each element is neither infinite nor NaN (see [`map`](Self::map)).
    pub fn is_finite(&self) -> SparseTensor<P, D, Bool> {
        self.map_to_bool(|rows| rows.inner().is_finite(), |x, dtype| host_float(x, dtype).is_finite())
    }
}

/// The power 0 of rows: ones, on their tape with zero gradients.
fn ones<K: Kind>(rows: Tensor<2, K>) -> Tensor<2, K> {
    constant(Tensor::ones(rows.dims(), (&rows.device().inner(), rows.dtype())), &[&rows])
}

fn check_divisor(op: &'static str, holds: bool) -> Result<()> {
    if holds { Ok(()) } else { Err(SparseError::invalid(op, "the divisor must not be 0")) }
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    functions! { map_to_plain_zero:
        abs "|x|";
        sign "the sign of x";
    }

    /// `-x` of every element. A zero fill becomes minus zero, as in the dense answer.
    pub fn neg(&self) -> Self {
        let Some(fill) = self.fill.host() else { return self.clone().map(|rows| rows.neg()) };
        let merged = self.coalesce();
        let values = rows_of(&merged, &|rows: Tensor<2, K>| rows.neg());
        let fill = match fill {
            Scalar::Float(value) => Scalar::Float(-value),
            value => host_apply(BinaryOp::Mul, value, Scalar::Int(-1), merged.dtype()),
        };
        merged.with_rows(values, Fill::scalar(fill))
    }

    /// `x * x` of every element (see [`map`](Self::map)).
    pub fn square(&self) -> Self {
        self.map_to_plain_zero(|rows| apply(BinaryOp::Mul, rows.clone(), rows))
    }

    /// `x^n` of every element, by repeated products (see [`map`](Self::map)). `x^0` is 1.
    ///
    /// # Errors
    ///
    /// `invalid` for a negative power of integers.
    #[or_panic]
    pub fn try_powi_scalar(&self, power: impl ElementConversion) -> Result<Self> {
        let power: i32 = power.elem();
        if power < 0 && !self.dtype().is_float() {
            let message = format!("the power of integers must not be negative, got {power}: float() makes them floats");
            return Err(SparseError::invalid("powi_scalar", message));
        }
        let power_of = move |rows: Tensor<2, K>| {
            let mut product: Option<Tensor<2, K>> = None;
            let (mut square, mut rest) = (rows.clone(), power.unsigned_abs());
            while rest > 0 {
                if rest % 2 == 1 {
                    product = Some(product.map_or_else(|| square.clone(), |own| own * square.clone()));
                }
                rest /= 2;
                if rest > 0 {
                    square = square.clone() * square;
                }
            }
            match product {
                None => ones(rows),
                Some(product) if power < 0 => ones(rows) / product,
                Some(product) => product,
            }
        };
        Ok(match power {
            0 => self.map_zero(Fill::scalar(1), power_of),
            1.. if power % 2 == 1 => self.map_keeping_zero(power_of),
            1.. => self.map_to_plain_zero(power_of),
            _ => self.clone().map(power_of),
        })
    }

    /// [`map`](Self::map) with a clamp: a zero fill between the bounds stays a known zero.
    fn map_bounded(&self, f: impl Fn(Tensor<2, K>) -> Tensor<2, K>, low: Option<f64>, high: Option<f64>) -> Self {
        let inside = low.is_none_or(|low| low <= 0.0) && high.is_none_or(|high| high >= 0.0);
        if inside { self.map_keeping_zero(f) } else { self.clone().map(f) }
    }

    /// Clamps every element to `[low, high]` (see [`map`](Self::map)).
    pub fn clamp<E: ElementConversion + Copy>(&self, low: E, high: E) -> Self {
        self.map_bounded(|rows| rows.clamp(low, high), Some(low.elem()), Some(high.elem()))
    }

    /// Raises every element below `low` to `low` (see [`map`](Self::map)).
    pub fn clamp_min<E: ElementConversion + Copy>(&self, low: E) -> Self {
        self.map_bounded(|rows| rows.clamp_min(low), Some(low.elem()), None)
    }

    /// Lowers every element above `high` to `high` (see [`map`](Self::map)).
    pub fn clamp_max<E: ElementConversion + Copy>(&self, high: E) -> Self {
        self.map_bounded(|rows| rows.clamp_max(high), None, Some(high.elem()))
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Bool> {
    /// The negation of every element, the fill included (see [`map`](Self::map)).
    pub fn bool_not(&self) -> Self {
        self.map_to_bool(|rows| rows.bool_not(), |x, _| !x.elem::<bool>())
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Int> {
    /// Whether each element is not zero (see [`map`](Self::map)).
    pub fn bool(&self) -> SparseTensor<P, D, Bool> {
        self.map_to_bool(|rows| rows.bool(), |x, _| x.elem::<i64>() != 0)
    }

    /// The remainder of dividing every element by `divisor`, with the sign of the divisor (see [`map`](Self::map)).
    ///
    /// # Errors
    ///
    /// `invalid` if `divisor` is 0.
    #[or_panic]
    pub fn try_remainder_scalar(&self, divisor: impl ElementConversion) -> Result<Self> {
        let divisor: i64 = divisor.elem();
        check_divisor("remainder_scalar", divisor != 0)?;
        // The remainder by -1 is that by 1, and the smallest integer has no quotient by -1.
        let divisor = if divisor == -1 { 1 } else { divisor };
        Ok(self.map_keeping_zero(|rows| rows.remainder_scalar(divisor)))
    }

    /// `x & mask` of every element (see [`map`](Self::map)).
    pub fn bitwise_and_scalar(&self, mask: impl ElementConversion) -> Self {
        let mask: i64 = mask.elem();
        self.map_keeping_zero(|rows| rows.bitwise_and_scalar(mask))
    }

    /// `x | mask` of every element (see [`map`](Self::map)).
    pub fn bitwise_or_scalar(&self, mask: impl ElementConversion) -> Self {
        let mask: i64 = mask.elem();
        self.map_zero(Fill::scalar(mask), |rows| rows.bitwise_or_scalar(mask))
    }

    /// `x ^ mask`, bit by bit, of every element (see [`map`](Self::map)).
    pub fn bitwise_xor_scalar(&self, mask: impl ElementConversion) -> Self {
        let mask: i64 = mask.elem();
        self.map_zero(Fill::scalar(mask), |rows| rows.bitwise_xor_scalar(mask))
    }

    /// `!x` of every element: all its bits inverted (see [`map`](Self::map)).
    pub fn bitwise_not(&self) -> Self {
        self.map_zero(Fill::scalar(-1), |rows| rows.bitwise_not())
    }

    /// `x << bits` of every element (see [`map`](Self::map)).
    pub fn bitwise_left_shift_scalar(&self, bits: impl ElementConversion) -> Self {
        let bits: u32 = bits.elem();
        self.map_keeping_zero(|rows| rows.bitwise_left_shift_scalar(bits))
    }

    /// `x >> bits` of every element (see [`map`](Self::map)).
    pub fn bitwise_right_shift_scalar(&self, bits: impl ElementConversion) -> Self {
        let bits: u32 = bits.elem();
        self.map_keeping_zero(|rows| rows.bitwise_right_shift_scalar(bits))
    }
}
