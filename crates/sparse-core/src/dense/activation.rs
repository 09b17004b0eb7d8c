//! Activations that do not change numbers above zero, and their gradients.

use super::{BLOCK, Reads, in_blocks};
use crate::{Float, simd};
use pulp::{Simd, WithSimd};

/// What becomes of a number that is not above zero. NaN stays NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// `alpha * (e^x - 1)`, the exponential linear unit.
    Elu {
        /// What the result goes to below zero, negated.
        alpha: f64,
    },
    /// `slope * x`, the leaky ReLU.
    LeakyRelu {
        /// The slope below zero.
        slope: f64,
    },
}

/// Applies an activation to each number. `out` gets the results of `values`; without these it is changed in place.
///
/// # Panics
///
/// When lengths disagree.
pub fn activate<T: Float>(values: Option<&[T]>, out: &mut [T], how: Activation) {
    in_blocks(values, out, BLOCK, Reads::Piece, &|_, list| match how {
        Activation::Elu { alpha } => {
            let alpha = T::nearest(alpha);
            below(list, |x| T::mul(alpha, T::exp_m1(x)));
        }
        Activation::LeakyRelu { slope } => {
            let slope = T::nearest(slope);
            below(list, |x| T::mul(slope, x));
        }
    });
}

/// The gradient of what [`activate`] took, from that, `x`, and the gradient of the result. `d_x` gets the results of
/// `grad`; without that it is changed in place. Where `x` is above zero the gradient passes; else it is times
/// `alpha * e^x`, or times the slope.
///
/// # Panics
///
/// When lengths disagree.
pub fn activate_backward<T: Float>(x: &[T], grad: Option<&[T]>, d_x: &mut [T], how: Activation) {
    assert_eq!(x.len(), d_x.len(), "activate_backward: the gradient must have as many elements as the numbers");
    in_blocks(grad, d_x, BLOCK, Reads::OtherLists, &|k, grad| {
        let x = &x[k * BLOCK..][..grad.len()];
        match how {
            Activation::Elu { alpha } => {
                let alpha = T::nearest(alpha);
                scale(grad, x, |x| T::mul(alpha, T::exp(x)));
            }
            Activation::LeakyRelu { slope } => {
                let slope = T::nearest(slope);
                scale(grad, x, |_| slope);
            }
        }
    });
}

/// Replaces each number that is not above zero.
#[inline(always)]
fn below<T: Float>(list: &mut [T], f: impl Fn(T::Acc) -> T::Acc) {
    simd::on_any(Below { list, f });
}

struct Below<'a, T, F> {
    list: &'a mut [T],
    f: F,
}

impl<T: Float, F: Fn(T::Acc) -> T::Acc> WithSimd for Below<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for x in self.list {
            let wide = x.widen();
            let other = T::narrow((self.f)(wide));
            *x = if wide > T::ACC_ZERO { *x } else { other };
        }
    }
}

/// Multiplies each gradient by the slope at a number that is not above zero.
#[inline(always)]
fn scale<T: Float>(grad: &mut [T], x: &[T], slope: impl Fn(T::Acc) -> T::Acc) {
    simd::on_any(Scale { grad, x, slope });
}

struct Scale<'a, T, F> {
    grad: &'a mut [T],
    x: &'a [T],
    slope: F,
}

impl<T: Float, F: Fn(T::Acc) -> T::Acc> WithSimd for Scale<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (grad, x) in self.grad.iter_mut().zip(self.x) {
            let x = x.widen();
            let slope = (self.slope)(x);
            let slope = if x > T::ACC_ZERO { T::ACC_ONE } else { slope };
            *grad = T::narrow(T::mul(grad.widen(), slope));
        }
    }
}

pub(super) mod dynamic {
    use super::Activation;
    use crate::dynamic::slices::{AnyElement, ElementVec, Elements, Values, with_values};

    /// See [`activate`](crate::activate()). Returns the result, unless the values are changed in place.
    pub fn activate(values: Values<'_>, how: Activation) -> Option<ElementVec> {
        with_values!(values, (source, out) => super::activate(source, out, how))
    }

    /// See [`activate_backward`](crate::activate_backward()). Returns the result, unless the gradient is changed in
    /// place.
    pub fn activate_backward(x: Elements<'_>, grad: Values<'_>, how: Activation) -> Option<ElementVec> {
        with_values!(grad, (source, d_x) => super::activate_backward(AnyElement::elements(x), source, d_x, how))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELU: Activation = Activation::Elu { alpha: 1.5 };
    const LEAKY: Activation = Activation::LeakyRelu { slope: 0.2 };

    #[test]
    fn are_their_formulas() {
        let x: Vec<f64> =
            (0..5000).map(|k| (f64::from(k) * 0.37).sin() * 9.0).chain([0.0, -0.0, -1e-9, 1e-9]).collect();
        let elu = |x: f64| if x > 0.0 { (x, 1.0) } else { (1.5 * x.exp_m1(), 1.5 * x.exp()) };
        let leaky = |x: f64| if x > 0.0 { (x, 1.0) } else { (0.2 * x, 0.2) };
        for (how, formula) in [(ELU, &elu as &dyn Fn(f64) -> (f64, f64)), (LEAKY, &leaky)] {
            let (mut out, mut grad) = (vec![0.0; x.len()], vec![2.0; x.len()]);
            activate(Some(&x), &mut out, how);
            activate_backward(&x, None, &mut grad, how);
            for ((&x, out), grad) in x.iter().zip(out).zip(grad) {
                let (want, slope) = formula(x);
                assert_eq!(out, want, "{how:?} of {x}");
                assert!((grad - 2.0 * slope).abs() < 1e-14, "{how:?} of {x}: {grad}");
            }
        }
    }

    #[test]
    fn limits_and_nan() {
        for (how, low) in [(ELU, -1.5), (LEAKY, f32::NEG_INFINITY)] {
            let mut list = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0];
            activate(None, &mut list, how);
            assert!(list[0].is_nan());
            assert_eq!(list[1..], [f32::INFINITY, low, 0.0, 0.0]);
        }
    }

    /// A slope that is computed from the rounded result would be 0.
    #[test]
    fn slopes_of_16_bits_are_precise() {
        let (x, mut grad) = ([half::bf16::from_f32(-8.0)], [half::bf16::ONE]);
        activate_backward(&x, None, &mut grad, Activation::Elu { alpha: 1.0 });
        assert!((grad[0].to_f32() / (-8.0_f32).exp() - 1.0).abs() < 0.01);
    }

    #[test]
    fn same_bits_on_every_instruction_set() {
        let mut plain: Vec<f32> = (0..3000).map(|k| (k as f32 * 0.37).sin() * 40.0).collect();
        let mut list = plain.clone();
        activate(None, &mut list, ELU);
        let f = |x: f32| 1.5 * crate::exp::exp_m1(x);
        pulp::Scalar::new().vectorize(Below { list: &mut plain, f });
        assert!(list.iter().zip(&plain).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}
