//! `put`, its gradients and `gather`, compared with groups collected in lists.

use half::{bf16, f16};
use proptest::prelude::*;
use sparse_core::*;

/// Sizes, an index (with negative entries), and whether it has one entry per row.
#[derive(Debug, Clone)]
struct Case {
    outer: usize,
    len: usize,
    inner: usize,
    count: usize,
    index: Vec<i64>,
    axis: bool,
}

impl Case {
    fn target(&self) -> Target<'_> {
        let index =
            if self.axis { TargetIndex::Axis(self.index[..].into()) } else { TargetIndex::Full(self.index[..].into()) };
        Target { outer: self.outer, len: self.len, inner: self.inner, count: self.count, index }
    }

    /// The cell of each value.
    fn cells(&self) -> Vec<usize> {
        let mut cells = Vec::new();
        for o in 0..self.outer {
            for k in 0..self.count {
                for i in 0..self.inner {
                    let x = self.index[if self.axis { k } else { (o * self.count + k) * self.inner + i }];
                    let j = x.rem_euclid(self.len as i64) as usize;
                    cells.push((o * self.len + j) * self.inner + i);
                }
            }
        }
        cells
    }

    /// The positions of the values that belong to each cell.
    fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups = vec![Vec::new(); self.outer * self.len * self.inner];
        for (p, c) in self.cells().into_iter().enumerate() {
            groups[c].push(p);
        }
        groups
    }
}

fn case() -> impl Strategy<Value = Case> {
    (0usize..4, 1usize..5, 0usize..4, 0usize..8, any::<bool>(), any::<bool>()).prop_flat_map(
        |(outer, len, inner, count, axis, empty)| {
            let (len, count) = if empty && count == 0 { (0, 0) } else { (len, count) };
            let entries = if axis { count } else { outer * count * inner };
            let l = len.max(1) as i64;
            prop::collection::vec(-l..l, entries).prop_map(move |index| Case { outer, len, inner, count, index, axis })
        },
    )
}

/// Element `p` of an array with many ties and zeros. Floats include special values.
fn sample<T: Element>(p: usize, seed: usize, special: bool) -> T {
    let small = [0usize, 1, 2, 3, 1, 0, 2];
    let h = (p + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ seed) >> 33;
    let x = T::narrow(T::from_count(small[h % 7]));
    let x = if h.is_multiple_of(3) { T::narrow(T::sub(T::ACC_ZERO, x.widen())) } else { x };
    if special && T::IS_FLOAT {
        match h % 11 {
            0 => return T::HIGHEST,
            1 => return T::LOWEST,
            2 => return T::narrow(T::div(T::ACC_ZERO, T::ACC_ZERO)),
            _ => {}
        }
    }
    x
}

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

fn same<T: Element>(a: T, b: T) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

/// The same number of elements, each identical.
fn all_same<T: Element>(got: &[T], want: &[T]) -> bool {
    got.len() == want.len() && got.iter().zip(want).all(|(&x, &y)| same(x, y))
}

/// The same number of elements, each identical or within the rounding of a few operations.
fn all_close(got: &[f64], want: &[f64]) -> bool {
    // With an infinity, every number would count as close.
    let near = |x: f64, want: f64| want.is_finite() && (x - want).abs() <= 1e-12 * want.abs();
    let close = |(&x, &want): (&f64, &f64)| same(x, want) || near(x, want);
    got.len() == want.len() && got.iter().zip(want).all(close)
}

