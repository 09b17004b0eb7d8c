//! Functions of two elements beyond arithmetic: smallest and largest, powers, comparisons, choices.

use crate::base::checks::plain_name;
use crate::base::empty::{constant, nothing};
use crate::base::index::signed;
use crate::base::kind::{Kind, Numeric, as_float, from_float, is_tracked};
use crate::base::scalar::{host_float, host_order};
use crate::ops::elementwise::binary::{check, same_structure};
use crate::ops::elementwise::map::{bool_fill, changed_shape, check_fill};
use crate::pattern::layout::{Pattern, is_full};
use crate::pattern::merge::{located, meet};
use crate::rows::{RowMap, move_rows};
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Bool, DType, Float, FloatDType, Int, Scalar, Shape, Tensor};
use sparse_autograd::{Erased, record};
use sparse_core::Result;
use sparse_macros::{async_variant, or_panic};
use std::cmp::Ordering;

fn rows<P: Pattern, const D: usize, K: Kind>(tensor: &SparseTensor<P, D, K>, map: &Option<RowMap>) -> Tensor<2, K> {
    match map {
        None => tensor.values.clone(),
        Some(map) => move_rows(tensor.values.clone(), tensor.fill_row(), map),
    }
}

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// Applies `f` to every pair of elements, the fills included. `f` is any Burn function that combines elements one
    /// by one. It gets rows of values `[n, block]` of both tensors.
    ///
    /// The result has the union of the patterns, and its fill is `f` of the two fills. `Undefined` fills restrict the
    /// pattern as for [`add`](SparseTensor::add). Operands are coalesced first. Backward: that of `f`. Cost:
    /// `O(nnz_a + nnz_b)` and that of `f`. The merged pattern is kept with the left one.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` (also if `f` gives rows of another shape), `layout_mismatch` (another number of dense dims),
    /// `device_mismatch`.
    #[or_panic]
    pub fn try_zip_with<K2: Kind, K3: Kind>(
        &self,
        other: &SparseTensor<P, D, K2>,
        f: impl Fn(Tensor<2, K>, Tensor<2, K2>) -> Tensor<2, K3>,
    ) -> Result<SparseTensor<P, D, K3>> {
        self.zip_named("zip_with", other, f, |_, _, _| None)
    }

    pub(crate) fn zip_named<K2: Kind, K3: Kind>(
        &self,
        op: &'static str,
        other: &SparseTensor<P, D, K2>,
        f: impl Fn(Tensor<2, K>, Tensor<2, K2>) -> Tensor<2, K3>,
        host: impl Fn(Scalar, Scalar, DType) -> Option<Fill<K3>>,
    ) -> Result<SparseTensor<P, D, K3>> {
        same_structure(op, self, other)?;
        let (a, b) = (self.coalesce(), other.coalesce());
        let undefined = [a.fill.is_undefined(), b.fill.is_undefined()];
        let (pattern, [map_a, map_b]) = meet((&a.pattern, undefined[0]), (&b.pattern, undefined[1]));
        let (nnz, block) = (pattern.nnz(), a.block());
        let full = is_full(&pattern);
        let fill_a = a.fill.clone().counting(full).row(block, a.dtype(), &a.device());
        let fill_b = b.fill.clone().counting(full).row(block, b.dtype(), &b.device());
        let fill = f(fill_a, fill_b);
        let values = if nnz * block > 0 {
            f(rows(&a, &map_a), rows(&b, &map_b))
        } else {
            constant(nothing([nnz, block], fill.dtype(), &[&a.values]), &[&b.values])
        };
        if values.dims() != [nnz, block] {
            return Err(changed_shape(op, values.dims(), [nnz, block]));
        }
        let values =
            if undefined.contains(&true) { a.fill.without_gradient(b.fill.without_gradient(values)) } else { values };
        // Fills that the host knows are combined on the host, so that a zero stays known.
        let known = a.fill.host().zip(b.fill.host()).and_then(|(x, y)| host(x, y, a.dtype()));
        let fill = match known {
            _ if undefined.contains(&true) => Fill::Undefined,
            Some(fill) => fill,
            None => Fill::block(fill),
        };
        check_fill(op, &fill, block)?;
        Ok(SparseTensor::from_parts(pattern, values, a.dense_shape, fill))
    }
}

