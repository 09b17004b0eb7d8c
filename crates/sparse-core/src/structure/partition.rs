//! The first step of both grouping and sorting: a stable, parallel partition of keys by their high bits.

use crate::alloc::zeroed;
use crate::par::{self, big_pieces, ranges};
use core::fmt::Debug;

/// An unsigned integer that holds a key above a position, so that sorting it keeps equal keys in order.
pub(super) trait Word: Copy + Ord + Debug + Default + Send + Sync {
    /// Packs `key << shift | pos`.
    fn pack(key: u128, shift: u32, pos: usize) -> Self;
    /// `self >> shift`, the low 64 bits of it.
    fn high(self, shift: u32) -> usize;
    /// Bits `shift .. shift + width`.
    fn field(self, shift: u32, width: u32) -> usize;
    /// Whether two words agree above `shift`.
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

/// Words in buckets. Each thread keeps its own part of the input; bucket `b` is the concatenation of the parts' pieces.
pub(super) struct Buckets<W> {
    parts: Vec<(Vec<W>, Vec<usize>)>,
}

impl<W: Word> Buckets<W> {
    /// Distributes `word(0..n)` over `buckets` buckets by `digit(word)`, keeping the order inside each.
    ///
    /// Every thread counts and scatters its own contiguous part into its own buffer: no two threads write the same
    /// memory, so this needs neither atomics nor unsafe code, and the result does not depend on the number of parts.
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
            let mut words = zeroed(range.len());
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
