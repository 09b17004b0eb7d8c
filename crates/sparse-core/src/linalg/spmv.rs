//! Sparse matrix times vector.
//!
//! A loop over short rows mispredicts the end of each, and then reads little at a time. So a block of products is made
//! without regard to rows, with gather instructions, and its rows are added afterwards: one by one, or where several
//! short rows have one length, as in a matrix of a grid, without vectors of which most lanes are empty.

use super::compressed::Compressed;
use crate::epilogue::Epilogue;
use crate::gather::{BLOCK, checked};
use crate::rows::contiguous::{LANES, WHOLE, contiguous_sum};
use crate::shares::{Share, run, shares, sum};
use crate::sums::{Total, parts};
use crate::{Element, Index};
use core::ops::Range;
use pulp::{Simd, WithSimd};

/// `out[r] = sum over k of value[k] * x[idx[k]]`, with the order of additions of row sums.
pub(super) fn spmv<T: Element, I: Index>(
    a: Compressed<'_, I>,
    values: &[T],
    x: &[T],
    epilogue: Epilogue<'_, T>,
    out: &mut [T],
) {
    let body = |share: &Share, out: &mut [T]| {
        let ends = [share.elements.start, share.elements.end].map(I::from_usize);
        let ptr = if share.cut { &ends } else { &a.ptr[share.rows.start..=share.rows.end] };
        I::dispatch::<T, _>(Rows { a: Compressed { ptr, ..a }, values, x, out: &mut *out });
        if !share.cut {
            epilogue.apply(out, 1);
        }
    };
    for row in run(&shares(I::list(a.ptr), a.idx.len(), 1, T::EXACT), 1, out, &body, sum) {
        epilogue.apply(&mut out[row..=row], 1);
    }
}

/// Some rows, with their part of the output.
struct Rows<'a, T, I> {
    a: Compressed<'a, I>,
    values: &'a [T],
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Element, I: Index> Rows<'_, T, I> {
    /// Writes the products of the elements from `first` on.
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

    /// The sum of a row that is longer than a block.
    #[inline(always)]
    fn long_sum<S: Simd>(&self, simd: S, row: Range<usize>, block: &mut [T::Acc; BLOCK + LANES]) -> T::Acc {
        let mut total = Total::<T>::new();
        for read in parts(row.len(), BLOCK) {
            self.products(row.start + read.start, &mut block[..read.len()]);
            for own in parts(read.len(), WHOLE) {
                total.push(contiguous_sum::<T::Acc, S>(simd, block, own.start, own.end));
            }
        }
        total.sum()
    }
}

impl<T: Element, I: Index> WithSimd for Rows<'_, T, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        // Whole groups of lanes are read from it, whatever follows the last product.
        let mut block = [T::ACC_ZERO; BLOCK + LANES];
        let (ptr, out) = (self.a.ptr, core::mem::take(&mut self.out));
        let (mut row, mut out) = (0, out.iter_mut());
        while row + 1 < ptr.len() {
            let (low, rest) = (ptr[row].to_usize(), &ptr[row + 1..]);
            // As many rows as fit.
            let rows = rest.iter().take_while(|high| high.to_usize() <= low.saturating_add(BLOCK)).count();
            if rows == 0 {
                let sum = self.long_sum(simd, low..rest[0].to_usize(), &mut block);
                *out.next().expect("one for each row") = T::narrow(sum);
            } else {
                self.products(low, &mut block[..below(rest[rows - 1], low)]);
                let (mut first, mut done) = (0, 0);
                while done < rows {
                    let next = &ptr[row + done..=row + rows];
                    if let Some(sums) = equal_rows::<T, I>(next, &block[first..]) {
                        for (sum, out) in sums.into_iter().zip(&mut out) {
                            *out = T::narrow(sum);
                        }
                        (first, done) = (below(next[EQUAL], low), done + EQUAL);
                        continue;
                    }
                    for (high, out) in next[1..].iter().take(EQUAL).zip(&mut out) {
                        let last = below(*high, low);
                        *out = T::narrow(contiguous_sum::<T::Acc, S>(simd, &block, first, last));
                        (first, done) = (last, done + 1);
                    }
                }
            }
            row += rows.max(1);
        }
    }
}

