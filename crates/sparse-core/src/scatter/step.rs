//! What values do to cells.

use crate::simd;
use pulp::WithSimd;

/// What happens to a cell for each value that belongs to it; `k` is the value's step along the axis.
pub(super) trait Step<X, V>: Sync {
    /// Lets the cell take in the value.
    fn step(&self, cell: &mut X, value: V, k: usize);

    /// Runs a loop over neighbouring cells on the instruction sets that it gains from.
    #[inline(always)]
    fn dispatch<J: WithSimd>(job: J) -> J::Output {
        simd::on_baseline(job)
    }
}
