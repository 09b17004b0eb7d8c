//! Layouts, orders and kinds of the same elements.

use super::family;
use crate::answer::{Answer, law};
use crate::draw::{Build, Draw, Fills, Layout, Values};
use burn::tensor::{FloatDType, Tensor};
use rand::seq::SliceRandom;
use sparse_tensor::ops;
use sparse_tensor::pattern::{CooPattern, CsrPattern};

family! { "structure";
    "to_dense" to_dense [coo csr hybrid batched] gradient;
    "coalesce" coalesce [coo csr hybrid batched] gradient;
    "to_csr" to_csr [coo] gradient;
    "to_coo" to_coo [csr batched] gradient;
    "cast" cast [coo csr hybrid batched] gradient;
    "int" int [coo csr hybrid batched] none;
    "float" float [coo csr hybrid batched] none;
    "permute" permute [coo csr hybrid batched] gradient;
    "transpose" transpose [coo csr batched] gradient;
    "concat" concat [coo csr hybrid batched] gradient;
}

fn to_dense<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    law(|| a.sparse.to_dense(), || a.dense)
}

fn coalesce<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    law(|| a.sparse.coalesce(), || a.dense)
}

fn to_csr<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<CooPattern, D>(Values::Any);
    law(|| a.sparse.to_csr(), || a.dense)
}

fn to_coo<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<CsrPattern, D>(Values::Any);
    law(|| a.sparse.to_coo(), || a.dense)
}

/// To f32, which holds every drawn number.
fn cast<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    law(|| a.sparse.cast(FloatDType::F32), || a.dense)
}

fn int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    law(|| a.sparse.int(), || a.dense.int())
}

fn float<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let shape = draw.shape::<D>();
    let dims = draw.sparse_dims(D);
    if draw.coin() {
        let a = draw.truths::<P, D>(shape, dims, Fills::Any);
        return law(|| a.sparse.float(), || a.dense.float());
    }
    let a = draw.whole::<P, D>(shape, dims, Values::Any, Fills::Any);
    law(|| a.sparse.float(), || a.dense.float())
}

/// Sparse dims among themselves, dense dims among themselves.
fn permute<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    let mut axes: [isize; D] = std::array::from_fn(|axis| axis as isize);
    let (sparse, dense) = axes.split_at_mut(a.host.sparse_dims);
    sparse.shuffle(&mut draw.rng);
    dense.shuffle(&mut draw.rng);
    let signed = axes.map(|axis| if draw.coin() { axis } else { axis - D as isize });
    draw.inputs.push(format!("axes {signed:?}"));
    law(|| a.sparse.permute(signed), || a.dense.permute(axes))
}

fn transpose<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    law(|| a.sparse.transpose(), || a.dense.transpose())
}

/// Two or three parts, which share their fill but along a dense dim, where each has its own.
fn concat<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let shape = draw.shape::<D>();
    let dims = draw.sparse_dims(D);
    let axis = draw.axis(D);
    let at = crate::reference::from_start(axis, D);
    let block = shape[dims..].iter().product();
    let shared = draw.fill(block, Values::Any, Fills::Any, false);
    let mut parts = vec![];
    for _ in 0..2 + draw.below(2) {
        let mut shape = shape;
        shape[at] = draw.size();
        parts.push(if at < dims {
            draw.filled::<P, D>(shape, dims, Values::Any, &shared)
        } else {
            draw.shaped(shape, dims, Values::Any, Fills::Any)
        });
    }
    draw.inputs.push(format!("axis {axis}"));
    let (own, dense): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.sparse, part.dense)).unzip();
    law(|| ops::concat(&own, axis), || Tensor::cat(dense, at))
}
