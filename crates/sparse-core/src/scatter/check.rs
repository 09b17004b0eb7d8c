//! Validation of an index along an axis. All of it is checked before anything is written.

use crate::source::fetched_tiles;
use crate::{Index, Result, SparseError, par};
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// Checks that every index is in `[-size, size)`.
///
/// The error names the first index outside and its position in `index`. One parallel pass over `index`.
pub fn check_indices<I: Index>(op: &'static str, axis: usize, size: usize, index: &[I]) -> Result<()> {
    const CHUNK: usize = 1 << 15;
    // No index reaches a size beyond 2^63.
    let end = i64::try_from(size).unwrap_or(i64::MAX);
    let low = -end;
    let arch = pulp::Arch::new();
    let bad = par::find_first(index.len().div_ceil(CHUNK), &|c| {
        let own = c * CHUNK..index.len().min((c + 1) * CHUNK);
        let all = arch.dispatch(AllWithin { index, own: own.clone(), low, size: end });
        if all { None } else { index[own].iter().position(|&x| !within(x, low, end)).map(|p| c * CHUNK + p) }
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

/// Indices that are checked before others further on are fetched.
const TILE: usize = 512;

/// Whether all indices of a range are in `[low, size)`. There is no early exit, so that the loop is vectorised.
struct AllWithin<'a, I> {
    index: &'a [I],
    own: Range<usize>,
    low: i64,
    size: i64,
}

impl<I: Index> WithSimd for AllWithin<'_, I> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Self { index, own, low, size } = self;
        fetched_tiles(index, own, TILE)
            .fold(true, |all, tile| index[tile].iter().fold(all, |all, &x| all & within(x, low, size)))
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use crate::Result;
    use crate::dynamic::slices::{AnyIndex, Ids, with_ids};

    /// See [`check_indices`](crate::check_indices()).
    pub fn check_indices(op: &'static str, axis: usize, size: usize, index: Ids<'_>) -> Result<()> {
        with_ids!(index, I => super::check_indices::<I>(op, axis, size, I::ids(index)))
    }
}
