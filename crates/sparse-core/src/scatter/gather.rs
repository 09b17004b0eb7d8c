//! Reads along an axis.

use super::cells::{gather_map, units};
use super::layout::Layout;
use super::target::Target;
use crate::{Index, Plain};

/// `out[o, k, i] = x[o, index, i]`: a read along the axis.
///
/// `x` is `[outer, len, inner]`, `out` `[outer, count, inner]`. One parallel pass over index and `out`; large arrays read
/// often are copied in another order first.
///
/// # Panics
/// If a length does not agree with the target.
pub fn gather<T: Plain, I: Index>(target: &Target<'_, I>, x: &[T], out: &mut [T]) {
    assert_eq!(x.len(), target.array_len(), "gather: x must be [outer, len, inner]");
    let layout = Layout::of::<T, I>(target);
    let values = units(target.values_len());
    if layout.is_plain() {
        gather_map(target, &layout, x, values, out, |cell, out, (), _| *out = x[cell]);
    } else {
        let x = layout.build(|p| x[p]);
        gather_map(target, &layout, &x, values, out, |cell, out, (), _| *out = x[cell]);
    }
}
