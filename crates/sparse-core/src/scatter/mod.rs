//! Reductions into, and reads from, positions along one axis of a dense array.
//!
//! An array is a row-major `[outer, len, inner]`, values are `[outer, count, inner]`, and position `(o, k, i)` of the
//! values belongs to `(o, index, i)` of the array ([`Target`]). Everything rests on two traversals: [`cells`] visits
//! the array's cells with the values that belong to them, in row-major order of the values for each cell, whatever
//! the number of threads; its `gather_map` computes a result for each value from its cell. [`put()`] and the gradients
//! are closures given to these two.

mod backward;
mod cells;
mod layout;
mod product;
mod put;
mod record;

pub use backward::{BackwardReads, backward_reads, put_backward};
pub use put::{put, put_copied};
pub use record::{Record, Recorded, put_recorded, recorded_backward};

use crate::{Index, Result, SparseError, par};
use layout::Layout;
use pulp::{Simd, WithSimd};

/// How values that meet at one position become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduce {
    /// The last value in row-major order.
    Assign,
    /// The sum.
    Add,
    /// The product.
    Mul,
    /// The sum divided by the number of values; over integers rounded towards minus infinity.
    Mean,
    /// The largest; NaN if any is.
    Amax,
    /// The smallest; NaN if any is.
    Amin,
}

impl Reduce {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Assign, Self::Add, Self::Mul, Self::Mean, Self::Amax, Self::Amin];

    /// Name as users spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Assign => "assign",
            Self::Add => "add",
            Self::Mul => "mul",
            Self::Mean => "mean",
            Self::Amax => "amax",
            Self::Amin => "amin",
        }
    }
}

/// Where each value belongs: `(o, k, i)` of `[outer, count, inner]` to `(o, index, i)` of `[outer, len, inner]`.
///
/// Negative indices count from the end. Indices are expected in `[-len, len)` ([`check_indices`]); one outside may
/// panic or address another position, never memory outside the slices.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a, I> {
    /// Product of the dims before the axis.
    pub outer: usize,
    /// Size of the array along the axis.
    pub len: usize,
    /// Product of the dims after the axis.
    pub inner: usize,
    /// Size of the values along the axis.
    pub count: usize,
    /// The index along the axis.
    pub index: TargetIndex<'a, I>,
}

/// The index of a [`Target`].
#[derive(Debug, Clone, Copy)]
pub enum TargetIndex<'a, I> {
    /// One for each value: `[outer, count, inner]`.
    Full(&'a [I]),
    /// One for each step along the axis: `[count]`, the same for all of `outer` and `inner`.
    Axis(&'a [I]),
    /// [`Axis`](Self::Axis) with its steps grouped by destination already: those of position `j` are
    /// `order[ptr[j]..ptr[j + 1]]`, ascending ([`group_by`](crate::group_by)).
    Grouped {
        /// As of `Axis`.
        index: &'a [I],
        /// Steps by destination.
        order: &'a [I],
        /// Where each destination starts in `order`: `len + 1` entries.
        ptr: &'a [I],
    },
}

impl<I> TargetIndex<'_, I> {
    /// The index without its groups.
    pub(crate) fn plain(self) -> Self {
        match self {
            Self::Grouped { index, .. } => Self::Axis(index),
            plain => plain,
        }
    }
}

impl<I: Index> Target<'_, I> {
    /// Number of elements of the array.
    pub fn array_len(&self) -> usize {
        self.outer * self.len * self.inner
    }

    /// Number of values.
    pub fn values_len(&self) -> usize {
        self.outer * self.count * self.inner
    }

    /// Panics unless the index has the length that the sizes say.
    fn assert_index(&self) {
        let (got, expected) = match self.index {
            TargetIndex::Full(index) => (index.len(), self.values_len()),
            TargetIndex::Axis(index) => (index.len(), self.count),
            TargetIndex::Grouped { index, order, ptr } => {
                assert_eq!(order.len(), self.count, "scatter: the groups must hold each step once");
                assert_eq!(ptr.len(), self.len + 1, "scatter: there must be a group for each destination");
                (index.len(), self.count)
            }
        };
        assert_eq!(got, expected, "scatter: the index must have one entry for each value (or row of values)");
        assert!(self.count < u32::MAX as usize, "scatter: at most 2^32 - 2 values may share a position");
    }
}

/// Checks that every index is in `[-size, size)`.
///
/// The error names the first one that is not, and its position in `index`. One parallel pass over `index`.
pub fn check_indices<I: Index>(op: &'static str, axis: usize, size: usize, index: &[I]) -> Result<()> {
    const CHUNK: usize = 1 << 15;
    let low = -(size as i64);
    let arch = pulp::Arch::new();
    let bad = par::find_first(index.len().div_ceil(CHUNK), &|c| {
        let chunk = &index[c * CHUNK..index.len().min((c + 1) * CHUNK)];
        let all = arch.dispatch(AllWithin { index: chunk, low, size: size as i64 });
        if all { None } else { chunk.iter().position(|&x| !within(x, low, size as i64)).map(|p| c * CHUNK + p) }
    });
    match bad {
        None => Ok(()),
        Some(position) => {
            Err(SparseError::IndexOutOfRange { op, axis, low, size, index: index[position].to_i64(), position })
        }
    }
}

#[inline(always)]
fn within<I: Index>(x: I, low: i64, size: i64) -> bool {
    (x.to_i64() >= low) & (x.to_i64() < size)
}

/// Whether all indices are in `[low, size)`; without an early exit, so that the loop is a SIMD one.
struct AllWithin<'a, I> {
    index: &'a [I],
    low: i64,
    size: i64,
}

impl<I: Index> WithSimd for AllWithin<'_, I> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        self.index.iter().fold(true, |all, &x| all & within(x, self.low, self.size))
    }
}

/// `out[o, k, i] = x[o, index, i]`: a read along the axis.
///
/// `x` is `[outer, len, inner]`, `out` `[outer, count, inner]`. One parallel pass over index and `out`; large arrays read
/// often are copied in another order first.
///
/// # Panics
/// If a length does not agree with the target.
pub fn gather<T: Copy + Default + Send + Sync, I: Index>(target: &Target<'_, I>, x: &[T], out: &mut [T]) {
    assert_eq!(x.len(), target.array_len(), "gather: x must be [outer, len, inner]");
    let layout = Layout::of::<T, I>(target);
    let values = cells::units(target.values_len());
    if layout.is_plain() {
        cells::gather_map(target, &layout, x, values, out, |cell, out, (), _| *out = x[cell]);
    } else {
        let x = layout.build(|p| x[p]);
        cells::gather_map(target, &layout, &x, values, out, |cell, out, (), _| *out = x[cell]);
    }
}