macro_rules! pairs {
    ($($name:ident $formula:literal $out:ty, $f:expr, $host:expr;)*) => {$(
        #[doc = concat!("`", $formula, "`, element by element (see [`zip_with`](Self::zip_with)).")]
        ///
        /// # Errors
        ///
        /// `shape_mismatch`, `layout_mismatch`, `dtype_mismatch`, `device_mismatch`.
        #[async_variant]
        #[or_panic]
        pub fn $name(&self, other: &Self) -> Result<SparseTensor<P, D, $out>> {
            let name = plain_name(stringify!($name));
            check(name, self, other)?;
            self.zip_named(name, other, $f, $host)
        }
    )*};
}

/// The larger of two numbers of the host, or the smaller; NaN wins.
fn larger<K: Kind>(wins: Ordering) -> impl Fn(Scalar, Scalar, DType) -> Option<Fill<K>> {
    move |a, b, dtype| {
        let first =
            host_order(a, b, dtype).map_or(dtype.is_float() && host_float(a, dtype).is_nan(), |order| order == wins);
        Some(Fill::scalar(if first { a } else { b }))
    }
}

fn order(holds: fn(Option<Ordering>) -> bool) -> impl Fn(Scalar, Scalar, DType) -> Option<Fill<Bool>> {
    move |a, b, dtype| Some(bool_fill(holds(host_order(a, b, dtype))))
}

fn logic(holds: fn(bool, bool) -> bool) -> impl Fn(Scalar, Scalar, DType) -> Option<Fill<Bool>> {
    move |a, b, _| Some(bool_fill(holds(a.elem(), b.elem())))
}

/// For functions that are zero at two zeros.
fn zero_stays<K: Kind>(a: Scalar, b: Scalar, _: DType) -> Option<Fill<K>> {
    (a.elem::<f64>() == 0.0 && b.elem::<f64>() == 0.0).then_some(Fill::Zero)
}

/// For remainders of floats: that of zero divided by a positive number is this zero.
fn zero_by_positive(a: Scalar, b: Scalar, dtype: DType) -> Option<Fill> {
    (host_float(a, dtype) == 0.0 && host_float(b, dtype) > 0.0).then(|| Fill::scalar(a))
}

/// For the remainder of integers: that of zero is 0 for every divisor, 0 included.
fn zero_by_any(a: Scalar, _: Scalar, _: DType) -> Option<Fill<Int>> {
    (a.elem::<i64>() == 0).then_some(Fill::Zero)
}

/// The angle of a point on the positive half of the axis. A point at minus zero is on the other half.
fn angle_of_zero(a: Scalar, b: Scalar, dtype: DType) -> Option<Fill> {
    let (a_is_zero, b) = (host_float(a, dtype) == 0.0, host_float(b, dtype));
    (a_is_zero && b >= 0.0 && b.is_sign_positive()).then(|| Fill::scalar(a))
}

/// Zero to a power that is not negative. Odd powers keep the sign of the zero.
fn power_of_zero<K: Kind>(a: Scalar, b: Scalar, dtype: DType) -> Option<Fill<K>> {
    match b.elem::<f64>() {
        _ if host_float(a, dtype) != 0.0 => None,
        0.0 => Some(Fill::scalar(1)),
        power if power > 0.0 => Some(if power % 2.0 == 1.0 { Fill::scalar(a) } else { Fill::Zero }),
        _ => None,
    }
}

fn bits(of: fn(i64, i64) -> i64) -> impl Fn(Scalar, Scalar, DType) -> Option<Fill<Int>> {
    move |a, b, _| Some(Fill::scalar(of(a.elem(), b.elem())))
}

/// The remainder with the divisor's sign; that of a division by 0 is 0, as in NumPy.
fn int_remainder(a: Tensor<2, Int>, b: Tensor<2, Int>) -> Tensor<2, Int> {
    let mut unit = b.clone().equal_elem(0);
    if b.dtype() != DType::U8 {
        // The remainder by -1 is that by 1, and the smallest integer has no quotient by -1.
        unit = unit.bool_or(b.clone().equal_elem(-1));
    }
    a.remainder(b.mask_fill(unit, 1))
}

