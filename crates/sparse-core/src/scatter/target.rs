//! Where values belong, and how they meet.

use crate::element::Ids;

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
/// Negative indices count from the end. Indices are expected in `[-len, len)`, as
/// [`check_indices`](crate::check_indices) checks. One outside may panic, address another position or be passed over; it
/// never reaches memory outside the slices.
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
    /// One for each value: `[outer, count, inner]`.
    Full(Ids<'a>),
    /// One for each step along the axis: `[count]`, the same for all of `outer` and `inner`.
    Axis(Ids<'a>),
    /// [`Axis`](Self::Axis) with its steps grouped by destination already: those of position `j` are
    /// `order[ptr[j]..ptr[j + 1]]`, ascending ([`group_by`](crate::group_by)).
    Grouped {
        /// As of `Axis`.
        index: Ids<'a>,
        /// Steps by destination.
        order: Ids<'a>,
        /// Where each destination starts in `order`: `len + 1` entries.
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

    /// The position in the array that value `v` belongs to. For a few values: a traversal finds them faster.
    pub(super) fn position(&self, v: usize) -> usize {
        let (row, i) = (v / self.inner, v % self.inner);
        let (ids, full) = self.index.ids();
        let j = ids.get(if full { v } else { row % self.count });
        let j = if j < 0 { j.wrapping_add(self.len as i64) } else { j } as usize;
        (row / self.count * self.len + j) * self.inner + i
    }

    /// Panics unless the index has the length that the sizes say.
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
