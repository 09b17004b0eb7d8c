//! Sums, differences, products and quotients, of tensors, numbers and vectors.

use super::family;
use crate::answer::{Answer, law};
use crate::draw::{Build, Draw, Fills, Input, Layout, Values};
use crate::reference::from_start;
use burn::tensor::Tensor;
use sparse_tensor::pattern::{CooPattern, CsrPattern};

family! { "arithmetic";
    "add" add [coo csr hybrid batched] gradient;
    "sub" sub [coo csr hybrid batched] gradient;
    "mul" mul [coo csr hybrid batched] gradient;
    "div" div [coo csr hybrid batched] gradient;
    "add (int)" add_int [coo csr hybrid batched] none;
    "sub (int)" sub_int [coo csr hybrid batched] none;
    "mul (int)" mul_int [coo csr hybrid batched] none;
    "div (int)" div_int [coo csr hybrid batched] none;
    "add_scalar" add_scalar [coo csr hybrid batched] gradient;
    "sub_scalar" sub_scalar [coo csr hybrid batched] gradient;
    "mul_scalar" mul_scalar [coo csr hybrid batched] gradient;
    "div_scalar" div_scalar [coo csr hybrid batched] gradient;
    "mul_along" mul_along [coo csr hybrid batched] gradient;
    "div_along" div_along [coo csr hybrid batched] gradient;
    "mul_dense" mul_dense [coo csr hybrid batched] gradient;
    "div_dense" div_dense [coo csr hybrid batched] gradient;
}

/// Two tensors of one shape. Without gradients NaN, infinities and minus zero too.
fn pair<P: Build, const D: usize>(draw: &mut Draw) -> (Input<P, D>, Input<P, D>) {
    let special = !draw.tracked() && draw.coin();
    let values = if special { Values::Special } else { Values::Any };
    let a = draw.sparse(values);
    let b = draw.beside(&a, values);
    (a, b)
}

fn add<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = pair::<P, D>(draw);
    law(|| &a.sparse + &b.sparse, || a.dense + b.dense)
}

fn sub<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = pair::<P, D>(draw);
    law(|| &a.sparse - &b.sparse, || a.dense - b.dense)
}

fn mul<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = pair::<P, D>(draw);
    law(|| &a.sparse * &b.sparse, || a.dense * b.dense)
}

/// By zeros too, 0 / 0 among them, where no gradient is compared.
fn div<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = if draw.tracked() {
        let a = draw.sparse(Values::Any);
        let b = draw.beside::<P, D>(&a, Values::Nonzero);
        (a, b)
    } else {
        pair(draw)
    };
    law(|| &a.sparse / &b.sparse, || a.dense / b.dense)
}

fn whole_pair<P: Build, const D: usize>(
    draw: &mut Draw,
) -> (Input<P, D, burn::tensor::Int>, Input<P, D, burn::tensor::Int>) {
    let shape = draw.shape();
    let dims = draw.sparse_dims(D);
    (draw.whole(shape, dims, Values::Any, Fills::Any), draw.whole(shape, dims, Values::Any, Fills::Any))
}

fn add_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = whole_pair::<P, D>(draw);
    law(|| &a.sparse + &b.sparse, || a.dense + b.dense)
}

fn sub_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = whole_pair::<P, D>(draw);
    law(|| &a.sparse - &b.sparse, || a.dense - b.dense)
}

fn mul_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let (a, b) = whole_pair::<P, D>(draw);
    law(|| &a.sparse * &b.sparse, || a.dense * b.dense)
}

/// A true division, in f32 on both sides.
fn div_int<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    use burn::tensor::FloatDType::F32;
    let (a, b) = whole_pair::<P, D>(draw);
    law(|| &a.sparse / &b.sparse, || a.dense.float().cast(F32) / b.dense.float().cast(F32))
}

/// A number on the host, or one in a tensor that may be a leaf.
fn with_number<P: Build, const D: usize>(
    draw: &mut Draw,
    values: Values,
    of_host: impl Fn(&Input<P, D>, f64) -> sparse_tensor::SparseTensor<P, D>,
    of_tensor: impl Fn(&Input<P, D>, Tensor<1>) -> sparse_tensor::SparseTensor<P, D>,
    dense: impl Fn(Tensor<D>, Tensor<D>) -> Tensor<D>,
) -> Answer {
    let a = draw.sparse::<P, D>(Values::Any);
    let number = draw.dense([1], values);
    if draw.coin() {
        let shape = a.sparse.dims();
        let spread = |number: Tensor<1>| number.reshape([1; D]).expand(shape);
        return law(|| of_tensor(&a, number.own), || dense(a.dense.clone(), spread(number.reference)));
    }
    let number = draw.value(values);
    draw.inputs.push(format!("number {number}"));
    let spread = Tensor::full_like(&a.dense, number);
    law(|| of_host(&a, number), || dense(a.dense.clone(), spread))
}

fn add_scalar<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    with_number::<P, D>(draw, Values::Any, |a, x| a.sparse.add_scalar(x), |a, x| a.sparse.add_scalar(x), |a, x| a + x)
}

fn sub_scalar<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    with_number::<P, D>(draw, Values::Any, |a, x| a.sparse.sub_scalar(x), |a, x| a.sparse.sub_scalar(x), |a, x| a - x)
}

fn mul_scalar<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    with_number::<P, D>(draw, Values::Any, |a, x| a.sparse.mul_scalar(x), |a, x| a.sparse.mul_scalar(x), |a, x| a * x)
}

fn div_scalar<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    with_number::<P, D>(
        draw,
        Values::Nonzero,
        |a, x| a.sparse.div_scalar(x),
        |a, x| a.sparse.div_scalar(x),
        |a, x| a / x,
    )
}

fn along<P: Build, const D: usize>(
    draw: &mut Draw,
    values: Values,
    own: impl Fn(&Input<P, D>, Tensor<1>, isize) -> sparse_tensor::SparseTensor<P, D>,
    dense: impl Fn(Tensor<D>, Tensor<D>) -> Tensor<D>,
) -> Answer {
    let a = draw.unfilled::<P, D>(Values::Any);
    let axis = draw.below(a.host.sparse_dims);
    let shape = a.sparse.dims();
    let vector = draw.dense([shape[axis]], values);
    let signed = draw.signed(axis, D);
    let spread = |vector: Tensor<1>| {
        let mut one = [1; D];
        one[from_start(signed, D)] = shape[axis];
        vector.reshape(one).expand(shape)
    };
    law(|| own(&a, vector.own, signed), || dense(a.dense.clone(), spread(vector.reference)))
}

fn mul_along<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    along::<P, D>(draw, Values::Any, |a, vector, axis| a.sparse.mul_along(vector, axis), |a, b| a * b)
}

fn div_along<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    along::<P, D>(draw, Values::Nonzero, |a, vector, axis| a.sparse.div_along(vector, axis), |a, b| a / b)
}

fn mul_dense<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<P, D>(Values::Any);
    let b = draw.dense(a.sparse.dims(), Values::Any);
    law(|| a.sparse.mul_dense(b.own), || a.dense * b.reference)
}

fn div_dense<P: Build, const D: usize>(draw: &mut Draw) -> Answer {
    let a = draw.unfilled::<P, D>(Values::Any);
    let b = draw.dense(a.sparse.dims(), Values::Nonzero);
    law(|| a.sparse.div_dense(b.own), || a.dense / b.reference)
}
