//! Softmax within segments, compared with plain loops in f64 and with finite differences.

use half::f16;
use proptest::prelude::*;
use sparse_core::{segment_softmax, segment_softmax_backward};

/// The rows of each segment, one column at a time.
fn by_loops(x: &[f64], block: usize, ptr: &[i32], log: bool) -> Vec<f64> {
    let mut out = vec![f64::NAN; x.len()];
    for ends in ptr.windows(2) {
        for column in 0..block {
            let places: Vec<usize> = (ends[0] as usize..ends[1] as usize).map(|row| row * block + column).collect();
            let largest = places.iter().map(|&at| x[at]).fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = places.iter().map(|&at| (x[at] - largest).exp()).sum();
            for &at in &places {
                let share = (x[at] - largest).exp() / total;
                out[at] = if log { share.ln() } else { share };
            }
        }
    }
    out
}

fn near(got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance * (1.0 + want.abs()), "{got} and {want}");
}

fn ptr_of(lens: &[usize]) -> Vec<i32> {
    std::iter::once(0)
        .chain(lens.iter().scan(0, |end, &len| {
            *end += len as i32;
            Some(*end)
        }))
        .collect()
}

proptest! {
    #[test]
    fn shares_are_those_of_plain_loops(
        lens in prop::collection::vec(0usize..7, 0..12), block in 1usize..5, log: bool, seed in 0u32..1000,
    ) {
        let ptr = ptr_of(&lens);
        let len = lens.iter().sum::<usize>() * block;
        let x: Vec<f64> = (0..len).map(|k| f64::from((k as u32 * 37 + seed) % 101) / 10.0 - 5.0).collect();
        let mut out = vec![9.0; len];
        segment_softmax(&x, block, &ptr, log, &mut out);
        for (&got, want) in out.iter().zip(by_loops(&x, block, &ptr, log)) {
            near(got, want, 1e-12);
        }
        let (single, mut small) = (x.iter().map(|&x| x as f32).collect::<Vec<_>>(), vec![9.0f32; len]);
        let wide: Vec<i64> = ptr.iter().map(|&at| at.into()).collect();
        segment_softmax(&single, block, &wide, log, &mut small);
        for (got, want) in small.into_iter().zip(out) {
            near(got.into(), want, 1e-5);
        }
    }

    #[test]
    fn gradients_are_central_differences(
        lens in prop::collection::vec(0usize..5, 1..6), block in 1usize..4, log: bool,
    ) {
        let ptr = ptr_of(&lens);
        let len = lens.iter().sum::<usize>() * block;
        let x: Vec<f64> = (0..len).map(|k| (k as f64 * 0.7).sin()).collect();
        let weights: Vec<f64> = (0..len).map(|k| (k as f64 * 1.3).cos()).collect();
        let run = |x: &[f64]| {
            let mut out = vec![9.0; len];
            segment_softmax(x, block, &ptr, log, &mut out);
            out
        };
        let mut got = vec![9.0; len];
        segment_softmax_backward(&run(&x), &weights, block, &ptr, log, &mut got);
        for k in 0..len {
            let loss = |step: f64| {
                let mut x = x.clone();
                x[k] += step;
                run(&x).iter().zip(&weights).map(|(y, w)| y * w).sum::<f64>()
            };
            near(got[k], (loss(1e-5) - loss(-1e-5)) / 2e-5, 1e-7);
        }
    }
}

/// As in f32, rounded once.
#[test]
fn numbers_of_16_bits_are_computed_in_f32() {
    let ptr = [0, 3, 3, 500, 501];
    let x: Vec<f16> = (0..1002).map(|k| f16::from_f64((f64::from(k) * 0.37).sin() * 6.0)).collect();
    let grad: Vec<f16> = x.iter().rev().copied().collect();
    let wide = |list: &[f16]| list.iter().map(|x| x.to_f32()).collect::<Vec<_>>();
    let rounded = |list: &[f32]| list.iter().map(|&x| f16::from_f32(x)).collect::<Vec<_>>();
    for log in [false, true] {
        let (mut y, mut slope) = (vec![f16::ONE; 1002], vec![f16::ONE; 1002]);
        let (mut want, mut steep) = (vec![9.0f32; 1002], vec![9.0f32; 1002]);
        segment_softmax(&x, 2, &ptr, log, &mut y);
        segment_softmax(&wide(&x), 2, &ptr, log, &mut want);
        assert_eq!(y, rounded(&want));
        segment_softmax_backward(&y, &grad, 2, &ptr, log, &mut slope);
        segment_softmax_backward(&wide(&y), &wide(&grad), 2, &ptr, log, &mut steep);
        assert_eq!(slope, rounded(&steep));
    }
}

#[test]
fn large_numbers_do_not_overflow_and_nan_stays_in_its_column() {
    let mut out = [0.0f32; 8];
    let x = [1e30, f32::NAN, -1e30, 1.0, f32::NEG_INFINITY, 2.0, 3.0, 2.0];
    segment_softmax(&x, 2, &[0, 2, 4], false, &mut out);
    assert_eq!([out[0], out[2], out[4], out[6]], [1.0, 0.0, 0.0, 1.0]);
    assert!(out[1].is_nan() && out[3].is_nan());
    assert_eq!([out[5], out[7]], [0.5, 0.5]);
}

#[test]
fn long_lists_are_the_same_on_any_number_of_threads() {
    let ptr: Vec<i32> = (0..=20_000).map(|row| row * 5).collect();
    let x: Vec<f32> = (0..200_000).map(|k| (k as f32 * 0.1).sin()).collect();
    let run = |threads| {
        let mut out = vec![0.0; x.len()];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| segment_softmax(&x, 2, &ptr, false, &mut out));
        out
    };
    assert_eq!(run(1), run(4));
}

#[test]
#[should_panic(expected = "segments must be all 3 rows")]
fn rows_in_no_segment_panic() {
    segment_softmax(&[1.0f32, 2.0, 3.0], 1, &[0, 2], false, &mut [0.0; 3]);
}
