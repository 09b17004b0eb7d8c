//! How a value updates a cell.

use crate::simd;
use pulp::WithSimd;

/// An operation on a cell for each value that belongs to it. `k` is the step of the value along the axis.
pub(super) trait Step<X, V>: Copy + Sync {
    /// Updates the cell with the value.
    fn step(&self, cell: &mut X, value: V, k: usize);

    /// Runs a loop over contiguous cells, on the instruction sets that make it faster.
    #[inline(always)]
    fn dispatch<J: WithSimd>(job: J) -> J::Output {
        simd::on_baseline(job)
    }
}