/// `base` to integer powers; the power 0 of anything is 1. It works on the absolute value, because not every device has
/// powers of negative numbers.
fn powers(base: Tensor<2>, power: &Tensor<2, Int>) -> Tensor<2> {
    let dtype = base.dtype();
    let odd = power.clone().bitwise_and_scalar(1).equal_elem(1);
    let size = base.clone().abs().powf(power.clone().cast(FloatDType::from(dtype)));
    let negative = base.lower_elem(0.0).bool_and(odd);
    let signed = size.clone().mask_where(negative, size.neg());
    signed.mask_fill(power.clone().equal_elem(0), 1.0)
}

/// Backward: `n x^(n - 1)` times the gradient, and 0 where the power `n` is 0.
fn int_power(base: Tensor<2>, power: Tensor<2, Int>) -> Tensor<2> {
    let (plain, power) = (base.clone().inner(), signed(power));
    let out = powers(plain.clone(), &power);
    record(out, [Erased::from(base)], (plain, power), |(base, power), grad, _| {
        let times = power.clone().cast(FloatDType::from(base.dtype()));
        let slope = powers(base.clone(), &power.clone().sub_scalar(1)) * times;
        let slope = slope.mask_fill(power.clone().equal_elem(0), 0.0);
        [Some((grad * slope).into())]
    })
}

/// `base ^ power`. Backward: to the base `p x^(p - 1)`, and 0 where the power is 0; to the power `x^p log x`, and 0
/// where the base is 0 and the power is not negative.
fn float_power(base: Tensor<2>, power: Tensor<2>) -> Tensor<2> {
    let (x, p) = (base.clone().inner(), power.clone().inner());
    let out = x.clone().powf(p.clone());
    record(out, [Erased::from(base), Erased::from(power)], (x, p), |(x, p), grad, needs| {
        let to_base = || {
            let slope = x.clone().powf(p.clone().sub_scalar(1)) * p.clone();
            slope.mask_fill(p.clone().equal_elem(0), 0.0)
        };
        let to_power = || {
            let flat = x.clone().equal_elem(0).bool_and(p.clone().greater_equal_elem(0));
            (x.clone().powf(p.clone()) * x.clone().log()).mask_fill(flat, 0.0)
        };
        let base = needs[0].then(|| (grad.clone() * to_base()).into());
        [base, needs[1].then(|| (grad * to_power()).into())]
    })
}

/// The angle of the point `(x, y)`. Backward: `x / (x^2 + y^2)` to `y` and `-y / (x^2 + y^2)` to `x`, and 0 at the
/// origin.
fn angle(y: Tensor<2>, x: Tensor<2>) -> Tensor<2> {
    let (a, b) = (y.clone().inner(), x.clone().inner());
    let out = a.clone().atan2(b.clone());
    record(out, [Erased::from(y), Erased::from(x)], (a, b), |(y, x), grad, needs| {
        // Divided by the larger of both first: the squares of large and of small numbers leave the range of the dtype.
        let larger = x.clone().abs().max_pair(y.clone().abs());
        let origin = larger.clone().equal_elem(0);
        let [x, y] = [x, y].map(|side| side.clone() / larger.clone());
        let squares = x.clone() * x.clone() + y.clone() * y.clone();
        let share = grad / larger / squares;
        let part = |side: Tensor<2>| (share.clone() * side).mask_fill(origin.clone(), 0.0).into();
        [needs[0].then(|| part(x)), needs[1].then(|| part(y.neg()))]
    })
}

/// `log(exp(a) + exp(b))`. Backward: `1 / (1 + exp(b - a))` times the gradient for `a`, the rest for `b`.
fn logaddexp(a: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
    let (x, y) = (a.clone().inner(), b.clone().inner());
    let larger = x.clone().mask_where(y.clone().greater(x.clone()), y.clone());
    // Equal infinities are 0 apart too, not NaN.
    let distance = (x.clone() - y.clone()).abs().mask_fill(x.clone().equal(y.clone()), 0.0);
    let out = larger + distance.neg().exp().log1p();
    record(out, [Erased::from(a), Erased::from(b)], (x, y), |(x, y), grad, needs| {
        let share = |own: &Tensor<2>, other: &Tensor<2>| {
            let odds = (other.clone() - own.clone()).exp();
            Erased::from(grad.clone() / odds.add_scalar(1.0))
        };
        [needs[0].then(|| share(x, y)), needs[1].then(|| share(y, x))]
    })
}