/// Rows that are added together if they have one length.
const EQUAL: usize = 8;

/// The sums of the next [`EQUAL`] rows, whose products begin in `block`, if these are short and of one length.
#[inline(always)]
fn equal_rows<T: Element, I: Index>(ptr: &[I], block: &[T::Acc]) -> Option<[T::Acc; EQUAL]> {
    let ptr = ptr.first_chunk::<{ EQUAL + 1 }>()?;
    let length = ptr[1].to_usize().wrapping_sub(ptr[0].to_usize());
    let other = (1..EQUAL).fold(0, |other, k| other | (ptr[k + 1].to_usize().wrapping_sub(ptr[k].to_usize()) ^ length));
    if other != 0 {
        return None;
    }
    match length {
        1 => Some(short_sums::<T, 1>(block)),
        2 => Some(short_sums::<T, 2>(block)),
        3 => Some(short_sums::<T, 3>(block)),
        4 => Some(short_sums::<T, 4>(block)),
        5 => Some(short_sums::<T, 5>(block)),
        6 => Some(short_sums::<T, 6>(block)),
        7 => Some(short_sums::<T, 7>(block)),
        8 => Some(short_sums::<T, 8>(block)),
        _ => None,
    }
}

/// The sums of rows of `L` products, at most 8, in the order of [`contiguous_sum`]: what lies half of 8 apart is added,
/// then a quarter, .. Zero is added last, so a sum of negative zeros is zero, as it is where a sum begins with zero.
#[inline(always)]
fn short_sums<T: Element, const L: usize>(block: &[T::Acc]) -> [T::Acc; EQUAL] {
    let (rows, _) = block.as_chunks::<L>();
    let rows: &[[T::Acc; L]; EQUAL] = rows.first_chunk().expect("a block is longer than these rows");
    let mut sums = [T::ACC_ZERO; EQUAL];
    for (sum, row) in sums.iter_mut().zip(rows) {
        let mut x = *row;
        let mut half = 4;
        while half > 0 {
            for j in 0..half.min(L.saturating_sub(half)) {
                x[j] = T::add(x[j], x[j + half]);
            }
            half /= 2;
        }
        *sum = T::add(x[0], T::ACC_ZERO);
    }
    sums
}

/// How far a row pointer is from an earlier one.
#[inline(always)]
fn below<I: Index>(high: I, low: usize) -> usize {
    high.to_usize().checked_sub(low).expect("row pointers must not descend")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Ids;
    use crate::rows::contiguous::contiguous_sums;
    use half::{bf16, f16};

    /// Several rows of one length after others, with negative zeros.
    fn check<T: Element>(of: impl Fn(f32) -> T) {
        for length in 1..10 {
            for count in 7..18 {
                let lengths = [3, 0, 20].into_iter().chain(vec![length; count]).chain([length + 1, 2]);
                let mut ptr = vec![0];
                lengths.for_each(|length| ptr.push(ptr[ptr.len() - 1] + length));
                let nnz = ptr[ptr.len() - 1] as usize;
                let number = |k: usize| if k % 23 < 12 { -0.0 } else { ((k * 7) as f32 * 0.37).sin() * 9.0 };
                let values: Vec<T> = (0..nnz).map(|k| of(number(k))).collect();
                let mut want = vec![T::ONE; ptr.len() - 1];
                contiguous_sums(&values, Ids::I32(&ptr), &mut want);
                let mut out = vec![T::ZERO; ptr.len() - 1];
                let a = Compressed { ptr: &ptr, idx: &vec![0i32; nnz], perm: None };
                spmv(a, &values, &[T::ONE], Epilogue::default(), &mut out);
                // The sign of a zero counts as well.
                assert_eq!(format!("{out:?}"), format!("{want:?}"), "{count} rows of {length}");
            }
        }
    }

    #[test]
    fn short_rows_of_one_length_have_the_bits_of_others() {
        check(|x| x);
        check(f64::from);
        check(f16::from_f32);
        check(bf16::from_f32);
        check(|x| x as i32);
        check(|x| x as i64);
        check(|x| x as u8);
    }
}
