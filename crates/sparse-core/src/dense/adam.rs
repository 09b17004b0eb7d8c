//! A step of Adam.

use crate::{Float, par, simd};
use pulp::{Simd, WithSimd};

/// The numbers of one step of Adam, the same for all elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamStep {
    /// What is kept of the first and of the second moment.
    pub kept: [f64; 2],
    /// What is added to them of the gradient and of its square.
    pub added: [f64; 2],
    /// What the first moment is multiplied by.
    pub correction: f64,
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// Times the parameter, added to the gradient.
    pub decay: f64,
    /// The learning rate.
    pub rate: f64,
}

/// One step of Adam, in one pass. With `g = grad + decay x` the moments become `m = kept_1 m + added_1 g` and
/// `v = kept_2 v + added_2 g^2`, and `grad` gets the parameters `x - rate (correction m / (sqrt(v) + epsilon))`. The
/// operations are those of Burn's Adam, in its order, so for f32 and f64 the bits are too. Without decay `decay x` is
/// not added. In a first step, whose moments are 0, what is kept is -0, so that a moment of -0 keeps its sign.
///
/// Source: Kingma and Ba, *Adam: a method for stochastic optimization*, ICLR 2015. O(len) time, no memory.
///
/// # Panics
///
/// When lengths disagree.
pub fn adam_step<T: Float>(x: &[T], moments: [&mut [T]; 2], grad: &mut [T], step: AdamStep) {
    let (len, [first, second]) = (x.len(), moments);
    assert!([first.len(), second.len(), grad.len()] == [len; 3], "adam_step: all lists must have {len} elements");
    if len == 0 {
        return;
    }
    let ranges = par::even(len, 1);
    let lists = par::split_rows(&mut [first, second, grad], len, &par::lens(&ranges, |range| range.len()));
    par::each(lists, &|k, lists| {
        let Ok([first, second, grad]) = <[&mut [T]; 3]>::try_from(lists) else { unreachable!("three lists are split") };
        simd::on_any(Step { x: &x[ranges[k].clone()], first, second, grad, step });
    });
}

struct Step<'a, T> {
    x: &'a [T],
    first: &'a mut [T],
    second: &'a mut [T],
    grad: &'a mut [T],
    step: AdamStep,
}

impl<T: Float> WithSimd for Step<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { x, first, second, grad, step: AdamStep { kept, added, correction, epsilon, decay, rate } } = self;
        let ([kept, added], decays) = ([kept, added].map(|list| list.map(T::nearest)), decay != 0.0);
        let [correction, epsilon, decay, rate] = [correction, epsilon, decay, rate].map(T::nearest);
        for (((x, m), v), grad) in x.iter().zip(first).zip(second).zip(grad) {
            let (x, mut g) = (x.widen(), grad.widen());
            if decays {
                g = T::add(T::mul(x, decay), g);
            }
            let next = |old: &T, new, k: usize| T::round(T::add(T::mul(old.widen(), kept[k]), T::mul(new, added[k])));
            let (one, two) = (next(m, g, 0), next(v, T::mul(g, g), 1));
            (*m, *v) = (T::narrow(one), T::narrow(two));
            let change = T::div(T::mul(one, correction), T::add(T::sqrt(two), epsilon));
            *grad = T::narrow(T::sub(x, T::mul(change, rate)));
        }
    }
}

pub(super) mod dynamic {
    use super::AdamStep;
    use crate::dynamic::slices::{Elements, ElementsMut};

    /// See [`adam_step`](crate::adam_step()).
    ///
    /// # Panics
    ///
    /// If not all are f32, or all f64.
    pub fn adam_step(x: Elements<'_>, moments: [ElementsMut<'_>; 2], grad: ElementsMut<'_>, step: AdamStep) {
        match (x, moments, grad) {
            (Elements::F32(x), [ElementsMut::F32(m), ElementsMut::F32(v)], ElementsMut::F32(grad)) => {
                super::adam_step(x, [m, v], grad, step);
            }
            (Elements::F64(x), [ElementsMut::F64(m), ElementsMut::F64(v)], ElementsMut::F64(grad)) => {
                super::adam_step(x, [m, v], grad, step);
            }
            _ => panic!("adam_step: all lists must be f32, or all f64"),
        }
    }
}
