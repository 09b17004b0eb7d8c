//! The gradients of a put, from what it reads and from its record.

use super::{Case, all_close, all_same, case, same, sample};
use proptest::prelude::*;
use sparse_core::*;

/// Gradients computed from their definition, group by group, in f64.
fn reference_grad(
    case: &Case,
    reduce: Reduce,
    include_self: bool,
    arr: &[f64],
    values: &[f64],
    out: &[f64],
    grad: &[f64],
) -> [Vec<f64>; 2] {
    let (mut da, mut dv) = (vec![0.0; arr.len()], vec![0.0; values.len()]);
    for (c, group) in case.groups().into_iter().enumerate() {
        if group.is_empty() {
            da[c] = grad[c];
            continue;
        }
        let own = include_self && reduce != Reduce::Assign;
        // The array's own value is member 0 if it is included.
        let members: Vec<f64> = own.then_some(arr[c]).into_iter().chain(group.iter().map(|&p| values[p])).collect();
        let n = members.len() as f64;
        let ties = members.iter().filter(|&&x| same(x, out[c])).count() as f64;
        let shares: Vec<f64> = (0..members.len())
            .map(|m| match reduce {
                Reduce::Assign => (m + 1 == members.len()) as usize as f64 * grad[c],
                Reduce::Add => grad[c],
                Reduce::Mean => grad[c] / n,
                Reduce::Mul => {
                    let others = members.iter().enumerate().filter(|&(other, _)| other != m);
                    grad[c] * others.map(|(_, x)| x).product::<f64>()
                }
                Reduce::Amax | Reduce::Amin if same(members[m], out[c]) => grad[c] / ties,
                Reduce::Amax | Reduce::Amin => 0.0,
            })
            .collect();
        let (first, rest) = if own { (shares[0], &shares[1..]) } else { (0.0, &shares[..]) };
        da[c] = first;
        for (&p, &share) in group.iter().zip(rest) {
            dv[p] = share;
        }
    }
    [da, dv]
}

pub(super) fn check_backward(case: &Case, arr: &[f64], values: &[f64]) {
    let grad: Vec<f64> = (0..arr.len()).map(|p| (p as f64 * 0.7).sin() + 1.5).collect();
    for reduce in Reduce::ALL {
        for include_self in [false, true] {
            let mut out = arr.to_vec();
            put(&case.target(), reduce, include_self, values, &mut out);
            let reads = backward_reads(reduce, include_self);
            let pick = |used: bool, x: &[f64]| if used { x.to_vec() } else { Vec::new() };
            let (a, v, y) = (pick(reads.arr, arr), pick(reads.values, values), pick(reads.out, &out));
            let run = |needs| put_backward(&case.target(), reduce, include_self, &a, &v, &y, &grad, needs);
            let [da, dv] = run([true, true]);
            assert_eq!(run([false, false]), [None, None]);
            let want = reference_grad(case, reduce, include_self, arr, values, &out, &grad);
            let mut again = arr.to_vec();
            let record = put_recorded(&case.target(), reduce, include_self, values, &mut again);
            match ties_seen(case, reduce, include_self, arr, values) {
                None => assert!(record.is_none(), "{reduce:?}: nothing to record"),
                Some(ties) => assert!(record.is_some() || ties > FEW_TIES, "{reduce:?}: no record of {ties} ties"),
            }
            if let Some(Record { winners, tied }) = record {
                assert!(all_same(&again, &out), "{reduce:?}: {again:?}, {out:?}");
                // Without ties the gradient reads nothing else.
                let (a, v, y) = if tied.is_empty() { (&[][..], &[][..], &[][..]) } else { (arr, values, &out[..]) };
                let saved = Recorded { winners: &winners, tied: &tied, arr: a, values: v, out: y };
                let run = |needs| recorded_backward(&case.target(), reduce, include_self, saved, &grad, needs);
                let ([only_arr, none], [neither, only_values]) = (run([true, false]), run([false, true]));
                assert_eq!([none, neither], [None, None]);
                // The same bits as without a record.
                assert_eq!(run([true, true]), [da.clone(), dv.clone()], "{reduce:?} {include_self}: recorded");
                assert_eq!([&only_arr, &only_values], [&da, &dv], "{reduce:?} {include_self}: recorded, alone");
            } else {
                assert!(all_same(&again, arr), "{reduce:?}: the array must stay");
            }
            let ([only_arr, none], [neither, only_values]) = (run([true, false]), run([false, true]));
            assert_eq!([none, neither], [None, None]);
            let both = [("arr", da, only_arr, &want[0]), ("values", dv, only_values, &want[1])];
            for (which, got, only, want) in both {
                let got = got.unwrap();
                assert!(all_same(&got, &only.unwrap()), "{reduce:?} {include_self}: d{which} alone");
                assert!(all_close(&got, want), "{reduce:?} {include_self} d{which}: got {got:?}, want {want:?}");
            }
        }
    }
}