/// `a` where `first` holds, else `b`; NaN wins. A tie shares the gradient evenly.
fn pick<K: Numeric>(a: Tensor<2, K>, b: Tensor<2, K>, first: Tensor<2, Bool>) -> Tensor<2, K> {
    let (tie, nan) = (a.clone().equal(b.clone()), a.clone().not_equal(a.clone()));
    let picked = b.clone().mask_where(first.bool_or(nan), a.clone());
    if !picked.dtype().is_float() || !(is_tracked(&a) || is_tracked(&b)) {
        return picked;
    }
    // The value of a tie is the picked one; its gradient is shared.
    let out = as_float(&picked).expect("a float").inner();
    let (Some(a), Some(b)) = (as_float(&a), as_float(&b)) else { return picked };
    let saved = (first_of(&a, &b, &out), tie.inner());
    from_float(record(out, [Erased::from(a), Erased::from(b)], saved, |(first, tie), grad, needs| {
        let half = grad.clone().mul_scalar(0.5);
        let side = |mine: Tensor<2, Bool>| {
            grad.zeros_like().mask_where(mine, grad.clone()).mask_where(tie.clone(), half.clone())
        };
        [needs[0].then(|| side(first.clone()).into()), needs[1].then(|| side(first.clone().bool_not()).into())]
    }))
}

/// Where the picked number is the first one.
fn first_of(a: &Tensor<2>, b: &Tensor<2>, out: &Tensor<2>) -> Tensor<2, Bool> {
    let a = a.clone().inner();
    let nan = a.clone().is_nan();
    out.clone().equal(a).bool_or(nan).bool_and(b.clone().inner().equal(out.clone()).bool_not())
}

