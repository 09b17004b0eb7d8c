//! Sums, differences and products, of tensors, numbers and vectors.

use crate::answer::{Answer, both_sides};
use crate::draw::{Build, Draw, Drawn, Input, Values};
use crate::oversized::{filled, ones, undefined};
use crate::reference::{from_start, keep};
use burn::tensor::Tensor;
use sparse_tensor::ops::ScalarArg;
use sparse_tensor::{Fill, Numeric, SparseTensor};

operations! { "arithmetic";
    add of Float Int [all] gradient, |h| { h.pairs(|x, y| x.add(y)); h.pairs(|x, y| x.int().add(&y.int())) };
    sub of Float Int [all] gradient, |h| h.pairs(|x, y| x.sub(y));
    mul of Float Int [all] gradient, |h| { h.pairs(|x, y| x.mul(y)); h.pairs(|x, y| x.int().mul(&y.int())) };
    add_scalar of Float Int [all] gradient, |h| h.each(|x| x.add_scalar(2.0));
    sub_scalar of Float Int [all] gradient, |h| h.each(|x| x.sub_scalar(ones([1])));
    mul_scalar of Float Int [all] gradient, |h| h.each(|x| x.mul_scalar(ones([1])));
    "add_dense (broadcast)" add_broadcast of Float Int [all] gradient, |h| {
        h.lines(|x, size, axis| undefined(x).add_dense(line(size, axis)));
        h.refuses(h.cells(), h.a.try_add_dense(ones([1; D])));
    };
    "sub_dense (broadcast)" sub_broadcast of Float Int [all] gradient, |h| {
        h.lines(|x, size, axis| undefined(x).sub_dense(line(size, axis)));
        h.refuses(h.cells(), h.a.try_sub_dense(ones([1; D])));
    };
    "mul_dense (broadcast)" mul_broadcast of Float Int [all] gradient, |h| {
        h.lines(|x, size, axis| x.mul_dense(line(size, axis)));
        h.refuses(h.cells(), filled(&h.a).try_mul_dense(ones([1; D])));
    };
    add_dense of Float Int [all] gradient, |h| {
        h.run(|| undefined(&h.tall()).add_dense(h.tall_ones()));
        h.refuses(h.tall().num_elements(), h.tall().try_add_dense(h.tall_ones()));
    };
    sub_dense of Float Int [all] gradient, |h| {
        h.run(|| undefined(&h.tall()).sub_dense(h.tall_ones()));
        h.refuses(h.tall().num_elements(), h.tall().try_sub_dense(h.tall_ones()));
    };
    mul_dense of Float Int [all] gradient, |h| {
        h.run(|| h.tall().mul_dense(h.tall_ones()));
        h.refuses(h.tall().num_elements(), filled(&h.tall()).try_mul_dense(h.tall_ones()));
    };
}

/// Ones for each index of a sparse dim.
pub(super) fn line<const D: usize>(size: usize, axis: isize) -> Tensor<D> {
    let mut shape = [1; D];
    shape[from_start(axis, D)] = size;
    ones(shape)
}

/// Two tensors of one shape. Without gradients NaN, infinities and minus zero too.
pub(super) fn pair<P: Build, const D: usize, K: Drawn>(draw: &mut Draw) -> (Input<P, D, K>, Input<P, D, K>) {
    let special = !draw.tracked() && draw.coin();
    let values = if special { Values::Special } else { Values::Any };
    let a = draw.sparse::<P, D, K>(values);
    let b = draw.second_operand(&a, values);
    (a, b)
}

pub(super) fn add<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let (a, b) = pair::<P, D, K>(draw);
    both_sides(|| &a.sparse + &b.sparse, || a.dense + b.dense)
}

pub(super) fn sub<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let (a, b) = pair::<P, D, K>(draw);
    both_sides(|| &a.sparse - &b.sparse, || a.dense - b.dense)
}

pub(super) fn mul<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let (a, b) = pair::<P, D, K>(draw);
    both_sides(|| &a.sparse * &b.sparse, || a.dense * b.dense)
}

/// A number on the host, or one in a tensor that may be a leaf.
pub(super) fn with_number<P: Build, const D: usize, K: Drawn + Numeric, Out: Into<crate::answer::Output>>(
    draw: &mut Draw,
    values: Values,
    own: impl Fn(&Input<P, D, K>, ScalarArg<K>) -> Out,
    dense: impl Fn(Tensor<D>, Tensor<D>) -> Tensor<D>,
) -> Answer {
    let a = draw.sparse::<P, D, K>(Values::Any);
    if draw.coin() {
        let number = draw.dense::<1, K>([1], values);
        let shape = a.sparse.dims();
        let spread = |number: Tensor<1>| number.reshape([1; D]).expand(shape);
        let of_tensor = ScalarArg::Tensor(number.own);
        return both_sides(
            || own(&a, of_tensor),
            || dense(K::real(a.dense.clone()), spread(K::real(number.reference))),
        );
    }
    let number = draw.value(values);
    draw.inputs.push(format!("number {number}"));
    let number = if K::IS_FLOAT { number } else { number.trunc() };
    let real = K::real(a.dense.clone());
    let spread = Tensor::full_like(&real, number);
    both_sides(|| own(&a, ScalarArg::Host(K::scalar(number))), || dense(real.clone(), spread))
}

