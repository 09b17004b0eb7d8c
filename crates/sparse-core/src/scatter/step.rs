//! How a value updates a cell.

/// An operation on a cell for each value that belongs to it. `k` is the step of the value along the axis.
pub(super) trait Step<X, V>: Copy + Sync {
    /// Updates the cell with the value.
    fn step(&self, cell: &mut X, value: V, k: usize);
}
