//! The first step of grouping and of sorting: a stable, parallel partition of keys by their high bits.

use crate::Index;
use crate::memory::Scratch;
use crate::par::{self, big_pieces, even, ranges, split_mut};
use bytemuck::Pod;
use core::fmt::Debug;
use core::ops::{BitOr, Range};

/// An unsigned integer with a key in its high bits and a position in its lowest bits. Sorting such words keeps equal
/// keys in order.
pub(super) trait Word: Pod + Ord + BitOr<Output = Self> + Debug + Default + Send + Sync {
    /// `n << shift`, where a shift by all bits or more is only of zero.
    fn of(n: usize, shift: u32) -> Self;
    /// The low 64 bits of `self >> shift`, where the shift is smaller than the number of bits.
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
            fn of(n: usize, shift: u32) -> Self {
                (n as $t).wrapping_shl(shift)
            }
            #[inline(always)]
            fn high(self, shift: u32) -> usize {
                self.wrapping_shr(shift) as usize
            }
            #[inline(always)]
            fn field(self, shift: u32, width: u32) -> usize {
                let mask = if width >= usize::BITS { usize::MAX } else { (1 << width) - 1 };
                self.high(shift) & mask
            }
            #[inline(always)]
            fn same_above(self, other: Self, shift: u32) -> bool {
                (self ^ other).wrapping_shr(shift) == 0
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

/// Bits of the largest index of a list.
pub(super) fn width<I: Index>(list: &[I]) -> u32 {
    let ranges = even(list.len(), 1);
    // Every bit that any index has: vectorised on all instruction sets, which a maximum of 64 bits is not.
    let used = |piece: usize| list[ranges[piece].clone()].iter().fold(0, |used, i| used | i.to_usize());
    bits(par::map(ranges.len(), &used).into_iter().fold(0, |a, b| a | b))
}

/// Words that are made at a time. They stay in the first-level cache.
const BLOCK: usize = 1024;

/// Words in buckets, one after the other in one list.
pub(super) struct Buckets<W: Pod> {
    words: Scratch<W>,
    lens: Vec<usize>,
}

impl<W: Word> Buckets<W> {
    /// Distributes `n` words over `buckets` buckets, at most 2^16. The order inside each bucket is kept.
    /// `digits(k, out)` writes the buckets of the words from word `k` on, and `words(k, out)` the words. The digits are
    /// made twice, to count and to scatter: a list of them would take two bytes a word, and be no faster.
    ///
    /// Each task counts and scatters its own contiguous part of the input, into a piece of each bucket that is its own.
    /// No two threads write the same memory, so this needs neither atomics nor unsafe code. The result does not depend
    /// on the number of parts.
    pub(super) fn new(
        n: usize,
        buckets: usize,
        digits: impl Fn(usize, &mut [u16]) + Copy + Sync,
        words: impl Fn(usize, &mut [W]) + Copy + Sync,
    ) -> Self {
        let ranges = ranges(n, big_pieces(n));
        let blocks = |range: Range<usize>| {
            let end = range.end;
            range.step_by(BLOCK).map(move |first| (first, BLOCK.min(end - first)))
        };
        let counts = par::map(ranges.len(), &|part| {
            let (mut count, mut block) = (vec![0usize; buckets], [0; BLOCK]);
            for (first, len) in blocks(ranges[part].clone()) {
                let block = &mut block[..len];
                digits(first, block);
                block.iter().for_each(|digit| count[usize::from(*digit)] += 1);
            }
            count
        });
        let mut out = Scratch::unwritten(n);
        let mut jobs: Vec<_> = ranges.iter().map(|_| Vec::with_capacity(buckets)).collect();
        let lens: Vec<usize> = (0..buckets).flat_map(|b| counts.iter().map(move |count| count[b])).collect();
        for (k, piece) in split_mut(&mut out, &lens).into_iter().enumerate() {
            jobs[k % ranges.len()].push(piece.iter_mut());
        }
        par::each(jobs, &|part, mut free| {
            let (mut block, mut digit_of) = ([W::default(); BLOCK], [0; BLOCK]);
            for (first, len) in blocks(ranges[part].clone()) {
                let (block, digit_of) = (&mut block[..len], &mut digit_of[..len]);
                digits(first, digit_of);
                words(first, block);
                for (word, digit) in block.iter().zip(digit_of) {
                    if let Some(slot) = free[usize::from(*digit)].next() {
                        *slot = *word;
                    }
                }
            }
        });
        Self { words: out, lens: lens.chunks_exact(ranges.len()).map(|parts| parts.iter().sum()).collect() }
    }

    /// Number of words in each bucket.
    pub(super) fn lens(&self) -> &[usize] {
        &self.lens
    }

    /// The words of each bucket.
    pub(super) fn words(&self) -> Vec<&[W]> {
        let mut rest = &self.words[..];
        let take = |&len: &usize| rest.split_off(..len).unwrap_or_default();
        self.lens.iter().map(take).collect()
    }

    /// Sorts each bucket by a function, in place, and returns all words.
    pub(super) fn sorted_by(mut self, sort: impl Fn(&mut [W]) + Sync) -> Scratch<W> {
        par::each(split_mut(&mut self.words, &self.lens), &|_, bucket| sort(bucket));
        self.words
    }
}
