//! Gradients of a product: for each member of a group, the product of all the others.

use super::cells::scatter_rows;
use super::gather::gather_map;
use super::layout::Layout;
use super::put::{Product, Wide};
use super::step::Step;
use super::target::Target;
use super::ties::not_hit;
use crate::memory::unwritten;
use crate::{Element, par};
use core::any::Any;
use core::hint::select_unpredictable;
use core::ops::Range;
use half::{bf16, f16};

/// Zeros are counted everywhere if more than one product in this many is 0.
const MANY_ZEROS: usize = 64;

/// See [`put_backward`](super::put_backward).
///
/// Each cell holds `grad * product`. A value's gradient is that divided by the value. NaN marks a group that needs the
/// slow path.
///
/// If the product is 0, the cell holds `grad` times the product of the values that are not 0 (or 0 if the group has
/// several zeros). That is the gradient of a value that is 0; any other value gets 0.
pub(super) fn backward<T: Element>(
    target: &Target<'_>,
    include_self: bool,
    arr: &[T],
    values: &[T],
    out: &[T],
    grad: &[T],
    [need_arr, need_values]: [bool; 2],
) -> [Option<Vec<T>>; 2] {
    if !include_self && !need_values {
        return [need_arr.then(|| not_hit(target, grad)), None];
    }
    let nan = T::div(T::ACC_ZERO, T::ACC_ZERO);
    let layout = Layout::of::<T::Acc>(target);
    // A product that was rounded to 16 bits is too inexact to divide. It is computed again in the accumulator's type.
    let products = if T::EXACT { None } else { Some(wide_products(target, &layout, include_self, arr, values)) };
    let product = |p: usize| products.as_ref().map_or_else(|| out[p].widen(), |wide| wide[p]);
    let mut shares: Vec<T::Acc> = layout.build(|p| {
        let share = T::mul(grad[p].widen(), product(p));
        // If the incoming gradient is 0, the share is exactly 0.
        let exact = is_normal(product(p)) && (is_normal(share) || grad[p] == T::ZERO);
        if exact { share } else { nan }
    });
    let mut zero: Vec<bool> = Vec::new();
    // A few zeros are not worth a pass over all values; they take the slow path.
    let stretches = par::even(out.len(), 1);
    let zeros = par::map(stretches.len(), &|s| stretches[s].clone().filter(|&p| product(p) == T::ACC_ZERO).count());
    if zeros.into_iter().sum::<usize>() > out.len() / MANY_ZEROS {
        // For each group, the product of the values that are not 0, and the number of zeros.
        let mut rest: Vec<(T::Acc, u32)> = layout.build(|p| match include_self {
            true if arr[p] == T::ZERO => (T::ACC_ONE, 1),
            true => (arr[p].widen(), 0),
            false => (T::ACC_ONE, 0),
        });
        scatter_rows(target, &layout, values, None, &mut rest, &NonZero);
        zero = layout.build(|p| product(p) == T::ACC_ZERO);
        let grad = layout.build(|p| grad[p].widen());
        // A product of 0 without a zero underflowed. Or the array's own value was forgotten and no value arrived; then
        // no value reads it. If the incoming gradient is not finite, every member of the group has a NaN.
        par::for_pieces(&stretches, &mut zero, &|r| r.len(), &|cells, zero| {
            for (zero, ((rest, zeros), grad)) in zero.iter_mut().zip(rest[cells.clone()].iter().zip(&grad[cells])) {
                let finite = T::sub(*grad, *grad) == T::ACC_ZERO;
                *zero &= *zeros > 0 && is_normal(*rest) && finite;
            }
        });
        par::for_pieces(&stretches, &mut shares, &|r| r.len(), &|cells, shares| {
            for (c, share) in cells.zip(shares).filter(|(c, _)| zero[*c]) {
                *share = if rest[c].1 == 1 { T::mul(grad[c], rest[c].0) } else { T::ACC_ZERO };
            }
        });
    }
    let divided = |share: T::Acc, v: T| T::narrow(T::div(share, v.widen()));
    let from_zero = |share: T::Acc, v: T| T::narrow(select_unpredictable(v == T::ZERO, share, T::ACC_ZERO));
    let mut arr_grad = need_arr.then(|| match include_self {
        true => layout.spread(&shares, |p, share| {
            if !zero.is_empty() && product(p) == T::ACC_ZERO {
                from_zero(share, arr[p])
            } else {
                divided(share, arr[p])
            }
        }),
        false => not_hit(target, grad),
    });
    let mut value_grad = need_values.then(|| {
        let mut dv = unwritten(values.len());
        if zero.is_empty() {
            gather_map(target, &layout, &shares, values, &mut dv, |c, dv, v, _| *dv = divided(shares[c], v));
        } else {
            gather_map(target, &layout, &shares, values, &mut dv, |c, dv, v, _| {
                let share = shares[c];
                *dv = select_unpredictable(zero[c], from_zero(share, v), divided(share, v));
            });
        }
        dv
    });
    #[allow(clippy::eq_op)]
    if !par::all(stretches.len(), &|s| shares[stretches[s].clone()].iter().all(|share| share == share)) {
        let marked = layout.spread(&shares, |_, share| (share != share) as u8);
        let own = |p: usize| to_f64(arr[p]);
        let own: Option<&Reads> = if include_self { Some(&own) } else { None };
        let group =
            MarkedGroups { target, marked: &marked, own, value: &|p| to_f64(values[p]), grad: &|p| to_f64(grad[p]) };
        // The gradients of the members of these groups are NaN so far.
        let suspects = |stretch: Range<usize>| match &value_grad {
            None => stretch.collect(),
            Some(dv) if !dv[stretch.clone()].iter().fold(false, |any, x| any | x.is_nan()) => Vec::new(),
            Some(dv) => stretch.filter(|&p| dv[p].is_nan()).collect(),
        };
        let members = group.members(values.len(), &suspects);
        if let Some(arr_grad) = arr_grad.as_mut().filter(|_| include_self) {
            // The product of all values is 1 for a group without values.
            for p in (0..arr_grad.len()).filter(|&p| marked[p] == 1) {
                arr_grad[p] = grad[p];
            }
            group.array_gradients(&members, &mut |p, x| arr_grad[p] = from_f64(x));
        }
        if let Some(value_grad) = &mut value_grad {
            group.value_gradients(&members, &mut |p, x| value_grad[p] = from_f64(x));
        }
    }
    [arr_grad, value_grad]
}