impl<P: Pattern, const D: usize, K: Numeric> SparseTensor<P, D, K> {
    pairs! {
        try_max_pair "max(self, other)" K,
            |a, b| { let first = a.clone().greater(b.clone()); pick(a, b, first) }, larger(Ordering::Greater);
        try_min_pair "min(self, other)" K,
            |a, b| { let first = a.clone().lower(b.clone()); pick(a, b, first) }, larger(Ordering::Less);
        try_equal "self == other" Bool, |a, b| a.equal(b), order(|order| order == Some(Ordering::Equal));
        try_not_equal "self != other" Bool, |a, b| a.not_equal(b), order(|order| order != Some(Ordering::Equal));
        try_greater "self > other" Bool, |a, b| a.greater(b), order(|order| order == Some(Ordering::Greater));
        try_greater_equal "self >= other" Bool,
            |a, b| a.greater_equal(b), order(|order| order.is_some_and(Ordering::is_ge));
        try_lower "self < other" Bool, |a, b| a.lower(b), order(|order| order == Some(Ordering::Less));
        try_lower_equal "self <= other" Bool,
            |a, b| a.lower_equal(b), order(|order| order.is_some_and(Ordering::is_le));
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Float> {
    pairs! {
        try_atan2 "the angle of the point (other, self)" Float, angle, angle_of_zero;
        try_hypot "sqrt(self^2 + other^2)" Float, |a, b| a.hypot(b), zero_stays;
        try_remainder "the remainder of self / other, with the sign of other (NaN for a division by 0)" Float,
            |a, b| a.remainder(b), zero_by_positive;
        try_fmod "the remainder of self / other, with the sign of self (NaN for a division by 0)" Float,
            |a, b| a.fmod(b), zero_by_positive;
    }

    /// `self ^ other`, element by element (see [`zip_with`](Self::zip_with)). For integer powers of negative numbers
    /// there is [`powi`](Self::powi).
    ///
    /// Backward: to `self` `p x^(p - 1)`, and 0 where the power is 0; to `other` `x^p log x`, and 0 where `x` is 0 and
    /// the power is not negative. These are PyTorch's rules.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `layout_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[async_variant]
    #[or_panic]
    pub fn try_powf(&self, other: &Self) -> Result<Self> {
        check("powf", self, other)?;
        self.zip_named("powf", other, float_power, power_of_zero)
    }

    /// `self ^ other` for integer powers, element by element (see [`zip_with`](Self::zip_with)). For one power see
    /// [`powi_scalar`](Self::powi_scalar), for powers that are floats [`powf`](Self::powf). Negative bases are
    /// allowed, and the power 0 of anything is 1. Exponents are exact up to the largest integer that the dtype of
    /// `self` represents exactly.
    ///
    /// Backward: `n x^(n - 1)`, and 0 where the power is 0.
    ///
    /// ```
    /// use burn::tensor::{Device, Int, Tensor};
    /// use sparse_tensor::CsrTensor;
    ///
    /// let device = Device::flex();
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[-2.0, 0.0, 3.0]], &device));
    /// let n = CsrTensor::<2, Int>::from_dense(Tensor::from_ints([[3, 2, 0]], &device));
    /// assert_eq!(a.powi(&n).to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [-8.0, 0.0, 1.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `layout_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_powi(&self, other: &SparseTensor<P, D, Int>) -> Result<Self> {
        self.zip_named("powi", other, int_power, power_of_zero)
    }

    /// `log(exp(self) + exp(other))`, element by element (see [`zip_with`](Self::zip_with)). It adds two numbers that
    /// are given by their logarithms.
    ///
    /// Computed as `max + log1p(exp(-|self - other|))`, which does not overflow. Infinities and NaN behave as in NumPy
    /// and PyTorch: two infinities of one sign give that infinity. Two zero fills give the fill `log(2)`.
    ///
    /// Backward: each side gets its share of the gradient. For `self` this is `1 / (1 + exp(other - self))`, so the
    /// shares are the softmax of the pair. Two infinities of one sign have the gradient NaN, as in PyTorch.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use sparse_tensor::{CsrTensor, Fill};
    ///
    /// let device = Device::flex();
    /// let never = Fill::scalar(f32::NEG_INFINITY);
    /// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[1000.0, 0.0]], &device)).with_fill(never.clone());
    /// let b = CsrTensor::<2>::from_dense(Tensor::from_floats([[1000.0, 2.0]], &device)).with_fill(never);
    /// let sum: Vec<f32> = a.logaddexp(&b).to_dense().into_data().iter().collect();
    /// assert_eq!(sum, [1000.0 + 2f32.ln(), 2.0]);
    /// ```
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `layout_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_logaddexp(&self, other: &Self) -> Result<Self> {
        const OP: &str = "logaddexp";
        check(OP, self, other)?;
        self.zip_named(OP, other, logaddexp, |a, b, dtype| {
            let (a, b) = (host_float(a, dtype), host_float(b, dtype));
            let distance = if a == b { 0.0 } else { (a - b).abs() };
            Some(Fill::scalar(a.max(b) + (-distance).exp().ln_1p()))
        })
    }

    /// Whether `|self - other| <= atol + rtol |other|`, or both are the same infinity, element by element (see
    /// [`zip_with`](Self::zip_with)). `None` means Burn's defaults: `rtol` 1e-5 and `atol` 1e-8.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `layout_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_is_close(&self, other: &Self, rtol: Option<f64>, atol: Option<f64>) -> Result<SparseTensor<P, D, Bool>> {
        const OP: &str = "is_close";
        check(OP, self, other)?;
        let close = |a: Tensor<2>, b: Tensor<2>| a.inner().is_close(b.inner(), rtol, atol);
        let equal = |a, b, dtype| (host_order(a, b, dtype)? == Ordering::Equal).then(|| bool_fill(true));
        self.zip_named(OP, other, close, equal)
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Int> {
    pairs! {
        try_powi "self ^ other (other not negative; products wrap)" Int, |a, b| a.powi(b), power_of_zero;
        try_remainder "the remainder of self / other, with the sign of other (0 for a division by 0)" Int,
            int_remainder, zero_by_any;
        try_bitwise_and "self & other" Int, |a, b| a.bitwise_and(b), bits(|a, b| a & b);
        try_bitwise_or "self | other" Int, |a, b| a.bitwise_or(b), bits(|a, b| a | b);
        try_bitwise_xor "self ^ other, bit by bit" Int, |a, b| a.bitwise_xor(b), bits(|a, b| a ^ b);
        try_bitwise_left_shift "self << other" Int, |a, b| a.bitwise_left_shift(b), zero_stays;
        try_bitwise_right_shift "self >> other" Int, |a, b| a.bitwise_right_shift(b), zero_stays;
    }
}

impl<P: Pattern, const D: usize> SparseTensor<P, D, Bool> {
    pairs! {
        try_bool_and "self and other" Bool, |a, b| a.bool_and(b), logic(|a, b| a & b);
        try_bool_or "self or other" Bool, |a, b| a.bool_or(b), logic(|a, b| a | b);
        try_bool_xor "self xor other" Bool, |a, b| a.bool_xor(b), logic(|a, b| a ^ b);
    }
}

impl<P: Pattern, const D: usize, K: Kind> SparseTensor<P, D, K> {
    /// `value` where `mask` holds, else `self`, element by element (see [`zip_with`](Self::zip_with)): NumPy's `where`.
    ///
    /// Backward: the gradient goes to the side that was taken.
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `layout_mismatch`, `dtype_mismatch`, `device_mismatch`.
    #[async_variant]
    #[or_panic]
    pub fn try_mask_where(&self, mask: &SparseTensor<P, D, Bool>, value: &Self) -> Result<Self> {
        const OP: &str = "mask_where";
        check(OP, self, value)?;
        same_structure(OP, self, mask)?;
        let (own, mask, value) = (self.coalesce(), mask.coalesce(), value.coalesce());
        // The pattern of the result: that of both values, combined with the mask's. All three are read on it.
        let sides = [own.fill.is_undefined(), value.fill.is_undefined(), mask.fill.is_undefined()];
        let (pair, _) = meet((&own.pattern, sides[0]), (&value.pattern, sides[1]));
        let (pattern, [_, map]) = meet((&pair, sides[0] || sides[1]), (&mask.pattern, sides[2]));
        let on = |tensor: &Self| {
            let map = (!pattern.is_same(&tensor.pattern)).then(|| located(&pattern, &tensor.pattern));
            rows(tensor, &map)
        };
        let choose = |a: Tensor<2, K>, mask: Tensor<2, Bool>, b: Tensor<2, K>| a.mask_where(mask, b);
        let values = if pattern.nnz() * own.block() > 0 {
            choose(on(&own), rows(&mask, &map), on(&value))
        } else {
            nothing([pattern.nnz(), own.block()], own.dtype(), &[&own.values, &value.values])
        };
        let fill = match mask.fill.host() {
            _ if sides.contains(&true) => Fill::Undefined,
            Some(chosen) if chosen.elem() => value.fill.clone(),
            Some(_) => own.fill.clone(),
            None => Fill::tensor(choose(own.fill_row(), mask.fill_row(), value.fill_row())),
        };
        Ok(Self::from_parts(pattern, values, own.dense_shape, fill))
    }

    /// `value` where `mask` holds, else `self`, element by element (see [`zip_with`](Self::zip_with)).
    ///
    /// # Errors
    ///
    /// `shape_mismatch`, `layout_mismatch`, `device_mismatch`.
    #[or_panic]
    pub fn try_mask_fill(&self, mask: &SparseTensor<P, D, Bool>, value: impl Into<Scalar>) -> Result<Self> {
        let value: Scalar = value.into();
        let fill = |own, mask: Scalar, _| Some(Fill::scalar(if mask.elem() { value } else { own }));
        let choose = |own: Tensor<2, K>, mask| {
            let filled = Fill::<K>::scalar(value).row(1, own.dtype(), &own.device().inner());
            let filled = filled.expand(Shape::from(own.dims()));
            own.mask_where(mask, filled)
        };
        self.zip_named("mask_fill", mask, choose, fill)
    }
}
