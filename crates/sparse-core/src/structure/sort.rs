//! Lexicographic sorting of coordinates.

use super::partition::{Buckets, Keys, Word, bits, each_bucket, width};
use crate::Index;
use crate::memory::unwritten;
use crate::par::{self, even, fill_with, split_mut};
use crate::source::prefetch_row;
use bytemuck::Pod;
use core::ops::Range;

/// How coordinates are packed into one word: one bit field per dimension, with the position in the lowest bits.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// The packed dimensions, most significant first: (dimension, shift, width).
    pub(super) fields: Vec<(usize, u32, u32)>,
    /// Number of bits of the position.
    pub(super) pos: u32,
    /// Number of bits used in total.
    pub(super) total: u32,
}

impl Layout {
    fn new(widths: &[u32], dims: Range<usize>, pos: u32) -> Self {
        let mut shift = pos;
        let mut fields: Vec<_> = dims
            .rev()
            .map(|d| {
                let field = (d, shift, widths[d]);
                shift += widths[d];
                field
            })
            .collect();
        fields.reverse();
        Self { fields, pos, total: shift }
    }
}

/// Entries that are partitioned by the bits of their words from `shift` up, at most 16. The coordinates of entry `k`
/// are those of `source(k)`.
#[derive(Clone, Copy)]
struct ByCoords<'a, I, F> {
    layout: &'a Layout,
    indices: &'a [I],
    nnz: usize,
    source: F,
    shift: u32,
}

impl<W: Word, I: Index, F: Fn(usize) -> usize + Copy + Sync> Keys<W> for ByCoords<'_, I, F> {
    #[inline(always)]
    fn digits(self, first: usize, out: &mut [u16]) {
        out.fill(0);
        // Reads only the dimensions that have some of these bits.
        for &(d, low, _) in self.layout.fields.iter().filter(|(_, low, width)| low + width > self.shift) {
            let row = &self.indices[d * self.nnz..][..self.nnz];
            prefetch_row(row, first + out.len(), out.len());
            let (up, down) = (low.saturating_sub(self.shift), self.shift.saturating_sub(low));
            for (k, digit) in (first..).zip(&mut *out) {
                *digit |= (row[(self.source)(k)].to_usize() >> down << up) as u16;
            }
        }
    }

    #[inline(always)]
    fn words(self, first: usize, out: &mut [W]) {
        for (k, word) in (first..).zip(&mut *out) {
            *word = W::of(k, 0);
        }
        for &(d, shift, _) in &self.layout.fields {
            let row = &self.indices[d * self.nnz..][..self.nnz];
            prefetch_row(row, first + out.len(), out.len());
            for (k, word) in (first..).zip(&mut *out) {
                *word = *word | W::of(row[(self.source)(k)].to_usize(), shift);
            }
        }
    }
}

/// Sorted coordinates: the permutation, and what is left of the words.
pub(super) enum Sorted<I> {
    /// They were already in order.
    Identity,
    /// All dimensions and the position fit in 64 bits.
    Narrow(Vec<I>, Runs<u64>),
    /// They fit in 128 bits.
    Wide(Vec<I>, Runs<u128>),
    /// They do not fit in a word.
    Order(Vec<I>),
}

/// The runs of equal coordinates: a word for each, with the place where it starts instead of the position.
pub(super) struct Runs<W: Pod> {
    buckets: Buckets<W>,
    /// How many words at the start of each bucket are left.
    pub(super) counts: Vec<usize>,
    pub(super) layout: Layout,
}

impl<W: Word> Runs<W> {
    /// The words of each bucket.
    pub(super) fn words(&self) -> Vec<&[W]> {
        self.buckets.words().into_iter().zip(&self.counts).map(|(words, count)| &words[..*count]).collect()
    }
}

/// Sorts coordinates; see [`sort_coords`].
pub(super) fn sort<I: Index>(dims: usize, indices: &[I], nnz: usize) -> Sorted<I> {
    // The largest coordinate, not the shape, determines the number of bits: a shape may be far larger than the data.
    let (ordered, widths) = survey(indices, dims, nnz);
    if ordered {
        return Sorted::Identity;
    }
    let pos = bits(nnz - 1);
    let all = Layout::new(&widths, 0..dims, pos);
    if all.total <= u64::BITS {
        let (order, runs) = sort_words(all, indices, nnz, |k| k);
        return Sorted::Narrow(order, runs);
    }
    if all.total <= u128::BITS {
        let (order, runs) = sort_words(all, indices, nnz, |k| k);
        return Sorted::Wide(order, runs);
    }
    // Sorts by the least significant dimensions first, as many at a time as fit in a word. The sort is stable, so it
    // keeps the order of the previous rounds.
    let mut order: Option<Vec<I>> = None;
    let mut end = dims;
    while end > 0 {
        let mut start = end - 1;
        while start > 0 && Layout::new(&widths, start - 1..end, pos).total <= u128::BITS {
            start -= 1;
        }
        let layout = Layout::new(&widths, start..end, pos);
        let source = |k: usize| order.as_ref().map_or(k, |o| o[k].to_usize());
        order = Some(sort_words::<u128, I>(layout, indices, nnz, source).0);
        end = start;
    }
    order.map_or(Sorted::Identity, Sorted::Order)
}