/// The product of the values that are not 0, and the number of zeros.
#[derive(Clone, Copy)]
struct NonZero;

impl<T: Element> Step<(T::Acc, u32), T> for NonZero {
    #[inline(always)]
    fn step(&self, (product, zeros): &mut (T::Acc, u32), v: T, _: usize) {
        let is_zero = v == T::ZERO;
        *product = T::mul(*product, select_unpredictable(is_zero, T::ACC_ONE, v.widen()));
        *zeros += is_zero as u32;
    }
}

/// The product of each group in the accumulator's type, in row-major order.
fn wide_products<T: Element>(
    target: &Target<'_>,
    layout: &Layout,
    include_self: bool,
    arr: &[T],
    values: &[T],
) -> Vec<T::Acc> {
    let mut cells: Vec<Wide<T>> = layout.build(|p| Wide(if include_self { arr[p].widen() } else { T::ACC_ONE }));
    scatter_rows(target, layout, values, None, &mut cells, &Product);
    layout.spread(&cells, |_, product| product.0)
}

/// Reads the number at a position.
type Reads<'a> = dyn Fn(usize) -> f64 + Sync + 'a;

/// The slow path: gradients of the groups that `marked` marks, as products over the others.
///
/// Elements are grouped by a stable sort. Within a group, a gradient is the product of the members before times the
/// product of the members after. Such groups are rare. So numbers are read through a function pointer, and this code is
/// compiled once.
struct MarkedGroups<'a> {
    target: &'a Target<'a>,
    marked: &'a [u8],
    /// The array's own values, if they are members of the groups.
    own: Option<&'a Reads<'a>>,
    value: &'a Reads<'a>,
    grad: &'a Reads<'a>,
}

