//! Reductions into, and reads from, positions along an axis.

use super::slices::{AnyBits, AnyElement, AnyIndex, with_bits, with_elements, with_floats, with_ids};
use super::{BitVec, Bits, ElementVec, Elements, ElementsMut, Ids};
use crate::{Record, Recorded, Reduce, Result, Target, TargetIndex, scatter, zeroed};

/// [`Target`].
#[derive(Clone, Copy, Debug)]
pub struct DynTarget<'a> {
    /// Product of the dims before the axis.
    pub outer: usize,
    /// Size of the array along the axis.
    pub len: usize,
    /// Product of the dims after the axis.
    pub inner: usize,
    /// Size of the values along the axis.
    pub count: usize,
    /// The index along the axis.
    pub index: DynTargetIndex<'a>,
}

/// [`TargetIndex`].
#[derive(Clone, Copy, Debug)]
pub enum DynTargetIndex<'a> {
    /// One for each value.
    Full(Ids<'a>),
    /// One for each step along the axis.
    Axis(Ids<'a>),
    /// One for each step, and the steps grouped by destination: `index`, `order`, `ptr`.
    Grouped(Ids<'a>, Ids<'a>, Ids<'a>),
}

impl<'a> DynTarget<'a> {
    fn ids(&self) -> Ids<'a> {
        let (DynTargetIndex::Full(ids) | DynTargetIndex::Axis(ids) | DynTargetIndex::Grouped(ids, ..)) = self.index;
        ids
    }

    fn of<I: AnyIndex>(&self) -> Target<'a, I> {
        let &Self { outer, len, inner, count, index } = self;
        let index = match index {
            DynTargetIndex::Full(index) => TargetIndex::Full(I::ids(index)),
            DynTargetIndex::Axis(index) => TargetIndex::Axis(I::ids(index)),
            DynTargetIndex::Grouped(index, order, ptr) => {
                TargetIndex::Grouped { index: I::ids(index), order: I::ids(order), ptr: I::ids(ptr) }
            }
        };
        Target { outer, len, inner, count, index }
    }
}

/// See [`check_indices`](crate::check_indices()).
pub fn check_indices(op: &'static str, axis: usize, size: usize, index: Ids<'_>) -> Result<()> {
    with_ids!(index, I => crate::check_indices::<I>(op, axis, size, I::ids(index)))
}

/// See [`gather`](crate::gather()): `[outer, count, inner]`.
pub fn gather(target: &DynTarget<'_>, x: Bits<'_>) -> BitVec {
    with_ids!(target.ids(), I => with_bits!(x, T => {
        let target = target.of::<I>();
        let mut out = zeroed::<T>(target.values_len());
        scatter::gather::<T, I>(&target, T::bits(x), &mut out);
        T::bit_vec(out)
    }))
}

/// Runs `$body` with `$T` bound to the type of `$out`, and `$slice` to its elements.
macro_rules! with_mut {
    ($out:expr, ($slice:ident: $T:ident) => $body:expr) => {
        with_mut!(@arms $out, $slice, $T, $body, F16 half::f16, Bf16 half::bf16, F32 f32, F64 f64, I32 i32, I64 i64, U8 u8)
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
pub fn put(target: &DynTarget<'_>, reduce: Reduce, include_self: bool, values: Elements<'_>, out: ElementsMut<'_>) {
    with_ids!(target.ids(), I => with_mut!(out, (out: T) => {
        scatter::put::<T, I>(&target.of(), reduce, include_self, T::elements(values), out)
    }))
}

/// See [`put_recorded`](crate::put_recorded()).
pub fn put_recorded(
    target: &DynTarget<'_>,
    reduce: Reduce,
    include_self: bool,
    values: Elements<'_>,
    out: ElementsMut<'_>,
) -> Option<Record> {
    with_ids!(target.ids(), I => with_mut!(out, (out: T) => {
        scatter::put_recorded::<T, I>(&target.of(), reduce, include_self, T::elements(values), out)
    }))
}

/// See [`put_copied`](crate::put_copied()): `[outer, len, inner]`.
pub fn put_copied(
    target: &DynTarget<'_>,
    reduce: Reduce,
    include_self: bool,
    values: Elements<'_>,
    arr: Elements<'_>,
) -> ElementVec {
    with_ids!(target.ids(), I => with_elements!(arr, T => {
        T::element_vec(scatter::put_copied::<T, I>(&target.of(), reduce, include_self, T::elements(values), T::elements(arr)))
    }))
}

/// See [`put_backward`](crate::put_backward()). `reads` are the array, the values and the result; those that are not read
/// may be absent.
pub fn put_backward(
    target: &DynTarget<'_>,
    reduce: Reduce,
    include_self: bool,
    reads: [Option<Elements<'_>>; 3],
    grad: Elements<'_>,
    needs: [bool; 2],
) -> [Option<ElementVec>; 2] {
    with_ids!(target.ids(), I => with_floats!(grad, T => {
        let [arr, values, out] = reads.map(|read| read.map_or(&[][..], T::elements));
        let target = target.of::<I>();
        scatter::put_backward::<T, I>(&target, reduce, include_self, arr, values, out, T::elements(grad), needs)
            .map(|grad| grad.map(T::element_vec))
    }))
}

/// [`Recorded`].
#[derive(Clone, Copy, Debug)]
pub struct DynRecorded<'a> {
    /// [`Record::winners`].
    pub winners: &'a [i32],
    /// [`Record::tied`].
    pub tied: &'a [i32],
    /// The array before the operation, the values and the result, where `tied` is not empty.
    pub reads: [Option<Elements<'a>>; 3],
}

/// See [`recorded_backward`](crate::recorded_backward()).
pub fn recorded_backward(
    target: &DynTarget<'_>,
    include_self: bool,
    saved: DynRecorded<'_>,
    grad: Elements<'_>,
    needs: [bool; 2],
) -> [Option<ElementVec>; 2] {
    with_ids!(target.ids(), I => with_floats!(grad, T => {
        let [arr, values, out] = saved.reads.map(|read| read.map_or(&[][..], T::elements));
        let saved = Recorded { winners: saved.winners, tied: saved.tied, arr, values, out };
        scatter::recorded_backward::<T, I>(&target.of(), include_self, saved, T::elements(grad), needs)
            .map(|grad| grad.map(T::element_vec))
    }))
}
