//! Products along lines, with the elements that are not stored.

use crate::base::exact::Exact;
use crate::base::index::numbers;
use crate::base::kind::{Numeric, as_float, from_float};
use crate::kernel::{self, Put};
use crate::ops::dense::put_along_axis::run;
use crate::ops::elementwise::powers::plain_power;
use crate::ops::reductions::extremum::into_lines;
use crate::pattern::layout::Pattern;
use crate::pattern::lines::Lines;
use crate::policy::starts_from_zeros;
use crate::rows::sum_dim;
use burn::tensor::{Bool, DType, Float, Int, Shape, Tensor};
use sparse_autograd::{Erased, record};
use sparse_burn::Reduce;

/// The product of rows `[n, width]`, at least one, along lines. If unspecified elements count, `fill` `[1, width]` has
/// their values. Integers wrap.
///
/// An infinite product times zero is NaN, and so would be a line whose stored elements overflow before a zero takes
/// part. So a line of finite elements with a zero is zero, whatever the rest is. A fill that is not finite comes first.
/// Of any other fill the sign comes first. Its size is one factor more, or is shared out among the stored elements
/// before they are multiplied ([`Product::times`]).
///
/// Backward: to each element the gradient times the product of the others, exact with any number of zeros; the fill
/// gets the sum of what its elements would.
pub(crate) fn line_products<P: Pattern, K: Numeric>(
    rows: Tensor<2, K>,
    fill: Option<Tensor<2, K>>,
    lines: &Lines<P>,
) -> Tensor<2, K> {
    let mut put = into_lines(lines, Reduce::Mul, rows.dims());
    put.include_self = fill.is_some();
    let Some(fill) = fill else {
        let start = Tensor::zeros([lines.len(), rows.dims()[1]], (&rows.device(), rows.dtype()));
        return run(put, start, rows);
    };
    let missing = lines.missing();
    let (Some(rows), Some(fill)) = (as_float(&rows), as_float(&fill)) else {
        return run(put, plain_power(fill, &missing, lines.size), rows);
    };
    let saved = Product::new(put, rows.clone().inner(), fill.clone().inner(), (missing, lines.size));
    let start = saved.signs(&saved.missing);
    let out = saved.times(&saved.missing, start).out;
    from_float(record(out, [Erased::from(rows), Erased::from(fill)], saved, |saved, grad, needs| {
        [needs[0].then(|| saved.to_rows(grad.clone()).into()), needs[1].then(|| saved.to_fill(grad).into())]
    }))
}

/// Products along lines whose unspecified elements are zero: one pass.
pub(crate) fn with_zeros<P: Pattern, K: Numeric>(
    rows: Tensor<2, K>,
    zero: Tensor<2, K>,
    lines: &Lines<P>,
) -> Tensor<2, K> {
    let put = Put { include_self: true, ..into_lines(lines, Reduce::Mul, rows.dims()) };
    let missing = lines.missing();
    // The power 1 of zero is every higher power.
    let start = plain_power(zero, &missing.clone().clamp_max(1), 1);
    if starts_from_zeros(&rows.device()) {
        return run(put, start, rows);
    }
    let full = numbers::<K>(missing.equal_elem(0).int(), rows.dtype());
    let owner = put.index.clone().reshape(Exact([rows.dims()[0]]));
    let factors = kernel::move_rows(&full, full.clone().narrow(0, 0, 1), &owner);
    run(put, start, rows.clone() * factors.expand(Shape::from(rows.dims())))
}

#[derive(Debug)]
struct Product {
    put: Put<2>,
    rows: Tensor<2>,
    /// Of the fill: its sign, or itself if it is zero or not finite.
    sign: Tensor<2>,
    /// Of the fill: its size, or 1.
    size: Tensor<2>,
    /// How many elements of each line are not stored, how many are, and how many there are at most.
    missing: Tensor<2, Int>,
    counts: Tensor<2, Int>,
    most: usize,
}

/// A product and what led to it.
struct Steps {
    /// The stored elements times their shares, and these shares.
    rows: Tensor<2>,
    shares: [Tensor<2>; 3],
    /// The product of the start and those rows.
    product: Tensor<2>,
    /// What is left of the fill's power.
    rest: [Tensor<2>; 3],
    out: Tensor<2>,
}

impl Product {
    fn new(put: Put<2>, rows: Tensor<2>, fill: Tensor<2>, (missing, most): (Tensor<2, Int>, usize)) -> Self {
        let special = fill.clone().equal_elem(0).bool_or(fill.clone().is_finite().bool_not());
        let sign = fill.clone().sign().mask_where(special.clone(), fill.clone());
        let size = fill.abs().mask_fill(special, 1);
        let counts = missing.clone().mul_scalar(-1).add_scalar(most as i64);
        Self { put, rows, sign, size, missing, counts, most }
    }

