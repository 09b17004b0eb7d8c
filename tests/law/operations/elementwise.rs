//! Functions of one element, and of two.

use super::family;
use crate::answer::{Answer, law};
use crate::draw::{Build, Draw, Fills, Layout, Values};
use burn::tensor::activation;
use sparse_tensor::pattern::{CooPattern, CsrPattern};

family! { "element-wise";
    "map" map [coo csr hybrid batched] gradient;
    "abs" abs [coo csr hybrid batched] gradient;
    "neg" neg [coo csr hybrid batched] gradient;
    "sin" sin [coo csr hybrid batched] gradient;
    "cos" cos [coo csr hybrid batched] gradient;
    "tan" tan [coo csr hybrid batched] gradient;
    "asin" asin [coo csr hybrid batched] gradient;
    "acos" acos [coo csr hybrid batched] gradient;
    "atan" atan [coo csr hybrid batched] gradient;
    "sinh" sinh [coo csr hybrid batched] gradient;
    "cosh" cosh [coo csr hybrid batched] gradient;
    "tanh" tanh [coo csr hybrid batched] gradient;
    "asinh" asinh [coo csr hybrid batched] gradient;
    "acosh" acosh [coo csr hybrid batched] gradient;
    "atanh" atanh [coo csr hybrid batched] gradient;
    "exp" exp [coo csr hybrid batched] gradient;
    "expm1" expm1 [coo csr hybrid batched] gradient;
    "log" log [coo csr hybrid batched] gradient;
    "log1p" log1p [coo csr hybrid batched] gradient;
    "sqrt" sqrt [coo csr hybrid batched] gradient;
    "recip" recip [coo csr hybrid batched] gradient;
    "square" square [coo csr hybrid batched] gradient;
    "relu" relu [coo csr hybrid batched] gradient;
    "sigmoid" sigmoid [coo csr hybrid batched] gradient;
    "erf" erf [coo csr hybrid batched] gradient;
    "sign" sign [coo csr hybrid batched] gradient;
    "floor" floor [coo csr hybrid batched] gradient;
    "ceil" ceil [coo csr hybrid batched] gradient;
    "round" round [coo csr hybrid batched] gradient;
    "trunc" trunc [coo csr hybrid batched] gradient;
    "powf_scalar" powf_scalar [coo csr hybrid batched] gradient;
    "powi_scalar" powi_scalar [coo csr hybrid batched] gradient;
    "clamp" clamp [coo csr hybrid batched] gradient;
    "clamp_min" clamp_min [coo csr hybrid batched] gradient;
    "clamp_max" clamp_max [coo csr hybrid batched] gradient;
    "is_nan" is_nan [coo csr hybrid batched] none;
    "is_inf" is_inf [coo csr hybrid batched] none;
    "is_finite" is_finite [coo csr hybrid batched] none;
    "equal_elem" equal_elem [coo csr hybrid batched] none;
    "not_equal_elem" not_equal_elem [coo csr hybrid batched] none;
    "greater_elem" greater_elem [coo csr hybrid batched] none;
    "greater_equal_elem" greater_equal_elem [coo csr hybrid batched] none;
    "lower_elem" lower_elem [coo csr hybrid batched] none;
    "lower_equal_elem" lower_equal_elem [coo csr hybrid batched] none;
    "min_pair" min_pair [coo csr hybrid batched] gradient;
    "max_pair" max_pair [coo csr hybrid batched] gradient;
    "powf" powf [coo csr hybrid batched] gradient;
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
        fn $name<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D>(Values::$values);
            law(|| a.sparse.$name($($arg),*), || a.dense.$name($($arg),*))
        }
    )*};
}
same! {
    abs() Any;
    neg() Any;
    sin() Any;
    cos() Any;
    tan() Unit;
    asin() Unit;
    acos() Unit;
    atan() Any;
    sinh() Any;
    cosh() Any;
    tanh() Any;
    asinh() Any;
    acosh() AboveOne;
    atanh() Unit;
    exp() Any;
    log() Positive;
    log1p() Positive;
    sqrt() Positive;
    recip() Nonzero;
    square() Any;
    erf() Any;
    sign() Odd;
    floor() Odd;
    ceil() Odd;
    round() Odd;
    trunc() Odd;
    powf_scalar(1.5) Positive;
    powi_scalar(3) Nonzero;
    clamp(-1.0, 1.0) Odd;
    clamp_min(-1.0) Odd;
    clamp_max(1.0) Odd;
    is_nan() Special;
    is_inf() Special;
    is_finite() Special;
    equal_elem(1.0) Any;
    not_equal_elem(1.0) Any;
    greater_elem(1.0) Any;
    greater_equal_elem(1.0) Any;
    lower_elem(1.0) Any;
    lower_equal_elem(1.0) Any;
}

fn map<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    law(|| a.sparse.map(|rows| rows.sin() + 1.0), || a.dense.sin() + 1.0)
}

fn expm1<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    law(|| a.sparse.expm1(), || a.dense.exp() - 1.0)
}

fn relu<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Odd);
    law(|| a.sparse.relu(), || activation::relu(a.dense))
}

fn sigmoid<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    law(|| a.sparse.sigmoid(), || activation::sigmoid(a.dense))
}

/// Functions of two tensors that dense ones have by the same name.
macro_rules! pairs {
    ($($name:ident $left:ident $right:ident;)*) => {$(
        fn $name<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D>(Values::$left);
            let b = draw.beside(&a, Values::$right);
            law(|| a.sparse.$name(&b.sparse), || a.dense.$name(b.dense))
        }
    )*};
}
pairs! {
    min_pair Any Odd;
    max_pair Any Odd;
    powf Positive Any;
    equal Any Any;
    not_equal Any Any;
    greater Any Any;
    greater_equal Any Any;
    lower Any Any;
    lower_equal Any Any;
}

/// `b` where the mask holds, else `a`.
fn mask_where<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    let b = draw.beside(&a, Values::Any);
    let mask = draw.truths::<P, D>(a.sparse.dims(), a.host.sparse_dims, Fills::Any);
    law(|| a.sparse.mask_where(&mask.sparse, &b.sparse), || a.dense.mask_where(mask.dense, b.dense))
}

fn mask_fill<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    let mask = draw.truths::<P, D>(a.sparse.dims(), a.host.sparse_dims, Fills::Any);
    law(|| a.sparse.mask_fill(&mask.sparse, 1.5), || a.dense.mask_fill(mask.dense, 1.5))
}
