//! Functions of the stored elements alone: elsewhere the fill stays, or there is nothing.

use super::arithmetic::pair;
use crate::answer::{Answer, both_sides};
use crate::draw::{Build, Draw, Drawn, Input, Values};
use crate::reference::{keep, mask};
use burn::tensor::FloatDType::F32;
use burn::tensor::{Float, Int};
use sparse_tensor::Numeric;

operations! { "stored elements";
    map_stored of Float Int [all] gradient, |h| h.each(|x| x.map_stored(|rows| rows.mul_scalar(3.0)));
    zip_stored of Float Int [all] gradient, |h| h.pairs(|x, y| x.zip_stored(y, |x, y| x * y.exp()));
    mul_stored of Float Int [all] gradient, |h| h.pairs(|x, y| x.mul_stored(y));
    div_stored [all] gradient, |h| h.pairs(|x, y| x.div_stored(y));
    "div_stored (int)" div_stored_int [all] none, |h| h.pairs(|x, y| x.int().div_stored(&y.int()).int());
}

/// Whether both store an element.
fn both<P: Build, const D: usize, K: Drawn>(a: &Input<P, D, K>, b: &Input<P, D, K>) -> Vec<bool> {
    a.host.mask().into_iter().zip(b.host.mask()).map(|(a, b)| a && b).collect()
}

pub(super) fn map_stored<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    both_sides(
        || a.sparse.map_stored(|rows| rows.mul_scalar(3).add_scalar(1)),
        || {
            let dense = K::real(a.dense);
            let stored = mask(&dense, a.host.mask().into_iter());
            dense.clone() + (dense.mul_scalar(2.0).add_scalar(1.0)) * stored
        },
    )
}

/// With values that differ from the fill's part, so that it shows where fills take part.
pub(super) fn zip_stored<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let b = draw.second_operand::<P, D, K>(&a, Values::Any);
    let stored = both(&a, &b);
    both_sides(
        || a.sparse.zip_stored(&b.sparse, |a, b| a.clone() * b + a.add_scalar(1)),
        || {
            let (a, b) = (K::real(a.dense), K::real(b.dense));
            keep(a.clone() * b + a.add_scalar(1.0), stored)
        },
    )
}

pub(super) fn mul_stored<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let (a, b) = pair::<P, D, K>(draw);
    let stored = both(&a, &b);
    both_sides(|| a.sparse.mul_stored(&b.sparse), || keep(K::real(a.dense) * K::real(b.dense), stored))
}

/// By zeros too where no gradient is compared.
fn div_stored<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = if draw.tracked() {
        let a = draw.sparse::<P, D, Float>(Values::Any);
        let b = draw.second_operand::<P, D, Float>(&a, Values::Nonzero);
        (a, b)
    } else {
        pair(draw)
    };
    let stored = both(&a, &b);
    both_sides(|| a.sparse.div_stored(&b.sparse), || keep(a.dense / b.dense, stored))
}

fn div_stored_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = pair::<P, D, Int>(draw);
    let stored = both(&a, &b);
    both_sides(
        || a.sparse.div_stored(&b.sparse),
        || keep(a.dense.float().cast(F32) / b.dense.float().cast(F32), stored),
    )
}