/// Up to this many ties are recorded for any size.
const FEW_TIES: usize = 8;

/// How often a value equals the value that its group had chosen so far; `None` for reductions that choose no value.
fn ties_seen(case: &Case, reduce: Reduce, include_self: bool, arr: &[f64], values: &[f64]) -> Option<usize> {
    let better: fn(f64, f64) -> bool = match reduce {
        Reduce::Assign => return Some(0),
        Reduce::Amax => |x, best| x > best,
        Reduce::Amin => |x, best| x < best,
        Reduce::Mean => return (!case.axis).then_some(0),
        Reduce::Add | Reduce::Mul => return None,
    };
    let mut ties = 0;
    for (own, group) in arr.iter().zip(case.groups()) {
        let mut best = include_self.then_some(*own);
        for value in group.into_iter().map(|p| values[p]) {
            ties += usize::from(best.is_some_and(|best| same(value, best)));
            let stays = best.is_some_and(|best| best.is_nan() || !(better(value, best) || value.is_nan()));
            best = Some(if stays { best.unwrap() } else { value });
        }
    }
    Some(ties)
}

proptest! {
    #[test]
    fn gradients_with_ties_and_zeros(case in case(), seed: usize, special: bool) {
        let arr: Vec<f64> = (0..case.outer * case.len * case.inner).map(|p| sample(p, seed, special)).collect();
        let values: Vec<f64> =
            (0..case.outer * case.count * case.inner).map(|p| sample(p, !seed, special)).collect();
        check_backward(&case, &arr, &values);
    }

    #[test]
    fn gradients_by_central_differences(case in case()) {
        // The values are distinct and not close to 0, so that every reduction is smooth.
        let arr: Vec<f64> = (0..case.outer * case.len * case.inner).map(|p| 1.0 + (p as f64 * 0.618).fract()).collect();
        let values: Vec<f64> =
            (0..case.outer * case.count * case.inner).map(|p| -1.2 - (p as f64 * 0.414).fract()).collect();
        let grad: Vec<f64> = (0..arr.len()).map(|p| (p as f64).cos()).collect();
        for reduce in Reduce::ALL {
            for include_self in [false, true] {
                let loss = |arr: &[f64], values: &[f64]| -> f64 {
                    let mut out = arr.to_vec();
                    put(&case.target(), reduce, include_self, values, &mut out);
                    out.iter().zip(&grad).map(|(x, g)| x * g).sum()
                };
                let mut out = arr.clone();
                put(&case.target(), reduce, include_self, &values, &mut out);
                let [da, dv] =
                    put_backward(&case.target(), reduce, include_self, &arr, &values, &out, &grad, [true, true]);
                let inputs = [&arr, &values];
                for (which, got) in [da.unwrap(), dv.unwrap()].into_iter().enumerate() {
                    for (p, got) in got.into_iter().enumerate() {
                        let at = |step: f64| {
                            let mut moved = [inputs[0].clone(), inputs[1].clone()];
                            moved[which][p] += step;
                            loss(&moved[0], &moved[1])
                        };
                        let want = (at(1e-6) - at(-1e-6)) / 2e-6;
                        prop_assert!((got - want).abs() < 1e-5 * (1.0 + want.abs()), "{reduce:?} {got} {want}");
                    }
                }
            }
        }
    }
}