impl MarkedGroups<'_> {
    /// The values of such groups, as (position of the group, position of the value) in ascending order. `suspects`
    /// finds them and possibly others in a stretch of values.
    fn members(&self, values: usize, suspects: &(dyn Fn(Range<usize>) -> Vec<usize> + Sync)) -> Vec<(usize, usize)> {
        const STRETCH: usize = 256;
        let pieces = par::even(values, 1);
        let found = par::map(pieces.len(), &|k| {
            let piece = pieces[k].clone();
            let stretches = piece.clone().step_by(STRETCH).map(|start| start..piece.end.min(start + STRETCH));
            let members = stretches.flat_map(suspects).map(|p| (self.target.position(p), p));
            members.filter(|&(c, _)| self.marked[c] == 1).collect::<Vec<_>>()
        });
        let mut members = found.concat();
        par::sort_unstable(&mut members);
        members
    }

    /// For each group, the gradient times the product of its values.
    fn array_gradients(&self, members: &[(usize, usize)], write: &mut dyn FnMut(usize, f64)) {
        for group in members.chunk_by(|a, b| a.0 == b.0) {
            let c = group[0].0;
            let start = Scaled::new((self.grad)(c));
            let product = group.iter().rev().fold(Scaled::ONE, |x, m| x.times(Scaled::new((self.value)(m.1))));
            write(c, product.times(start).value());
        }
    }

    /// For each value, the gradient times the product of the others of its group.
    fn value_gradients(&self, members: &[(usize, usize)], write: &mut dyn FnMut(usize, f64)) {
        for group in members.chunk_by(|a, b| a.0 == b.0) {
            let c = group[0].0;
            let factor = |m: &(usize, usize)| Scaled::new((self.value)(m.1));
            // after[m]: product of the members after m.
            let mut after = vec![Scaled::ONE; group.len()];
            for m in (1..group.len()).rev() {
                after[m - 1] = after[m].times(factor(&group[m]));
            }
            let own = self.own.map_or(Scaled::ONE, |own| Scaled::new(own(c)));
            let mut before = own.times(Scaled::new((self.grad)(c)));
            for (member, after) in group.iter().zip(after) {
                write(member.1, before.times(after).value());
                before = before.times(factor(member));
            }
        }
    }
}

/// A number with a wide exponent: `fraction * 2^exponent`. `|fraction|` is in `[1, 2)`, or `fraction` is zero, infinity
/// or NaN.
#[derive(Clone, Copy)]
struct Scaled {
    fraction: f64,
    exponent: i64,
}

impl Scaled {
    const ONE: Self = Self { fraction: 1.0, exponent: 0 };

    fn new(x: f64) -> Self {
        if x == 0.0 || !x.is_finite() {
            return Self { fraction: x, exponent: 0 };
        }
        // A subnormal number is first scaled by 2^64, because its bits do not hold its exponent.
        let (x, shift) = if x.is_normal() { (x, 0) } else { (x * 2f64.powi(64), 64) };
        let exponent = (x.to_bits() >> 52 & 0x7ff) as i64 - 1023;
        Self { fraction: f64::from_bits(x.to_bits() & !(0x7ff << 52) | 1023 << 52), exponent: exponent - shift }
    }

    fn times(self, other: Self) -> Self {
        let product = Self::new(self.fraction * other.fraction);
        Self { fraction: product.fraction, exponent: product.exponent + self.exponent + other.exponent }
    }

    fn value(self) -> f64 {
        // Multiplies in steps, so that each power of two is in range. An exponent of 4,200 takes any fraction to zero
        // or infinity.
        let (mut x, mut e) = (self.fraction, self.exponent.clamp(-4200, 4200) as i32);
        while e != 0 && x.is_finite() && x != 0.0 {
            let step = e.clamp(-1000, 1000);
            x *= 2f64.powi(step);
            e -= step;
        }
        x
    }
}

/// Whether an accumulator of floats is normal: not zero, subnormal, infinite or NaN.
#[inline(always)]
fn is_normal<T: Any>(x: T) -> bool {
    let x: &dyn Any = &x;
    if let Some(x) = x.downcast_ref::<f32>() {
        x.is_normal()
    } else {
        x.downcast_ref::<f64>().is_some_and(|x| x.is_normal())
    }
}

/// A float as `f64`.
fn to_f64<T: Any>(x: T) -> f64 {
    let x: &dyn Any = &x;
    if let Some(&x) = x.downcast_ref::<f32>() {
        x as f64
    } else if let Some(&x) = x.downcast_ref::<f64>() {
        x
    } else if let Some(&x) = x.downcast_ref::<f16>() {
        x.to_f64()
    } else {
        x.downcast_ref::<bf16>().map_or(f64::NAN, |x| x.to_f64())
    }
}

/// The float nearest to an `f64`.
fn from_f64<T: Element>(x: f64) -> T {
    let (single, half, brain) = (x as f32, f16::from_f64(x), bf16::from_f64(x));
    let candidates: [&dyn Any; 4] = [&x, &single, &half, &brain];
    candidates.iter().find_map(|x| x.downcast_ref::<T>()).copied().expect("floats are f64, f32, f16 and bf16")
}
