//! Products of two sparse matrices whose pattern is known, with the way of each product kept.

use super::compressed::{Compressed, View};
use super::places::{Blocks, Columns, Right, position, prefetch_next, products, products_of};
use super::short::is_short;
use crate::element::Ids;
use crate::memory::Scratch;
use crate::par::{self, split_mut};
use crate::sums::{BLOCK, Cascade, Total, add_blocks, parts};
use crate::{Element, Index};
use core::ops::Range;
use std::sync::Arc;

/// Most products for each element of C: their slots take as much memory then as its columns and its values in f32.
const PRODUCTS: usize = 4;

const OTHERS: &str = "spgemm: the plan must be of these patterns";

/// To which element of its row of `C = A * B` each product belongs: its *slot*.
///
/// With the slots, the values of C ([`values`](Self::values)) and the gradients of A and B ([`sampled`](Self::sampled))
/// need no columns and no dense row: each row of C stays in the first-level cache. Slots are 16-bit numbers, in the
/// order in which [`spgemm_values`](super::spgemm_values) adds. The plan depends on the patterns only. Its clones share
/// their memory.
#[derive(Clone, Debug)]
pub struct ProductPlan {
    pieces: Arc<Vec<Piece>>,
    /// Of B: so sums have the order that they have without a plan.
    blocks: Blocks,
}

/// Rows of C, and the slots of their products.
#[derive(Debug)]
struct Piece {
    rows: Range<usize>,
    slots: Scratch<u16>,
}

impl ProductPlan {
    /// The slots for row pointers and columns `c` of the product, which is `cols` wide. `None` where it would not pay:
    /// with more than 4 products for each element of C, or with more than 2^16 elements in a row.
    ///
    /// O(products) time, in wide matrices less if the columns of each row ascend. 2 bytes for each product.
    ///
    /// # Panics
    ///
    /// When C lacks an element of the product, lengths disagree, pointers descend or an index is out of range.
    pub fn new<I: Index>(c: (&[I], &[I]), a: Compressed<'_, I>, b: Compressed<'_, I>, cols: usize) -> Option<Self> {
        let (ptr, a) = (I::list(c.0), a.view());
        assert_eq!(ptr.rows(), a.ptr.rows(), "spgemm: the pattern must have as many rows as A");
        let longest = (0..ptr.rows()).map(|r| ptr.span(r).len()).max().unwrap_or(0);
        if longest > 1 << u16::BITS {
            return None;
        }
        let columns = Columns::of(b.idx, cols);
        let places = columns.places(b.idx);
        let b = Right::of(b, &places, &columns);
        let pieces = products(a, b);
        if pieces.iter().map(|(_, count)| count).sum::<usize>() > c.1.len().saturating_mul(PRODUCTS) {
            return None;
        }
        let idx = columns.places(c.1);
        let made = par::map(pieces.len(), &|k| {
            let (rows, count) = pieces[k].clone();
            let mut slots = Scratch::unwritten(count);
            locate(rows.clone(), (ptr, &idx), a, b, &mut slots);
            Piece { rows, slots }
        });
        Some(Self { pieces: Arc::new(made), blocks: Blocks::of(b) })
    }

    /// The number of products.
    pub fn products(&self) -> usize {
        self.pieces.iter().map(|piece| piece.slots.len()).sum()
    }

    /// The values of C, whose row pointers are `ptr`: those of [`spgemm_values`](super::spgemm_values), bit by bit.
    /// O(products).
    ///
    /// # Panics
    ///
    /// When the patterns are not those of the plan. If they only have rows of the same lengths, values may be wrong
    /// instead.
    pub fn values<T: Element, I: Index>(
        &self,
        ptr: &[I],
        a: Compressed<'_, I>,
        a_values: &[T],
        b: Compressed<'_, I>,
        b_values: &[T],
        out: &mut [T],
    ) {
        let (ptr, a, b) = (I::list(ptr), a.view(), b.view());
        self.each(ptr, out, &|piece, out| {
            let (mut rest, mut sums, mut more) = (&piece.slots[..], Vec::new(), Cascade::new());
            let first = ptr.at(piece.rows.start);
            for r in piece.rows.clone() {
                let row = ptr.span(r);
                sums.clear();
                sums.resize(row.len(), T::ACC_ZERO);
                add_blocks::<T>(self.blocks.of_row::<T>(a, b.ptr, r), &mut sums, &mut more, |elements, sums| {
                    for e in elements {
                        let weight = a_values[position(a.perm, e)].widen();
                        let (slots, row) = row_of(e, a.idx, b, b_values, &mut rest);
                        each_term(slots, row, b, b_values, |slot, v| {
                            let sum = &mut sums[slot];
                            *sum = T::add(*sum, T::mul(weight, v));
                        });
                    }
                });
                let out = &mut out[row.start - first..row.end - first];
                out.iter_mut().zip(&sums).for_each(|(slot, sum)| *slot = T::narrow(*sum));
            }
            assert!(rest.is_empty(), "{OTHERS}");
        });
    }

