//! Puts elements of a list at the places of a mask, eight at a time, without branches that depend on the mask.

use crate::Plain;

/// The first operand has the element.
pub(super) const A: u8 = 1;
/// The second operand has it.
pub(super) const B: u8 = 2;
/// Both operands have it.
pub(super) const BOTH: u8 = A | B;

/// How many places are filled at a time.
pub(super) const WORD: usize = 8;

/// For each mask and place: how many bits of the mask are below the place. The highest bit tells that the mask does not
/// have the place.
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
    /// The places of operand `side`. The first step is in the lowest byte.
    #[inline(always)]
    pub(super) fn of(steps: u64, side: u8) -> Self {
        // The product moves the lowest bit of byte `k` to bit `56 + k`.
        const LOWEST: u64 = u64::from_ne_bytes([1; WORD]);
        const GATHERED: u64 = 0x0102_0408_1020_4080;
        Self((((steps >> (side >> 1)) & LOWEST).wrapping_mul(GATHERED) >> 56) as u8)
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

/// The first elements of a list, and zeros behind its end.
#[inline(always)]
pub(super) fn head<T: Plain>(list: &[T]) -> [T; WORD] {
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

/// For elements of four bytes.
#[cfg(target_arch = "x86_64")]
impl Expand for pulp::x86::V3 {
    #[inline(always)]
    fn expand<T: Plain>(self, list: [T; WORD], mask: Mask, other: [T; WORD]) -> [T; WORD] {
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

    /// All steps of eight places, on an instruction set, beside a loop over them.
    fn check<T: Plain + PartialEq + core::fmt::Debug>(expand: impl Expand, of: fn(u8) -> T) {
        let (list, other) = (core::array::from_fn(|k| of(k as u8)), core::array::from_fn(|k| of(100 + k as u8)));
        for bits in 0..=u16::MAX {
            let steps: [u8; WORD] = core::array::from_fn(|k| (bits >> (2 * k)) as u8 & BOTH);
            for side in [A, B] {
                let own = Mask::of(u64::from_le_bytes(steps), side);
                let mut next = 0;
                let mut want = other;
                for (want, step) in want.iter_mut().zip(steps) {
                    if step & side != 0 {
                        *want = list[next];
                        next += 1;
                    }
                }
                assert_eq!(own.count(), next);
                assert_eq!(expand.expand(list, own, other), want, "side {side} of {steps:?}");
            }
        }
    }

    #[test]
    fn elements_go_to_the_places_of_each_mask() {
        check(Portable, |k| k);
        check(Portable, u64::from);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            check(simd, u32::from);
            check(simd, f32::from);
        }
    }
}
