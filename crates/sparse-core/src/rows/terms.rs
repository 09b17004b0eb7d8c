//! Sums of terms that are read at random places, as those of a sparse matrix times a vector.
//!
//! A loop over short rows mispredicts the end of each, and then reads little at a time. So a block of terms is made
//! without regard to rows, with gather instructions, and its rows are added afterwards.

use super::contiguous::{LANES, LaneSums, contiguous_sum};
use crate::epilogue::Epilogue;
use crate::gather::BLOCK;
use crate::memory::Scratch;
use crate::par;
use crate::shares::{Share, extra, join, shares, split};
use crate::{Element, Index};
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// What is added.
pub(crate) trait Terms<T: Element>: Copy + Sync {
    /// Writes the terms from term `first` on, at most [`BLOCK`].
    fn write(&self, first: usize, out: &mut [T::Acc]);
    /// Number of terms.
    fn len(&self) -> usize;
}

/// `out[r]` = the sum of the terms `ptr[r]..ptr[r + 1]`, with the order of additions of row sums.
pub(crate) fn sum_terms<T: Element, I: Index, X: Terms<T>>(
    ptr: &[I],
    terms: X,
    epilogue: Epilogue<'_, T>,
    out: &mut [T],
) {
    let shares = shares(I::list(ptr), terms.len(), 1, T::EXACT);
    let mut more = Scratch::unwritten(extra(&shares));
    par::each(split(&shares, 1, out, &mut more), &|k, out| {
        let Share { rows, elements, .. } = &shares[k];
        let piece = [elements.start, elements.end].map(I::from_usize);
        let ptr = if rows.len() == 1 { &piece } else { &ptr[rows.start..=rows.end] };
        I::dispatch::<T, _>(Rows { ptr, terms, out: &mut *out });
        if !shares[k].cut {
            epilogue.apply(out, 1);
        }
    });
    for row in join(&shares, 1, out, &more, |a: T, b: T| T::narrow(T::add(a.widen(), b.widen()))) {
        epilogue.apply(&mut out[row..=row], 1);
    }
}

/// A range of rows, with its part of the output.
struct Rows<'a, T, I, X> {
    ptr: &'a [I],
    terms: X,
    out: &'a mut [T],
}

impl<T: Element, I: Index, X: Terms<T>> WithSimd for Rows<'_, T, I, X> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { ptr, terms, out } = self;
        // Whole groups of lanes are read from it, whatever follows the last term.
        let mut block = [T::ACC_ZERO; BLOCK + LANES];
        let (mut row, mut out) = (0, out.iter_mut());
        while row + 1 < ptr.len() {
            let (low, rest) = (ptr[row].to_usize(), &ptr[row + 1..]);
            // As many rows as fit.
            let rows = rest.iter().take_while(|high| high.to_usize() <= low.saturating_add(BLOCK)).count();
            if rows == 0 {
                let sum = long_sum(simd, terms, low..rest[0].to_usize(), &mut block);
                *out.next().expect("one for each row") = T::narrow(sum);
            } else {
                terms.write(low, &mut block[..below(rest[rows - 1], low)]);
                let mut first = 0;
                for (high, out) in rest[..rows].iter().zip(&mut out) {
                    let last = below(*high, low);
                    *out = T::narrow(contiguous_sum::<T::Acc, S>(simd, &block, first, last));
                    first = last;
                }
            }
            row += rows.max(1);
        }
    }
}

/// How far a row pointer is from an earlier one.
#[inline(always)]
fn below<I: Index>(high: I, low: usize) -> usize {
    high.to_usize().checked_sub(low).expect("row pointers must not descend")
}

/// The sum of a row that is longer than a block.
#[inline(always)]
fn long_sum<T: Element, S: Simd, X: Terms<T>>(
    simd: S,
    terms: X,
    row: Range<usize>,
    block: &mut [T::Acc; BLOCK + LANES],
) -> T::Acc {
    let mut sums = LaneSums::<T::Acc, S>::new(simd);
    let (mut low, high) = (row.start, row.end);
    while high - low > BLOCK {
        terms.write(low, &mut block[..BLOCK]);
        sums.add_whole(simd, &block[..BLOCK]);
        low += BLOCK;
    }
    let rest = high - low;
    terms.write(low, &mut block[..rest]);
    let whole = (rest - 1) / LANES * LANES;
    sums.add_whole(simd, &block[..whole]);
    sums.finish(simd, block, whole, rest)
}
