//! Products along lines, with the elements that are not stored.
//!
//! A line has stored elements `r_1, .., r_c`, and `m` others that equal the fill `f`. Its product is
//!
//! ```text
//! r_1 * .. * r_c * f^m
//! ```
//!
//! Integers wrap. Floats must not leave the range of their dtype on the way to a product that is in it. So the fill is
//! split, `f = sign * size`. `sign` is -1 or 1. A fill that is zero, infinite or NaN is all `sign`, with `size` 1.
//!
//! 1. `sign^m` is multiplied by the stored elements. So a special fill counts as a stored element would.
//! 2. `size^m` is one factor more if it and the product of step 1 are both normal numbers. Otherwise each stored
//!    element is multiplied by `size^share` before step 1, where `share` is `m / c` rounded down, and their product by
//!    the rest, `size^(m - share * c)`. So 0.5^1500 beside a thousand elements 2^1.2 is 2^-300, and not 0 times
//!    infinity.
//! 3. A power of `size` may be out of range, so it is multiplied as three factors of about one size ([`Power`]).
//! 4. If all factors are finite and one is zero, the product is zero. Without this rule it would be NaN where the
//!    others overflow before the zero takes part. Infinity times zero is NaN.
//!
//! Backward, for the gradient `g` of a line: `r_i` gets `g` times the product of the other elements. The fill gets the
//! sum over the lines of `g * m * r_1 * .. * r_c * f^(m - 1)`, which is computed in the same way.

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
/// their values.
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
    let factors = Factors::new(put, rows.clone().inner(), fill.clone().inner(), missing, lines.size);
    let out = factors.multiplied(&factors.missing, factors.signs(&factors.missing)).out;
    from_float(record(out, [Erased::from(rows), Erased::from(fill)], factors, |factors, grad, needs| {
        [needs[0].then(|| factors.to_stored(grad.clone()).into()), needs[1].then(|| factors.to_fill(grad).into())]
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
    // 1 for the elements of lines that are full, 0 for the others.
    let full = at_stored(&put, &numbers::<K>(missing.equal_elem(0).int(), rows.dtype()));
    run(put, start, rows.clone() * full.expand(Shape::from(rows.dims())))
}

/// A row for each stored element: that of its line.
fn at_stored<K: Numeric>(put: &Put<2>, of_lines: &Tensor<2, K>) -> Tensor<2, K> {
    let owner = put.index.clone().reshape(Exact([put.index.dims()[0]]));
    kernel::move_rows(of_lines, of_lines.clone().narrow(0, 0, 1), &owner)
}

/// The factors of the lines' products, off the tape.
#[derive(Debug)]
struct Factors {
    /// How the stored elements of each line are multiplied.
    put: Put<2>,
    stored: Tensor<2>,
    /// The two parts of the fill, `[1, width]`.
    sign: Tensor<2>,
    size: Tensor<2>,
    /// `m` and `c` of each line, `[lines, 1]`, and the largest `m` that there may be.
    missing: Tensor<2, Int>,
    counts: Tensor<2, Int>,
    most: usize,
}

/// Products `[lines, width]`, and what they were computed from.
struct Products {
    /// The stored elements times their shares, and these shares.
    stored: Tensor<2>,
    share: Power,
    /// The product of the start and those elements.
    product: Tensor<2>,
    /// What that takes of the size.
    rest: Power,
    out: Tensor<2>,
}

impl Factors {
    fn new(put: Put<2>, stored: Tensor<2>, fill: Tensor<2>, missing: Tensor<2, Int>, most: usize) -> Self {
        let special = fill.clone().equal_elem(0).bool_or(fill.clone().is_finite().bool_not());
        let sign = fill.clone().sign().mask_where(special.clone(), fill.clone());
        let size = fill.abs().mask_fill(special, 1);
        let counts = missing.clone().mul_scalar(-1).add_scalar(most as i64);
        Self { put, stored, sign, size, missing, counts, most }
    }

    /// `sign^times`.
    fn signs(&self, times: &Tensor<2, Int>) -> Tensor<2> {
        plain_power(self.sign.clone(), times, self.most)
    }

    /// `start * r_1 * .. * r_c * size^times`.
    fn multiplied(&self, times: &Tensor<2, Int>, start: Tensor<2>) -> Products {
        let zeros = self.are_zero(&start);
        let [share, rest] = self.shared_out(times, &start, &zeros);
        let share = Power::new(&self.size, share, self.most).at_stored(&self.put);
        let rest = Power::new(&self.size, rest, self.most);
        let stored = share.scale(self.stored.clone());
        let product = self.product(start, &stored).mask_fill(zeros, 0);
        let out = rest.scale(product.clone());
        Products { stored, share, product, rest, out }
    }

    /// How often each stored element takes the size, and how often their product takes it after that.
    fn shared_out(&self, times: &Tensor<2, Int>, start: &Tensor<2>, zeros: &Tensor<2, Bool>) -> [Tensor<2, Int>; 2] {
        let alone = self.product(start.clone(), &self.stored);
        let power = plain_power(self.size.clone(), times, self.most);
        let in_range = normal(alone).bool_and(normal(power)).bool_or(zeros.clone());
        let [times, counts] = [times, &self.counts].map(|list| list.clone().expand(Shape::from(start.dims())));
        let share = (times.clone() / counts.clone()).mask_fill(in_range, 0);
        [share.clone(), times - share * counts]
    }

    /// Which products have a zero among their factors, and nothing that is not finite.
    fn are_zero(&self, start: &Tensor<2>) -> Tensor<2, Bool> {
        // 0 for zero, 1 for another finite number, NaN for the rest.
        let kind = |x: &Tensor<2>| {
            let none = x.clone().equal_elem(0);
            x.clone().mul_scalar(0).add_scalar(1).mask_fill(none, 0)
        };
        self.product(kind(start), &kind(&self.stored)).equal_elem(0)
    }

    /// The product of `start` and each line's rows.
    fn product(&self, start: Tensor<2>, rows: &Tensor<2>) -> Tensor<2> {
        kernel::put(&self.put, start, rows, false).0
    }

    /// The gradient of the stored elements: of each the product of the others, and its own share.
    fn to_stored(&self, grad: Tensor<2>) -> Tensor<2> {
        let start = self.signs(&self.missing);
        let Products { stored, share, product, rest, .. } = self.multiplied(&self.missing, start.clone());
        let reads = [&start, &stored, &product].map(Some);
        let [_, others] = kernel::put_backward(&self.put, grad, None, reads, [false, true]);
        let others = others.expect("asked for").reshape(Exact(self.stored.dims()));
        share.scale(rest.at_stored(&self.put).scale(others))
    }

    /// The gradient of the fill: the product with one element of the fill less, times their number.
    fn to_fill(&self, grad: Tensor<2>) -> Tensor<2> {
        let fewer = self.missing.clone().sub_scalar(1).clamp_min(0);
        let none = self.missing.clone().equal_elem(0).expand(Shape::from(grad.dims()));
        let number = numbers::<Float>(self.missing.clone(), grad.dtype());
        let others = self.multiplied(&fewer, self.signs(&fewer) * grad * number);
        sum_dim(others.out.mask_fill(none, 0), 0)
    }
}

/// A power of positive numbers, as three factors of about one size: all at most 1, or all at least 1.
struct Power([Tensor<2>; 3]);

impl Power {
    /// The row `base` `[1, width]` to the powers `times` (at most `most`).
    fn new(base: &Tensor<2>, times: Tensor<2, Int>, most: usize) -> Self {
        let third = times.clone().div_scalar(3);
        let power = plain_power(base.clone(), &third, most / 3);
        let more = power.clone() * base.clone();
        let left = times - third.mul_scalar(3);
        let factor = |k: i64| {
            let takes_one = left.clone().greater_elem(k).expand(Shape::from(power.dims()));
            power.clone().mask_where(takes_one, more.clone())
        };
        Self([factor(0), factor(1), power.clone()])
    }

    /// The powers of lines at their stored elements.
    fn at_stored(&self, put: &Put<2>) -> Self {
        Self(self.0.each_ref().map(|factor| at_stored(put, factor)))
    }

    /// `x` times the power. Zero and infinity stay.
    ///
    /// If `x` and the result are in the range of the dtype, the power is between about the square of the least number
    /// and that of the largest. So each factor is in the range, and each step lies between `x` and the result.
    fn scale(&self, x: Tensor<2>) -> Tensor<2> {
        let stays = x.clone().equal_elem(0).bool_or(x.clone().is_inf());
        self.0.iter().fold(x.clone(), |out, factor| out * factor.clone()).mask_where(stays, x)
    }
}

/// Whether each number is finite, not zero, and of full precision.
fn normal(x: Tensor<2>) -> Tensor<2, Bool> {
    let least = if x.dtype() == DType::F64 { f64::MIN_POSITIVE } else { f32::MIN_POSITIVE.into() };
    x.clone().is_finite().bool_and(x.abs().greater_equal_elem(least))
}
