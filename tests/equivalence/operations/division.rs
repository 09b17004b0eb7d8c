//! Quotients and remainders: of integers in f32.

use super::arithmetic::{along, line, pair, with_dense, with_number};
use crate::answer::{Answer, both_sides};
use crate::draw::{Build, Draw, Values};
use crate::oversized::{filled, ones};
use burn::tensor::FloatDType::F32;
use burn::tensor::{Float, Int};
use sparse_tensor::SparseTensor;
use sparse_tensor::ops::ScalarArg;

operations! { "arithmetic";
    div [all] gradient, |h| h.pairs(|x, y| x.div(y));
    div_scalar [all] gradient, |h| h.each(|x| x.div_scalar(2.0));
    "div_dense (broadcast)" div_broadcast [all] gradient, |h| {
        h.lines(|x, size, axis| x.div_dense(line(size, axis)));
        h.refuses(h.cells(), filled(&h.a).try_div_dense(ones([1; D])));
    };
    div_dense [all] gradient, |h| {
        h.run(|| h.tall().div_dense(h.tall_ones()));
        h.refuses(h.tall().num_elements(), filled(&h.tall()).try_div_dense(h.tall_ones()));
    };
    "div (int)" div_int [all] none, |h| h.pairs(|x, y| x.int().div(&y.int()).int());
    "div_scalar (int)" div_scalar_int [all] none, |h| h.each(|x| x.int().div_scalar(2).int());
    "div_dense (broadcast) (int)" div_broadcast_int [all] none,
        |h| h.lines(|x, size, axis| x.int().div_dense(line(size, axis).int()).int());
    "div_dense (int)" div_dense_int [all] none, |h| h.run(|| h.tall().int().div_dense(h.tall_ones().int()).int());
    remainder_scalar [all] gradient, |h| h.each(|x| x.remainder_scalar(0.7));
    fmod_scalar [all] gradient, |h| h.each(|x| x.fmod_scalar(0.7));
    remainder [all] gradient, |h| h.pairs(|x, y| x.remainder(y));
    fmod [all] gradient, |h| h.pairs(|x, y| x.fmod(y));
}

/// By zeros too, 0 / 0 among them, where no gradient is compared.
fn div<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = if draw.tracked() {
        let a = draw.sparse::<P, D, Float>(Values::Any);
        let b = draw.second_operand::<P, D, Float>(&a, Values::Nonzero);
        (a, b)
    } else {
        pair(draw)
    };
    both_sides(|| &a.sparse / &b.sparse, || a.dense / b.dense)
}

/// A true division, in f32 on both sides.
fn div_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = pair::<P, D, Int>(draw);
    both_sides(|| &a.sparse / &b.sparse, || a.dense.float().cast(F32) / b.dense.float().cast(F32))
}

fn div_scalar<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    with_number::<P, D, Float, _>(draw, Values::Nonzero, |a, x| a.sparse.div_scalar(x), |a, x| a / x)
}

/// By a float.
fn div_scalar_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Int>(Values::Any);
    let number = draw.value(Values::Nonzero);
    draw.inputs.push(format!("number {number}"));
    both_sides(|| a.sparse.div_scalar(ScalarArg::from(number)), || a.dense.float().cast(F32).div_scalar(number))
}

fn div_broadcast<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let own = |a: &SparseTensor<P, D>, vector| a.div_dense(vector);
    along::<P, D, Float, Float>(draw, Values::Nonzero, own, |a, b| a / b)
}

fn div_broadcast_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let own = |a: &SparseTensor<P, D, Int>, vector| a.div_dense(vector);
    along::<P, D, Int, Float>(draw, Values::Nonzero, own, |a, b| a.cast(F32) / b.cast(F32))
}

fn div_dense<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let own = |a: &SparseTensor<P, D>, dense| a.div_dense(dense);
    with_dense::<P, D, Float, Float>(draw, Values::Nonzero, own, |a, b| a / b)
}

fn div_dense_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let own = |a: &SparseTensor<P, D, Int>, dense| a.div_dense(dense);
    with_dense::<P, D, Int, Float>(draw, Values::Nonzero, own, |a, b| a.cast(F32) / b.cast(F32))
}

/// A divisor of which no drawn element is a multiple, and the elements, whose slope is 1 then.
macro_rules! remainders {
    ($($name:ident $pair:ident $round:ident;)*) => {$(
        fn $name<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D, Float>(Values::Odd);
            let divisor = [0.75, -1.5, 2.0][draw.below(3)];
            draw.inputs.push(format!("divisor {divisor}"));
            both_sides(
                || a.sparse.$name(divisor),
                || {
                    let whole = a.dense.clone().detach().div_scalar(divisor).$round().mul_scalar(divisor);
                    a.dense - whole
                },
            )
        }

        fn $pair<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D, Float>(Values::Odd);
            let b = draw.second_operand::<P, D, Float>(&a, Values::Nonzero);
            both_sides(
                || a.sparse.$pair(&b.sparse),
                || {
                    let times = (a.dense.clone().detach() / b.dense.clone().detach()).$round();
                    a.dense - times * b.dense
                },
            )
        }
    )*};
}
remainders! {
    remainder_scalar remainder floor;
    fmod_scalar fmod trunc;
}
