//! Stable grouping of positions by key.

use super::partition::{Buckets, Keys, Word, bits, each_bucket, width};
use crate::Index;
use crate::memory::{unwritten, zeroed};
use crate::par::split_mut;
use crate::rows::move_rows;
use crate::source::prefetch_row;

/// Positions grouped by a key: group `g` holds the positions `order[ptr[g]..ptr[g + 1]]`, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Segments<I> {
    /// Where each group starts in `order`, then the end: `groups + 1` entries.
    pub ptr: Vec<I>,
    /// Positions sorted by key; equal keys keep their order.
    pub order: Vec<I>,
}

/// Groups positions by key: a stable counting sort.
///
/// `keys` lie in `[0, groups)`. The result lists, for each group, the positions with that key. Large inputs are first
/// partitioned by the high bits of the key, so that counting and scattering stay in the cache. O(n + groups) time and
/// memory, parallel, with the same result for any number of threads.
///
/// # Panics
///
/// When a key lies outside `[0, groups)`, or a count does not fit `I` (debug builds only).
pub fn group_by<I: Index>(keys: &[I], groups: usize) -> Segments<I> {
    group(keys, None, groups).0
}

/// [`group_by`], and another list in the order of the groups: entry `k` is `others[order[k]]`. So rows become columns:
/// with the columns of a matrix as keys and its rows as the others, this is the transpose.
///
/// The others travel in the words that are sorted, if the low bits of the key, position and entry fit 64 bits. Then
/// none is read at random.
///
/// # Panics
///
/// As [`group_by`], and when the lists differ in length.
pub fn group_with<I: Index>(keys: &[I], others: &[I], groups: usize) -> (Segments<I>, Vec<I>) {
    assert_eq!(keys.len(), others.len(), "group_with: each key needs one of the others");
    let list = width(others);
    if bits(keys.len()) + low_bits(keys.len(), groups) + list < u64::BITS {
        return group(keys, Some((others, list)), groups);
    }
    let segments = group_by(keys, groups);
    let mut grouped = unwritten(others.len());
    move_rows(others, 1, &[], &segments.order, &mut grouped);
    (segments, grouped)
}

/// Groups keys, and a list whose entries have at most so many bits.
fn group<I: Index>(keys: &[I], others: Option<(&[I], u32)>, groups: usize) -> (Segments<I>, Vec<I>) {
    let n = keys.len();
    let (others, list) = others.unwrap_or((&[], 0));
    let mut segments = Segments { ptr: zeroed(groups + 1), order: unwritten(n) };
    let mut grouped = unwritten(others.len());
    let into = (&mut segments.ptr[1..], &mut segments.order[..], &mut grouped[..]);
    let fields = Fields { position: bits(n), width: list };
    // That takes a terabyte of keys.
    assert!(bits(n) + low_bits(n, groups) + list < u64::BITS, "group_by: too many keys and groups");
    group_words(keys, others, fields, groups, into);
    (segments, grouped)
}

/// Bits of a key inside its bucket.
fn low_bits(n: usize, groups: usize) -> u32 {
    // From 8k entries and at most 64k counters per bucket: both fit in the second-level cache. Entries of more than 512
    // buckets gain less there than the partition loses. With more than 1024 it would miss the TLB.
    let buckets = (n / 8192).min(512).max(groups / 65536).clamp(1, 1024);
    groups.div_ceil(buckets).max(1).next_power_of_two().trailing_zeros()
}

/// The bits of a word below the low bits of the key: of the other, and below it of the position.
#[derive(Clone, Copy)]
struct Fields {
    position: u32,
    width: u32,
}

/// Keys that are partitioned by the bits above the `low` lowest ones.
#[derive(Clone, Copy)]
struct ByKey<'a, I> {
    keys: &'a [I],
    others: &'a [I],
    fields: Fields,
    low: u32,
    groups: usize,
}

