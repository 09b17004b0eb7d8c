//! The destination of each value, and how values with the same destination are combined.

use crate::element::Ids;

/// How values at the same position are combined.
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
    /// The largest value; NaN if any value is NaN.
    Amax,
    /// The smallest value; NaN if any value is NaN.
    Amin,
}

impl Reduce {
    /// All reductions.
    pub const ALL: [Self; 6] = [Self::Assign, Self::Add, Self::Mul, Self::Mean, Self::Amax, Self::Amin];

    /// The name in the public interface.
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

/// The destination of each value: position `(o, k, i)` of `[outer, count, inner]` belongs to position `(o, index, i)`
/// of `[outer, len, inner]`.
///
/// Negative indices count from the end. Indices must be in `[-len, len)`, which [`check_indices`](crate::check_indices)
/// checks. An index outside may panic, address another position or be skipped. It never reaches memory outside the
/// slices.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Product of the dims before the axis.
    pub outer: usize,
    /// Size of the array along the axis.
    pub len: usize,
    /// Product of the dims after the axis.
    pub inner: usize,
    /// Size of the values along the axis.
    pub count: usize,
    /// The index along the axis.
    pub index: TargetIndex<'a>,
}

/// The index of a [`Target`].
#[derive(Debug, Clone, Copy)]
pub enum TargetIndex<'a> {
    /// One index for each value: `[outer, count, inner]`.
    Full(Ids<'a>),
    /// One index for each step along the axis: `[count]`, the same for all of `outer` and `inner`.
    Axis(Ids<'a>),
    /// [`Axis`](Self::Axis) with its steps already grouped by destination: `order[ptr[j]..ptr[j + 1]]` are the steps
    /// with destination `j`, ascending ([`group_by`](crate::group_by)).
    Grouped {
        /// The index, as in `Axis`.
        index: Ids<'a>,
        /// The steps sorted by destination.
        order: Ids<'a>,
        /// Where each destination starts in `order`, then the end: `len + 1` entries.
        ptr: Ids<'a>,
    },
}

impl<'a> TargetIndex<'a> {
    /// The index without its groups.
    pub(super) fn plain(self) -> Self {
        match self {
            Self::Grouped { index, .. } => Self::Axis(index),
            plain => plain,
        }
    }

    /// The entries, and whether there is one for each value.
    pub(super) fn ids(self) -> (Ids<'a>, bool) {
        match self {
            Self::Full(ids) => (ids, true),
            Self::Axis(ids) | Self::Grouped { index: ids, .. } => (ids, false),
        }
    }
}

impl Target<'_> {
    /// Number of elements of the array.
    pub fn array_len(&self) -> usize {
        self.outer * self.len * self.inner
    }

    /// Number of values.
    pub fn values_len(&self) -> usize {
        self.outer * self.count * self.inner
    }

    /// The position in the array that value `v` belongs to. Only for a few values: a traversal is faster.
    pub(super) fn position(&self, v: usize) -> usize {
        let (row, i) = (v / self.inner, v % self.inner);
        let (ids, full) = self.index.ids();
        let j = ids.get(if full { v } else { row % self.count });
        let j = if j < 0 { j.wrapping_add(self.len as i64) } else { j } as usize;
        (row / self.count * self.len + j) * self.inner + i
    }

    /// Panics unless the index has the length that the sizes require.
    pub(super) fn assert_index(&self) {
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
