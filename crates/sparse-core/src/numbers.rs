//! The element types (f16, bf16, f32, f64, i32, i64, u8) and the index types (i32, i64).

use crate::element::Ids;
use crate::element::{Element, Float, Index};
use crate::exp::{exp, exp_all, exp_m1};
use crate::lanes::{ArrayLanes, F32Lanes, F64Lanes};
use crate::{par, simd};
use half::{bf16, f16};
use pulp::WithSimd;
use std::borrow::Cow;

macro_rules! float_element {
    ($t:ty, $acc:ty, $lanes:ty, $widen:expr, $narrow:expr, $round:expr,
     $zero:expr, $one:expr, $low:expr, $high:expr, $exp_all:expr, $exp:expr, $exp_m1:expr) => {
        impl Element for $t {
            type Acc = $acc;
            type Lanes = $lanes;
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            const ACC_ZERO: $acc = 0.0;
            const ACC_ONE: $acc = 1.0;
            const ACC_LOWEST: $acc = <$acc>::NEG_INFINITY;
            const IS_FLOAT: bool = true;
            const LOWEST: Self = $low;
            const HIGHEST: Self = $high;
            #[inline(always)]
            fn widen(self) -> $acc {
                $widen(self)
            }
            #[inline(always)]
            fn narrow(acc: $acc) -> Self {
                $narrow(acc)
            }
            #[inline(always)]
            fn round(acc: $acc) -> $acc {
                $round(acc)
            }
            #[inline(always)]
            fn add(a: $acc, b: $acc) -> $acc {
                a + b
            }
            #[inline(always)]
            fn sub(a: $acc, b: $acc) -> $acc {
                a - b
            }
            #[inline(always)]
            fn mul(a: $acc, b: $acc) -> $acc {
                a * b
            }
            #[inline(always)]
            fn div(a: $acc, b: $acc) -> $acc {
                a / b
            }
            #[inline(always)]
            fn from_count(n: usize) -> $acc {
                n as $acc
            }
            #[inline(always)]
            fn dispatch<J: WithSimd>(job: J) -> J::Output {
                simd::on_any(job)
            }
        }

        impl Float for $t {
            #[inline(always)]
            fn exp_all(list: &mut [$acc]) {
                $exp_all(list)
            }
            #[inline(always)]
            fn exp(x: $acc) -> $acc {
                $exp(x)
            }
            #[inline(always)]
            fn exp_m1(x: $acc) -> $acc {
                $exp_m1(x)
            }
            #[inline(always)]
            fn sqrt(x: $acc) -> $acc {
                x.sqrt()
            }
            #[inline(always)]
            fn wide(x: $acc) -> f64 {
                x.into()
            }
            #[inline(always)]
            fn nearest(sum: f64) -> $acc {
                sum as $acc
            }
        }
    };
}

/// Replaces each number by its exponential. In f64 the standard library's is used.
fn exp_each(list: &mut [f64]) {
    list.iter_mut().for_each(|x| *x = x.exp());
}

