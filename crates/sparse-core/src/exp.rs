//! The exponential of many f32, and that minus one.

use crate::simd::on_any;
use pulp::{Simd, WithSimd};

/// Replaces each number by its exponential.
///
/// The error is below 2 units in the last place. Only additions, products and operations on bits are used, so the loop
/// vectorises, and the bits are the same on every instruction set. The polynomial is that of `expf` in Moshier's Cephes
/// library.
pub(crate) fn exp_all(list: &mut [f32]) {
    on_any(ExpAll(list));
}

struct ExpAll<'a>(&'a mut [f32]);

impl WithSimd for ExpAll<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.0.iter_mut().for_each(|x| *x = exp(*x));
    }
}

#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // Beyond these the result is 0 or infinite. NaN stays NaN.
    let (n, above_one) = reduced(x.clamp(-105.0, 89.0));
    // 2^n as two factors: one alone may be out of range where the result is not.
    (above_one + 1.0) * power_of_two(n >> 1) * power_of_two(n - (n >> 1))
}

/// `e^x - 1` for `x <= 0`, without the cancellation near zero.
///
/// The error is below 2 units in the last place.
#[inline(always)]
pub(crate) fn exp_m1(x: f32) -> f32 {
    // Below this the result is -1.
    let (n, above_one) = reduced(x.clamp(-30.0, 0.0));
    let power = power_of_two(n);
    above_one * power + (power - 1.0)
}

/// `n` and `e^r - 1` for `x = n ln 2 + r`, with `r` between `-ln 2 / 2` and `ln 2 / 2`.
#[inline(always)]
fn reduced(x: f32) -> (i32, f32) {
    // Adding this rounds to an integer, which is then in the lowest bits.
    const SHIFT: f32 = 12_582_912.0;
    // ln 2 in two parts. A product of the first one and an integer is exact here.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    let shifted = x * core::f32::consts::LOG2_E + SHIFT;
    let n = shifted - SHIFT;
    let r = x - n * LN_2[0] - n * LN_2[1];
    let mut sum = 1.987_569_1e-4;
    for factor in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        sum = sum * r + factor;
    }
    let n = (shifted.to_bits() as i32).wrapping_sub(SHIFT.to_bits() as i32);
    (n, sum * (r * r) + r)
}

#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) << 23) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulp::Scalar;

    #[test]
    fn is_within_two_units() {
        for k in 0..2_000_000 {
            let x = -104.0 + k as f32 * 1e-4;
            let want = f64::from(x).exp();
            let unit = f64::from(f32::from_bits((want as f32).to_bits() + 1)) - f64::from(want as f32);
            let error = (f64::from(exp(x)) - want).abs();
            assert!(want > f64::from(f32::MAX) || error <= 2.0 * unit, "{x}: {} and {want}", exp(x));
        }
        assert_eq!(
            [0.0, f32::NEG_INFINITY, f32::INFINITY, -1e30, 1e30].map(exp),
            [1.0, 0.0, f32::INFINITY, 0.0, f32::INFINITY]
        );
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn minus_one_is_within_two_units() {
        let tiny = (0..1_000).map(|k| -(0.97_f32.powi(k)));
        for x in (0..2_000_000).map(|k| k as f32 * -1e-5).chain(tiny) {
            let want = f64::from(x).exp_m1();
            let unit = f64::from(want as f32) - f64::from(f32::from_bits((want as f32).to_bits() + 1));
            assert!((f64::from(exp_m1(x)) - want).abs() <= 2.0 * unit.abs(), "{x}: {} and {want}", exp_m1(x));
        }
        assert_eq!([-0.0, f32::NEG_INFINITY, -1e30].map(exp_m1), [0.0, -1.0, -1.0]);
        assert!(exp_m1(f32::NAN).is_nan());
    }

    #[test]
    fn same_bits_on_every_instruction_set() {
        let mut list: Vec<f32> = (0..10_000).map(|k| (k as f32 * 0.37).sin() * 120.0).collect();
        let mut plain = list.clone();
        Scalar::new().vectorize(ExpAll(&mut plain));
        exp_all(&mut list);
        assert_eq!(
            list.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            plain.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        );
    }
}
