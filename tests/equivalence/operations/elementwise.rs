//! Functions of one float, and of two.

use crate::answer::{Answer, both_sides};
use crate::draw::{Build, Draw, Values};
use burn::tensor::Float;
use burn::tensor::activation;

operations! { "element-wise";
    sin [all] gradient, |h| h.each(|x| x.sin());
    cos [all] gradient, |h| h.each(|x| x.cos());
    tan [all] gradient, |h| h.each(|x| x.tan());
    asin [all] gradient, |h| h.each(|x| x.asin());
    acos [all] gradient, |h| h.each(|x| x.acos());
    atan [all] gradient, |h| h.each(|x| x.atan());
    sinh [all] gradient, |h| h.each(|x| x.sinh());
    cosh [all] gradient, |h| h.each(|x| x.cosh());
    tanh [all] gradient, |h| h.each(|x| x.tanh());
    asinh [all] gradient, |h| h.each(|x| x.asinh());
    acosh [all] gradient, |h| h.each(|x| x.acosh());
    atanh [all] gradient, |h| h.each(|x| x.atanh());
    exp [all] gradient, |h| h.each(|x| x.exp());
    deg2rad [all] gradient, |h| h.each(|x| x.deg2rad());
    rad2deg [all] gradient, |h| h.each(|x| x.rad2deg());
    expm1 [all] gradient, |h| h.each(|x| x.expm1());
    log [all] gradient, |h| h.each(|x| x.log());
    log1p [all] gradient, |h| h.each(|x| x.log1p());
    sqrt [all] gradient, |h| h.each(|x| x.sqrt());
    recip [all] gradient, |h| h.each(|x| x.recip());
    relu [all] gradient, |h| h.each(|x| x.relu());
    sigmoid [all] gradient, |h| h.each(|x| x.sigmoid());
    erf [all] gradient, |h| h.each(|x| x.erf());
    floor [all] zero, |h| h.each(|x| x.floor());
    ceil [all] zero, |h| h.each(|x| x.ceil());
    round [all] zero, |h| h.each(|x| x.round());
    trunc [all] zero, |h| h.each(|x| x.trunc());
    powf_scalar [all] gradient, |h| h.each(|x| x.powf_scalar(1.5));
    is_nan [all] none, |h| h.each(|x| x.is_nan());
    is_inf [all] none, |h| h.each(|x| x.is_inf());
    is_finite [all] none, |h| h.each(|x| x.is_finite());
    powf [all] gradient, |h| h.pairs(|x, y| x.powf(y));
    atan2 [all] gradient, |h| h.pairs(|x, y| x.atan2(y));
    hypot [all] gradient, |h| h.pairs(|x, y| x.hypot(y));
    logaddexp [all] gradient, |h| h.pairs(|x, y| x.logaddexp(y));
    is_close [all] none, |h| h.pairs(|x, y| x.is_close(y, Some(1e-5), Some(1e-8)));
}

/// Functions that dense tensors have by the same name.
macro_rules! same {
    ($($name:ident($($arg:expr),*) $values:ident;)*) => {$(
        fn $name<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D, Float>(Values::$values);
            both_sides(|| a.sparse.$name($($arg),*), || a.dense.$name($($arg),*))
        }
    )*};
}
same! {
    sin() Any;
    cos() Any;
    tan() Unit;
    asin() Unit;
    acos() Unit;
    atan() Any;
    sinh() Any;
    cosh() Any;
    deg2rad() Any;
    rad2deg() Any;
    tanh() Any;
    asinh() Any;
    acosh() AboveOne;
    atanh() Unit;
    exp() Any;
    log() Positive;
    log1p() Positive;
    sqrt() Positive;
    recip() Nonzero;
    erf() Any;
    floor() Odd;
    ceil() Odd;
    round() Odd;
    trunc() Odd;
    powf_scalar(1.5) Positive;
    is_nan() Special;
    is_inf() Special;
    is_finite() Special;
}

fn expm1<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Float>(Values::Any);
    both_sides(|| a.sparse.expm1(), || a.dense.exp() - 1.0)
}

fn relu<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Float>(Values::Odd);
    both_sides(|| a.sparse.relu(), || activation::relu(a.dense))
}

fn sigmoid<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Float>(Values::Any);
    both_sides(|| a.sparse.sigmoid(), || activation::sigmoid(a.dense))
}

/// Functions of two tensors that dense ones have by the same name.
macro_rules! pairs {
    ($($name:ident $left:ident $right:ident;)*) => {$(
        fn $name<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D, Float>(Values::$left);
            let b = draw.second_operand(&a, Values::$right);
            both_sides(|| a.sparse.$name(&b.sparse), || a.dense.$name(b.dense))
        }
    )*};
}
pairs! {
    atan2 Nonzero Nonzero;
    hypot Nonzero Nonzero;
}

/// Bases of 0 have exponents above 1: there both slopes are 0, of which dense tensors give NaN for the exponent.
fn powf<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    if draw.coin() {
        let a = draw.sparse::<P, D, Float>(Values::Positive);
        let b = draw.second_operand(&a, Values::Any);
        return both_sides(|| a.sparse.powf(&b.sparse), || a.dense.powf(b.dense));
    }
    let a = draw.sparse::<P, D, Float>(Values::ZeroOrMore);
    let b = draw.second_operand(&a, Values::AboveOne);
    both_sides(
        || a.sparse.powf(&b.sparse),
        || {
            let zero = a.dense.clone().equal_scalar(0);
            a.dense.mask_fill(zero.clone(), 1).powf(b.dense).mask_fill(zero, 0)
        },
    )
}

fn logaddexp<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Float>(Values::Any);
    let b = draw.second_operand(&a, Values::Any);
    both_sides(|| a.sparse.logaddexp(&b.sparse), || (a.dense.exp() + b.dense.exp()).log())
}

/// Tolerances that no distance of drawn numbers meets exactly.
fn is_close<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Float>(Values::Any);
    let b = draw.second_operand(&a, Values::Any);
    both_sides(
        || a.sparse.is_close(&b.sparse, Some(0.3), Some(0.01)),
        || (a.dense - b.dense.clone()).abs().lower_equal(b.dense.abs() * 0.3 + 0.01),
    )
}