/// Converts f16 to f32 exactly, without branches or feature detection, so that loops over it vectorise.
#[inline(always)]
fn widen_f16(x: f16) -> f32 {
    let magnitude = u32::from(x.to_bits() & 0x7fff) << 13;
    // The exponent biases differ by 112. Scaling by 2^112 also normalises subnormals.
    let scaled = (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits();
    let special = if magnitude >= 0x7c00 << 13 { 0x7f80_0000 } else { 0 };
    f32::from_bits(scaled | special | u32::from(x.to_bits() & 0x8000) << 16)
}

/// Converts bf16 to f32 exactly: its bits are the upper half of the f32.
#[inline(always)]
fn widen_bf16(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// Rounds to nearest, ties to even, so that the `drop` lowest bits become 0. Not for NaN.
#[inline(always)]
fn round_bits(bits: u32, drop: u32) -> u32 {
    let half = (1 << (drop - 1)) - 1;
    (bits.wrapping_add(half + (bits >> drop & 1))) >> drop << drop
}

/// Rounds to the nearest f16, ties to even. The result is that of `half`, but without branches or feature detection, so
/// that loops over it vectorise.
#[inline(always)]
fn narrow_f16(x: f32) -> f16 {
    let magnitude = x.to_bits() & 0x7fff_ffff;
    // The exponent biases differ by 112. Values from 2^16 on become infinity.
    let normal = ((round_bits(magnitude, 13) >> 13).wrapping_sub(112 << 10)).min(0x7c00);
    // Below 2^-14, adjacent f16 numbers are 2^-24 apart, like f32 numbers from 0.5 to 1.
    let small = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let finite = if magnitude < (127 - 14) << 23 { small } else { normal };
    let nan = 0x7e00 | magnitude >> 13 & 0x3ff;
    let bits = if magnitude > 0x7f80_0000 { nan } else { finite };
    f16::from_bits((bits | x.to_bits() >> 16 & 0x8000) as u16)
}

/// Rounds to the nearest bf16, ties to even.
#[inline(always)]
fn narrow_bf16(x: f32) -> bf16 {
    let bits = x.to_bits();
    let nan = bits >> 16 | 0x40;
    let rounded = round_bits(bits, 16) >> 16;
    bf16::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { rounded } as u16)
}

/// Rounds to the nearest f16, as f32.
#[inline(always)]
fn round_f16(x: f32) -> f32 {
    let magnitude = x.abs();
    let normal = f32::from_bits(round_bits(magnitude.to_bits(), 13));
    let normal = if normal >= 65536.0 { f32::INFINITY } else { normal };
    // Below 2^-14, adjacent f16 numbers are 2^-24 apart, like f32 numbers from 0.5 to 1.
    let small = (magnitude + 0.5) - 0.5;
    let rounded = if magnitude < f32::from_bits((127 - 14) << 23) { small } else { normal };
    if x.is_nan() { x } else { rounded.copysign(x) }
}

/// Rounds to the nearest bf16, as f32.
#[inline(always)]
fn round_bf16(x: f32) -> f32 {
    if x.is_nan() { x } else { f32::from_bits(round_bits(x.to_bits(), 16)) }
}

float_element!(
    f32,
    f32,
    F32Lanes,
    |x| x,
    |x| x,
    |x| x,
    0.0,
    1.0,
    f32::NEG_INFINITY,
    f32::INFINITY,
    exp_all,
    exp,
    exp_m1
);
float_element!(
    f64,
    f64,
    F64Lanes,
    |x| x,
    |x| x,
    |x| x,
    0.0,
    1.0,
    f64::NEG_INFINITY,
    f64::INFINITY,
    exp_each,
    f64::exp,
    f64::exp_m1
);
float_element!(
    f16,
    f32,
    F32Lanes,
    widen_f16,
    narrow_f16,
    round_f16,
    f16::ZERO,
    f16::ONE,
    f16::NEG_INFINITY,
    f16::INFINITY,
    exp_all,
    exp,
    exp_m1
);
float_element!(
    bf16,
    f32,
    F32Lanes,
    widen_bf16,
    narrow_bf16,
    round_bf16,
    bf16::ZERO,
    bf16::ONE,
    bf16::NEG_INFINITY,
    bf16::INFINITY,
    exp_all,
    exp,
    exp_m1
);

macro_rules! int_element {
    ($t:ty) => {
        impl Element for $t {
            type Acc = $t;
            type Lanes = ArrayLanes;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const ACC_ZERO: $t = 0;
            const ACC_ONE: $t = 1;
            const ACC_LOWEST: $t = <$t>::MIN;
            const IS_FLOAT: bool = false;
            const LOWEST: Self = <$t>::MIN;
            const HIGHEST: Self = <$t>::MAX;
            #[inline(always)]
            fn widen(self) -> $t {
                self
            }
            #[inline(always)]
            fn narrow(acc: $t) -> Self {
                acc
            }
            #[inline(always)]
            fn round(acc: $t) -> $t {
                acc
            }
            #[inline(always)]
            fn add(a: $t, b: $t) -> $t {
                a.wrapping_add(b)
            }
            #[inline(always)]
            fn sub(a: $t, b: $t) -> $t {
                a.wrapping_sub(b)
            }
            #[inline(always)]
            fn mul(a: $t, b: $t) -> $t {
                a.wrapping_mul(b)
            }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn div(a: $t, b: $t) -> $t {
                let q = a.wrapping_div(b);
                // Truncation and floor differ if the signs differ and the remainder is not 0.
                if a.wrapping_rem(b) != 0 && ((a < 0) != (b < 0)) { q.wrapping_sub(1) } else { q }
            }
            #[inline(always)]
            fn from_count(n: usize) -> $t {
                n as $t
            }
            #[inline(always)]
            fn dispatch<J: WithSimd>(job: J) -> J::Output {
                simd::on_two(job)
            }
        }
    };
}

int_element!(i32);
int_element!(i64);
int_element!(u8);

/// The number itself. On a machine of 32 bits one that does not fit becomes the largest `usize`, which no list reaches.
#[inline(always)]
fn saturated(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

macro_rules! index {
    ($t:ty, $unsigned:ty, $variant:ident, |$list:ident| $narrow:expr, |$narrow_list:ident| $widen:expr,
     |$job:ident: $T:ident| $dispatch:expr) => {
        impl Index for $t {
            const MAX: usize = <$t>::MAX as usize;
            #[inline(always)]
            fn to_usize(self) -> usize {
                saturated(self as i64 as u64)
            }
            #[inline(always)]
            fn place(self) -> usize {
                saturated(self as $unsigned as u64)
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn from_i64(n: i64) -> Self {
                n as $t
            }
            #[inline(always)]
            fn from_usize(n: usize) -> Self {
                debug_assert!(n <= <$t>::limit(), "{n} must fit the index type");
                n as $t
            }
            fn narrow($list: &[Self]) -> Cow<'_, [i32]> {
                $narrow
            }
            #[inline(always)]
            fn dispatch<$T: Element, J: WithSimd>($job: J) -> J::Output {
                $dispatch
            }
            fn widen($narrow_list: Vec<i32>) -> Vec<Self> {
                $widen
            }
            #[inline(always)]
            fn list(list: &[Self]) -> Ids<'_> {
                Ids::$variant(list)
            }
        }
    };
}

index!(i32, u32, I32, |list| Cow::Borrowed(list), |list| list, |job: T| T::dispatch(job));
index!(
    i64,
    u64,
    I64,
    |list| par::fill_with(list.len(), |k| i32::try_from(list[k]).unwrap_or(-1)).into(),
    |list| list.into_iter().map(i64::from).collect(),
    |job: T| simd::on_baseline(job)
);

#[cfg(test)]
mod tests {
    use super::*;

    /// Every 16-bit number, its neighbours in f32, the midpoints between two 16-bit numbers, and numbers from the whole
    /// range.
    fn samples() -> impl Iterator<Item = f32> {
        let near = (0..=u16::MAX).flat_map(|bits| {
            let upper = u32::from(bits) << 16;
            let half = f16::from_bits(bits).to_f32().to_bits();
            let around = |x: u32| [x.wrapping_sub(1), x, x.wrapping_add(1)];
            [upper, upper | 0x8000, half, half | 0x1000].into_iter().flat_map(around)
        });
        near.chain((0..1 << 22).map(|k: u32| k.wrapping_mul(1021))).map(f32::from_bits)
    }

    #[test]
    fn narrowing_is_that_of_half() {
        for x in samples() {
            assert_eq!(narrow_f16(x).to_bits(), f16::from_f32(x).to_bits(), "{x:e} {:#x}", x.to_bits());
            assert_eq!(narrow_bf16(x).to_bits(), bf16::from_f32(x).to_bits(), "{x:e} {:#x}", x.to_bits());
        }
    }

    #[test]
    fn widening_and_rounding_are_those_of_half() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
            assert!(widen_f16(half).to_bits() == half.to_f32().to_bits() || half.is_nan() && widen_f16(half).is_nan());
            assert!(widen_bf16(brain) == brain.to_f32() || brain.is_nan() && widen_bf16(brain).is_nan());
        }
        for x in samples().filter(|x| !x.is_nan()) {
            assert_eq!(round_f16(x).to_bits(), f16::from_f32(x).to_f32().to_bits(), "{x:e}");
            assert_eq!(round_bf16(x).to_bits(), bf16::from_f32(x).to_f32().to_bits(), "{x:e}");
        }
    }
}
