//! How sums of many terms are added: in blocks, and their sums in pairs.
//!
//! A sum in order loses the terms that are small beside it: in f32 ones stop at 2^24. So only [`BLOCK`] terms are added
//! one after the other. The sums of blocks are added as a tree over the numbers of the blocks (Higham, "The accuracy of
//! floating point summation", 1993). An addition has an error of at most `u = 2^-24` (in f32) of its result, so a sum
//! of `n` terms is off by at most `(BLOCK + log2(n)) * u` of the sum of their magnitudes. The tree depends neither on
//! threads nor on vectors, so the bits do not either. A sum of at most a block is added in order.

use crate::Element;
use core::ops::Range;

/// Terms that are added in order. With fewer a sum of narrow rows takes longer.
pub(crate) const BLOCK: usize = 64;

/// What adds nothing to a float, not even to the sign of a zero; 0 of an integer.
#[inline(always)]
pub(crate) fn minus_zero<T: Element>() -> T::Acc {
    T::mul(T::sub(T::ACC_ZERO, T::ACC_ONE), T::ACC_ZERO)
}

/// The sums of some blocks of rows: of each complete part of the tree its sum.
pub(crate) struct Cascade<A> {
    /// A block of each part.
    blocks: Vec<usize>,
    sums: Vec<A>,
}

impl<A: Copy> Cascade<A> {
    pub(crate) const fn new() -> Self {
        Self { blocks: Vec::new(), sums: Vec::new() }
    }

    /// Adds the sums of block `number`. Numbers ascend; a block that is left out adds nothing. All have one length.
    // Rare, so the loops that call it keep their registers.
    #[inline(never)]
    pub(crate) fn push(&mut self, number: usize, sums: &[A], add: impl Fn(A, A) -> A + Copy) {
        // Numbers that share more of their leading bits are closer in the tree.
        while let [.., first, last] = self.blocks[..]
            && (first ^ last).leading_zeros() > (last ^ number).leading_zeros()
        {
            self.join(sums.len(), add);
        }
        self.blocks.push(number);
        self.sums.extend_from_slice(sums);
    }

    /// Writes the sums of all blocks, of which there is one at least, and forgets them.
    #[inline(never)]
    pub(crate) fn finish(&mut self, out: &mut [A], add: impl Fn(A, A) -> A + Copy) {
        while self.blocks.len() > 1 {
            self.join(out.len(), add);
        }
        out.copy_from_slice(&self.sums);
        self.blocks.clear();
        self.sums.clear();
    }

    /// Writes the sums of all blocks so far.
    pub(crate) fn total(&self, out: &mut [A], add: impl Fn(A, A) -> A) {
        let mut parts = self.sums.rchunks_exact(out.len());
        if let Some(last) = parts.next() {
            out.copy_from_slice(last);
        }
        parts.for_each(|part| out.iter_mut().zip(part).for_each(|(sum, part)| *sum = add(*part, *sum)));
    }

    /// Adds the last two parts.
    #[inline(always)]
    fn join(&mut self, width: usize, add: impl Fn(A, A) -> A) {
        let last = self.sums.len() - width;
        let (sums, more) = self.sums.split_at_mut(last);
        sums[last - width..].iter_mut().zip(more).for_each(|(sum, more)| *sum = add(*sum, *more));
        self.sums.truncate(last);
        self.blocks.pop();
    }
}

/// Adds rows of `width` in pairs, as a tree over their numbers. The first one becomes the sum of all.
pub(crate) fn add_pairs<A: Copy>(rows: &mut [A], width: usize, add: impl Fn(A, A) -> A) {
    let mut half = width;
    while half < rows.len() {
        for part in rows.chunks_mut(2 * half).filter(|part| part.len() > half) {
            let (sum, more) = part.split_at_mut(half);
            sum[..width].iter_mut().zip(more).for_each(|(sum, more)| *sum = add(*sum, *more));
        }
        half *= 2;
    }
}

/// Calls `add(elements, sums)` for each block of elements, which adds their terms to `sums`, zeros at first. Afterwards
/// `sums` has those of all blocks. A single block costs nothing more.
#[inline(always)]
pub(crate) fn add_blocks<T: Element>(
    blocks: impl ExactSizeIterator<Item = Range<usize>>,
    sums: &mut [T::Acc],
    cascade: &mut Cascade<T::Acc>,
    mut add: impl FnMut(Range<usize>, &mut [T::Acc]),
) {
    let several = blocks.len() > 1;
    for (number, elements) in blocks.enumerate() {
        add(elements, sums);
        if several {
            cascade.push(number, sums, T::add);
            sums.fill(T::ACC_ZERO);
        }
    }
    if several {
        cascade.finish(sums, T::add);
    }
}

