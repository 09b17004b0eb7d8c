//! Functions of one element, and of two, that floats and integers have.

use crate::answer::{Answer, both_sides};
use crate::draw::{Build, Draw, Drawn, Fills, Values};
use crate::oversized::mask;
use burn::tensor::Bool;
use sparse_tensor::Numeric;

operations! { "element-wise";
    map of Float [all] gradient, |h| h.each(|x| x.clone().map(|rows| rows.mul_scalar(3.0)));
    zip_with of Float Int [all] gradient, |h| h.pairs(|x, y| x.zip_with(y, |x, y| x * y.exp()));
    abs of Float Int [all] gradient, |h| h.each(|x| x.abs());
    neg of Float Int [all] gradient, |h| h.each(|x| x.neg());
    sign of Float Int [all] zero, |h| h.each(|x| x.sign());
    square of Float Int [all] gradient, |h| h.each(|x| x.square());
    powi_scalar of Float Int [all] gradient, |h| h.each(|x| x.powi_scalar(3));
    clamp of Float Int [all] gradient, |h| h.each(|x| x.clamp(0.5, 1.0));
    clamp_min of Float Int [all] gradient, |h| h.each(|x| x.clamp_min(0.75));
    clamp_max of Float Int [all] gradient, |h| h.each(|x| x.clamp_max(1.0));
    equal_elem of Float Int [all] none, |h| h.each(|x| x.equal_elem(1.0));
    not_equal_elem of Float Int [all] none, |h| h.each(|x| x.not_equal_elem(1.0));
    greater_elem of Float Int [all] none, |h| h.each(|x| x.greater_elem(1.0));
    greater_equal_elem of Float Int [all] none, |h| h.each(|x| x.greater_equal_elem(1.0));
    lower_elem of Float Int [all] none, |h| h.each(|x| x.lower_elem(1.0));
    lower_equal_elem of Float Int [all] none, |h| h.each(|x| x.lower_equal_elem(1.0));
    min_pair of Float Int [all] gradient, |h| h.pairs(|x, y| x.min_pair(y));
    max_pair of Float Int [all] gradient,
        |h| { h.pairs(|x, y| x.max_pair(y)); h.pairs(|x, y| x.int().max_pair(&y.int())) };
    equal of Float Int [all] none, |h| h.pairs(|x, y| x.equal(y));
    not_equal of Float Int [all] none, |h| h.pairs(|x, y| x.not_equal(y));
    greater of Float Int [all] none, |h| h.pairs(|x, y| x.greater(y));
    greater_equal of Float Int [all] none, |h| h.pairs(|x, y| x.greater_equal(y));
    lower of Float Int [all] none, |h| h.pairs(|x, y| x.lower(y));
    lower_equal of Float Int [all] none, |h| h.pairs(|x, y| x.lower_equal(y));
    mask_where of Float Int Bool [all] gradient, |h| h.pairs(|x, y| x.mask_where(&mask(y), y));
    mask_fill of Float Int Bool [all] gradient, |h| h.pairs(|x, y| x.mask_fill(&mask(y), 2.0));
}

/// Functions that dense tensors have by the same name.
macro_rules! same {
    ($($name:ident($($arg:expr),*) $values:ident;)*) => {$(
        pub(super) fn $name<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D, K>(Values::$values);
            both_sides(|| a.sparse.$name($($arg),*), || K::real(a.dense).$name($($arg),*))
        }
    )*};
}
same! {
    abs() Any;
    neg() Any;
    sign() Odd;
    square() Any;
    clamp(-1.0, 1.0) Odd;
    clamp_min(-1.0) Odd;
    clamp_max(1.0) Odd;
    equal_elem(1.0) Any;
    not_equal_elem(1.0) Any;
    greater_elem(1.0) Any;
    greater_equal_elem(1.0) Any;
    lower_elem(1.0) Any;
    lower_equal_elem(1.0) Any;
}

/// As repeated products.
pub(super) fn powi_scalar<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Nonzero);
    let power = if K::IS_FLOAT { draw.below(7) as i32 - 2 } else { draw.below(5) as i32 };
    draw.inputs.push(format!("power {power}"));
    both_sides(
        || a.sparse.powi_scalar(power),
        || {
            let x = K::real(a.dense);
            let ones = x.ones_like();
            let product = (0..power.abs()).fold(ones.clone(), |product, _| product * x.clone());
            if power < 0 { ones / product } else { product }
        },
    )
}

pub(super) fn map<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    both_sides(
        || a.sparse.clone().map(|rows| rows.clone() * rows + 1),
        || {
            let x = K::real(a.dense);
            x.clone() * x + 1.0
        },
    )
}

/// With a tensor of another kind, to a third one or the first.
pub(super) fn zip_with<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    if draw.coin() {
        let b = draw.second_operand::<P, D, K>(&a, Values::Any);
        return both_sides(
            || a.sparse.zip_with(&b.sparse, |a, b| a.clone() * b - a),
            || K::real(a.dense.clone()) * K::real(b.dense) - K::real(a.dense),
        );
    }
    let b = draw.second_operand::<P, D, Bool>(&a, Values::Any);
    both_sides(
        || a.sparse.zip_with(&b.sparse, |a, b| (a.clone() + 1).mask_where(b, a)),
        || {
            let x = K::real(a.dense);
            (x.clone() + 1).mask_where(b.dense, x)
        },
    )
}

/// Functions of two tensors that dense ones have by the same name.
macro_rules! pairs {
    ($($name:ident $left:ident $right:ident;)*) => {$(
        pub(super) fn $name<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D, K>(Values::$left);
            let b = draw.second_operand::<P, D, K>(&a, Values::$right);
            both_sides(|| a.sparse.$name(&b.sparse), || K::real(a.dense).$name(K::real(b.dense)))
        }
    )*};
}
pairs! {
    min_pair Any Odd;
    max_pair Any Odd;
    equal Any Any;
    not_equal Any Any;
    greater Any Any;
    greater_equal Any Any;
    lower Any Any;
    lower_equal Any Any;
}

/// `b` where the mask holds, else `a`.
pub(super) fn mask_where<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let b = draw.second_operand::<P, D, K>(&a, Values::Any);
    let mask = draw.shaped::<P, D, Bool>(a.sparse.dims(), a.host.sparse_dims, Values::Any, Fills::Any);
    both_sides(|| a.sparse.mask_where(&mask.sparse, &b.sparse), || a.dense.mask_where(mask.dense, b.dense))
}

pub(super) fn mask_fill<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let mask = draw.shaped::<P, D, Bool>(a.sparse.dims(), a.host.sparse_dims, Values::Any, Fills::Any);
    let number = if K::IS_FLOAT { 1.5 } else { 1.0 };
    both_sides(
        || a.sparse.mask_fill(&mask.sparse, K::scalar(number)),
        || K::real(a.dense).mask_fill(mask.dense, number),
    )
}
