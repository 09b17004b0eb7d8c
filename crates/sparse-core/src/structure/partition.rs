//! The first step of grouping and of sorting: a stable, parallel partition of keys by their high bits.

use crate::memory::Scratch;
use crate::par::{self, big_pieces, even, ranges, split_mut};
use crate::source::prefetch;
use crate::{Index, simd};
use bytemuck::Pod;
use core::fmt::Debug;
use core::ops::{BitOr, Range};
use pulp::{Simd, WithSimd};

/// An unsigned integer with a key in its high bits and a position in its lowest bits. Sorting such words keeps equal
/// keys in order.
pub(super) trait Word: Pod + Ord + BitOr<Output = Self> + Debug + Default + Send + Sync {
    /// `n << shift`, where a shift by all bits or more is only of zero.
    fn of(n: usize, shift: u32) -> Self;
    /// The low 64 bits of `self >> shift`, where the shift is smaller than the number of bits.
    fn high(self, shift: u32) -> usize;
    /// Bits `shift .. shift + width`.
    fn field(self, shift: u32, width: u32) -> usize;
    /// The word with `n` for the lowest bits, which are below `shift`.
    fn with_low(self, n: usize, shift: u32) -> Self;
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
            fn with_low(self, n: usize, shift: u32) -> Self {
                self.wrapping_shr(shift).wrapping_shl(shift) | n as $t
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

/// What is partitioned. Words are made a block at a time, which stays in the first-level cache.
pub(super) trait Keys<W>: Copy + Sync {
    /// The buckets of the words from word `first` on.
    fn digits(self, first: usize, out: &mut [u16]);
    /// The words from word `first` on.
    fn words(self, first: usize, out: &mut [W]);
}

/// Bytes of a cache line on most machines. A wrong number costs time only.
const LINE: usize = 64;

/// Words that are made at a time.
const BLOCK: usize = 1024;

/// Makes a block: its words only if there is room for them.
struct Make<'a, W, K> {
    keys: K,
    first: usize,
    digits: &'a mut [u16],
    words: &'a mut [W],
}

impl<W: Word, K: Keys<W>> WithSimd for Make<'_, W, K> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.keys.digits(self.first, self.digits);
        if !self.words.is_empty() {
            self.keys.words(self.first, self.words);
        }
    }
}

/// Words in buckets, one after the other in one list.
pub(super) struct Buckets<W: Pod> {
    words: Scratch<W>,
    lens: Vec<usize>,
}

impl<W: Word> Buckets<W> {
    /// Distributes `n` words over `buckets` buckets, at most 2^16. The order inside each bucket is kept.
    /// The digits are made twice, to count and to scatter: a list of them would take two bytes a word, and be no
    /// faster.
    ///
    /// Each task counts and scatters its own contiguous part of the input, into a piece of each bucket that is its own.
    /// No two threads write the same memory, so this needs neither atomics nor unsafe code. The result does not depend
    /// on the number of parts.
    pub(super) fn new(n: usize, buckets: usize, keys: impl Keys<W>) -> Self {
        let ranges = ranges(n, big_pieces(n));
        let blocks = |range: Range<usize>| {
            let end = range.end;
            range.step_by(BLOCK).map(move |first| (first, BLOCK.min(end - first)))
        };
        let counts = par::map(ranges.len(), &|part| {
            let (mut count, mut block) = (vec![0usize; buckets], [0; BLOCK]);
            for (first, len) in blocks(ranges[part].clone()) {
                let block = &mut block[..len];
                simd::on_two(Make { keys, first, digits: &mut *block, words: &mut [] });
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
                simd::on_two(Make { keys, first, digits: &mut *digit_of, words: &mut *block });
                for (word, digit) in block.iter().zip(digit_of) {
                    let free = &mut free[usize::from(*digit)];
                    // A store that misses the cache holds up those after it. So the next line of each bucket is fetched
                    // while this one is filled: 10 M words are scattered in half the time.
                    prefetch(free.as_slice(), LINE / size_of::<W>());
                    if let Some(slot) = free.next() {
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

    /// Where each bucket starts.
    pub(super) fn firsts(&self) -> Vec<usize> {
        self.lens.iter().scan(0, |sum, len| Some(core::mem::replace(sum, *sum + len))).collect()
    }

    /// The words of each bucket.
    pub(super) fn words(&self) -> Vec<&[W]> {
        let mut rest = &self.words[..];
        let take = |&len: &usize| rest.split_off(..len).unwrap_or_default();
        self.lens.iter().map(take).collect()
    }

    /// The words of each bucket, to be sorted in place.
    pub(super) fn words_mut(&mut self) -> Vec<&mut [W]> {
        split_mut(&mut self.words, &self.lens)
    }
}

/// The pool keeps the memory of so many words. That of fewer may go back to the system after each task, to be cleared
/// again for the next.
const POOLED: usize = 1 << 14;

/// Runs `body(job, scratch)` for the job of each bucket, with a scratch as long as the bucket. A task has one for all
/// its buckets: memory for each would be given back to the system, and cleared, again and again.
pub(super) fn each_bucket<W: Word, J: Send>(lens: &[usize], jobs: Vec<J>, body: &(dyn Fn(J, &mut [W]) + Sync)) {
    let ranges = even(lens.len(), lens.iter().sum::<usize>() / lens.len().max(1));
    let mut jobs = jobs.into_iter();
    let tasks = ranges.iter().map(|range| jobs.by_ref().take(range.len()).collect::<Vec<_>>()).collect();
    par::each(tasks, &|task, jobs| {
        let lens = &lens[ranges[task].clone()];
        let longest = lens.iter().copied().max().unwrap_or(0);
        let mut scratch = Scratch::unwritten(if longest > BLOCK { longest.max(POOLED) } else { longest });
        jobs.into_iter().zip(lens).for_each(|(job, len)| body(job, &mut scratch[..*len]));
    });
}
