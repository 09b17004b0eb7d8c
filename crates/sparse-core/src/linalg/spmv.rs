//! Sparse matrix times vector.
//!
//! A loop over short rows mispredicts the end of each, and then reads little at a time. So a block of products is made
//! without regard to rows, and its rows are added afterwards: one by one, or where several short rows have one length,
//! as in a matrix of a grid, without vectors of which most lanes are empty.

use super::compressed::Compressed;
use crate::epilogue::Epilogue;
use crate::gather::{BLOCK, checked};
use crate::rows::contiguous::{LANES, WHOLE, contiguous_sum};
use crate::shares::{Share, run, shares, sum};
use crate::source::{NEAR, fetch_ahead};
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

/// Products that are made before columns and values further on are fetched, into the second-level cache. Where those
/// are far, that takes a tenth to a quarter off; into the first level it holds up the reads of the vector. To fetch for
/// a whole block at a time gains nothing.
const TILE: usize = 256;

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
        if self.a.perm.is_some() || size_of_val(self.a.idx) <= NEAR {
            return self.some_products(first, out);
        }
        for (k, out) in out.chunks_mut(TILE).enumerate() {
            let first = first + k * TILE;
            fetch_ahead(self.a.idx, first, out.len());
            fetch_ahead(self.values, first, out.len());
            self.some_products(first, out);
        }
    }

    /// [`products`](Self::products) that are made together.
    #[inline(always)]
    fn some_products(&self, first: usize, out: &mut [T::Acc]) {
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
        let mut row = 0;
        while row + 1 < ptr.len() {
            let (rest, low) = (&ptr[row..], ptr[row].to_usize());
            let (rows, length) = rows_of_one_length(rest);
            if rows > 0 {
                let out = &mut out[row..row + rows];
                match length {
                    1 => self.short_rows::<1>(low, out),
                    2 => self.short_rows::<2>(low, out),
                    3 => self.short_rows::<3>(low, out),
                    4 => self.short_rows::<4>(low, out),
                    5 => self.short_rows::<5>(low, out),
                    6 => self.short_rows::<6>(low, out),
                    7 => self.short_rows::<7>(low, out),
                    _ => self.short_rows::<8>(low, out),
                }
                row += rows;
                continue;
            }
            let rows = self.rows_of_a_block(rest);
            if rows == 0 {
                out[row] = T::narrow(self.long_sum(simd, low..rest[1].to_usize(), &mut block));
            } else {
                self.products(low, &mut block[..below(rest[rows], low)]);
                let mut first = 0;
                for (high, out) in rest[1..=rows].iter().zip(&mut out[row..]) {
                    let last = below(*high, low);
                    *out = T::narrow(contiguous_sum::<T::Acc, S>(simd, &block, first, last));
                    first = last;
                }
            }
            row += rows.max(1);
        }
    }
}

impl<T: Element, I: Index> Rows<'_, T, I> {
    /// How many of the first rows fit in a block. It is looked every few rows whether the next ones have one length.
    #[inline(always)]
    fn rows_of_a_block(&self, ptr: &[I]) -> usize {
        let most = ptr[0].to_usize().saturating_add(BLOCK);
        let mut rows = 0;
        loop {
            let next = &ptr[rows + 1..];
            let more = next.iter().take(EQUAL).take_while(|high| high.to_usize() <= most).count();
            rows += more;
            if more < EQUAL || equal_rows(&ptr[rows..]).is_some() {
                return rows;
            }
        }
    }

    /// The sums of rows of `L` elements, from the element `first` on.
    #[inline(always)]
    fn short_rows<const L: usize>(&self, first: usize, out: &mut [T]) {
        let own = first..first + out.len() * L;
        let (idx, _) = self.a.idx[own.clone()].as_chunks::<L>();
        let (x, last) = checked(self.x, idx.as_flattened());
        if let Some(perm) = self.a.perm {
            let (perm, _) = perm[own].as_chunks::<L>();
            let (values, last_value) = checked(self.values, perm.as_flattened());
            for ((out, idx), perm) in out.iter_mut().zip(idx).zip(perm) {
                *out = short_sum(std::array::from_fn::<_, L, _>(|j| {
                    T::mul(values[perm[j].place().min(last_value)].widen(), x[idx[j].place().min(last)].widen())
                }));
            }
        } else {
            let (values, _) = self.values[own].as_chunks::<L>();
            for ((out, idx), values) in out.iter_mut().zip(idx).zip(values) {
                *out = short_sum(std::array::from_fn::<_, L, _>(|j| {
                    T::mul(values[j].widen(), x[idx[j].place().min(last)].widen())
                }));
            }
        }
    }
}

/// Rows that are added together if they have one length.
const EQUAL: usize = 8;

/// How many of the first rows have one length, which is 1 to 8, and that length. A multiple of [`EQUAL`], at most a
/// block of elements.
#[inline(always)]
fn rows_of_one_length<I: Index>(ptr: &[I]) -> (usize, usize) {
    let Some(length) = equal_rows(ptr) else { return (0, 0) };
    let mut rows = EQUAL;
    while rows < BLOCK / EQUAL && equal_rows(&ptr[rows..]) == Some(length) {
        rows += EQUAL;
    }
    (rows, length)
}

/// The length of the next [`EQUAL`] rows, if it is one, and short.
#[inline(always)]
fn equal_rows<I: Index>(ptr: &[I]) -> Option<usize> {
    let ptr = ptr.first_chunk::<{ EQUAL + 1 }>()?;
    let length = ptr[1].to_usize().wrapping_sub(ptr[0].to_usize());
    let other = (1..EQUAL).fold(0, |other, k| other | (ptr[k + 1].to_usize().wrapping_sub(ptr[k].to_usize()) ^ length));
    (other == 0 && (1..=8).contains(&length)).then_some(length)
}

/// The sum of at most 16 products, in the order of [`contiguous_sum`]: what lies 8 apart is added, then 4, .. Zero is
/// added last, so a sum of negative zeros is zero, as it is where a sum begins with zero.
#[inline(always)]
pub(super) fn short_sum<T: Element, const L: usize>(mut x: [T::Acc; L]) -> T {
    let mut half = 8;
    while half > 0 {
        for j in 0..half.min(L.saturating_sub(half)) {
            x[j] = T::add(x[j], x[j + half]);
        }
        half /= 2;
    }
    T::narrow(T::add(x[0], T::ACC_ZERO))
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
