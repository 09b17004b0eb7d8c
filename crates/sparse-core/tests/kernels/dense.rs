//! What layers do to dense arrays, compared with plain loops, in place and in a copy.

use half::{bf16, f16};
use sparse_core::{AdamStep, Dropout, Epilogue, Float, adam_step, bias_relu, dropout, relu_backward};

/// Lengths around those of vectors, of groups of random words (64), and of the pieces of a pass (2048).
const LENGTHS: [usize; 10] = [0, 1, 31, 33, 64, 65, 2047, 2048, 2049, 50_001];

/// Numbers of both signs, zeros of both signs, and NaN.
fn numbers<T: Float>(len: usize, of: fn(f32) -> T) -> Vec<T> {
    let number = |k: usize| match k % 11 {
        3 => f32::NAN,
        5 => -0.0,
        7 => 0.0,
        _ => ((k * 7919) % 1009) as f32 / 64.0 - 8.0,
    };
    (0..len).map(|k| of(number(k))).collect()
}

/// The result of a kernel, which must be the same in place and in a copy.
fn both_ways<T: Float>(values: &[T], kernel: impl Fn(Option<&[T]>, &mut [T])) -> Vec<T> {
    let (mut own, mut copy) = (values.to_vec(), vec![T::ONE; values.len()]);
    kernel(None, &mut own);
    kernel(Some(values), &mut copy);
    assert!(same(&own, &copy));
    own
}

/// Whether bits agree, except those of NaN.
fn same<T: Float>(a: &[T], b: &[T]) -> bool {
    let bits = |x: &T| bytemuck::bytes_of(x).to_vec();
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| bits(a) == bits(b) || a.is_nan() && b.is_nan())
}

fn relu_of<T: Float>(of: fn(f32) -> T) {
    for len in LENGTHS {
        let (out, mut grad) = (numbers(len, of), numbers(len, of));
        grad.reverse();
        let expected: Vec<T> =
            out.iter().zip(&grad).map(|(&out, &grad)| if out <= T::ZERO { T::ZERO } else { grad }).collect();
        assert!(same(&both_ways(&grad, |from, to| relu_backward(&out, from, to)), &expected), "{len}");
    }
}

#[test]
fn the_gradient_of_relu_is_that_of_its_definition() {
    relu_of::<f32>(|x| x);
    relu_of::<f64>(f64::from);
    relu_of::<f16>(f16::from_f32);
    relu_of::<bf16>(bf16::from_f32);
}

#[test]
fn bias_and_relu_are_two_passes() {
    for width in [1, 7, 64, 5000] {
        let (values, bias) = (numbers::<f32>(width * 13, |x| x), numbers::<f32>(width, |x| x + 1.0));
        for (bias, relu) in [(None, true), (Some(&bias[..]), false), (Some(&bias[..]), true)] {
            let number = |k: usize, x: f32| {
                let sum = bias.map_or(x, |bias| x + bias[k % width]);
                if relu && sum <= 0.0 { 0.0 } else { sum }
            };
            let expected: Vec<f32> = values.iter().enumerate().map(|(k, &x)| number(k, x)).collect();
            let out = both_ways(&values, |from, to| bias_relu(from, to, width, Epilogue { bias, relu }));
            assert!(same(&out, &expected), "{width} {relu}");
        }
    }
    bias_relu::<f32>(None, &mut [], 0, Epilogue::default());
}

fn dropout_of<T: Float>(of: fn(f32) -> T) {
    let rule = Dropout { p: 0.3, seed: 5 };
    for len in LENGTHS {
        let (values, kept) = (numbers(len, of), of((1.0 / (1.0 - 0.3)) as f32));
        // A rounding of 1 / (1 - p) to f32 first changes nothing in the narrower types.
        let kept = if size_of::<T>() == 8 { T::narrow(T::nearest(1.0 / (1.0 - 0.3))) } else { kept };
        let factors = both_ways(&vec![T::ONE; len], |from, to| dropout(from, to, rule));
        assert!(factors.iter().all(|&factor| factor == T::ZERO || factor == kept));
        let product = |(&x, &factor): (&T, &T)| T::narrow(T::mul(x.widen(), factor.widen()));
        let expected: Vec<T> = values.iter().zip(&factors).map(product).collect();
        assert!(same(&both_ways(&values, |from, to| dropout(from, to, rule)), &expected), "{len}");
    }
}

#[test]
fn dropout_multiplies_by_what_it_makes_of_ones() {
    dropout_of::<f32>(|x| x);
    dropout_of::<f64>(f64::from);
    dropout_of::<f16>(f16::from_f32);
    dropout_of::<bf16>(bf16::from_f32);
}

/// The random numbers, on every instruction set: which of 256 values two seeds keep.
#[test]
fn dropout_keeps_the_same_everywhere() {
    let bits = |seed| {
        let mut list = [1.0f32; 256];
        dropout(None, &mut list, Dropout { p: 0.5, seed });
        list.chunks(64).map(|part| part.iter().rev().fold(0, |bits, x| bits << 1 | u64::from(*x > 0.0))).collect()
    };
    let kept: [Vec<u64>; 2] = [bits(0), bits(1 << 63)];
    assert_eq!(kept, KEPT, "{kept:#x?}");
}

const KEPT: [[u64; 4]; 2] = [
    [0x737a_fa89_9704_b086, 0x9ecc_3104_8f9d_0378, 0x1ac1_6ee8_a25d_447c, 0x365e_05b6_0379_b345],
    [0xd2ab_c8ca_7f33_7470, 0xe7e5_bf8e_c31e_f5b4, 0xc07c_01fe_5837_34e1, 0x9652_1297_9a3f_984f],
];

#[test]
#[should_panic(expected = "relu_backward: the gradient must have as many elements as the result")]
fn lengths_must_agree() {
    relu_backward(&[1.0f32; 3], None, &mut [1.0; 2]);
}

#[test]
#[should_panic(expected = "the source must have as many elements as the result")]
fn copies_are_whole() {
    dropout(Some(&[1.0f32; 3]), &mut [1.0; 2], Dropout { p: 0.5, seed: 0 });
}

#[test]
fn a_step_of_adam_is_its_formula() {
    let (kept, added) = ([0.75, 0.5], [0.25, 0.5]);
    let step = AdamStep { kept, added, correction: 0.875, epsilon: 0.125, decay: 0.5, rate: 0.25 };
    for len in LENGTHS {
        let list = |shift: usize| numbers::<f64>(len + shift, f64::from)[shift..].to_vec();
        let (x, old, grad) = (list(0), [list(1), list(2).iter().map(|x| x.abs()).collect()], list(3));
        let ([mut first, mut second], mut out) = (old.clone(), grad.clone());
        adam_step(&x, [&mut first, &mut second], &mut out, step);
        let mut want = [old[0].clone(), old[1].clone(), grad];
        for k in 0..len {
            let g = x[k] * 0.5 + want[2][k];
            want[0][k] = want[0][k] * 0.75 + g * 0.25;
            want[1][k] = want[1][k] * 0.5 + g * g * 0.5;
            want[2][k] = x[k] - want[0][k] * 0.875 / (want[1][k].sqrt() + 0.125) * 0.25;
        }
        assert!([first, second, out].iter().zip(&want).all(|(own, want)| same(own, want)), "{len}");
    }
}