impl<I: Index> Keys<u64> for ByKey<'_, I> {
    #[inline(always)]
    fn digits(self, first: usize, out: &mut [u16]) {
        let keys = &self.keys[first..][..out.len()];
        prefetch_row(self.keys, first + out.len(), out.len());
        // A key with more bits would be taken for another. One with as many bits that is too large has no counter, and
        // panics there.
        let used = keys.iter().fold(0, |used, key| used | key.place());
        assert!(bits(used) <= bits(self.groups), "group_by: keys must be in [0, {})", self.groups);
        out.iter_mut().zip(keys).for_each(|(digit, key)| *digit = (key.place() >> self.low) as u16);
    }

    #[inline(always)]
    fn words(self, first: usize, out: &mut [u64]) {
        let Fields { position, width } = self.fields;
        let (shift, mask) = (position + width, (1 << self.low) - 1);
        for ((k, key), word) in (first..).zip(&self.keys[first..]).zip(&mut *out) {
            *word = u64::of(key.place() & mask, shift) | k as u64;
        }
        if let Some(others) = self.others.get(first..) {
            prefetch_row(others, out.len(), out.len());
            out.iter_mut().zip(others).for_each(|(word, other)| *word |= u64::of(other.place(), position));
        }
    }
}

/// Partitions by the high bits of the key, then sorts each bucket.
fn group_words<I: Index>(
    keys: &[I],
    others: &[I],
    fields: Fields,
    groups: usize,
    (ends, order, grouped): (&mut [I], &mut [I], &mut [I]),
) {
    let low = low_bits(keys.len(), groups);
    let size = 1 << low;
    let buckets = groups.div_ceil(size);
    let Fields { position, width } = fields;
    let key = position + width;
    let parts = Buckets::new(keys.len(), buckets, ByKey { keys, others, fields, low, groups });
    let lens = parts.lens();
    let orders = split_mut(order, lens);
    let grouped = if others.is_empty() { split_mut(grouped, &vec![0; buckets]) } else { split_mut(grouped, lens) };
    let places = parts.firsts().into_iter().zip(ends.chunks_mut(size));
    let jobs = parts.words().into_iter().zip(places).zip(orders.into_iter().zip(grouped)).collect();
    each_bucket(lens, jobs, &|((words, (first, ends)), (order, grouped)), sorted: &mut [u64]| {
        count_sort(words, key, first, ends, sorted);
        order.iter_mut().zip(&*sorted).for_each(|(slot, word)| *slot = I::from_usize(word.field(0, position)));
        grouped.iter_mut().zip(&*sorted).for_each(|(slot, word)| *slot = I::from_usize(word.field(position, width)));
    });
}

/// Counting sort of words by their keys, which start at bit `key`. `ends[key]` becomes `first` plus the end of the
/// key's group.
fn count_sort<I: Index>(words: &[u64], key: u32, first: usize, ends: &mut [I], sorted: &mut [u64]) {
    for word in words {
        let end = &mut ends[word.high(key)];
        *end = I::from_usize(end.to_usize() + 1);
    }
    let mut sum = first;
    for end in ends.iter_mut() {
        let start = sum;
        sum += end.to_usize();
        *end = I::from_usize(start);
    }
    // While the groups are filled, their starts advance to their ends.
    for &word in words {
        let end = &mut ends[word.high(key)];
        let at = end.to_usize();
        *end = I::from_usize(at + 1);
        sorted[at - first] = word;
    }
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::Segments;
    use crate::dynamic::slices::{AnyIndex, IdVec, Ids, with_ids};

    /// See [`group_by`](crate::group_by()): `(order, ptr)`.
    pub fn group_by(keys: Ids<'_>, groups: usize) -> (IdVec, IdVec) {
        with_ids!(keys, I => {
            let Segments { ptr, order } = super::group_by::<I>(I::ids(keys), groups);
            (I::id_vec(order), I::id_vec(ptr))
        })
    }

    /// See [`group_with`](crate::group_with()): `(order, ptr, others)`.
    pub fn group_with(keys: Ids<'_>, others: Ids<'_>, groups: usize) -> (IdVec, IdVec, IdVec) {
        with_ids!(keys, I => {
            let (Segments { ptr, order }, others) = super::group_with::<I>(I::ids(keys), I::ids(others), groups);
            (I::id_vec(order), I::id_vec(ptr), I::id_vec(others))
        })
    }
}
