//! Random factors of dropout.

use crate::graph::Stream;
use crate::par;

/// What inverted dropout multiplies values by: 0 with probability `p` in `[0, 1)`, else `kept`. Factor `k` depends only
/// on the seed and `k`, so threads change nothing.
pub fn dropout_factors(len: usize, p: f64, kept: f32, seed: u64) -> Vec<f32> {
    let stream = Stream::new(seed);
    // A factor takes 32 random bits.
    let dropped = (p * 2.0_f64.powi(32)).round() as u64;
    par::fill_with(len, |k| if stream.at(k as u64) >> 32 < dropped { 0.0 } else { kept })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_dropped_as_asked() {
        for p in [0.0, 0.1, 0.5, 0.9, 1.0 - 1e-12] {
            let factors = dropout_factors(100_000, p, 3.0, 7);
            let dropped = factors.iter().filter(|&&factor| factor == 0.0).count() as f64 / 1e5;
            assert!(factors.iter().all(|&factor| factor == 0.0 || factor == 3.0));
            // Five standard deviations of a share of 100,000.
            assert!((dropped - p).abs() <= 5.0 * (p * (1.0 - p) / 1e5).sqrt() + 1e-9, "{p}: {dropped}");
        }
        assert!(dropout_factors(0, 0.5, 2.0, 7).is_empty());
    }

    #[test]
    fn seeds_and_places_are_unrelated() {
        let kept = |seed| dropout_factors(100_000, 0.5, 1.0, seed);
        let both = |a: &[f32], b: &[f32]| a.iter().zip(b).filter(|(a, b)| *a == *b).count() as f64 / a.len() as f64;
        let (one, other) = (kept(1), kept(2));
        for (a, b) in [(&one[..], &other[..]), (&one[1..], &one[..99_999]), (&one[64..], &one[..99_936])] {
            assert!((both(a, b) - 0.5).abs() < 0.01);
        }
        assert_eq!(one[..1000], dropout_factors(1000, 0.5, 1.0, 1));
    }
}
