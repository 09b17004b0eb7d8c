//! Random numbers that depend on keys only, not on threads.

/// The golden ratio in 64 bits: the step of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64: a bijection in which every bit of the input changes half of the output.
#[inline(always)]
fn finish(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// A key from a key and a number. Different numbers give unrelated keys.
#[cfg(feature = "graph")]
pub fn mix(key: u64, number: u64) -> u64 {
    finish(key.wrapping_add(STEP) ^ finish(number.wrapping_mul(STEP).wrapping_add(STEP)))
}

/// A sequence of random numbers that is determined by its key.
///
/// Source: Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014 (SplitMix64). Bounded
/// numbers: Lemire, *Fast random integer generation in an interval*, 2019.
#[derive(Debug, Clone)]
pub struct Stream(u64);

impl Stream {
    /// The sequence of a key.
    pub fn new(key: u64) -> Self {
        Self(finish(key))
    }

    /// Number `k` of the sequence.
    #[inline(always)]
    pub fn at(&self, k: u64) -> u64 {
        finish(self.0.wrapping_add(STEP.wrapping_mul(k.wrapping_add(1))))
    }
}

#[cfg(feature = "graph")]
impl Stream {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        finish(self.0)
    }

    /// A number in `[0, end)`, each with the same probability. `end` must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = end as u64;
        let wide = |bits: u64| u128::from(bits) * u128::from(end);
        let mut product = wide(self.bits());
        if (product as u64) < end {
            // The first `2^64 mod end` numbers of each interval would be drawn once too often.
            let least = end.wrapping_neg() % end;
            while (product as u64) < least {
                product = wide(self.bits());
            }
        }
        (product >> 64) as usize
    }

    /// A number in `(0, 1]`: its logarithm is finite.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}
