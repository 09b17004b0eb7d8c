//! Reductions into positions along an axis, and reads from them.

use super::slices::{AnyBits, AnyElement, AnyIndex, with_bits, with_elements, with_floats, with_ids};
use super::{BitVec, Bits, ElementVec, Elements, ElementsMut, Ids};
use crate::{Record, Recorded, Reduce, Result, Target, scatter, zeroed};

/// See [`check_indices`](crate::check_indices()).
pub fn check_indices(op: &'static str, axis: usize, size: usize, index: Ids<'_>) -> Result<()> {
    with_ids!(index, I => scatter::check_indices::<I>(op, axis, size, I::ids(index)))
}

/// See [`gather`](crate::gather()): `[outer, count, inner]`.
pub fn gather(target: &Target<'_>, x: Bits<'_>) -> BitVec {
    with_bits!(x, T => {
        let mut out = zeroed::<T>(target.values_len());
        scatter::gather::<T>(target, T::bits(x), &mut out);
        T::bit_vec(out)
    })
}

/// Runs `$body` with `$T` bound to the type of `$out`, and `$slice` to its elements.
macro_rules! with_mut {
    ($out:expr, ($slice:ident: $T:ident) => $body:expr) => {
        with_mut!(@arms $out, $slice, $T, $body,
            F16 half::f16, Bf16 half::bf16, F32 f32, F64 f64, I32 i32, I64 i64, U8 u8)
    };
    (@arms $out:expr, $slice:ident, $T:ident, $body:expr, $($variant:ident $t:ty),*) => {
        match $out {
            $(ElementsMut::$variant($slice) => {
                type $T = $t;
                $body
            })*
        }
    };
}

/// See [`put`](crate::put()).
pub fn put(target: &Target<'_>, reduce: Reduce, include_self: bool, values: Elements<'_>, out: ElementsMut<'_>) {
    with_mut!(out, (out: T) => {
        scatter::put::<T>(target, reduce, include_self, T::elements(values), out)
    })
}

/// See [`put_recorded`](crate::put_recorded()).
pub fn put_recorded(
    target: &Target<'_>,
    reduce: Reduce,
    include_self: bool,
    values: Elements<'_>,
    out: ElementsMut<'_>,
) -> Option<Record> {
    with_mut!(out, (out: T) => {
        scatter::put_recorded::<T>(target, reduce, include_self, T::elements(values), out)
    })
}

/// See [`put_copied`](crate::put_copied()): `[outer, len, inner]`.
pub fn put_copied(
    target: &Target<'_>,
    reduce: Reduce,
    include_self: bool,
    values: Elements<'_>,
    arr: Elements<'_>,
) -> ElementVec {
    with_elements!(arr, T => {
        T::element_vec(scatter::put_copied::<T>(target, reduce, include_self, T::elements(values), T::elements(arr)))
    })
}

/// See [`put_backward`](crate::put_backward()). `reads` holds the array, the values and the result. Those that the
/// gradient does not read may be `None`.
pub fn put_backward(
    target: &Target<'_>,
    reduce: Reduce,
    include_self: bool,
    reads: [Option<Elements<'_>>; 3],
    grad: Elements<'_>,
    needs: [bool; 2],
) -> [Option<ElementVec>; 2] {
    with_floats!(grad, T => {
        let [arr, values, out] = reads.map(|read| read.map_or(&[][..], T::elements));
        scatter::put_backward::<T>(target, reduce, include_self, arr, values, out, T::elements(grad), needs)
            .map(|grad| grad.map(T::element_vec))
    })
}

/// [`Recorded`].
#[derive(Clone, Copy, Debug)]
pub struct DynRecorded<'a> {
    /// [`Record::winners`].
    pub winners: &'a [i32],
    /// [`Record::tied`].
    pub tied: &'a [i32],
    /// The array before the operation, the values and the result. May be `None` if `tied` is empty.
    pub reads: [Option<Elements<'a>>; 3],
}

/// See [`recorded_backward`](crate::recorded_backward()).
pub fn recorded_backward(
    target: &Target<'_>,
    include_self: bool,
    saved: DynRecorded<'_>,
    grad: Elements<'_>,
    needs: [bool; 2],
) -> [Option<ElementVec>; 2] {
    with_floats!(grad, T => {
        let [arr, values, out] = saved.reads.map(|read| read.map_or(&[][..], T::elements));
        let saved = Recorded { winners: saved.winners, tied: saved.tied, arr, values, out };
        scatter::recorded_backward::<T>(target, include_self, saved, T::elements(grad), needs)
            .map(|grad| grad.map(T::element_vec))
    })
}
