//! Stable grouping of positions by key.

use super::partition::{Buckets, Word, bits};
use crate::Index;
use crate::memory::{unwritten, zeroed};
use crate::par::{self, split_mut};

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
    let n = keys.len();
    // About 8k entries and 64k counters per bucket: both fit in the second-level cache. With more than 1024 buckets the
    // partition itself would miss the TLB.
    let buckets = (n / 8192).max(groups / 65536).clamp(1, 1024);
    let mut ptr = zeroed(groups + 1);
    let mut order = unwritten(n);
    if buckets == 1 {
        count_sort(keys.iter().map(|key| key.to_usize()).zip(0..), 0, &mut ptr[1..], &mut order);
    } else if bits(n) + bits(groups) <= u64::BITS {
        bucketed::<u64, I>(keys, groups, buckets, &mut ptr[1..], &mut order);
    } else {
        bucketed::<u128, I>(keys, groups, buckets, &mut ptr[1..], &mut order);
    }
    Segments { ptr, order }
}

/// Partitions by the high bits of the key, then sorts each bucket. `ends` has one entry per group.
fn bucketed<W: Word, I: Index>(keys: &[I], groups: usize, buckets: usize, ends: &mut [I], order: &mut [I]) {
    let n = keys.len();
    let shift = bits(n);
    let width = groups.div_ceil(buckets).next_power_of_two();
    let low = width.trailing_zeros();
    let buckets = groups.div_ceil(width);
    let parts =
        Buckets::<W>::new(n, buckets, |k| W::pack(keys[k].to_usize() as u128, shift, k), |w| w.high(shift) >> low);
    let lens: Vec<usize> = (0..buckets).map(|b| parts.len(b)).collect();
    let firsts: Vec<usize> = lens.iter().scan(0, |sum, len| Some(core::mem::replace(sum, *sum + len))).collect();
    let orders = split_mut(order, &lens);
    let jobs = ends.chunks_mut(width).zip(orders).zip(firsts).collect();
    par::each(jobs, &|b, ((ends, order), first)| {
        let words = parts.pieces(b).flatten();
        count_sort(words.map(|w| (w.high(shift) & (width - 1), w.field(0, shift))), first, ends, order);
    });
}

/// Counting sort of `(key, position)` pairs into `order`. `ends[key]` becomes `first` plus the end of the key's group.
fn count_sort<I: Index>(
    pairs: impl Iterator<Item = (usize, usize)> + Clone,
    first: usize,
    ends: &mut [I],
    order: &mut [I],
) {
    for (key, _) in pairs.clone() {
        ends[key] = I::from_usize(ends[key].to_usize() + 1);
    }
    let mut sum = first;
    for slot in ends.iter_mut() {
        let start = sum;
        sum += slot.to_usize();
        *slot = I::from_usize(start);
    }
    // While the groups are filled, their starts advance to their ends.
    for (key, position) in pairs {
        let slot = ends[key].to_usize();
        order[slot - first] = I::from_usize(position);
        ends[key] = I::from_usize(slot + 1);
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
}
