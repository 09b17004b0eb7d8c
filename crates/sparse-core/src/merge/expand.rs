//! Elements of a list at the places that a mask has, eight at a time. An element more or less is no branch.

use super::steps::{A, B};
use crate::Plain;

/// How many places are filled at a time.
pub(super) const WORD: usize = 8;

/// For each mask of eight places, how many of its bits are below each place. Where the mask has none, the highest bit
/// is set.
static RANKS: [[u8; WORD]; 1 << WORD] = {
    let mut ranks = [[0; WORD]; 1 << WORD];
    let mut mask = 0;
    while mask < ranks.len() {
        let mut place = 0;
        while place < WORD {
            let below = (mask & ((1 << place) - 1)).count_ones() as u8;
            ranks[mask][place] = if mask >> place & 1 == 1 { below } else { below | MISSING };
            place += 1;
        }
        mask += 1;
    }
    ranks
};
const MISSING: u8 = 1 << 7;

/// The places of eight steps that an operand has, a bit each.
#[derive(Clone, Copy)]
pub(super) struct Mask(u8);

impl Mask {
    /// The masks of both operands. The first step is in the lowest byte.
    #[inline(always)]
    pub(super) fn of(steps: u64) -> [Self; 2] {
        // The product moves the lowest bit of byte `k` to bit `56 + k`.
        const LOWEST: u64 = u64::from_ne_bytes([1; WORD]);
        const GATHERED: u64 = 0x0102_0408_1020_4080;
        [A, B].map(|side| Self((((steps >> (side >> 1)) & LOWEST).wrapping_mul(GATHERED) >> 56) as u8))
    }

    #[inline(always)]
    pub(super) fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    #[inline(always)]
    fn ranks(self) -> [u8; WORD] {
        RANKS[usize::from(self.0)]
    }
}

/// The first elements of a list, with anything behind its end.
#[inline(always)]
pub(super) fn window<T: Plain>(list: &[T]) -> [T; WORD] {
    let some = || core::array::from_fn(|k| list.get(k).copied().unwrap_or_default());
    list.first_chunk().copied().unwrap_or_else(some)
}

/// An instruction set.
pub(super) trait Expand: Copy {
    /// The elements of `list` in order at the places of the mask, and those of `other` at the rest.
    fn expand<T: Plain>(self, list: [T; WORD], mask: Mask, other: [T; WORD]) -> [T; WORD];
}

/// Every instruction set.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Expand for Portable {
    #[inline(always)]
    fn expand<T: Plain>(self, list: [T; WORD], mask: Mask, other: [T; WORD]) -> [T; WORD] {
        let ranks = mask.ranks();
        core::array::from_fn(|k| {
            let own = list[usize::from(ranks[k]) % WORD];
            core::hint::select_unpredictable(ranks[k] < MISSING, own, other[k])
        })
    }
}

#[cfg(target_arch = "x86_64")]
impl Expand for pulp::x86::V3 {
    #[inline(always)]
    fn expand<T: Plain>(self, list: [T; WORD], mask: Mask, other: [T; WORD]) -> [T; WORD] {
        if size_of::<T>() != size_of::<u32>() {
            return Portable.expand(list, mask, other);
        }
        let (avx, avx2) = (self.avx, self.avx2);
        let ranks = avx2._mm256_cvtepi8_epi32(bytemuck::cast([mask.ranks(), [0; WORD]]));
        let own = avx2._mm256_permutevar8x32_epi32(bytemuck::cast(list), ranks);
        // The sign tells that the place is missing.
        bytemuck::cast(avx._mm256_blendv_ps(bytemuck::cast(own), bytemuck::cast(other), bytemuck::cast(ranks)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each mask of a word, on an instruction set, beside a loop over its steps.
    fn check<T: Plain + PartialEq + core::fmt::Debug>(expand: impl Expand, of: fn(u8) -> T) {
        let (list, other) = (core::array::from_fn(|k| of(k as u8)), core::array::from_fn(|k| of(100 + k as u8)));
        for bits in 0..=u8::MAX {
            let steps: [u8; WORD] = core::array::from_fn(|k| if bits >> k & 1 == 1 { A } else { B });
            let [in_a, in_b] = Mask::of(u64::from_le_bytes(steps));
            assert_eq!((in_a.count(), in_b.count()), (bits.count_ones() as usize, bits.count_zeros() as usize));
            let mut next = 0..;
            let one = |k: usize| if steps[k] == A { of(next.next().expect("a number")) } else { other[k] };
            let want: Vec<T> = (0..WORD).map(one).collect();
            assert_eq!(expand.expand(list, in_a, other).to_vec(), want, "{bits:b}");
        }
    }

    #[test]
    fn elements_go_to_the_places_of_each_mask() {
        check(Portable, |k| k);
        check(Portable, u32::from);
        check(Portable, u64::from);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            check(simd, u32::from);
            check(simd, f32::from);
            check(simd, u64::from);
        }
    }
}
