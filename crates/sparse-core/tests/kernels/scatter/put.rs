//! `put` and `gather`, and the record of a put.

use super::{Case, all_same, case, same, sample};
use half::{bf16, f16};
use proptest::prelude::*;
use sparse_core::*;

fn reference<T: Element>(reduce: Reduce, own: Option<T>, group: &[T]) -> T {
    let members: Vec<T> = own.into_iter().chain(group.iter().copied()).collect();
    let nan = members.iter().find(|x| x.is_nan());
    let extreme = |better: fn(&T, &T) -> bool| {
        let best = members.iter().copied().reduce(|best, x| if better(&x, &best) { x } else { best });
        nan.copied().or(best).unwrap()
    };
    match reduce {
        Reduce::Assign => *group.last().unwrap(),
        Reduce::Add => T::narrow(members.iter().fold(T::ACC_ZERO, |sum, x| T::add(sum, x.widen()))),
        Reduce::Mul => T::narrow(members.iter().fold(T::ACC_ONE, |sum, x| T::mul(sum, x.widen()))),
        Reduce::Mean if T::IS_FLOAT => {
            let sum = members.iter().fold(T::ACC_ZERO, |sum, x| T::add(sum, x.widen()));
            T::narrow(T::div(sum, T::from_count(members.len())))
        }
        Reduce::Mean => {
            let sum: i128 = members.iter().map(|x| x.to_string().parse::<i128>().unwrap()).sum();
            let mean = sum.div_euclid(members.len() as i128);
            let size = T::narrow(T::from_count(mean.unsigned_abs() as usize));
            if mean < 0 { T::narrow(T::sub(T::ACC_ZERO, size.widen())) } else { size }
        }
        Reduce::Amax => extreme(|x, best| x > best),
        Reduce::Amin => extreme(|x, best| x < best),
    }
}

pub(super) fn check_put<T: Element>(case: &Case, seed: usize, special: bool) {
    let arr: Vec<T> = (0..case.outer * case.len * case.inner).map(|p| sample(p, seed, special)).collect();
    let values: Vec<T> = (0..case.outer * case.count * case.inner).map(|p| sample(p, !seed, special)).collect();
    let groups = case.groups();
    for reduce in Reduce::ALL {
        for include_self in [false, true] {
            let mut out = arr.clone();
            put(&case.target(), reduce, include_self, &values, &mut out);
            let copied = put_copied(&case.target(), reduce, include_self, &values, &arr);
            assert!(all_same(&copied, &out), "{reduce:?}: a copy differs");
            for (c, group) in groups.iter().enumerate() {
                let group: Vec<T> = group.iter().map(|&p| values[p]).collect();
                let want = match group.is_empty() {
                    true => arr[c],
                    false => reference(reduce, include_self.then_some(arr[c]), &group),
                };
                assert!(same(out[c], want), "{reduce:?} {include_self} {c}: got {}, want {want} of {group:?}", out[c]);
            }
        }
    }
    let mut read = vec![T::ZERO; values.len()];
    gather(&case.target(), &arr, &mut read);
    let want: Vec<T> = case.cells().into_iter().map(|c| arr[c]).collect();
    assert!(all_same(&read, &want), "gather");
}

proptest! {
    #[test]
    fn put_of_every_dtype(case in case(), seed: usize, special: bool) {
        check_put::<f64>(&case, seed, special);
        check_put::<f32>(&case, seed, special);
        check_put::<f16>(&case, seed, special);
        check_put::<bf16>(&case, seed, special);
        check_put::<i32>(&case, seed, special);
        check_put::<i64>(&case, seed, special);
        check_put::<u8>(&case, seed, special);
    }
}