pub(super) fn add_scalar<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    with_number::<P, D, K, _>(draw, Values::Any, |a, x| a.sparse.add_scalar(x), |a, x| a + x)
}

pub(super) fn sub_scalar<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    with_number::<P, D, K, _>(draw, Values::Any, |a, x| a.sparse.sub_scalar(x), |a, x| a - x)
}

pub(super) fn mul_scalar<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    with_number::<P, D, K, _>(draw, Values::Any, |a, x| a.sparse.mul_scalar(x), |a, x| a * x)
}

/// The specified elements with the fill `Undefined`, and the vector along a sparse axis.
pub(super) fn along<P: Build, const D: usize, K: Drawn + Numeric, Out: Drawn>(
    draw: &mut Draw,
    values: Values,
    own: impl Fn(&SparseTensor<P, D, K>, Tensor<D, K>) -> SparseTensor<P, D, Out>,
    dense: impl Fn(Tensor<D>, Tensor<D>) -> Tensor<D>,
) -> Answer {
    let a = draw.unfilled::<P, D, K>(Values::Any);
    let axis = draw.below(a.host.sparse_dims);
    let shape = a.sparse.dims();
    let vector = draw.dense::<1, K>([shape[axis]], values);
    let mut one = [1; D];
    one[axis] = shape[axis];
    // A 0 in a reshape would keep a dim.
    let thin = |vector: Tensor<1, K>| {
        if shape[axis] == 0 { Tensor::empty(one, (&vector.device(), vector.dtype())) } else { vector.reshape(one) }
    };
    let spread = |vector: Tensor<1>| vector.reshape(one).expand(shape);
    both_sides(
        || own(&a.sparse.with_fill(Fill::Undefined), thin(vector.own)).to_dense_or(Out::scalar(0.0)),
        || keep(dense(K::real(a.dense.clone()), spread(K::real(vector.reference))), a.host.mask()),
    )
}

/// The specified elements with the fill `Undefined`, and a dense tensor.
pub(super) fn with_dense<P: Build, const D: usize, K: Drawn + Numeric, Out: Drawn>(
    draw: &mut Draw,
    values: Values,
    own: impl Fn(&SparseTensor<P, D, K>, Tensor<D, K>) -> SparseTensor<P, D, Out>,
    dense: impl Fn(Tensor<D>, Tensor<D>) -> Tensor<D>,
) -> Answer {
    let a = draw.unfilled::<P, D, K>(Values::Any);
    let b = draw.dense::<D, K>(a.sparse.dims(), values);
    both_sides(
        || own(&a.sparse.with_fill(Fill::Undefined), b.own).to_dense_or(Out::scalar(0.0)),
        || keep(dense(K::real(a.dense), K::real(b.reference)), a.host.mask()),
    )
}

pub(super) fn add_broadcast<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    along::<P, D, K, K>(draw, Values::Any, |a, vector| a.add_dense(vector), |a, b| a + b)
}

pub(super) fn add_dense<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    with_dense::<P, D, K, K>(draw, Values::Any, |a, b| a.add_dense(b), |a, b| a + b)
}

pub(super) fn sub_broadcast<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    along::<P, D, K, K>(draw, Values::Any, |a, vector| a.sub_dense(vector), |a, b| a - b)
}

pub(super) fn sub_dense<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    with_dense::<P, D, K, K>(draw, Values::Any, |a, b| a.sub_dense(b), |a, b| a - b)
}

/// With the fill zero, or none.
pub(super) fn mul_broadcast<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let none = draw.coin();
    let own = |a: &SparseTensor<P, D, K>, vector| {
        let a = a.clone().with_fill(if none { Fill::Undefined } else { Fill::Zero });
        a.mul_dense(vector)
    };
    along::<P, D, K, K>(draw, Values::Any, own, |a, b| a * b)
}

/// With the fill zero, or none.
pub(super) fn mul_dense<P: Build, const D: usize, K: Drawn + Numeric>(draw: &mut Draw) -> Answer {
    let none = draw.coin();
    let own = |a: &SparseTensor<P, D, K>, dense| {
        a.clone().with_fill(if none { Fill::Undefined } else { Fill::Zero }).mul_dense(dense)
    };
    with_dense::<P, D, K, K>(draw, Values::Any, own, |a, b| a * b)
}