    fn signs(&self, times: &Tensor<2, Int>) -> Tensor<2> {
        plain_power(self.sign.clone(), times, self.most)
    }

    /// The product of `start`, the stored elements and the fill's size to the powers `times`.
    ///
    /// Where the stored elements or that power alone leave the range of the dtype, each stored element takes an equal
    /// share of the power first. So 0.5^1500 beside a thousand elements 2^1.2 is 2^-300, and not 0 times infinity.
    fn times(&self, times: &Tensor<2, Int>, start: Tensor<2>) -> Steps {
        let zeros = self.zeros(&start);
        let (alone, _) = kernel::put(&self.put, start.clone(), &self.rows, false);
        let power = plain_power(self.size.clone(), times, self.most);
        let apart = normal(alone).bool_and(normal(power)).bool_or(zeros.clone());
        let [times, counts] = [times, &self.counts].map(|list| list.clone().expand(Shape::from(start.dims())));
        let share = (times.clone() / counts.clone()).mask_fill(apart, 0);
        let rest = self.sizes(times - share.clone() * counts);
        let shares = self.at_rows(self.sizes(share));
        let rows = scaled(self.rows.clone(), &shares);
        let product = kernel::put(&self.put, start, &rows, false).0.mask_fill(zeros, 0);
        let out = scaled(product.clone(), &rest);
        Steps { rows, shares, product, rest, out }
    }

    /// Which lines have a zero, or start with one, and nothing that is not finite.
    fn zeros(&self, start: &Tensor<2>) -> Tensor<2, Bool> {
        // 0 for zero, 1 for another finite number, NaN for the rest.
        let kind = |x: &Tensor<2>| {
            let none = x.clone().equal_elem(0);
            x.clone().mul_scalar(0).add_scalar(1).mask_fill(none, 0)
        };
        kernel::put(&self.put, kind(start), kind(&self.rows), false).0.equal_elem(0)
    }

    /// The size of the fill to the powers `times`, as three factors.
    fn sizes(&self, times: Tensor<2, Int>) -> [Tensor<2>; 3] {
        let third = times.clone().div_scalar(3);
        let power = plain_power(self.size.clone(), &third, self.most / 3);
        let more = power.clone() * self.size.clone();
        let left = times - third.mul_scalar(3);
        let factor = |k: i64| {
            let takes_one = left.clone().greater_elem(k).expand(Shape::from(power.dims()));
            power.clone().mask_where(takes_one, more.clone())
        };
        [factor(0), factor(1), power.clone()]
    }

    fn at_rows(&self, factors: [Tensor<2>; 3]) -> [Tensor<2>; 3] {
        let owner = self.put.index.clone().reshape(Exact([self.rows.dims()[0]]));
        factors.map(|factor| kernel::move_rows(&factor, factor.clone().narrow(0, 0, 1), &owner))
    }

    fn to_rows(&self, grad: Tensor<2>) -> Tensor<2> {
        let start = self.signs(&self.missing);
        let Steps { rows, shares, product, rest, .. } = self.times(&self.missing, start.clone());
        let reads = [&start, &rows, &product].map(Some);
        let [_, others] = kernel::put_backward(&self.put, grad, None, reads, [false, true]);
        let others = others.expect("asked for").reshape(Exact(self.rows.dims()));
        scaled(scaled(others, &self.at_rows(rest)), &shares)
    }

    /// The product with one element of the fill less, times their number.
    fn to_fill(&self, grad: Tensor<2>) -> Tensor<2> {
        let fewer = self.missing.clone().sub_scalar(1).clamp_min(0);
        let none = self.missing.clone().equal_elem(0).expand(Shape::from(grad.dims()));
        let number = numbers::<Float>(self.missing.clone(), grad.dtype());
        let others = self.times(&fewer, self.signs(&fewer) * grad * number);
        sum_dim(others.out.mask_fill(none, 0), 0)
    }
}

/// Whether each number is finite, not zero, and of full precision.
fn normal(x: Tensor<2>) -> Tensor<2, Bool> {
    let least = if x.dtype() == DType::F64 { f64::MIN_POSITIVE } else { f32::MIN_POSITIVE.into() };
    x.clone().is_finite().bool_and(x.abs().greater_equal_elem(least))
}

/// A product times factors that are all at most 1, or all at least 1. A product that is zero or infinite stays.
///
/// With three factors of about one size, the answer is right if it is in the range of the dtype, even if the product of
/// the factors is not: that one is then at most the square of the largest number.
fn scaled(product: Tensor<2>, by: &[Tensor<2>; 3]) -> Tensor<2> {
    let stays = product.clone().equal_elem(0).bool_or(product.clone().is_inf());
    by.iter().fold(product.clone(), |out, factor| out * factor.clone()).mask_where(stays, product)
}