fn check_put<T: Element>(case: &Case, seed: usize, special: bool) {
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

fn check_backward(case: &Case, arr: &[f64], values: &[f64]) {
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
                None => assert!(record.is_none(), "{reduce:?} chooses none of its group"),
                Some(ties) => assert!(record.is_some() || ties > FEW_TIES, "{reduce:?}: no record of {ties} ties"),
            }
            if let Some(Record { winners, tied }) = record {
                assert!(all_same(&again, &out), "{reduce:?}: {again:?}, {out:?}");
                // Without ties the gradient reads nothing else.
                let (a, v, y) = if tied.is_empty() { (&[][..], &[][..], &[][..]) } else { (arr, values, &out[..]) };
                let saved = Recorded { winners: &winners, tied: &tied, arr: a, values: v, out: y };
                let [da, dv] = recorded_backward(&case.target(), include_self, saved, &grad, [true, true]);
                assert!(all_close(&da.unwrap(), &want[0]), "{reduce:?} {include_self}: recorded, arr");
                assert!(all_close(&dv.unwrap(), &want[1]), "{reduce:?} {include_self}: recorded, values");
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
        _ => return None,
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
    fn put_of_every_dtype(case in case(), seed: usize, special: bool) {
        check_put::<f64>(&case, seed, special);
        check_put::<f32>(&case, seed, special);
        check_put::<f16>(&case, seed, special);
        check_put::<bf16>(&case, seed, special);
        check_put::<i32>(&case, seed, special);
        check_put::<i64>(&case, seed, special);
        check_put::<u8>(&case, seed, special);
    }

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

/// Large enough for every path: groups of wide rows, blocks of columns, ranges of destinations.
#[test]
fn large_cases_agree_with_plain_loops() {
    for (outer, len, inner, count, axis) in
        [(1, 50, 70, 3000, true), (2, 40, 16, 1500, true), (1, 3000, 9, 20_000, false), (1, 300, 1, 40_000, false)]
    {
        let entries = if axis { count } else { outer * count * inner };
        let index = (0..entries).map(|p: usize| (p.wrapping_mul(0x9E37_79B9) >> 7) as i64 % len as i64).collect();
        let case = Case { outer, len, inner, count, index, axis };
        let arr: Vec<f64> = (0..outer * len * inner).map(|p| (p as f64 * 0.37).sin()).collect();
        // Values of three digits give some ties, but not too many for a record.
        let values: Vec<f64> =
            (0..outer * count * inner).map(|p| ((p as f64 * 0.71).sin() * 1e5).round() / 1e5).collect();
        check_put::<f32>(&case, 7, false);
        check_backward(&case, &arr, &values);
        for reduce in [Reduce::Amax, Reduce::Amin] {
            let record = put_recorded(&case.target(), reduce, true, &values, &mut arr.clone());
            assert!(record.is_some(), "{reduce:?}: few ties are recorded");
        }
    }
}

/// An i32 index for each value: rows longer than a stretch that are no whole blocks, and rows of one and two blocks.
#[test]
fn rows_of_i32_indices() {
    let (len, count) = (7, 40);
    for (outer, inner) in [(1, 131), (2, 131), (1, 8), (2, 8), (1, 16), (2, 16)] {
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

#[test]
fn large_arrays_on_any_number_of_threads() {
    // Every way to share the work: slabs, columns, destinations. Also few values for a large array.
    for (outer, len, inner, count) in [
        (1, 300, 64, 500),
        (1, 300, 64, 520),
        (3, 40, 33, 400),
        (1, 500, 1, 40_000),
        (1, 37, 3, 9_000),
        (700, 9, 2, 30),
        (1, 60_000, 16, 1100),
    ] {
        for axis in [false, true] {
            let entries = if axis { count } else { outer * count * inner };
            let l = len as i64;
            let index = (0..entries).map(|p| ((p as i64 * 7919) ^ (p as i64 >> 3)).rem_euclid(2 * l) - l).collect();
            let case = Case { outer, len, inner, count, index, axis };
            for threads in [1, 2, 5] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    check_put::<f32>(&case, 3, threads == 2);
                    if threads == 2 {
                        check_put::<f16>(&case, 5, false);
                        check_put::<i32>(&case, 5, false);
                    }
                    if len <= 500 {
                        let arr: Vec<f64> = (0..outer * len * inner).map(|p| sample(p, 1, false)).collect();
                        let values: Vec<f64> = (0..outer * count * inner).map(|p| sample(p, 2, false)).collect();
                        check_backward(&case, &arr, &values);
                    }
                });
            }
        }
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
