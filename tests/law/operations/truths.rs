//! Logic, and reductions of truths.

use super::family;
use super::folds::{axes_of, axis_of};
use crate::answer::{Answer, law};
use crate::draw::{Build, Draw, Layout, Values};
use burn::tensor::Bool;
use sparse_tensor::pattern::{CooPattern, CsrPattern};

family! { "truths";
    "bool_and" bool_and [coo csr hybrid batched] none;
    "bool_or" bool_or [coo csr hybrid batched] none;
    "bool_xor" bool_xor [coo csr hybrid batched] none;
    "bool_not" bool_not [coo csr hybrid batched] none;
    "any_dim" any_dim [coo csr hybrid batched] none;
    "any_dims" any_dims [coo csr hybrid batched] none;
    "any" any [coo csr hybrid batched] none;
    "all_dim" all_dim [coo csr hybrid batched] none;
    "all_dims" all_dims [coo csr hybrid batched] none;
    "all" all [coo csr hybrid batched] none;
}

macro_rules! pairs {
    ($($name:ident;)*) => {$(
        fn $name<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.sparse::<P, D, Bool>(Values::Any);
            let b = draw.beside::<P, D, Bool>(&a, Values::Any);
            law(|| a.sparse.$name(&b.sparse), || a.dense.$name(b.dense))
        }
    )*};
}
pairs! {
    bool_and;
    bool_or;
    bool_xor;
}

fn bool_not<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D, Bool>(Values::Any);
    law(|| a.sparse.bool_not(), || a.dense.bool_not())
}

macro_rules! reductions {
    ($($dim:ident $dims:ident $all:ident;)*) => {$(
        fn $dim<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.full::<P, D, Bool>(Values::Any);
            let (at, axis) = axis_of::<D>(draw);
            law(|| a.sparse.$dim(axis), || a.dense.$dim(at))
        }

        fn $dims<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.full::<P, D, Bool>(Values::Any);
            let (axes, signed) = axes_of::<D>(draw);
            law(|| a.sparse.$dims(&signed), || axes.iter().fold(a.dense, |dense, &at| dense.$dim(at)))
        }

        fn $all<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
            let a = draw.full::<P, D, Bool>(Values::Any);
            law(|| a.sparse.$all(), || a.dense.$all())
        }
    )*};
}
reductions! {
    any_dim any_dims any;
    all_dim all_dims all;
}