/// An i32 index for each value: rows longer than a stretch that are no whole blocks, and rows of one and two blocks.
#[test]
fn rows_of_i32_indices() {
    let len = 7;
    let sizes = [(1, 131), (2, 131), (1, 8), (2, 8), (1, 16), (2, 16)];
    // Fewer and more blocks than are found ahead.
    for ((outer, inner), count) in sizes.into_iter().flat_map(|size| [1, 2, 3, 5, 40].map(|count| (size, count))) {
        let entries = outer * count * inner;
        let hash = |p: usize| p.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        let index: Vec<i32> = (0..entries).map(|p| (hash(p) % (2 * len)) as i32 - len as i32).collect();
        let target = Target { outer, len, inner, count, index: TargetIndex::Full(index[..].into()) };
        // All numbers differ, and their sums are exact.
        let values: Vec<f32> = (0..entries).map(|p| (p * 7919 % 16_384) as f32 - 8192.0).collect();
        let arr: Vec<f32> = (0..outer * len * inner).map(|p| (p * 5077 % 16_384) as f32 - 8191.5).collect();
        let cell = |p: usize| {
            let j = if index[p] < 0 { index[p] + len as i32 } else { index[p] } as usize;
            (p / (count * inner) * len + j) * inner + p % inner
        };
        for reduce in [Reduce::Add, Reduce::Amax, Reduce::Assign] {
            for include_self in [false, true] {
                let what = format!("{reduce:?} {include_self}, {outer} x {inner}");
                let (mut want, mut winners, mut hit) = (arr.clone(), vec![-1; arr.len()], vec![false; arr.len()]);
                for (p, &v) in values.iter().enumerate() {
                    let c = cell(p);
                    let first = !include_self && !hit[c];
                    let takes = first || reduce == Reduce::Assign || reduce == Reduce::Amax && v > want[c];
                    if takes {
                        (want[c], winners[c]) = (v, (p / inner % count) as i32);
                    } else if reduce == Reduce::Add {
                        want[c] += v;
                    }
                    hit[c] = true;
                }
                let mut out = arr.clone();
                put(&target, reduce, include_self, &values, &mut out);
                assert!(all_same(&out, &want), "{what}: put");
                let copied = put_copied(&target, reduce, include_self, &values, &arr);
                assert!(all_same(&copied, &want), "{what}: put_copied");
                let mut out = arr.clone();
                let record = put_recorded(&target, reduce, include_self, &values, &mut out);
                if reduce == Reduce::Add {
                    assert!(record.is_none() && all_same(&out, &arr), "{what}: a sum chooses no value");
                } else {
                    assert!(record == Some(Record { winners, tied: vec![] }), "{what}: record");
                    assert!(all_same(&out, &want), "{what}: put_recorded");
                }
            }
        }
        let mut read = vec![0.0f32; entries];
        gather(&target, &arr, &mut read);
        let want: Vec<f32> = (0..entries).map(|p| arr[cell(p)]).collect();
        assert!(all_same(&read, &want), "gather, {outer} x {inner}");
    }
}

#[test]
fn integer_means_are_exact() {
    let index = vec![0i64; 300];
    let target = Target { outer: 1, len: 1, inner: 1, count: 300, index: TargetIndex::Full(index[..].into()) };
    let mut out = [0u8];
    put(&target, Reduce::Mean, false, &[201u8; 300], &mut out);
    assert_eq!(out, [201]);
    let target = Target { outer: 1, len: 1, inner: 1, count: 2, index: TargetIndex::Full(index[..2].into()) };
    let mut out = [-4i32];
    put(&target, Reduce::Mean, true, &[i32::MIN, i32::MIN + 1], &mut out);
    assert_eq!(out, [((2 * i32::MIN as i64 - 3) as f64 / 3.0).floor() as i32]);
}

#[test]
fn first_bad_index_is_named() {
    let mut index = vec![3i32; 100_000];
    assert_eq!(check_indices("put_along_axis", 1, 4, &index), Ok(()));
    assert_eq!(check_indices::<i64>("put_along_axis", 1, 0, &[]), Ok(()));
    index[70_001] = 4;
    index[70_000] = -5;
    let error = check_indices("put_along_axis", 1, 4, &index).unwrap_err();
    let want =
        SparseError::IndexOutOfRange { op: "put_along_axis", axis: 1, low: -4, size: 4, index: -5, position: 70_000 };
    assert_eq!(error, want);
    index[70_000] = -4;
    assert!(matches!(check_indices("x", 0, 4, &index), Err(SparseError::IndexOutOfRange { position: 70_001, .. })));
}
