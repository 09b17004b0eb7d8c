//! The part of a matrix that a triangular system has.

use crate::Index;
use core::ops::Range;

/// The part of a square matrix that a triangular system has. Elements on the other side of the diagonal are not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Triangle {
    /// Elements above the diagonal instead of those below.
    pub upper: bool,
    /// The diagonal is 1, whatever is stored there.
    pub unit: bool,
}

impl Triangle {
    /// Of row `r`, whose columns `cols` ascend: the positions of the elements beside the diagonal, and that of the
    /// diagonal, if it is stored.
    #[inline(always)]
    pub(super) fn split<I: Index>(self, cols: &[I], r: usize) -> (Range<usize>, Option<usize>) {
        let len = cols.len();
        let before = match cols {
            [] => 0,
            // Most rows end or begin at the diagonal.
            [.., last] if last.to_usize() == r => len - 1,
            [.., last] if last.to_usize() < r => len,
            [first, ..] if first.to_usize() >= r => 0,
            _ => cols.partition_point(|col| col.to_usize() < r),
        };
        let diagonal = cols.get(before).filter(|col| col.to_usize() == r).map(|_| before);
        match self.upper {
            false => (0..before, diagonal),
            true => (before + usize::from(diagonal.is_some())..len, diagonal),
        }
    }
}
