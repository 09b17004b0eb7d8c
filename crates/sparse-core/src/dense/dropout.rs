//! Dropout.

use super::{BLOCK, Reads, in_blocks};
use crate::random::Stream;
use crate::{Float, simd};
use pulp::{Simd, WithSimd};

/// Which values inverted dropout drops: each one with probability `p` in `[0, 1)`. It depends only on the seed and the
/// place of the value. So nothing is stored for the backward pass, and threads change nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The probability of a zero.
    pub p: f64,
    /// Where the random numbers begin.
    pub seed: u64,
}

/// Values whose random bits come from the same 32 words of 64 bits: half a word each.
const GROUP: usize = 64;

/// Multiplies each value by 0 where it is dropped, and else by `1 / (1 - p)` in the type of the values. `out` gets the
/// results of `values`; without these it is changed in place.
///
/// It is its own gradient: the same call on the gradient of the result gives that of the values.
///
/// # Panics
///
/// When lengths disagree, or the probability is outside `[0, 1)`.
pub fn dropout<T: Float>(values: Option<&[T]>, out: &mut [T], rule: Dropout) {
    let stream = rule.stream();
    in_blocks(values, out, BLOCK, Reads::Piece, &|k, list| simd::on_any(Dropping::new(&stream, rule, k * BLOCK, list)));
}

/// [`dropout`] of the values from place `start` on, in place and on this thread.
pub(crate) fn dropout_at<T: Float>(list: &mut [T], start: usize, rule: Dropout) {
    simd::on_any(Dropping::new(&rule.stream(), rule, start, list));
}

impl Dropout {
    fn stream(self) -> Stream {
        assert!((0.0..1.0).contains(&self.p), "dropout: the probability must be in [0, 1), got {}", self.p);
        Stream::new(self.seed)
    }
}

struct Dropping<'a, T: Float> {
    stream: &'a Stream,
    /// The random words of the first value's group start here.
    word: u64,
    /// Values of that group before the first one.
    skipped: usize,
    /// Random numbers below this drop.
    below: u32,
    kept: T::Acc,
    list: &'a mut [T],
}

impl<T: Float> WithSimd for Dropping<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        let list = core::mem::take(&mut self.list);
        let before = if self.skipped > 0 { (GROUP - self.skipped).min(list.len()) } else { 0 };
        let (first, list) = list.split_at_mut(before);
        if !first.is_empty() {
            self.part(self.skipped, first);
        }
        let (groups, rest) = list.as_chunks_mut::<GROUP>();
        groups.iter_mut().for_each(|group| self.group(group));
        if !rest.is_empty() {
            self.part(0, rest);
        }
    }
}

impl<'a, T: Float> Dropping<'a, T> {
    fn new(stream: &'a Stream, rule: Dropout, start: usize, list: &'a mut [T]) -> Self {
        let below = (rule.p * 2.0_f64.powi(32)).round() as u32;
        let kept = T::round(T::nearest(1.0 / (1.0 - rule.p)));
        let word = (start / GROUP * (GROUP / 2)) as u64;
        Self { stream, word, skipped: start % GROUP, below, kept, list }
    }

    /// Some values of a group, from one of its places on.
    #[inline(always)]
    fn part(&mut self, at: usize, list: &mut [T]) {
        let mut group = [T::ZERO; GROUP];
        group[at..at + list.len()].copy_from_slice(list);
        self.group(&mut group);
        list.copy_from_slice(&group[at..at + list.len()]);
    }

    /// The lower halves of the words decide on the first half of the group. So vectors need no shuffles.
    #[inline(always)]
    fn group(&mut self, group: &mut [T; GROUP]) {
        let mut words = [0; GROUP / 2];
        words.iter_mut().zip(self.word..).for_each(|(word, at)| *word = self.stream.at(at));
        self.word += words.len() as u64;
        let (low, high) = group.split_at_mut(GROUP / 2);
        for (halves, shift) in [(low, 0), (high, 32)] {
            for (x, word) in halves.iter_mut().zip(&words) {
                let factor = if ((word >> shift) as u32) < self.below { T::ACC_ZERO } else { self.kept };
                *x = T::narrow(T::mul(x.widen(), factor));
            }
        }
    }
}

pub(super) mod dynamic {
    use super::Dropout;
    use crate::dynamic::slices::{ElementVec, Elements, Values, with_values};

    /// See [`dropout`](crate::dropout()). Returns the result, unless the values are changed in place.
    pub fn dropout(values: Values<'_>, rule: Dropout) -> Option<ElementVec> {
        with_values!(values, (source, out) => super::dropout(source, out, rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ones become.
    fn factors(len: usize, p: f64, seed: u64) -> Vec<f32> {
        let mut list = vec![1.0; len];
        dropout(None, &mut list, Dropout { p, seed });
        list
    }

    #[test]
    fn as_many_are_dropped_as_asked() {
        for p in [0.0, 0.1, 0.5, 0.9, 1.0 - 1e-12] {
            let factors = factors(100_000, p, 7);
            let dropped = factors.iter().filter(|&&factor| factor == 0.0).count() as f64 / 1e5;
            assert!(factors.iter().all(|&factor| factor == 0.0 || factor == (1.0 / (1.0 - p)) as f32));
            // Five standard deviations of a share of 100,000.
            assert!((dropped - p).abs() <= 5.0 * (p * (1.0 - p) / 1e5).sqrt() + 1e-9, "{p}: {dropped}");
        }
        assert!(factors(0, 0.5, 7).is_empty());
    }

    #[test]
    fn seeds_and_places_are_unrelated() {
        let kept = |seed| factors(100_000, 0.5, seed);
        let both = |a: &[f32], b: &[f32]| a.iter().zip(b).filter(|(a, b)| *a == *b).count() as f64 / a.len() as f64;
        let (one, other) = (kept(1), kept(2));
        // Also the two halves of one word, and the same place in neighbouring groups and blocks.
        let shifted = |k: usize| (&one[k..], &one[..100_000 - k]);
        for (a, b) in [(&one[..], &other[..]), shifted(1), shifted(GROUP / 2), shifted(GROUP), shifted(BLOCK)] {
            assert!((both(a, b) - 0.5).abs() < 0.01);
        }
    }

    #[test]
    fn a_value_depends_on_its_place_only() {
        let all = factors(3 * BLOCK + 8, 0.3, 1);
        for len in [1, GROUP / 2, GROUP - 1, GROUP, GROUP + 1, BLOCK, BLOCK + GROUP / 2 + 1, 3 * BLOCK] {
            assert_eq!(all[..len], factors(len, 0.3, 1), "{len}");
            // The same places, in two parts.
            let mut list = vec![1.0; all.len() - len];
            dropout_at(&mut list, len, Dropout { p: 0.3, seed: 1 });
            assert_eq!(all[len..], list, "{len}");
            let mut few = vec![1.0; 5];
            dropout_at(&mut few, len - 1, Dropout { p: 0.3, seed: 1 });
            assert_eq!(all[len - 1..len + 4], few, "{len}");
        }
    }
}
