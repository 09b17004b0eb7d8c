//! Unique sorted coordinates, and the entries that share each.

use super::Segments;
use super::partition::Word;
use super::sort::{Layout, Sorted, sort};
use crate::Index;
use crate::memory::unwritten;
use crate::par::{self, even, split_mut};
use core::ops::Range;

/// Result of [`coalesce`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coalesced<I> {
    /// The `m` unique coordinates in lexicographic order, row-major `[sparse_dims, m]`.
    pub indices: Vec<I>,
    /// For each unique coordinate the original positions of its entries, in ascending order.
    pub segments: Segments<I>,
}

/// Finds the unique coordinates of a COO pattern, sorted lexicographically, and which entries share each.
///
/// `indices` is row-major `[shape.len(), nnz]`. Without sparse dimensions all entries have the same coordinate, so
/// there is one segment if there is any entry. The cost is a [`sort_coords`](crate::sort_coords) plus O(nnz * dims). It
/// runs in parallel, with the same result for any number of threads.
///
/// # Panics
///
/// When `indices` does not hold `shape.len() * nnz` entries.
pub fn coalesce<I: Index>(shape: &[usize], indices: &[I], nnz: usize) -> Coalesced<I> {
    let dims = shape.len();
    assert_eq!(indices.len(), dims * nnz, "coalesce: indices must be [sparse_dims, nnz]");
    match sort(dims, indices, nnz) {
        Sorted::Identity => unique_of(dims, indices, nnz, |k| k),
        Sorted::Narrow(words, layout) => unique_words(dims, &words, &layout),
        Sorted::Wide(words, layout) => unique_words(dims, &words, &layout),
        Sorted::Order(order) => unique_of(dims, indices, nnz, |k| order[k].to_usize()),
    }
}

/// Unique coordinates of sorted words. Coordinates and positions are unpacked from the words, in order.
fn unique_words<W: Word, I: Index>(dims: usize, words: &[W], layout: &Layout) -> Coalesced<I> {
    unique(
        dims,
        words.len(),
        // Pairs of slices are compared without checks of bounds, and several at a time.
        |range| {
            let pairs = words[range.start - 1..range.end - 1].iter().zip(&words[range]);
            pairs.map(|(last, word)| usize::from(!last.same_above(*word, layout.pos))).sum()
        },
        |k| words[k - 1].same_above(words[k], layout.pos),
        |k| words[k].field(0, layout.pos),
        |d, k| {
            let (_, shift, width) = layout.fields[d];
            I::from_usize(words[k].field(shift, width))
        },
    )
}

/// Unique coordinates of `indices` read in the given order.
fn unique_of<I: Index>(dims: usize, indices: &[I], nnz: usize, order: impl Fn(usize) -> usize + Sync) -> Coalesced<I> {
    let coord = |d: usize, k: usize| indices[d * nnz + order(k)];
    let same = |k: usize| (0..dims).all(|d| coord(d, k - 1) == coord(d, k));
    unique(dims, nnz, |range| range.filter(|&k| !same(k)).count(), same, &order, coord)
}

/// Keeps the first entry of every run of equal coordinates. `same(k)` tells whether sorted entry `k >= 1` is equal to
/// the one before, and `differ(range)` how many are not.
fn unique<I: Index>(
    dims: usize,
    n: usize,
    differ: impl Fn(Range<usize>) -> usize + Sync,
    same: impl Fn(usize) -> bool + Sync,
    position: impl Fn(usize) -> usize + Sync,
    coord: impl Fn(usize, usize) -> I + Sync,
) -> Coalesced<I> {
    let ranges = if n == 0 { Vec::new() } else { even(n, 1) };
    let first = |k: usize| k == 0 || !same(k);
    let counts = par::map(ranges.len(), &|c| {
        let range = ranges[c].clone();
        usize::from(range.start == 0) + differ(range.start.max(1)..range.end)
    });
    let m: usize = counts.iter().sum();
    let mut order = unwritten(n);
    let mut ptr = unwritten(m + 1);
    let mut indices = unwritten(dims * m);
    ptr[m] = I::from_usize(n);
    // Piece `c` of every array belongs to range `c`.
    let orders = split_mut(&mut order, &par::lens(&ranges, |r: &Range<usize>| r.len()));
    let ptrs = split_mut(&mut ptr[..m], &counts);
    let mut rows: Vec<Vec<&mut [I]>> = counts.iter().map(|_| Vec::with_capacity(dims)).collect();
    if m > 0 {
        for row in indices.chunks_exact_mut(m) {
            for (c, piece) in split_mut(row, &counts).into_iter().enumerate() {
                rows[c].push(piece);
            }
        }
    }
    let jobs = orders.into_iter().zip(ptrs).zip(rows).collect();
    par::each(jobs, &|c, ((order, ptr), mut rows)| {
        let mut at = 0;
        for (k, slot) in ranges[c].clone().zip(order) {
            *slot = I::from_usize(position(k));
            // Written in any case, and again by the next entry unless this one is the first of its run: where a run
            // starts cannot be predicted. After the last run there is nothing left to write.
            if at < ptr.len() {
                ptr[at] = I::from_usize(k);
                rows.iter_mut().enumerate().for_each(|(d, row)| row[at] = coord(d, k));
            }
            at += usize::from(first(k));
        }
    });
    Coalesced { indices, segments: Segments { ptr, order } }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::{Coalesced, Segments};
    use crate::dynamic::slices::{AnyIndex, IdVec, Ids, with_ids};

    /// See [`coalesce`](crate::coalesce()): unique coordinates, then the order and the pointers of the entries of each.
    pub fn coalesce(shape: &[usize], indices: Ids<'_>, nnz: usize) -> (IdVec, IdVec, IdVec) {
        with_ids!(indices, I => {
            let Coalesced { indices, segments: Segments { ptr, order } } =
                super::coalesce::<I>(shape, I::ids(indices), nnz);
            (I::id_vec(indices), I::id_vec(order), I::id_vec(ptr))
        })
    }
}
