//! Sparse matrix times sparse matrix.

use super::compressed::{Compressed, View};
use super::places::{Blocks, Columns, Hits, Right, position, prefetch_next, products, products_of};
use super::short::{Products, is_short};
use crate::element::Ids;
use crate::memory::{Scratch, defaults, unwritten};
use crate::par::{self, for_pieces, split_mut};
use crate::sums::{Cascade, add_blocks};
use crate::{Element, Index, Plain, Result, SparseError};
use core::ops::Range;

/// Sparse x sparse, structure and values in one pass: `C[i, j] = sum over k of A[i, k] * B[k, j]`. `cols` is the width
/// of C.
///
/// The result is `(row_ptr, col_idx, values)`, with ascending columns in each row. It has an element wherever there is
/// a product, even if the sum is zero.
///
/// A row is summed in a dense accumulator (Gustavson, "Two fast algorithms for sparse matrices", 1978). A bitmap of
/// two levels marks the columns that have a product and lists them in order without a sort. If the matrix has many more
/// columns than B has elements, the accumulator has a place only for each column that B uses. Sums are accumulated in
/// [`Element::Acc`] in the order of A's row, those of a long row in blocks (of 256 elements at least), whatever the
/// number of threads. O(products + rows) time. Memory for the result, and for one dense row per thread. A result that
/// takes at most 256 MB even if each product is an element is copied once, where a sample of the rows says that at
/// least half of the products are.
///
/// In a matrix of more than 2^18 such places, the products of a row that has at most 1024 are sorted instead: a dense
/// row would not fit the caches, and its bitmap would take longer than the row. The bits are the same.
///
/// # Errors
///
/// `overflow`, before anything is computed, if the result has more elements than `I` can count or than fit in memory.
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
    let columns = Columns::of(b.idx, cols);
    let places = columns.places(b.idx);
    let b = Right::of(b, &places, &columns);
    let room = Room { elements: I::limit(), bytes: size_of::<T>() + size_of::<I>() };
    let (ends, places, values) = multiply(a.view(), a_values, b, b_values, room)?;
    Ok((columns.pointers(&ends), columns.names(places), values))
}

/// The ends of the rows of a product, the places of its columns, and its values.
type Product<T> = (Vec<usize>, Vec<i32>, Vec<T>);

fn multiply<T: Element>(a: View<'_>, a_values: &[T], b: Right<'_>, b_values: &[T], room: Room) -> Result<Product<T>> {
    let pieces = plan(a, b, room)?;
    let room = pieces.iter().map(|(_, room)| *room).sum();
    let mut ends = unwritten(a.ptr.rows());
    if room * (size_of::<T>() + size_of::<i32>()) <= COPIED && mostly_written(a, b) {
        let (mut places, mut values) = (Scratch::unwritten(room), Scratch::unwritten(room));
        multiply_pieces((a, a_values), (b, b_values), &pieces, &mut ends, &mut places, &mut values);
        let parts = close(&pieces, &mut ends);
        return Ok((ends, joined(&parts, &places), joined(&parts, &values)));
    }
    // The room may be far more than the result needs, and what is not written must cost nothing: so not from the pool.
    let (mut places, mut values) = (defaults::<i32>(room), defaults(room));
    multiply_pieces((a, a_values), (b, b_values), &pieces, &mut ends, &mut places, &mut values);
    let mut to = 0;
    for part in close(&pieces, &mut ends) {
        let len = part.len();
        if part.start != to {
            places.copy_within(part.clone(), to);
            values.copy_within(part, to);
        }
        to += len;
    }
    places.truncate(to);
    values.truncate(to);
    Ok((ends, places, values))
}

/// Most bytes of a result that is computed in memory that is used again and then copied, in parallel.
const COPIED: usize = 256 << 20;

