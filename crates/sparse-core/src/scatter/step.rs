//! How a value updates a cell.

use super::target::Target;

/// An operation on a cell for each value that belongs to it. `k` is the step of the value along the axis.
pub(super) trait Step<X, V>: Copy + Sync {
    /// Updates the cell with the value.
    fn step(&self, cell: &mut X, value: V, k: usize);
    /// A cell that [`join`](Self::join) adds nothing for, if the order of the values changes the result.
    fn nothing(&self) -> Option<X> {
        None
    }
    /// The cell of the values of two cells.
    fn join(&self, cell: X, _more: X) -> X {
        cell
    }
}

/// Steps along the axis whose values are added in order, cell by cell. Then all cells are put aside as one block of
/// [`sums`](crate::sums). That costs six passes over them, so a cell has 64 values of a block on average. More than
/// 2^23 are too many, whatever the cells: there a sum of ones in f32 would stop.
pub(super) fn block(target: &Target<'_>) -> usize {
    target.len.saturating_mul(64).clamp(512, 1 << 23)
}
