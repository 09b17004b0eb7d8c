//! Functions of one element, and of two, that floats and integers have.

use super::family;
use crate::answer::{Answer, law};
use crate::draw::{Build, Draw, Drawn, Fills, Layout, Values};
use burn::tensor::{Bool, Float};
use sparse_tensor::Numeric;
use sparse_tensor::pattern::{CooPattern, CsrPattern};

family! { "element-wise" of Float;
    "map" map [coo csr hybrid batched] gradient;
    "zip_with" zip_with [coo csr hybrid batched] gradient;
    "abs" abs [coo csr hybrid batched] gradient;
    "neg" neg [coo csr hybrid batched] gradient;
    "sign" sign [coo csr hybrid batched] gradient;
    "square" square [coo csr hybrid batched] gradient;
    "powi_scalar" powi_scalar [coo csr hybrid batched] gradient;
    "clamp" clamp [coo csr hybrid batched] gradient;
    "clamp_min" clamp_min [coo csr hybrid batched] gradient;
    "clamp_max" clamp_max [coo csr hybrid batched] gradient;
    "equal_elem" equal_elem [coo csr hybrid batched] none;
    "not_equal_elem" not_equal_elem [coo csr hybrid batched] none;
    "greater_elem" greater_elem [coo csr hybrid batched] none;
    "greater_equal_elem" greater_equal_elem [coo csr hybrid batched] none;
    "lower_elem" lower_elem [coo csr hybrid batched] none;
    "lower_equal_elem" lower_equal_elem [coo csr hybrid batched] none;
    "min_pair" min_pair [coo csr hybrid batched] gradient;
    "max_pair" max_pair [coo csr hybrid batched] gradient;
    "equal" equal [coo csr hybrid batched] none;
    "not_equal" not_equal [coo csr hybrid batched] none;
    "greater" greater [coo csr hybrid batched] none;
    "greater_equal" greater_equal [coo csr hybrid batched] none;
    "lower" lower [coo csr hybrid batched] none;
    "lower_equal" lower_equal [coo csr hybrid batched] none;
    "mask_where" mask_where [coo csr hybrid batched] gradient;
    "mask_fill" mask_fill [coo csr hybrid batched] gradient;
}

/// Functions that dense tensors have by the same name.
macro_rules! same {
    ($($name:ident($($arg:expr),*) $values:ident;)*) => {$(
        pub(super) fn $name<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D, K>(Values::$values);
            law(|| a.sparse.$name($($arg),*), || K::real(a.dense).$name($($arg),*))
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
    law(
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
    law(
        || a.sparse.map(|rows| rows.clone() * rows + 1),
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
        let b = draw.beside::<P, D, K>(&a, Values::Any);
        return law(
            || a.sparse.zip_with(&b.sparse, |a, b| a.clone() * b - a),
            || K::real(a.dense.clone()) * K::real(b.dense) - K::real(a.dense),
        );
    }
    let b = draw.beside::<P, D, Bool>(&a, Values::Any);
    law(
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
            let b = draw.beside::<P, D, K>(&a, Values::$right);
            law(|| a.sparse.$name(&b.sparse), || K::real(a.dense).$name(K::real(b.dense)))
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
    let b = draw.beside::<P, D, K>(&a, Values::Any);
    let mask = draw.shaped::<P, D, Bool>(a.sparse.dims(), a.host.sparse_dims, Values::Any, Fills::Any);
    law(|| a.sparse.mask_where(&mask.sparse, &b.sparse), || a.dense.mask_where(mask.dense, b.dense))
}

pub(super) fn mask_fill<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    let mask = draw.shaped::<P, D, Bool>(a.sparse.dims(), a.host.sparse_dims, Values::Any, Fills::Any);
    let number = if K::IS_FLOAT { 1.5 } else { 1.0 };
    law(|| a.sparse.mask_fill(&mask.sparse, K::scalar(number)), || K::real(a.dense).mask_fill(mask.dense, number))
}
