//! Functions of one float, and of two.

use super::family;
use crate::answer::{Answer, law};
use crate::draw::{Build, Draw, Layout, Values};
use burn::tensor::Float;
use burn::tensor::activation;
use sparse_tensor::pattern::{CooPattern, CsrPattern};

family! { "element-wise";
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
    "deg2rad" deg2rad [coo csr hybrid batched] gradient;
    "rad2deg" rad2deg [coo csr hybrid batched] gradient;
    "expm1" expm1 [coo csr hybrid batched] gradient;
    "log" log [coo csr hybrid batched] gradient;
    "log1p" log1p [coo csr hybrid batched] gradient;
    "sqrt" sqrt [coo csr hybrid batched] gradient;
    "recip" recip [coo csr hybrid batched] gradient;
    "relu" relu [coo csr hybrid batched] gradient;
    "sigmoid" sigmoid [coo csr hybrid batched] gradient;
    "erf" erf [coo csr hybrid batched] gradient;
    "floor" floor [coo csr hybrid batched] gradient;
    "ceil" ceil [coo csr hybrid batched] gradient;
    "round" round [coo csr hybrid batched] gradient;
    "trunc" trunc [coo csr hybrid batched] gradient;
    "powf_scalar" powf_scalar [coo csr hybrid batched] gradient;
    "is_nan" is_nan [coo csr hybrid batched] none;
    "is_inf" is_inf [coo csr hybrid batched] none;
    "is_finite" is_finite [coo csr hybrid batched] none;
    "powf" powf [coo csr hybrid batched] gradient;
    "atan2" atan2 [coo csr hybrid batched] gradient;
    "hypot" hypot [coo csr hybrid batched] gradient;
    "is_close" is_close [coo csr hybrid batched] none;
}

/// Functions that dense tensors have by the same name.
macro_rules! same {
    ($($name:ident($($arg:expr),*) $values:ident;)*) => {$(
        fn $name<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D, Float>(Values::$values);
            law(|| a.sparse.$name($($arg),*), || a.dense.$name($($arg),*))
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
    law(|| a.sparse.expm1(), || a.dense.exp() - 1.0)
}

fn relu<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Float>(Values::Odd);
    law(|| a.sparse.relu(), || activation::relu(a.dense))
}

fn sigmoid<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Float>(Values::Any);
    law(|| a.sparse.sigmoid(), || activation::sigmoid(a.dense))
}

/// Functions of two tensors that dense ones have by the same name.
macro_rules! pairs {
    ($($name:ident $left:ident $right:ident;)*) => {$(
        fn $name<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D, Float>(Values::$left);
            let b = draw.beside(&a, Values::$right);
            law(|| a.sparse.$name(&b.sparse), || a.dense.$name(b.dense))
        }
    )*};
}
pairs! {
    powf Positive Any;
    atan2 Nonzero Nonzero;
    hypot Nonzero Nonzero;
}

/// Tolerances that no distance of drawn numbers meets exactly.
fn is_close<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Float>(Values::Any);
    let b = draw.beside(&a, Values::Any);
    law(
        || a.sparse.is_close(&b.sparse, 0.3, 0.01),
        || (a.dense - b.dense.clone()).abs().lower_equal(b.dense.abs() * 0.3 + 0.01),
    )
}