/// Whether the coordinates never descend, and else the bits of the largest coordinate along each dimension.
fn survey<I: Index>(indices: &[I], dims: usize, nnz: usize) -> (bool, Vec<u32>) {
    let ranges = even(nnz, dims);
    let ordered = par::all(ranges.len(), &|piece| {
        let r = &ranges[piece];
        r.clone().skip(usize::from(r.start == 0)).all(|k| {
            for d in 0..dims {
                let (a, b) = (indices[d * nnz + k - 1], indices[d * nnz + k]);
                if a != b {
                    return a < b;
                }
            }
            true
        })
    });
    if ordered {
        return (true, Vec::new());
    }
    (false, (0..dims).map(|d| width(&indices[d * nnz..(d + 1) * nnz])).collect())
}

/// The order of entries by their coordinates, those of `source(k)` for entry `k`, and the runs of equal ones. Words
/// with equal bits above the position already ascend with it, so only these bits need sorting.
fn sort_words<W: Word, I: Index>(
    layout: Layout,
    indices: &[I],
    n: usize,
    source: impl Fn(usize) -> usize + Copy + Sync,
) -> (Vec<I>, Runs<W>) {
    let (low, high) = (layout.pos, layout.total);
    // Partitions by the leading bits into buckets of about 32k words (256 KB), then sorts each in the cache.
    let lead = bits(n / 32768).min(10).min(high - low);
    let shift = high - lead;
    let mut buckets: Buckets<W> =
        Buckets::new(n, 1 << lead, ByCoords { layout: &layout, indices, nnz: n, source, shift });
    let (mut order, mut counts) = (unwritten(n), vec![0; 1 << lead]);
    let orders = split_mut(&mut order, buckets.lens());
    let (lens, firsts) = (buckets.lens().to_vec(), buckets.firsts());
    let jobs = buckets.words_mut().into_iter().zip(orders).zip(firsts).zip(&mut counts).collect();
    each_bucket(&lens, jobs, &|(((words, order), first), count), scratch: &mut [W]| {
        radix_sort(words, low, shift, scratch);
        // The words are still in the cache. Equal ones are in the same bucket.
        order.iter_mut().zip(&*words).for_each(|(slot, word)| *slot = I::from_usize(source(word.field(0, low))));
        *count = keep_firsts(words, low, first);
    });
    (order, Runs { buckets, counts, layout })
}

/// Moves the first word of each run that is equal from bit `low` up to the front, with its place for its lower bits.
/// The first place is `first`. Returns the number of runs.
fn keep_firsts<W: Word>(words: &mut [W], low: u32, first: usize) -> usize {
    let (mut runs, mut last) = (0, W::default());
    for k in 0..words.len() {
        let word = words[k];
        // Written in any case, and again by the next word unless this one starts a run: where one starts cannot be
        // predicted.
        words[runs] = word.with_low(first + k, low);
        runs += usize::from((k == 0) | !last.same_above(word, low));
        last = word;
    }
    runs
}

/// Stable radix sort of words by the bits `low..high`, least significant digit first. A digit that is equal in all
/// words is skipped.
fn radix_sort<W: Word>(words: &mut [W], low: u32, high: u32, scratch: &mut [W]) {
    const DIGIT: u32 = 8;
    let n = words.len();
    // For so few words a comparison sort is faster. The position in the low bits makes it stable.
    if n <= 256 {
        words.sort_unstable();
        return;
    }
    let mut shift = low;
    let mut inside = true;
    while shift < high {
        let width = DIGIT.min(high - shift);
        let (from, to) = if inside { (&mut *words, &mut *scratch) } else { (&mut *scratch, &mut *words) };
        let mut next = [0usize; 1 << DIGIT];
        for w in from.iter() {
            next[w.field(shift, width)] += 1;
        }
        if !next.contains(&n) {
            let mut sum = 0;
            for slot in &mut next {
                sum += core::mem::replace(slot, sum);
            }
            for &w in from.iter() {
                let slot = &mut next[w.field(shift, width)];
                to[*slot] = w;
                *slot += 1;
            }
            inside = !inside;
        }
        shift += width;
    }
    if !inside {
        words.copy_from_slice(scratch);
    }
}

/// The permutation that sorts coordinates in lexicographic order. The sort is stable.
///
/// `indices` is row-major `[shape.len(), nnz]`. Entry `k` of the result is the original position of the `k`-th
/// coordinate. Each coordinate and its position are packed into one word of 64 or 128 bits. The words are partitioned
/// by their leading bits and radix-sorted in the cache. If 128 bits are not enough, dimensions are sorted in groups,
/// least significant first. The product of `shape` may overflow any integer. O(nnz * dims), parallel, with the same
/// result for any number of threads. Coordinates that are already in order cost one pass.
///
/// # Panics
///
/// When `indices` does not hold `shape.len() * nnz` entries. Negative indices give an unspecified order.
pub fn sort_coords<I: Index>(shape: &[usize], indices: &[I], nnz: usize) -> Vec<I> {
    assert_eq!(indices.len(), shape.len() * nnz, "sort_coords: indices must be [sparse_dims, nnz]");
    match sort(shape.len(), indices, nnz) {
        Sorted::Identity => fill_with(nnz, I::from_usize),
        Sorted::Narrow(order, _) | Sorted::Wide(order, _) | Sorted::Order(order) => order,
    }
}
