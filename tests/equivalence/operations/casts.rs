//! The same elements as another kind or in another dtype.

use crate::answer::{Answer, both_sides};
use crate::draw::{Build, Draw, Values};
use crate::oversized::mask;
use burn::tensor::{Bool, DType, Float, FloatDType, Int, IntDType};

operations! { "structure";
    cast [all] gradient, |h| { h.each(|x| x.cast(FloatDType::F64)); h.each(|x| x.cast(FloatDType::F16)) };
    "cast (int)" cast_int [all] none,
        |h| { h.each(|x| x.int().cast(IntDType::I64)); h.each(|x| x.int().cast(IntDType::U8)) };
    int [all] none, |h| h.each(|x| x.int());
    "int (bool)" int_of_bool [all] none, |h| h.each(|x| mask(x).int());
    "float (int)" float_of_int [all] none, |h| h.each(|x| x.int().float().int());
    "float (bool)" float_of_bool [all] none, |h| h.each(|x| mask(x).float().int());
    "bool (int)" bool_of_int [all] none, |h| h.each(|x| x.int().bool());
}

/// To f32, which holds every drawn number.
fn cast<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Float>(Values::Any);
    both_sides(|| a.sparse.cast(FloatDType::F32), || a.dense)
}

fn cast_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Int>(Values::Any);
    let wide = draw.device().supports_dtype(DType::I64) && draw.coin();
    both_sides(|| a.sparse.cast(if wide { IntDType::I64 } else { IntDType::I32 }), || a.dense)
}

fn int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Float>(Values::Any);
    both_sides(|| a.sparse.int(), || a.dense.int())
}

fn int_of_bool<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Bool>(Values::Any);
    both_sides(|| a.sparse.int(), || a.dense.int())
}

fn float_of_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Int>(Values::Any);
    both_sides(|| a.sparse.float(), || a.dense.float())
}

fn float_of_bool<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Bool>(Values::Any);
    both_sides(|| a.sparse.float(), || a.dense.float())
}

fn bool_of_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Int>(Values::Any);
    both_sides(|| a.sparse.bool(), || a.dense.bool())
}
