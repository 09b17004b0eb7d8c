//! Sparse matrix times vector.

use super::compressed::Compressed;
use crate::epilogue::Epilogue;
use crate::gather::{BLOCK, checked};
use crate::par::{by_elements, for_pieces};
use crate::rows::contiguous::{LANES, LaneSums, contiguous_sum};
use crate::{Element, Index};
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// `out[r] = sum over k of value[k] * x[idx[k]]`, with the order of additions of row sums.
///
/// A loop over short rows mispredicts the end of each, and then reads little of `x` at a time. So a block of products is
/// made without regard to rows, with gather instructions, and its rows are added afterwards.
pub(super) fn spmv<T: Element, I: Index>(
    a: Compressed<'_, I>,
    values: &[T],
    x: &[T],
    epilogue: Epilogue<'_, T>,
    out: &mut [T],
) {
    for_pieces(&by_elements(a.ptr, 1), out, &|r| r.len(), &|rows, out| {
        I::dispatch::<T, _>(Rows { a, rows, values, x, out: &mut *out });
        epilogue.apply(out, 1);
    });
}

/// A range of rows, with its part of the output.
struct Rows<'a, T, I> {
    a: Compressed<'a, I>,
    rows: Range<usize>,
    values: &'a [T],
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Element, I: Index> Rows<'_, T, I> {
    /// The products of the elements from `first` on.
    #[inline(always)]
    fn products(&self, first: usize, out: &mut [T::Acc]) {
        let own = first..first + out.len();
        let idx = &self.a.idx[own.clone()];
        if idx.is_empty() {
            return;
        }
        let (x, last) = checked(self.x, idx);
        if let Some(perm) = self.a.perm {
            let perm = &perm[own];
            let (values, last_value) = checked(self.values, perm);
            for (out, (i, at)) in out.iter_mut().zip(idx.iter().zip(perm)) {
                *out = T::mul(values[at.place().min(last_value)].widen(), x[i.place().min(last)].widen());
            }
        } else {
            for ((out, i), value) in out.iter_mut().zip(idx).zip(&self.values[own]) {
                *out = T::mul(value.widen(), x[i.place().min(last)].widen());
            }
        }
    }
}

impl<T: Element, I: Index> WithSimd for Rows<'_, T, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        // Whole groups of lanes are read from it, whatever follows the last product.
        let mut products = [T::ACC_ZERO; BLOCK + LANES];
        let (ptr, out) = (self.a.ptr, core::mem::take(&mut self.out));
        let (mut row, mut out) = (self.rows.start, out.iter_mut());
        while row < self.rows.end {
            let low = ptr[row].to_usize();
            let rest = &ptr[row + 1..=self.rows.end];
            // As many rows as fit.
            let rows = rest.iter().take_while(|high| high.to_usize() <= low.saturating_add(BLOCK)).count();
            if rows == 0 {
                let sum = self.long_row(simd, low..rest[0].to_usize(), &mut products);
                *out.next().expect("one for each row") = T::narrow(sum);
            }
            let mut first = 0;
            self.products(low, &mut products[..rest[..rows].last().map_or(0, |high| high.to_usize() - low)]);
            for (high, out) in rest[..rows].iter().zip(&mut out) {
                let last = high.to_usize() - low;
                *out = T::narrow(contiguous_sum::<T::Acc, S>(simd, &products, first, last));
                first = last;
            }
            row += rows.max(1);
        }
    }
}

impl<T: Element, I: Index> Rows<'_, T, I> {
    /// The sum of a row that is longer than a block.
    #[inline(always)]
    fn long_row<S: Simd>(&self, simd: S, row: Range<usize>, products: &mut [T::Acc; BLOCK + LANES]) -> T::Acc {
        let mut sums = LaneSums::<T::Acc, S>::new(simd);
        let (mut low, high) = (row.start, row.end);
        while high - low > BLOCK {
            self.products(low, &mut products[..BLOCK]);
            sums.add_whole(simd, &products[..BLOCK]);
            low += BLOCK;
        }
        let rest = high - low;
        self.products(low, &mut products[..rest]);
        let whole = (rest - 1) / LANES * LANES;
        sums.add_whole(simd, &products[..whole]);
        sums.finish(simd, products, whole, rest)
    }
}
