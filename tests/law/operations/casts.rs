//! The same elements as another kind or in another dtype.

use super::family;
use crate::answer::{Answer, law};
use crate::draw::{Build, Draw, Layout, Values};
use burn::tensor::{Bool, DType, Float, FloatDType, Int, IntDType};
use sparse_tensor::pattern::{CooPattern, CsrPattern};

family! { "structure";
    "cast" cast [coo csr hybrid batched] gradient;
    "cast (int)" cast_int [coo csr hybrid batched] none;
    "int" int [coo csr hybrid batched] none;
    "int (bool)" int_of_bool [coo csr hybrid batched] none;
    "float (int)" float_of_int [coo csr hybrid batched] none;
    "float (bool)" float_of_bool [coo csr hybrid batched] none;
    "bool (int)" bool_of_int [coo csr hybrid batched] none;
}

/// To f32, which holds every drawn number.
fn cast<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Float>(Values::Any);
    law(|| a.sparse.cast(FloatDType::F32), || a.dense)
}

fn cast_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Int>(Values::Any);
    let wide = draw.device().supports_dtype(DType::I64) && draw.coin();
    law(|| a.sparse.cast(if wide { IntDType::I64 } else { IntDType::I32 }), || a.dense)
}

fn int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Float>(Values::Any);
    law(|| a.sparse.int(), || a.dense.int())
}

fn int_of_bool<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Bool>(Values::Any);
    law(|| a.sparse.int(), || a.dense.int())
}

fn float_of_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Int>(Values::Any);
    law(|| a.sparse.float(), || a.dense.float())
}

fn float_of_bool<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Bool>(Values::Any);
    law(|| a.sparse.float(), || a.dense.float())
}

fn bool_of_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Int>(Values::Any);
    law(|| a.sparse.bool(), || a.dense.bool())
}
