//! Sparse matrix times sparse matrix.

use super::compressed::Compressed;
use crate::alloc::zeroed;
use crate::par::{self, by_elements, for_pieces, split_mut};
use crate::{Element, Index, Result, SparseError};
use core::ops::Range;
use std::borrow::Cow;

/// Sparse x sparse, structure and values in one pass: `C[i, j] = sum over k of A[i, k] * B[k, j]`, of width `cols`.
///
/// The result `(row_ptr, col_idx, values)` has an element wherever a product falls, also where the sum is zero, with columns
/// ascending in each row.
/// Rows are computed in a dense accumulator (Gustavson, "Two fast algorithms for sparse matrices", 1978); which columns were hit
/// is kept in a bitmap of two levels, which gives them back in order without a sort. Where there are many more columns
/// than elements of B the accumulator is as wide as the columns that B has. Sums run in [`Element::Acc`] in the order of
/// A's row, whatever the number of threads. O(products + rows) time; memory of the result and a row of B a thread.
///
/// # Errors
///
/// `overflow`, before anything is computed, if the result has more elements than `I` counts or memory holds.
///
/// # Panics
///
/// When lengths disagree, pointers descend or an index is out of range.
pub fn spgemm<T: Element, I: Index>(
    a: Compressed<'_, I>,
    a_values: &[T],
    b: Compressed<'_, I>,
    b_values: &[T],
    cols: usize,
) -> Result<(Vec<I>, Vec<I>, Vec<T>)> {
    let rows = a.ptr.len().saturating_sub(1);
    let narrow = Columns::of(b.idx, cols);
    let idx = narrow.places(b.idx);
    let b = Compressed { idx: &idx, ..b };
    // Each piece writes to room for as many elements as it may have; pages that nobody touches cost nothing.
    let mut pieces: Vec<(Range<usize>, usize)> = products(a, b)
        .into_iter()
        .map(|(rows, products)| (rows.clone(), products.min(rows.len().saturating_mul(narrow.width()))))
        .collect();
    let room_of = |pieces: &[(Range<usize>, usize)]| pieces.iter().fold(0usize, |sum, (_, n)| sum.saturating_add(*n));
    if check_room::<T, I>(room_of(&pieces)).is_err() {
        // Products may meet: the elements are counted, unless the longest rows alone are too many.
        check_room::<T, I>((0..rows).map(|r| longest(a, b, r)).sum())?;
        par::each(pieces.iter_mut().collect(), &|_, (rows, room)| {
            let mut row = Accumulator::<T>::new(narrow.width());
            *room = 0;
            for r in rows.clone() {
                add_row(r, a, a_values, b, b_values, |at, product| row.add(at, product));
                row.drain(|_, _| *room += 1);
            }
        });
        check_room::<T, I>(room_of(&pieces))?;
    }
    let room = room_of(&pieces);
    let (mut row_ptr, mut col_idx, mut values) = (zeroed(rows + 1), zeroed(room), zeroed(room));
    let idx = split_mut(&mut col_idx, &par::lens(&pieces, |(_, room)| *room));
    let out = split_mut(&mut values, &par::lens(&pieces, |(_, room)| *room));
    let ends = split_mut(&mut row_ptr[1..], &par::lens(&pieces, |(rows, _)| rows.len()));
    let mut lens = vec![0usize; pieces.len()];
    let jobs = idx.into_iter().zip(out).zip(ends).zip(&mut lens).collect();
    par::each(jobs, &|piece, (((idx, out), ends), at)| {
        let mut row = Accumulator::<T>::new(narrow.width());
        for (r, end) in pieces[piece].0.clone().zip(ends) {
            add_row(r, a, a_values, b, b_values, |at, product| row.add(at, product));
            row.drain(|place, sum| {
                idx[*at] = narrow.column(place);
                out[*at] = T::narrow(sum);
                *at += 1;
            });
            *end = I::from_usize(*at);
        }
    });
    // Pieces move together, and ends count from the first of all.
    let (mut from, mut to) = (0, 0);
    for ((rows, room), len) in pieces.into_iter().zip(lens) {
        if from != to {
            col_idx.copy_within(from..from + len, to);
            values.copy_within(from..from + len, to);
        }
        for end in &mut row_ptr[rows.start + 1..=rows.end] {
            *end = I::from_usize(end.to_usize() + to);
        }
        (from, to) = (from + room, to + len);
    }
    col_idx.truncate(to);
    values.truncate(to);
    Ok((row_ptr, col_idx, values))
}

