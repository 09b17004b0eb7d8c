//! Lexicographic sorting of coordinates.

use super::partition::{Buckets, Word, bits, width};
use crate::Index;
use crate::memory::Scratch;
use crate::par::{self, even, fill_with};
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

    /// The words of the entries from `first` on. Their positions are those, their coordinates those of `source(k)`.
    #[inline(always)]
    fn words<W: Word, I: Index>(
        &self,
        indices: &[I],
        nnz: usize,
        source: impl Fn(usize) -> usize,
        first: usize,
        out: &mut [W],
    ) {
        for (k, word) in (first..).zip(&mut *out) {
            *word = W::of(k, 0);
        }
        for &(d, shift, _) in &self.fields {
            let row = &indices[d * nnz..(d + 1) * nnz];
            for (k, word) in (first..).zip(&mut *out) {
                *word = *word | W::of(row[source(k)].to_usize(), shift);
            }
        }
    }

    /// The bits of these words from `shift` up: at most 16. Reads only the dimensions that have some.
    #[inline(always)]
    fn digits<I: Index>(
        &self,
        indices: &[I],
        nnz: usize,
        source: impl Fn(usize) -> usize,
        first: usize,
        shift: u32,
        out: &mut [u16],
    ) {
        out.fill(0);
        for &(d, low, _) in self.fields.iter().filter(|(_, low, width)| low + width > shift) {
            let row = &indices[d * nnz..(d + 1) * nnz];
            let (up, down) = (low.saturating_sub(shift), shift.saturating_sub(low));
            for (k, digit) in (first..).zip(&mut *out) {
                *digit |= (row[source(k)].to_usize() >> down << up) as u16;
            }
        }
    }
}

/// Sorted coordinates.
pub(super) enum Sorted<I> {
    /// They were already in order.
    Identity,
    /// All dimensions and the position fit in 64 bits.
    Narrow(Scratch<u64>, Layout),
    /// They fit in 128 bits.
    Wide(Scratch<u128>, Layout),
    /// They do not fit in a word; this is the permutation.
    Order(Vec<I>),
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
        return Sorted::Narrow(sort_words(&all, indices, nnz, |k| k), all);
    }
    if all.total <= u128::BITS {
        return Sorted::Wide(sort_words(&all, indices, nnz, |k| k), all);
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
        let words: Scratch<u128> = sort_words(&layout, indices, nnz, source);
        order = Some(fill_with(nnz, |k| I::from_usize(source(words[k].field(0, pos)))));
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

/// The words of coordinates, in order. Words with equal bits above the position already ascend with it, so only these
/// bits need sorting.
fn sort_words<W: Word, I: Index>(
    layout: &Layout,
    indices: &[I],
    n: usize,
    source: impl Fn(usize) -> usize + Copy + Sync,
) -> Scratch<W> {
    let (low, high) = (layout.pos, layout.total);
    // Partitions by the leading bits into buckets of about 32k words (256 KB), then sorts each in the cache.
    let lead = bits(n / 32768).min(10).min(high - low);
    let shift = high - lead;
    let digits = |first, out: &mut [u16]| layout.digits(indices, n, source, first, shift, out);
    let words = |first, out: &mut [W]| layout.words(indices, n, source, first, out);
    let sort = |bucket: &mut [W]| radix_sort(bucket, low, shift);
    Buckets::new(n, 1 << lead, digits, words).sorted_by(sort)
}

/// Stable radix sort of words by the bits `low..high`, least significant digit first. A digit that is equal in all
/// words is skipped.
fn radix_sort<W: Word>(words: &mut [W], low: u32, high: u32) {
    const DIGIT: u32 = 8;
    let n = words.len();
    // For so few words a comparison sort is faster. The position in the low bits makes it stable.
    if n <= 256 {
        words.sort_unstable();
        return;
    }
    let mut scratch = vec![W::default(); n];
    let mut shift = low;
    let mut inside = true;
    while shift < high {
        let width = DIGIT.min(high - shift);
        let (from, to) = if inside { (&mut *words, &mut scratch[..]) } else { (&mut scratch[..], &mut *words) };
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
        words.copy_from_slice(&scratch);
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
        Sorted::Narrow(words, layout) => fill_with(nnz, |k| I::from_usize(words[k].field(0, layout.pos))),
        Sorted::Wide(words, layout) => fill_with(nnz, |k| I::from_usize(words[k].field(0, layout.pos))),
        Sorted::Order(order) => order,
    }
}
