//! Which positions are hit, and which values are equal.

use super::cells::{Arrivals, index_state};
use super::layout::Layout;
use super::target::Target;
use crate::Element;

/// `grad` where no value arrives, else 0. This is the gradient of the array if its own value is forgotten.
pub(super) fn not_hit<T: Element>(target: &Target<'_>, grad: &[T]) -> Vec<T> {
    let layout = Layout::of::<u32>(target);
    let hit = index_state(target, &layout, &Arrivals);
    layout.spread(&hit, |p, hit| if hit == 0 { grad[p] } else { T::ZERO })
}

/// Equal, with NaN equal to itself.
#[inline(always)]
pub(super) fn same<T: Element>(a: T, b: T) -> bool {
    (a == b) | (a.is_nan() & b.is_nan())
}