/// Checks that indices count so many elements of a result, and that there is memory for them.
fn check_room<T, I: Index>(elements: usize) -> Result<()> {
    let overflow = |what, limit: usize, got: usize| {
        Err(SparseError::Overflow { op: "matmul", what, limit: limit as u128, got: got as u128 })
    };
    // One below the maximum: the number of elements is an index too ("missing").
    if elements >= I::MAX {
        return overflow("the number of elements of a sparse product", I::MAX - 1, elements);
    }
    const LARGE: usize = 1 << 30;
    let bytes = elements.saturating_mul(size_of::<T>() + size_of::<I>());
    let available = |bytes: &usize| Vec::<u8>::new().try_reserve_exact(*bytes).is_ok();
    if bytes < LARGE || available(&bytes) {
        return Ok(());
    }
    let limit = std::iter::successors(Some(bytes / 2), |bytes| Some(bytes / 2)).find(available).unwrap_or(0);
    overflow("the bytes of a sparse product", limit, bytes)
}

/// Elements that row `r` of the product has at least: those of the longest row of B that it meets.
fn longest<I: Index>(a: Compressed<'_, I>, b: Compressed<'_, I>, r: usize) -> usize {
    let lengths = a.idx[span(a.ptr, &(r..r + 1))].iter().map(|k| span(b.ptr, &(k.to_usize()..k.to_usize() + 1)).len());
    lengths.max().unwrap_or(0)
}

/// The values of a product whose pattern is known: those of [`spgemm`] at the elements of `c`.
///
/// # Panics
///
/// When lengths disagree, pointers descend or an index is out of range.
pub fn spgemm_values<T: Element, I: Index>(
    c: (&[I], &[I]),
    a: Compressed<'_, I>,
    a_values: &[T],
    b: Compressed<'_, I>,
    b_values: &[T],
    cols: usize,
    out: &mut [T],
) {
    let (ptr, idx) = c;
    assert_eq!(out.len(), idx.len(), "spgemm: out must have an element for each of the pattern");
    let narrow = Columns::of(b.idx, cols);
    let (idx, own) = (narrow.places(idx), narrow.places(b.idx));
    let b = Compressed { idx: &own, ..b };
    for_pieces(&by_elements(ptr, 8), out, &|rows| span(ptr, rows).len(), &|rows, out| {
        let first = ptr[rows.start].to_usize();
        let mut sums: Vec<T::Acc> = vec![T::ACC_ZERO; narrow.width()];
        for r in rows {
            let row = ptr[r].to_usize()..ptr[r + 1].to_usize();
            add_row(r, a, a_values, b, b_values, |at, product| sums[at] = T::add(sums[at], product));
            for (slot, j) in out[row.start - first..row.end - first].iter_mut().zip(&idx[row.clone()]) {
                *slot = T::narrow(core::mem::replace(&mut sums[j.to_usize()], T::ACC_ZERO));
            }
        }
    });
}

/// Sampled sparse x sparse^T: `out[e] = sum over j of X[i, j] * Y[k, j]` for each element `e = (i, k)` of `mask`.
///
/// The gradients of [`spgemm`]: of A with X the gradient of C and Y = B, of B with everything transposed. Row `i` of X is
/// spread over a dense row, at which the rows of Y are read. O(nnz of X + products) time, a dense row a thread.
///
/// # Panics
///
/// When lengths disagree, pointers descend or an index is out of range.
pub fn spgemm_sampled<T: Element, I: Index>(
    mask: (&[I], &[I]),
    x: Compressed<'_, I>,
    x_values: &[T],
    y: Compressed<'_, I>,
    y_values: &[T],
    cols: usize,
    out: &mut [T],
) {
    let (ptr, idx) = mask;
    assert_eq!(out.len(), idx.len(), "spgemm: out must have an element for each of the mask");
    let narrow = Columns::of(x.idx, cols);
    let (own, other) = (narrow.places(x.idx), narrow.places(y.idx));
    let (x, y) = (Compressed { idx: &own, ..x }, Compressed { idx: &other, ..y });
    for_pieces(&by_elements(ptr, 8), out, &|rows| span(ptr, rows).len(), &|rows, out| {
        let first = ptr[rows.start].to_usize();
        let mut line: Vec<T::Acc> = vec![T::ACC_ZERO; narrow.width()];
        for r in rows {
            let own = span(x.ptr, &(r..r + 1));
            for e in own.clone() {
                line[x.idx[e].to_usize()] = x_values[position(x, e)].widen();
            }
            for e in ptr[r].to_usize()..ptr[r + 1].to_usize() {
                let k = idx[e].to_usize();
                out[e - first] = T::narrow(span(y.ptr, &(k..k + 1)).fold(T::ACC_ZERO, |sum, e| {
                    T::add(sum, T::mul(line[y.idx[e].to_usize()], y_values[position(y, e)].widen()))
                }));
            }
            own.for_each(|e| line[x.idx[e].to_usize()] = T::ACC_ZERO);
        }
    });
}