/// If every value ties, a record would be as long as the values.
#[test]
fn too_many_ties_are_not_recorded() {
    let index = vec![0i64; 1000];
    let target = Target { outer: 1, len: 1, inner: 1, count: 1000, index: TargetIndex::Axis(index[..].into()) };
    let mut out = [0.5];
    assert_eq!(put_recorded(&target, Reduce::Amax, true, &[1.0; 1000], &mut out), None);
    assert_eq!(out, [0.5]);
    let record =
        put_recorded(&target, Reduce::Assign, true, &[1.0; 1000], &mut out).expect("the last write has no tie");
    assert_eq!((out, record.winners, record.tied), ([1.0], vec![999], vec![]));
}

#[test]
fn products_that_overflow_and_underflow() {
    let target = Target {
        outer: 1,
        len: 3,
        inner: 1,
        count: 8,
        index: TargetIndex::Axis([0i64, 0, 0, 1, 1, -1, -1, -1][..].into()),
    };
    // Overflow in an intermediate product, underflow in one, and zeros next to a product that overflows.
    let values = [1e30f32, 1e30, 1e-30, 1e-30, 1e-30, 0.0, 1e30, 1e30];
    let arr = [1e-20f32, 1.0, 2.0];
    let grad = [1.0, 2.0, 3.0];
    let mut out = arr;
    put(&target, Reduce::Mul, true, &values, &mut out);
    let [da, dv] = put_backward(&target, Reduce::Mul, true, &arr, &values, &out, &grad, [true, true]);
    let close = |a: f32, b: f32| same(a, b) || (b.is_finite() && (a - b).abs() <= 1e-6 * b.abs());
    let want = [1e-20, 1e-20, f32::INFINITY, 2e-30, 2e-30, f32::INFINITY, 0.0, 0.0];
    for (got, want) in [(dv.unwrap(), &want[..]), (da.unwrap(), &[1e30, 0.0, 0.0])] {
        let right = got.len() == want.len() && got.iter().zip(want).all(|(&x, &y)| close(x, y));
        assert!(right, "got {got:?}, want {want:?}");
    }
}

/// The gradients of a product's group are those that the group has alone, whatever the other groups hold.
#[test]
fn gradients_of_a_product_do_not_depend_on_other_groups() {
    // Group 0 has one zero. With the zeros of the other groups, a pass counts zeros; without them, none does.
    for grad in [f32::INFINITY, f32::NAN, 2.0] {
        let gradients = |other: f32| {
            let (len, index) = (200, (0..400).map(|k| k / 2).collect::<Vec<i32>>());
            let target = Target { outer: 1, len, inner: 1, count: 400, index: TargetIndex::Full(index[..].into()) };
            let mut values = vec![3.0; 400];
            values[0] = 0.0;
            (1..200).for_each(|j| values[2 * j] = other);
            let (arr, mut out, mut grads) = (vec![1.0; len], vec![1.0; len], vec![1.0; len]);
            grads[0] = grad;
            put(&target, Reduce::Mul, true, &values, &mut out);
            let [_, dv] = put_backward(&target, Reduce::Mul, true, &arr, &values, &out, &grads, [true, true]);
            dv.expect("asked for")[..2].to_vec()
        };
        let (few, many) = (gradients(1.0), gradients(0.0));
        for (few, many) in few.iter().zip(&many) {
            assert!(few == many || few.is_nan() && many.is_nan(), "gradient {grad}: {few} and {many}");
        }
        assert_eq!(few[0].is_nan(), grad.is_nan(), "the others' product is 3");
    }
}
