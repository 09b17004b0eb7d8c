//! Columns as places in a dense row, for products of two sparse matrices.

use super::compressed::{Compressed, View};
use super::short::is_short;
use crate::element::Ids;
use crate::memory::zeroed;
use crate::narrow_limit;
use crate::par::{self, by_elements, for_pieces};
use crate::source::prefetch;
use crate::{Element, Index};
use core::ops::Range;
use std::borrow::Cow;

/// Compressed rows whose columns are replaced by places in a dense row of `width`.
#[derive(Clone, Copy)]
pub(super) struct Right<'a> {
    pub(super) ptr: Ids<'a>,
    pub(super) places: &'a [i32],
    pub(super) perm: Option<Ids<'a>>,
    pub(super) width: usize,
}

impl<'a> Right<'a> {
    pub(super) fn of<I: Index>(view: Compressed<'a, I>, places: &'a [i32], columns: &Columns<I>) -> Self {
        Self { ptr: I::list(view.ptr), places, perm: view.perm.map(I::list), width: columns.width() }
    }
}

/// Position of the value of element `e`.
#[inline(always)]
pub(super) fn position(perm: Option<Ids<'_>>, e: usize) -> usize {
    perm.map_or(e, |perm| perm.at(e))
}

/// How many elements of A ahead a row of B is prefetched.
const AHEAD: usize = 8;

/// Prefetches the beginning of the row of B that element `e + AHEAD` of A needs. `list` has an entry for each element
/// of B, and `idx` has the columns of A.
#[inline(always)]
pub(super) fn prefetch_next<T>(ptr: Ids<'_>, idx: Ids<'_>, e: usize, list: &[T]) {
    let start = ptr.peek(idx.peek(e.wrapping_add(AHEAD)));
    prefetch(list, start);
    // A row may start anywhere in a cache line, so rows of a few elements often have two.
    prefetch(list, start.wrapping_add(32 / size_of::<T>()));
}

/// The columns that have a place in a dense row. These are all columns; or, if far fewer are in use, the used ones in
/// ascending order, with one more place for all others.
pub(super) struct Columns<I> {
    all: usize,
    used: Option<Vec<I>>,
}

impl<I: Index> Columns<I> {
    pub(super) fn of(idx: &[I], all: usize) -> Self {
        let used = (all > 8 * idx.len().max(1 << 16) || all > narrow_limit()).then(|| {
            let mut used = idx.to_vec();
            par::sort_unstable(&mut used);
            used.dedup();
            assert!(used.len() < i32::MAX as usize, "spgemm: fewer than 2^31 - 1 columns must be in use");
            used
        });
        Self { all, used }
    }

    pub(super) fn width(&self) -> usize {
        self.used.as_ref().map_or(self.all, |used| used.len() + 1)
    }

    /// The place of each column.
    pub(super) fn places<'a>(&self, idx: &'a [I]) -> Cow<'a, [i32]> {
        let Some(used) = &self.used else { return I::narrow(idx) };
        let place = |j: &I| used.binary_search(j).unwrap_or(used.len()) as i32;
        Cow::Owned(par::fill_with(idx.len(), |k| place(&idx[k])))
    }

    /// The column of each place.
    pub(super) fn names(&self, places: Vec<i32>) -> Vec<I> {
        match &self.used {
            None => I::widen(places),
            Some(used) => par::fill_with(places.len(), |k| used[places[k].to_usize()]),
        }
    }

    /// Row pointers from the end of every row.
    pub(super) fn pointers(&self, ends: &[usize]) -> Vec<I> {
        let mut ptr = zeroed(ends.len() + 1);
        for (slot, end) in ptr[1..].iter_mut().zip(ends) {
            *slot = I::from_usize(*end);
        }
        ptr
    }
}

/// The places of a dense row that have a product, as a bitmap of two levels.
pub(super) struct Hits {
    hit: Vec<u64>,
    words: Vec<u64>,
}

impl Hits {
    pub(super) fn new(width: usize) -> Self {
        let words = width.div_ceil(64);
        Self { hit: vec![0; words], words: vec![0; words.div_ceil(64)] }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, at: usize) {
        self.hit[at / 64] |= 1 << (at % 64);
        self.words[at / 4096] |= 1 << (at / 64 % 64);
    }

    /// Writes the places in order, clears the bitmap, and returns the number of places.
    pub(super) fn drain(&mut self, places: &mut [i32]) -> usize {
        let mut count = 0;
        for (group, words) in self.words.iter_mut().enumerate() {
            while *words != 0 {
                let word = group * 64 + words.trailing_zeros() as usize;
                *words &= *words - 1;
                let mut hit = core::mem::take(&mut self.hit[word]);
                while hit != 0 {
                    places[count] = (word * 64) as i32 + hit.trailing_zeros() as i32;
                    hit &= hit - 1;
                    count += 1;
                }
            }
        }
        count
    }
}

/// The number of products of row `r`. `b` has the row pointers of B.
pub(super) fn products_of(a: View<'_>, b: Ids<'_>, r: usize) -> usize {
    a.ptr.span(r).map(|k| b.span(a.idx.at(k)).len()).sum()
}

/// How many elements of a row of A have products that are added in order, place by place. Then all sums of the row are
/// put aside as one block of [`sums`](crate::sums). That costs a few passes over them, so a place has 8 products of a
/// block on average. More than 2^23 elements are too many, whatever the width: there a sum of ones in f32 would stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    width: usize,
    elements: usize,
}

impl Blocks {
    /// For products with B.
    pub(super) fn of(b: Right<'_>) -> Self {
        let rows = 8 * b.width as u128 * b.ptr.rows() as u128 / b.places.len().max(1) as u128;
        Self { width: b.width, elements: rows.clamp(256, 1 << 23) as usize }
    }

    /// The elements of row `r` in blocks. A row that is short is one block, as where its products are sorted.
    pub(super) fn of_row<T: Element>(
        self,
        a: View<'_>,
        b: Ids<'_>,
        r: usize,
    ) -> impl ExactSizeIterator<Item = Range<usize>> + use<T> {
        let all = a.ptr.span(r);
        let whole = !T::IS_FLOAT || all.len() <= self.elements || is_short(self.width, || products_of(a, b, r));
        let step = if whole { all.len() } else { self.elements };
        (0..if whole { 1 } else { all.len().div_ceil(step) })
            .map(move |k| all.start + k * step..all.end.min(all.start + (k + 1) * step))
    }
}

/// The rows of A in pieces with about equal numbers of products, and the number of products of each piece.
pub(super) fn products(a: View<'_>, b: Right<'_>) -> Vec<(Range<usize>, usize)> {
    let rows = a.ptr.rows();
    let mut sums = vec![0i64; rows + 1];
    for_pieces(&par::even(rows, 16), &mut sums[1..], &|rows| rows.len(), &|rows, sums| {
        for (r, slot) in rows.zip(sums) {
            *slot = products_of(a, b.ptr, r) as i64;
        }
    });
    for r in 0..rows {
        sums[r + 1] += sums[r];
    }
    by_elements(&sums, 1).into_iter().map(|rows| (rows.clone(), (sums[rows.end] - sums[rows.start]) as usize)).collect()
}