/// The blocks of a segment, if the order of its terms changes the result. Otherwise, or if it is short, it is one.
#[inline(always)]
pub(crate) fn blocks(all: Range<usize>, rounds: bool) -> impl ExactSizeIterator<Item = Range<usize>> {
    let long = rounds && all.len() > BLOCK;
    let (step, count) = if long { (BLOCK, all.len().div_ceil(BLOCK)) } else { (all.len(), 1) };
    (0..count).map(move |k| all.start + k * step..all.end.min(all.start + (k + 1) * step))
}

/// The parts of `0..len` that have `block` numbers, and the rest; at least one.
#[inline(always)]
pub(crate) fn parts(len: usize, block: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len.div_ceil(block).max(1)).map(move |k| k * block..len.min((k + 1) * block))
}

/// The sum of blocks of terms. That of a single block costs nothing.
pub(crate) struct Total<T: Element> {
    sum: T::Acc,
    count: usize,
    sums: Cascade<T::Acc>,
}

impl<T: Element> Total<T> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { sum: T::ACC_ZERO, count: 0, sums: Cascade::new() }
    }

    /// The sum of `sum(block)` over the blocks.
    #[inline(always)]
    pub(crate) fn of(
        blocks: impl Iterator<Item = Range<usize>>,
        mut sum: impl FnMut(Range<usize>) -> T::Acc,
    ) -> T::Acc {
        let mut total = Self::new();
        // A closure around `sum` would be compiled without the instruction set of the caller.
        for block in blocks {
            total.push(sum(block));
        }
        total.sum()
    }

    /// Adds the sum of the next block.
    #[inline(always)]
    pub(crate) fn push(&mut self, sum: T::Acc) {
        if self.count == 0 {
            (self.sum, self.count) = (sum, 1);
        } else {
            self.push_more(sum);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_more(&mut self, sum: T::Acc) {
        if self.count == 1 {
            self.sums.push(0, &[self.sum], T::add);
        }
        self.sums.push(self.count, &[sum], T::add);
        self.count += 1;
    }

    /// The sum of all blocks.
    #[inline(always)]
    pub(crate) fn sum(self) -> T::Acc {
        if self.count == 1 { self.sum } else { self.sum_all() }
    }

    #[cold]
    #[inline(never)]
    fn sum_all(mut self) -> T::Acc {
        let mut all = [self.sum];
        self.sums.finish(&mut all, T::add);
        all[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of the terms `range` of a tree over `0..2^k`, without those that are left out.
    fn tree(terms: &[Option<f32>]) -> Option<f32> {
        if let [term] = terms {
            return *term;
        }
        let (left, right) = terms.split_at(terms.len().next_power_of_two() / 2);
        match (tree(left), tree(right)) {
            (Some(left), Some(right)) => Some(left + right),
            (left, right) => left.or(right),
        }
    }

    #[test]
    fn blocks_are_added_by_their_numbers() {
        for count in 1..200usize {
            for left_out in [usize::MAX, 2, 3, 7] {
                let term = |k: usize| (k == 0 || !k.is_multiple_of(left_out)).then(|| (k as f32 * 0.37).sin() * 1e4);
                let terms: Vec<_> = (0..count).map(term).collect();
                let mut sums = Cascade::new();
                for (number, term) in terms.iter().enumerate() {
                    term.iter().for_each(|term| sums.push(number, &[*term, 1.0], |a, b| a + b));
                }
                let mut out = [0.0; 2];
                sums.finish(&mut out, |a, b| a + b);
                assert_eq!(out, [tree(&terms).unwrap(), terms.iter().flatten().count() as f32], "{count} {left_out}");
            }
        }
    }

    #[test]
    fn blocks_cover_a_segment_once() {
        for len in [0, 1, BLOCK, BLOCK + 1, 5 * BLOCK, 5 * BLOCK + 3] {
            let own: Vec<_> = blocks(10..10 + len, true).collect();
            assert_eq!(own.len(), len.div_ceil(BLOCK).max(1));
            assert_eq!(own.into_iter().flatten().collect::<Vec<_>>(), (10..10 + len).collect::<Vec<_>>());
            assert_eq!(blocks(10..10 + len, false).collect::<Vec<_>>(), std::slice::from_ref(&(10..10 + len)));
        }
    }
}
