//! Bits and whole powers of integers, and of floats by them.

use crate::answer::{Answer, both_sides};
use crate::draw::{Build, Draw, Values};
use burn::tensor::{Float, FloatDType, Int, Tensor};

operations! { "integers";
    "remainder_scalar (int)" remainder_scalar [all] none, |h| h.each(|x| x.int().remainder_scalar(2));
    "remainder (int)" remainder [all] none, |h| h.pairs(|x, y| x.int().remainder(&y.int()));
    "powi (int)" powi [all] none, |h| h.pairs(|x, y| x.int().powi(&y.int()));
    bitwise_and [all] none, |h| h.pairs(|x, y| x.int().bitwise_and(&y.int()));
    bitwise_or [all] none, |h| h.pairs(|x, y| x.int().bitwise_or(&y.int()));
    bitwise_xor [all] none, |h| h.pairs(|x, y| x.int().bitwise_xor(&y.int()));
    bitwise_left_shift [all] none, |h| h.pairs(|x, y| x.int().bitwise_left_shift(&y.int()));
    bitwise_right_shift [all] none, |h| h.pairs(|x, y| x.int().bitwise_right_shift(&y.int()));
    bitwise_and_scalar [all] none, |h| h.each(|x| x.int().bitwise_and_scalar(1));
    bitwise_or_scalar [all] none, |h| h.each(|x| x.int().bitwise_or_scalar(2));
    bitwise_xor_scalar [all] none, |h| h.each(|x| x.int().bitwise_xor_scalar(3));
    bitwise_not [all] none, |h| h.each(|x| x.int().bitwise_not());
    bitwise_left_shift_scalar [all] none, |h| h.each(|x| x.int().bitwise_left_shift_scalar(1));
    bitwise_right_shift_scalar [all] none,
        |h| h.each(|x| x.int().bitwise_right_shift_scalar(1));
    "powi" powi_float [all] gradient, |h| h.pairs(|x, y| x.powi(&y.int()));
}

fn real<const D: usize>(x: Tensor<D, Int>) -> Tensor<D> {
    x.float().cast(FloatDType::F64)
}

/// `a` minus the largest multiple of `b` that is not beyond `a`, in floats, which are exact for small integers. 0 where
/// `b` is 0.
fn rest<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
    let none = b.clone().equal_elem(0.0);
    (a.clone() - (a / b.clone()).floor() * b).mask_fill(none, 0.0)
}

fn remainder_scalar<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Int>(Values::Any);
    let divisor = [-3, -1, 1, 2][draw.below(4)];
    draw.inputs.push(format!("divisor {divisor}"));
    both_sides(
        || a.sparse.remainder_scalar(divisor),
        || rest(real(a.dense.clone()), real(a.dense.zeros_like() + divisor)),
    )
}

fn remainder<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Int>(Values::Any);
    let b = draw.second_operand::<P, D, Int>(&a, Values::Any);
    both_sides(|| a.sparse.remainder(&b.sparse), || rest(real(a.dense), real(b.dense)))
}

fn powi<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Int>(Values::Any);
    let b = draw.second_operand::<P, D, Int>(&a, Values::Positive);
    both_sides(|| a.sparse.powi(&b.sparse), || real(a.dense).powf(real(b.dense)))
}

/// Any base that is not 0, also by negative powers: its size to the power, with its sign where the power is odd.
fn powi_float<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Float>(Values::Nonzero);
    let b = draw.second_operand::<P, D, Int>(&a, if draw.tracked() { Values::Positive } else { Values::Any });
    both_sides(
        || a.sparse.powi(&b.sparse),
        || {
            let odd = b.dense.clone().bitwise_and_scalar(1).equal_elem(1);
            let size = a.dense.clone().abs().powf(real(b.dense));
            size.clone().mask_where(odd.bool_and(a.dense.lower_elem(0.0)), size.neg())
        },
    )
}

/// Two tensors, the second not negative where it says by how many bits.
macro_rules! pairs {
    ($($name:ident $right:ident;)*) => {$(
        fn $name<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D, Int>(Values::Any);
            let b = draw.second_operand::<P, D, Int>(&a, Values::$right);
            both_sides(|| a.sparse.$name(&b.sparse), || a.dense.$name(b.dense))
        }
    )*};
}
pairs! {
    bitwise_and Any;
    bitwise_or Any;
    bitwise_xor Any;
    bitwise_left_shift Positive;
    bitwise_right_shift Positive;
}

macro_rules! scalars {
    ($($name:ident($($number:literal)?);)*) => {$(
        fn $name<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D, Int>(Values::Any);
            both_sides(|| a.sparse.$name($($number)?), || a.dense.$name($($number)?))
        }
    )*};
}
scalars! {
    bitwise_and_scalar(6);
    bitwise_or_scalar(5);
    bitwise_xor_scalar(3);
    bitwise_not();
    bitwise_left_shift_scalar(2);
    bitwise_right_shift_scalar(1);
}
