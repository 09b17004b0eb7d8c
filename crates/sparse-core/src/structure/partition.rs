//! The first step of grouping and of sorting: a stable, parallel partition of keys by their high bits.

use crate::Index;
use crate::memory::Scratch;
use crate::par::{self, big_pieces, even, ranges};
use bytemuck::Pod;
use core::fmt::Debug;
use core::ops::BitOr;

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

/// Words in buckets. The input is split into parts, and each part is partitioned separately. Bucket `b` is the
/// concatenation of its pieces in all parts.
pub(super) struct Buckets<W: Pod> {
    parts: Vec<(Scratch<W>, Vec<usize>)>,
}

impl<W: Word> Buckets<W> {
    /// Distributes `n` words over `buckets` buckets, at most 2^16. The order inside each bucket is kept.
    /// `digits(k, out)` writes the buckets of the words from word `k` on, and `words(k, out)` the words.
    ///
    /// Each task counts and scatters its own contiguous part into its own buffer. No two threads write the same memory,
    /// so this needs neither atomics nor unsafe code. The result does not depend on the number of parts.
    pub(super) fn new(
        n: usize,
        buckets: usize,
        digits: impl Fn(usize, &mut [u16]) + Copy + Sync,
        words: impl Fn(usize, &mut [W]) + Copy + Sync,
    ) -> Self {
        let ranges = ranges(n, big_pieces(n));
        let parts = par::map(ranges.len(), &|part| {
            let range = ranges[part].clone();
            let mut digit_of = Scratch::<u16>::unwritten(range.len());
            let mut start = vec![0usize; buckets + 1];
            for (first, digit_of) in range.clone().step_by(BLOCK).zip(digit_of.chunks_mut(BLOCK)) {
                digits(first, digit_of);
                digit_of.iter().for_each(|digit| start[usize::from(*digit) + 1] += 1);
            }
            for b in 0..buckets {
                start[b + 1] += start[b];
            }
            let mut out = Scratch::unwritten(range.len());
            let (mut next, mut block) = (start.clone(), [W::default(); BLOCK]);
            for (first, digit_of) in range.step_by(BLOCK).zip(digit_of.chunks(BLOCK)) {
                let block = &mut block[..digit_of.len()];
                words(first, block);
                for (word, digit) in block.iter().zip(digit_of) {
                    let slot = &mut next[usize::from(*digit)];
                    out[*slot] = *word;
                    *slot += 1;
                }
            }
            (out, start)
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