/// Whether the result needs at least half of the room, as some of the rows say.
fn mostly_written(a: View<'_>, b: Right<'_>) -> bool {
    const SAMPLES: usize = 64;
    // Of products: so the sample costs little beside them.
    const MOST: usize = 1 << 16;
    let rows = a.ptr.rows();
    let (mut hits, mut places) = (Hits::new(b.width), vec![0; b.width]);
    let (mut elements, mut products, mut room) = (0, 0, 0);
    for row in (0..rows).step_by(rows / SAMPLES + 1) {
        let own = products_of(a, b.ptr, row);
        products += own;
        if products > MOST {
            break;
        }
        room += own.min(b.width);
        elements += elements_of(a, b, row, &mut hits, &mut places);
    }
    room > 0 && 2 * elements >= room
}

/// The number of elements of row `row` of the product.
fn elements_of(a: View<'_>, b: Right<'_>, row: usize, hits: &mut Hits, places: &mut [i32]) -> usize {
    for k in a.ptr.span(row) {
        b.places[b.ptr.span(a.idx.at(k))].iter().for_each(|place| hits.add(place.to_usize()));
    }
    hits.drain(places)
}

/// The elements of each piece in its room, and the ends of its rows there.
fn multiply_pieces<T: Element>(
    (a, a_values): (View<'_>, &[T]),
    (b, b_values): (Right<'_>, &[T]),
    pieces: &[(Range<usize>, usize)],
    ends: &mut [usize],
    places: &mut [i32],
    values: &mut [T],
) {
    let rooms = par::lens(pieces, |(_, room)| *room);
    let own = split_mut(places, &rooms).into_iter().zip(split_mut(values, &rooms));
    let jobs = own.zip(split_mut(ends, &par::lens(pieces, |(rows, _)| rows.len()))).collect();
    par::each(jobs, &|piece, ((places, out), ends): ((&mut [i32], &mut [T]), &mut [usize])| {
        let (mut sums, mut hits, mut short) = (Vec::new(), Hits::new(b.width), Products::<T>::new());
        let (blocks, mut more, mut at) = (Blocks::of(b), Cascade::new(), 0);
        for (r, end) in pieces[piece].0.clone().zip(ends) {
            if is_short(b.width, || products_of(a, b.ptr, r)) {
                add_elements(a.ptr.span(r), a, a_values, b, b_values, |place, product| short.add(place, product));
                at += short.drain(b.width, &mut places[at..], &mut out[at..]);
                *end = at;
                continue;
            }
            if sums.is_empty() {
                // Not before a row needs it: often none does.
                sums = vec![T::ACC_ZERO; b.width];
            }
            add_blocks::<T>(blocks.of_row::<T>(a, b.ptr, r), &mut sums, &mut more, |elements, sums| {
                add_elements(elements, a, a_values, b, b_values, |place, product| {
                    sums[place] = T::add(sums[place], product);
                    hits.add(place);
                });
            });
            let row = at..at + hits.drain(&mut places[at..]);
            for (slot, place) in out[row.clone()].iter_mut().zip(&places[row.clone()]) {
                *slot = T::narrow(core::mem::replace(&mut sums[place.to_usize()], T::ACC_ZERO));
            }
            at = row.end;
            *end = at;
        }
    });
}

/// Where the elements of each piece are in the room of all. The ends of the rows then count from the first element of
/// all, as if there were no gaps.
fn close(pieces: &[(Range<usize>, usize)], ends: &mut [usize]) -> Vec<Range<usize>> {
    let (mut from, mut to) = (0, 0);
    let mut parts = Vec::with_capacity(pieces.len());
    for (rows, room) in pieces {
        let ends = &mut ends[rows.clone()];
        let len = ends.last().map_or(0, |end| *end);
        ends.iter_mut().for_each(|end| *end += to);
        parts.push(from..from + len);
        (from, to) = (from + room, to + len);
    }
    parts
}

/// The parts of a list, one behind the other.
fn joined<T: Plain>(parts: &[Range<usize>], list: &[T]) -> Vec<T> {
    let lens = par::lens(parts, |part| part.len());
    let mut out = unwritten(lens.iter().sum());
    par::each(split_mut(&mut out, &lens), &|piece, out| out.copy_from_slice(&list[parts[piece].clone()]));
    out
}

/// The rows of A of each piece of work, and the maximal number of elements that these rows can have. Memory is reserved
/// for that many; pages that are never touched cost nothing.
fn plan(a: View<'_>, b: Right<'_>, room: Room) -> Result<Vec<(Range<usize>, usize)>> {
    let mut pieces = products(a, b);
    for (rows, products) in &mut pieces {
        *products = rows.len().saturating_mul(b.width).min(*products);
    }
    let sum = |pieces: &[(Range<usize>, usize)]| pieces.iter().fold(0usize, |sum, (_, n)| sum.saturating_add(*n));
    if room.check(sum(&pieces)).is_err() {
        // Several products may belong to one element. So the elements are counted exactly, unless the lower bound is
        // already too large.
        room.check((0..a.ptr.rows()).map(|r| longest(a, b, r)).sum())?;
        par::each(pieces.iter_mut().collect(), &|_, (rows, count): &mut (Range<usize>, usize)| {
            let (mut hits, mut places) = (Hits::new(b.width), vec![0; b.width]);
            *count = 0;
            for r in rows.clone() {
                *count += elements_of(a, b, r, &mut hits, &mut places);
            }
        });
        room.check(sum(&pieces))?;
    }
    Ok(pieces)
}

/// Limits for the result.
#[derive(Clone, Copy)]
struct Room {
    /// The largest index.
    elements: usize,
    /// Bytes of an element.
    bytes: usize,
}

impl Room {
    /// Checks that the index type can count this many elements, and that there is memory for them.
    fn check(self, elements: usize) -> Result<()> {
        let overflow = |what, limit: usize, got: usize| Err(SparseError::overflow("matmul", what, limit, got));
        // One less than the maximum, because the number of elements is used as an index too ("missing").
        if elements >= self.elements {
            return overflow("the number of elements of a sparse product", self.elements - 1, elements);
        }
        const LARGE: usize = 1 << 30;
        let bytes = elements.saturating_mul(self.bytes);
        let available = |bytes: &usize| Vec::<u8>::new().try_reserve_exact(*bytes).is_ok();
        if bytes < LARGE || available(&bytes) {
            return Ok(());
        }
        let limit = std::iter::successors(Some(bytes / 2), |bytes| Some(bytes / 2)).find(available).unwrap_or(0);
        overflow("the bytes of a sparse product", limit, bytes)
    }
}

/// A lower bound for the elements of row `r` of the product: the length of the longest row of B that takes part.
fn longest(a: View<'_>, b: Right<'_>, r: usize) -> usize {
    a.ptr.span(r).map(|k| b.ptr.span(a.idx.at(k)).len()).max().unwrap_or(0)
}

/// The values of a product whose pattern is known: [`spgemm`] at the elements of `c`, which must be all of the product.
/// O(products), in wide matrices faster if the columns of each row ascend.
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
    let columns = Columns::of(b.idx, cols);
    let (idx, places) = (columns.places(c.1), columns.places(b.idx));
    let b = Right::of(b, &places, &columns);
    multiply_values((I::list(c.0), &idx), a.view(), a_values, b, b_values, out);
}

fn multiply_values<T: Element>(
    (ptr, idx): (Ids<'_>, &[i32]),
    a: View<'_>,
    a_values: &[T],
    b: Right<'_>,
    b_values: &[T],
    out: &mut [T],
) {
    assert_eq!(out.len(), idx.len(), "spgemm: out must have an element for each of the pattern");
    for_pieces(&ptr.cuts(8), out, &|rows| ptr.spans(rows).len(), &|rows, out| {
        let first = ptr.at(rows.start);
        let (mut sums, mut more, mut short) = (Vec::new(), Cascade::new(), Products::<T>::new());
        let blocks = Blocks::of(b);
        for r in rows {
            let row = ptr.span(r);
            // A search needs ascending places.
            if is_short(b.width, || products_of(a, b.ptr, r)) && idx[row.clone()].is_sorted() {
                let (out, idx) = (&mut out[row.start - first..row.end - first], &idx[row]);
                let own = short.sums(out.len());
                add_elements(a.ptr.span(r), a, a_values, b, b_values, |place, product| {
                    if let Ok(at) = idx.binary_search(&(place as i32)) {
                        own[at] = T::add(own[at], product);
                    }
                });
                out.iter_mut().zip(own).for_each(|(slot, sum)| *slot = T::narrow(*sum));
                continue;
            }
            if sums.is_empty() {
                sums = vec![T::ACC_ZERO; b.width];
            }
            add_blocks::<T>(blocks.of_row::<T>(a, b.ptr, r), &mut sums, &mut more, |elements, sums| {
                add_elements(elements, a, a_values, b, b_values, |at, product| sums[at] = T::add(sums[at], product));
            });
            for (slot, j) in out[row.start - first..row.end - first].iter_mut().zip(&idx[row.clone()]) {
                *slot = T::narrow(core::mem::replace(&mut sums[j.to_usize()], T::ACC_ZERO));
            }
        }
    });
}

/// Calls `add(place, product)` for each product of some elements of a row.
#[inline(always)]
fn add_elements<T: Element>(
    elements: Range<usize>,
    a: View<'_>,
    a_values: &[T],
    b: Right<'_>,
    b_values: &[T],
    mut add: impl FnMut(usize, T::Acc),
) {
    for e in elements {
        prefetch_next(b.ptr, a.idx, e, b.places);
        prefetch_next(b.ptr, a.idx, e, b_values);
        let weight = a_values[position(a.perm, e)].widen();
        let row = b.ptr.span(a.idx.at(e));
        if b.perm.is_none() {
            for (place, v) in b.places[row.clone()].iter().zip(&b_values[row]) {
                add(place.to_usize(), T::mul(weight, v.widen()));
            }
        } else {
            for e in row {
                add(b.places[e].to_usize(), T::mul(weight, b_values[position(b.perm, e)].widen()));
            }
        }
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::super::compressed::dynamic::DynCompressed;
    use crate::dynamic::slices::{AnyElement, AnyIndex, ElementVec, Elements, IdVec, Ids, with_elements, with_ids};
    use crate::memory::unwritten;
    use crate::{ProductPlan, Result};

    /// See [`spgemm`](crate::spgemm()): row pointers, columns, values.
    ///
    /// # Errors
    ///
    /// `overflow`, as in [`spgemm`](crate::spgemm()).
    pub fn spgemm(
        a: DynCompressed<'_>,
        a_values: Elements<'_>,
        b: DynCompressed<'_>,
        b_values: Elements<'_>,
        cols: usize,
    ) -> Result<(IdVec, IdVec, ElementVec)> {
        with_ids!(a.ptr, I => with_elements!(a_values, T => {
            let (ptr, idx, values) =
                super::spgemm::<T, I>(a.of(), T::elements(a_values), b.of(), T::elements(b_values), cols)?;
            Ok((I::id_vec(ptr), I::id_vec(idx), T::element_vec(values)))
        }))
    }

    /// See [`spgemm_values`](crate::spgemm_values()): one value for each element of `c`. With a plan of these patterns,
    /// see [`ProductPlan::values`].
    pub fn spgemm_values(
        c: (Ids<'_>, Ids<'_>),
        a: DynCompressed<'_>,
        a_values: Elements<'_>,
        b: DynCompressed<'_>,
        b_values: Elements<'_>,
        cols: usize,
        plan: Option<&ProductPlan>,
    ) -> ElementVec {
        with_ids!(c.0, I => with_elements!(a_values, T => {
            let mut out = unwritten::<T>(c.1.len());
            let (own, left, right) = ((I::ids(c.0), I::ids(c.1)), T::elements(a_values), T::elements(b_values));
            match plan {
                None => super::spgemm_values::<T, I>(own, a.of(), left, b.of(), right, cols, &mut out),
                Some(plan) => plan.values::<T, I>(own.0, a.of(), left, b.of(), right, &mut out),
            }
            T::element_vec(out)
        }))
    }
}
