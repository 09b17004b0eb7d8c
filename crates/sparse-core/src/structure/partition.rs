//! The first step of grouping and of sorting: a stable, parallel partition of keys by their high bits.

use crate::memory::Scratch;
use crate::par::{self, big_pieces, ranges};
use bytemuck::Pod;
use core::fmt::Debug;

/// An unsigned integer with a key in its high bits and a position in its low bits. Sorting such words keeps equal keys
/// in order.
pub(super) trait Word: Pod + Ord + Debug + Default + Send + Sync {
    /// Packs `key << shift | pos`.
    fn pack(key: u128, shift: u32, pos: usize) -> Self;
    /// The low 64 bits of `self >> shift`.
    fn high(self, shift: u32) -> usize;
    /// Bits `shift .. shift + width`.
    fn field(self, shift: u32, width: u32) -> usize;
    /// Whether two words have the same bits from `shift` up.
    fn same_above(self, other: Self, shift: u32) -> bool;
}

macro_rules! word {
    ($t:ty) => {
        impl Word for $t {
            #[inline(always)]
            fn pack(key: u128, shift: u32, pos: usize) -> Self {
                (key as $t).checked_shl(shift).unwrap_or(0) | pos as $t
            }
            #[inline(always)]
            fn high(self, shift: u32) -> usize {
                self.checked_shr(shift).unwrap_or(0) as usize
            }
            #[inline(always)]
            fn field(self, shift: u32, width: u32) -> usize {
                let mask = if width >= usize::BITS { usize::MAX } else { (1 << width) - 1 };
                self.high(shift) & mask
            }
            #[inline(always)]
            fn same_above(self, other: Self, shift: u32) -> bool {
                (self ^ other).checked_shr(shift).unwrap_or(0) == 0
            }
        }
    };
}

word!(u64);
word!(u128);

/// Bits needed to write `n`.
pub(super) fn bits(n: usize) -> u32 {
    usize::BITS - n.leading_zeros()
}

/// Words in buckets. The input is split into parts, and each part is partitioned separately. Bucket `b` is the
/// concatenation of its pieces in all parts.
pub(super) struct Buckets<W: Pod> {
    parts: Vec<(Scratch<W>, Vec<usize>)>,
}

impl<W: Word> Buckets<W> {
    /// Distributes `word(0..n)` over `buckets` buckets by `digit(word)`. The order inside each bucket is kept.
    ///
    /// Each task counts and scatters its own contiguous part into its own buffer. No two threads write the same memory,
    /// so this needs neither atomics nor unsafe code. The result does not depend on the number of parts.
    pub(super) fn new(
        n: usize,
        buckets: usize,
        word: impl Fn(usize) -> W + Sync,
        digit: impl Fn(W) -> usize + Sync,
    ) -> Self {
        let ranges = ranges(n, big_pieces(n));
        let parts = par::map(ranges.len(), &|part| {
            let range = ranges[part].clone();
            let mut start = vec![0usize; buckets + 1];
            for k in range.clone() {
                start[digit(word(k)) + 1] += 1;
            }
            for b in 0..buckets {
                start[b + 1] += start[b];
            }
            let mut next = start.clone();
            let mut words = Scratch::unwritten(range.len());
            for k in range {
                let w = word(k);
                let slot = &mut next[digit(w)];
                words[*slot] = w;
                *slot += 1;
            }
            (words, start)
        });
        Self { parts }
    }

    /// The pieces of bucket `b`, in order.
    pub(super) fn pieces(&self, b: usize) -> impl Iterator<Item = &[W]> + Clone {
        self.parts.iter().map(move |(words, start)| &words[start[b]..start[b + 1]])
    }

    /// Number of words in bucket `b`.
    pub(super) fn len(&self, b: usize) -> usize {
        self.parts.iter().map(|(_, start)| start[b + 1] - start[b]).sum()
    }
}
