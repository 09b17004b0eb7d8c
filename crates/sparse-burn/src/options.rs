//! Options of kernels.

/// Which elements a merged pattern has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MergeRule {
    /// Those of either.
    Union,
    /// Those of both.
    Intersection,
}

/// Where patterns are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConcatAxis {
    /// Coordinates along a sparse dim: each part is moved by its offset. `merge` if the parts are coalesced and the
    /// result must be.
    Coo {
        /// The sparse dim.
        axis: usize,
        /// Sum of the sizes before each part.
        offsets: Vec<usize>,
        /// Keep coalesced parts coalesced.
        merge: bool,
    },
    /// Compressed rows: those of each part follow those of the part before it. Also for whole batches.
    CsrRows,
    /// Compressed rows of a batch: in each matrix, the rows of each part follow those of the part before it.
    CsrBatchRows {
        /// Number of matrices.
        batch: usize,
        /// Rows of a matrix, for each part.
        rows: Vec<usize>,
    },
    /// Along the columns: those of each part are moved by its offset.
    CsrCols {
        /// Sum of the sizes before each part.
        offsets: Vec<usize>,
    },
}

/// Sizes of a `put_along_axis`: values `[outer, count, inner]` into an array `[outer, len, inner]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutTarget {
    /// Product of the dims before the axis.
    pub outer: usize,
    /// Size of the array along the axis.
    pub len: usize,
    /// Product of the dims after the axis.
    pub inner: usize,
    /// Size of the values along the axis.
    pub count: usize,
    /// Whether one index serves a whole step along the axis (`[count]`). Otherwise each value has its own.
    pub along_axis: bool,
}
