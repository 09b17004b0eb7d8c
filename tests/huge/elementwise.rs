//! Functions of one element and of two, numbers, vectors along an axis, choices and casts.

use crate::inputs::{SIZE, filled, host_filled, mask, ones, undefined};
use crate::outcome::{done, refused, run};
use burn::tensor::{FloatDType, IntDType};
use sparse_tensor::SparseTensor;
use sparse_tensor::pattern::Pattern;

pub fn all<P: Pattern, const D: usize>(a: &SparseTensor<P, D>, b: &SparseTensor<P, D>) {
    for x in [a, &filled(a), &host_filled(a), &undefined(a)] {
        of_one(x);
        casts(x);
        for y in [b, &filled(b), &undefined(b)] {
            of_two(x, y);
        }
    }
    along(a);
    let cells = a.num_elements();
    refused! {
        cells => filled(a) => try_mul_along(ones([SIZE]), -2), try_div_along(ones([SIZE]), -2);
        cells => a => try_add_along(ones([SIZE]), -2), try_sub_along(ones([SIZE]), -2);
    }
}

fn of_one<P: Pattern, const D: usize>(x: &SparseTensor<P, D>) {
    run! {
        x => map(|rows| rows.mul_scalar(3.0)), neg(), abs(), sign(), square(), recip(), sqrt(), relu(), sigmoid();
        x => sin(), cos(), tan(), asin(), acos(), atan(), sinh(), cosh(), tanh(), asinh(), acosh(), atanh();
        x => exp(), expm1(), log(), log1p(), erf(), floor(), ceil(), round(), trunc(), deg2rad(), rad2deg();
        x => powf_scalar(1.5), powi_scalar(3), remainder_scalar(0.7), fmod_scalar(0.7);
        x => clamp(0.5, 1.0), clamp_min(0.75), clamp_max(1.0);
        x => add_scalar(2.0), sub_scalar(ones([1])), mul_scalar(ones([1])), div_scalar(2.0);
        x => equal_elem(1.0), not_equal_elem(1.0), greater_elem(1.0), greater_equal_elem(1.0);
        x => lower_elem(1.0), lower_equal_elem(1.0), is_nan(), is_inf(), is_finite();
    }
}

fn casts<P: Pattern, const D: usize>(x: &SparseTensor<P, D>) {
    run! {
        x => cast(FloatDType::F64), cast(FloatDType::F16), int();
        x.int() => cast(IntDType::I64), cast(IntDType::U8), bool(), remainder_scalar(2);
        x.int() => bitwise_and_scalar(1), bitwise_or_scalar(2), bitwise_xor_scalar(3), bitwise_not();
        x.int() => bitwise_left_shift_scalar(1), bitwise_right_shift_scalar(1);
        mask(x) => bool_not(), int();
    }
    // Floats that come from integers are not on the tape.
    done("float", || vec![x.int().float().int(), mask(x).float().int()]);
    done("div_scalar", || x.int().div_scalar(2).int());
}

fn of_two<P: Pattern, const D: usize>(x: &SparseTensor<P, D>, y: &SparseTensor<P, D>) {
    run! {
        x => add(y), sub(y), mul(y), div(y), max_pair(y), min_pair(y), powf(y), atan2(y), hypot(y);
        x => zip_with(y, |x, y| x * y.exp());
        x => equal(y), not_equal(y), greater(y), greater_equal(y), lower(y), lower_equal(y);
        mask(x) => bool_and(&mask(y)), bool_or(&mask(y)), bool_xor(&mask(y));
        x => mask_where(&mask(y), y), mask_fill(&mask(y), 2.0);
        x => remainder(y), fmod(y), powi(&y.int()), is_close(y, 1e-5, 1e-8);
        x.int() => add(&y.int()), mul(&y.int()), max_pair(&y.int()), remainder(&y.int()), powi(&y.int());
        x.int() => bitwise_and(&y.int()), bitwise_or(&y.int()), bitwise_xor(&y.int());
        x.int() => bitwise_left_shift(&y.int()), bitwise_right_shift(&y.int());
    }
}

fn along<P: Pattern, const D: usize>(x: &SparseTensor<P, D>) {
    for (axis, &size) in x.pattern().shape().iter().enumerate() {
        let axis = axis as isize;
        run! {
            x => mul_along(ones([size]), axis), div_along(ones([size]), axis);
            undefined(x) => add_along(ones([size]), axis), sub_along(ones([size]), axis);
        }
    }
}