    /// `out[e] = sum over j of X[i, j] * B[k, j]` for each element `e = (i, k)` of A, where X has the pattern of C and
    /// `a` is A's row pointers and columns. These are the gradients of A's values, if X is the gradient of C. The bits
    /// are those of [`spgemm_sampled`](super::spgemm_sampled). O(nnz of X + products).
    ///
    /// # Panics
    ///
    /// As [`values`](Self::values).
    pub fn sampled<T: Element, I: Index>(
        &self,
        a: (&[I], &[I]),
        x: Compressed<'_, I>,
        x_values: &[T],
        b: Compressed<'_, I>,
        b_values: &[T],
        out: &mut [T],
    ) {
        let (ptr, idx, x, b) = (I::list(a.0), I::list(a.1), x.view(), b.view());
        self.each(ptr, out, &|piece, out| {
            let (mut rest, mut row) = (&piece.slots[..], Vec::new());
            let first = ptr.at(piece.rows.start);
            for r in piece.rows.clone() {
                row.clear();
                match x.perm {
                    None => row.extend(x_values[x.ptr.span(r)].iter().map(|v| v.widen())),
                    Some(perm) => row.extend(x.ptr.span(r).map(|e| x_values[perm.at(e)].widen())),
                }
                for e in ptr.span(r) {
                    let (slots, all) = row_of(e, idx, b, b_values, &mut rest);
                    let sum = Total::<T>::of(parts(all.len(), BLOCK), |own| {
                        let (mut sum, terms) = (T::ACC_ZERO, all.start + own.start..all.start + own.end);
                        each_term(&slots[own], terms, b, b_values, |slot, v| sum = T::add(sum, T::mul(row[slot], v)));
                        sum
                    });
                    out[e - first] = T::narrow(sum);
                }
            }
            assert!(rest.is_empty(), "{OTHERS}");
        });
    }

    /// Runs `body` for each piece, with the part of `out` that belongs to its rows.
    fn each<T: Element>(&self, ptr: Ids<'_>, out: &mut [T], body: &(dyn Fn(&Piece, &mut [T]) + Sync)) {
        let rows = self.pieces.last().map_or(0, |piece| piece.rows.end);
        assert_eq!(ptr.rows(), rows, "{OTHERS}");
        assert_eq!(ptr.peek(rows), out.len(), "spgemm: out must have an element for each of the pattern");
        let lens = par::lens(&self.pieces, |piece| ptr.spans(&piece.rows).len());
        par::each(split_mut(out, &lens), &|k, out| body(&self.pieces[k], out));
    }
}

/// Writes the slot of each product of some rows.
fn locate(rows: Range<usize>, (ptr, idx): (Ids<'_>, &[i32]), a: View<'_>, b: Right<'_>, mut slots: &mut [u16]) {
    let mut table: Vec<u16> = Vec::new();
    for r in rows {
        let own = &idx[ptr.span(r)];
        let (head, tail) = core::mem::take(&mut slots).split_at_mut(products_of(a, b.ptr, r));
        slots = tail;
        // As the products of a row that is short are sorted. A search needs ascending places.
        let complete = if is_short(b.width, || head.len()) && own.is_sorted() {
            let search = |place: &i32| own.binary_search(place).unwrap_or(own.len()) as u16;
            locate_row(r, own, a, b, head, search)
        } else {
            table.resize(b.width, 0);
            own.iter().enumerate().for_each(|(slot, place)| table[place.to_usize()] = slot as u16);
            locate_row(r, own, a, b, head, |place| table[place.to_usize()])
        };
        assert!(complete, "spgemm: the pattern must have each element of the product, row {r} has not");
    }
}

/// Writes `find(place)` for each product of row `r`. Returns whether these are the slots of their places in `own`.
#[inline(always)]
fn locate_row(
    r: usize,
    own: &[i32],
    a: View<'_>,
    b: Right<'_>,
    mut slots: &mut [u16],
    find: impl Fn(&i32) -> u16,
) -> bool {
    let mut complete = true;
    for e in a.ptr.span(r) {
        prefetch_next(b.ptr, a.idx, e, b.places);
        let places = &b.places[b.ptr.span(a.idx.at(e))];
        let (head, tail) = slots.split_at_mut(places.len());
        slots = tail;
        for (slot, place) in head.iter_mut().zip(places) {
            *slot = find(place);
            complete &= own.get(usize::from(*slot)) == Some(place);
        }
    }
    complete
}

/// The slots and the elements of the row of B that belongs to element `e`, whose column is `idx[e]`. Takes the slots
/// from the front of `slots`.
#[inline(always)]
fn row_of<'a, T>(
    e: usize,
    idx: Ids<'_>,
    b: View<'_>,
    b_values: &[T],
    slots: &mut &'a [u16],
) -> (&'a [u16], Range<usize>) {
    prefetch_next(b.ptr, idx, e, b_values);
    let row = b.ptr.span(idx.at(e));
    let own;
    (own, *slots) = slots.split_at(row.len());
    (own, row)
}

/// Calls `term(slot, value)` for some elements of a row of B.
#[inline(always)]
fn each_term<T: Element>(
    slots: &[u16],
    row: Range<usize>,
    b: View<'_>,
    b_values: &[T],
    mut term: impl FnMut(usize, T::Acc),
) {
    if b.perm.is_none() {
        slots.iter().zip(&b_values[row]).for_each(|(slot, v)| term(usize::from(*slot), v.widen()));
    } else {
        let values = row.map(|e| b_values[position(b.perm, e)].widen());
        slots.iter().zip(values).for_each(|(slot, v)| term(usize::from(*slot), v));
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::super::compressed::dynamic::DynCompressed;
    use super::ProductPlan;
    use crate::dynamic::slices::{AnyIndex, Ids, with_ids};

    /// See [`ProductPlan::new`].
    pub fn product_plan(
        c: (Ids<'_>, Ids<'_>),
        a: DynCompressed<'_>,
        b: DynCompressed<'_>,
        cols: usize,
    ) -> Option<ProductPlan> {
        with_ids!(c.0, I => ProductPlan::new::<I>((I::ids(c.0), I::ids(c.1)), a.of(), b.of(), cols))
    }
}