/// Calls `add(column, product)` for the products of row `r`.
#[inline(always)]
fn add_row<T: Element, I: Index>(
    r: usize,
    a: Compressed<'_, I>,
    a_values: &[T],
    b: Compressed<'_, I>,
    b_values: &[T],
    mut add: impl FnMut(usize, T::Acc),
) {
    for e in a.ptr[r].to_usize()..a.ptr[r + 1].to_usize() {
        let weight = a_values[position(a, e)].widen();
        let row = span(b.ptr, &(a.idx[e].to_usize()..a.idx[e].to_usize() + 1));
        if b.perm.is_none() {
            for (j, v) in b.idx[row.clone()].iter().zip(&b_values[row]) {
                add(j.to_usize(), T::mul(weight, v.widen()));
            }
        } else {
            for e in row {
                add(b.idx[e].to_usize(), T::mul(weight, b_values[position(b, e)].widen()));
            }
        }
    }
}

/// Where the value of element `e` stands.
#[inline(always)]
fn position<I: Index>(view: Compressed<'_, I>, e: usize) -> usize {
    view.perm.map_or(e, |perm| perm[e].to_usize())
}

fn span<I: Index>(ptr: &[I], rows: &Range<usize>) -> Range<usize> {
    ptr[rows.start].to_usize()..ptr[rows.end].to_usize()
}

/// Rows of A in pieces of about equal numbers of products, and how many each has.
fn products<I: Index>(a: Compressed<'_, I>, b: Compressed<'_, I>) -> Vec<(Range<usize>, usize)> {
    let rows = a.ptr.len().saturating_sub(1);
    let mut sums = vec![0i64; rows + 1];
    let count = |r: usize| -> usize {
        span(a.ptr, &(r..r + 1)).map(|e| span(b.ptr, &(a.idx[e].to_usize()..a.idx[e].to_usize() + 1)).len()).sum()
    };
    for_pieces(&par::even(rows, 16), &mut sums[1..], &|rows| rows.len(), &|rows, sums| {
        rows.zip(sums).for_each(|(r, slot)| *slot = count(r) as i64)
    });
    for r in 0..rows {
        sums[r + 1] += sums[r];
    }
    by_elements(&sums, 1).into_iter().map(|rows| (rows.clone(), (sums[rows.end] - sums[rows.start]) as usize)).collect()
}

/// The columns that a dense row has places for: all, or where those in use are far fewer these, ascending, and one more place
/// for all others.
struct Columns<I> {
    all: usize,
    used: Option<Vec<I>>,
}

impl<I: Index> Columns<I> {
    fn of(idx: &[I], all: usize) -> Self {
        let used = (all > 8 * idx.len().max(1 << 16)).then(|| {
            let mut used = idx.to_vec();
            par::sort_unstable(&mut used);
            used.dedup();
            used
        });
        Self { all, used }
    }

    fn width(&self) -> usize {
        self.used.as_ref().map_or(self.all, |used| used.len() + 1)
    }

    /// The places of columns.
    fn places<'a>(&self, idx: &'a [I]) -> Cow<'a, [I]> {
        let Some(used) = &self.used else { return Cow::Borrowed(idx) };
        let place = |j: &I| I::from_usize(used.binary_search(j).unwrap_or(used.len()));
        Cow::Owned(par::fill_with(idx.len(), |k| place(&idx[k])))
    }

    #[inline(always)]
    fn column(&self, place: usize) -> I {
        self.used.as_ref().map_or_else(|| I::from_usize(place), |used| used[place])
    }
}

/// A dense row of sums, and a bitmap of two levels of the places that were hit.
struct Accumulator<T: Element> {
    sums: Vec<T::Acc>,
    hit: Vec<u64>,
    words: Vec<u64>,
}

impl<T: Element> Accumulator<T> {
    fn new(width: usize) -> Self {
        let words = width.div_ceil(64);
        Self { sums: vec![T::ACC_ZERO; width], hit: vec![0; words], words: vec![0; words.div_ceil(64)] }
    }

    #[inline(always)]
    fn add(&mut self, at: usize, product: T::Acc) {
        self.sums[at] = T::add(self.sums[at], product);
        self.hit[at / 64] |= 1 << (at % 64);
        self.words[at / 4096] |= 1 << (at / 64 % 64);
    }

    /// Gives the sums in order of their places, and forgets them.
    #[inline(always)]
    fn drain(&mut self, mut give: impl FnMut(usize, T::Acc)) {
        for (group, words) in self.words.iter_mut().enumerate() {
            while *words != 0 {
                let word = group * 64 + words.trailing_zeros() as usize;
                *words &= *words - 1;
                let mut hit = core::mem::take(&mut self.hit[word]);
                while hit != 0 {
                    let at = word * 64 + hit.trailing_zeros() as usize;
                    hit &= hit - 1;
                    give(at, core::mem::replace(&mut self.sums[at], T::ACC_ZERO));
                }
            }
        }
    }
}
