//! Merged patterns, compared with sets and maps of coordinates.

use half::f16;
use proptest::prelude::*;
use sparse_core::*;
use std::collections::{BTreeMap, BTreeSet};

type Csr = (Vec<i32>, Vec<i32>);

fn csr(rows: usize, at: &BTreeSet<(usize, i32)>) -> Csr {
    let mut ptr = vec![0; rows + 1];
    for &(r, _) in at {
        ptr[r + 1] += 1;
    }
    for r in 0..rows {
        ptr[r + 1] += ptr[r];
    }
    (ptr, at.iter().map(|&(_, c)| c).collect())
}

fn positions<K: Ord + Clone>(set: &BTreeSet<K>) -> BTreeMap<K, i32> {
    set.iter().cloned().zip(0..).collect()
}

fn map_to<K: Ord + Clone>(merged: &BTreeSet<K>, operand: &BTreeSet<K>) -> Vec<i32> {
    let at = positions(operand);
    merged.iter().map(|k| at.get(k).copied().unwrap_or(operand.len() as i32)).collect()
}

fn check_csr(rows: usize, a: &BTreeSet<(usize, i32)>, b: &BTreeSet<(usize, i32)>) {
    let ((ap, ac), (bp, bc)) = (csr(rows, a), csr(rows, b));
    for (merged, got) in [(a | b, union_csr(&ap, &ac, &bp, &bc)), (a & b, intersect_csr(&ap, &ac, &bp, &bc))] {
        let (row_ptr, col_idx) = csr(rows, &merged);
        assert_eq!(got, MergedCsr { row_ptr, col_idx, map_a: map_to(&merged, a), map_b: map_to(&merged, b) });
    }
    assert_eq!(locate_csr(&ap, &ac, &bp, &bc), map_to(a, b));
    let av: Vec<f64> = (0..ac.len()).map(|p| p as f64 - 2.0).collect();
    let bv: Vec<f64> = (0..bc.len()).map(|p| 3.0 - p as f64).collect();
    for (op, f) in ops() {
        let (ptr, col, val) = union_apply_csr(op, &ap, &ac, &av, 0.0, &bp, &bc, &bv, -1.0);
        let merged = union_csr(&ap, &ac, &bp, &bc);
        assert_eq!((&ptr, &col), (&merged.row_ptr, &merged.col_idx));
        let narrow = |list: &[f64]| list.iter().map(|&x| x as f32).collect::<Vec<_>>();
        let (_, _, short) = union_apply_csr(op, &ap, &ac, &narrow(&av), 0.0, &bp, &bc, &narrow(&bv), -1.0);
        // f64 has more than twice the digits of f32, so what is rounded to f64 and then to f32 is as rounded once.
        let bits = |list: &[f32]| list.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&short), bits(&narrow(&val)), "{op:?}");
        let (at_a, at_b) = (positions(a), positions(b));
        assert_eq!(val.len(), col.len());
        for ((key, v), k) in (a | b).iter().zip(val).zip(0..) {
            let x = at_a.get(key).map_or(0.0, |&p| av[p as usize]);
            let y = at_b.get(key).map_or(-1.0, |&p| bv[p as usize]);
            assert_eq!(v.to_bits(), f(x, y).to_bits(), "{op:?} at {k}");
        }
    }
}

type Scalar = fn(f64, f64) -> f64;

fn ops() -> [(BinaryOp, Scalar); 4] {
    [
        (BinaryOp::Add, |x, y| x + y),
        (BinaryOp::Sub, |x, y| x - y),
        (BinaryOp::Mul, |x, y| x * y),
        (BinaryOp::Div, |x, y| x / y),
    ]
}

fn coo<I: Index>(dims: usize, at: &BTreeSet<Vec<i64>>) -> Vec<I> {
    (0..dims).flat_map(|d| at.iter().map(move |k| I::from_usize(k[d] as usize))).collect()
}

fn check_coo<I: Index>(dims: usize, a: &BTreeSet<Vec<i64>>, b: &BTreeSet<Vec<i64>>) {
    let (ai, bi) = (coo::<I>(dims, a), coo::<I>(dims, b));
    let (na, nb) = (a.len(), b.len());
    let index = |map: Vec<i32>| map.into_iter().map(|p| I::from_usize(p as usize)).collect::<Vec<I>>();
    for (merged, got) in [(a | b, union_coo(dims, &ai, na, &bi, nb)), (a & b, intersect_coo(dims, &ai, na, &bi, nb))] {
        assert_eq!(got.nnz, merged.len());
        assert_eq!(got.indices, coo::<I>(dims, &merged));
        assert_eq!(got.map_a, index(map_to(&merged, a)));
        assert_eq!(got.map_b, index(map_to(&merged, b)));
    }
    assert_eq!(locate_coo(dims, &ai, na, &bi, nb), index(map_to(a, b)));
}

/// Small coordinates times `scale`, so that keys of every width occur.
fn coords(dims: usize, scale: i64) -> impl Strategy<Value = BTreeSet<Vec<i64>>> {
    prop::collection::btree_set(prop::collection::vec((0..4i64).prop_map(move |x| x * scale), dims), 0..20)
}

proptest! {
    #[test]
    fn csr_patterns(
        rows in 0usize..6,
        a in prop::collection::btree_set((0usize..6, 0i32..8), 0..30),
        b in prop::collection::btree_set((0usize..6, 0i32..8), 0..30),
    ) {
        let keep = |s: BTreeSet<(usize, i32)>| s.into_iter().filter(|k| k.0 < rows).collect::<BTreeSet<_>>();
        let (a, b) = (keep(a), keep(b));
        check_csr(rows, &a, &b);
        check_csr(rows, &a, &a);
        check_csr(rows, &a, &BTreeSet::new());
    }

    #[test]
    fn coo_patterns_merge_as_sets(
        (dims, a, b) in (0usize..6).prop_flat_map(|d| (Just(d), coords(d, 1), coords(d, 1))),
    ) {
        check_coo::<i32>(dims, &a, &b);
        check_coo::<i64>(dims, &a, &b);
    }

    #[test]
    fn lopsided_patterns(
        gaps in prop::collection::vec(1usize..4, 0..150),
        few in prop::collection::btree_set(0usize..300, 0..20),
        also in prop::collection::vec(0usize..150, 0..4),
    ) {
        // One side is up to and beyond as many times longer as makes a merge search. Some elements are common.
        let many: Vec<usize> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at - 1) }).collect();
        let shared = also.iter().filter_map(|&k| many.get(k).copied());
        let few: BTreeSet<usize> = few.into_iter().chain(shared).collect();
        let row = |places: &[usize], r: usize| -> BTreeSet<_> { places.iter().map(|&c| (r, c as i32)).collect() };
        let few: Vec<usize> = few.into_iter().collect();
        // In the second row the sides change.
        let (a, b) = (&row(&many, 0) | &row(&few, 1), &row(&few, 0) | &row(&many, 1));
        check_csr(2, &a, &b);
        for dims in 1..4 {
            let coords = |places: &[usize]| -> BTreeSet<Vec<i64>> {
                places.iter().map(|&c| [0, c as i64 / 40, c as i64 % 40][3 - dims..].to_vec()).collect()
            };
            let (many, few) = (coords(&many), coords(&few));
            check_coo::<i32>(dims, &many, &few);
            check_coo::<i64>(dims, &few, &many);
        }
    }

    #[test]
    fn coo_beyond_64_bits(
        (dims, a, b) in (1usize..5).prop_flat_map(|d| (Just(d), coords(d, i64::MAX / 3), coords(d, i64::MAX / 3)))
    ) {
        // Up to 4 coordinates of 63 bits. Keys are packed in 64 bits, packed in 128 bits, or compared word by word.
        check_coo::<i64>(dims, &a, &b);
    }

    #[test]
    fn coo_of_32_bits(
        (dims, a, b) in (1usize..6).prop_flat_map(|d| {
            (Just(d), coords(d, i32::MAX as i64 / 3), coords(d, i32::MAX as i64 / 3))
        })
    ) {
        check_coo::<i32>(dims, &a, &b);
    }

    #[test]
    fn zipped_rows(
        block in 1usize..4,
        maps in prop::collection::vec((0usize..5, 0usize..4), 0..20),
        identity_a: bool,
        identity_b: bool,
    ) {
        let n = maps.len();
        let (rows_a, rows_b) = (if identity_a { n } else { 4 }, if identity_b { n } else { 3 });
        let special = [0.0, -0.0, 1.5, -2.0, f64::INFINITY, f64::NAN];
        let value = |p: usize, s: usize| special[(p * 7 + s) % special.len()];
        let a: Vec<f64> = (0..rows_a * block).map(|p| value(p, 1)).collect();
        let b: Vec<f64> = (0..rows_b * block).map(|p| value(p, 4)).collect();
        let (fa, fb): (Vec<f64>, Vec<f64>) = ((0..block).map(|p| value(p, 0)).collect(), vec![-0.0; block]);
        let ma: Vec<i64> = maps.iter().map(|m| m.0 as i64).collect();
        let mb: Vec<i64> = maps.iter().map(|m| m.1 as i64).collect();
        let row = |v: &[f64], fill: &[f64], p: usize| -> Vec<f64> {
            v.chunks(block).nth(p).unwrap_or(fill).to_vec()
        };
        for (op, f) in ops() {
            let mut out = vec![0.0; n * block];
            let map_a = (!identity_a).then_some(&ma[..]);
            let map_b = (!identity_b).then_some(&mb[..]);
            zip_rows(op, &a, &fa, map_a, &b, &fb, map_b, block, &mut out);
            for k in 0..n {
                let x = row(&a, &fa, if identity_a { k } else { maps[k].0 });
                let y = row(&b, &fb, if identity_b { k } else { maps[k].1 });
                for i in 0..block {
                    let (want, got) = (f(x[i], y[i]), out[k * block + i]);
                    prop_assert!(want.to_bits() == got.to_bits() || want.is_nan() && got.is_nan());
                }
            }
        }
    }
}

/// Every place of a few elements among many, at every ratio around that from which a merge searches.
#[test]
fn few_elements_at_every_place_among_many() {
    let row = |columns: Vec<i32>| -> BTreeSet<(usize, i32)> { columns.into_iter().map(|c| (0, c)).collect() };
    for length in [0, 1, 7, 8, 9, 15, 16, 17, 40] {
        // Odd columns.
        let many = row((0..length).map(|k| 2 * k + 1).collect());
        for first in 0..2 * length + 2 {
            for second in [first, first + 1, first + 2, 2 * length + 1] {
                let few = row(vec![first, second]);
                check_csr(1, &many, &few);
                check_csr(1, &few, &many);
            }
        }
    }
}

/// Rows of all lengths around the eight elements that are merged at a time, with columns up to the largest.
#[test]
fn rows_around_the_length_of_a_window() {
    let columns: [fn(i32, i32) -> i32; 5] = [
        |_, k| i32::MAX - 2 * k,
        |side, k| 2 * k + side,
        |side, k| k / 9 * 18 + k % 9 + 9 * side,
        |side, k| k * (2 + side),
        |side, k| i32::MAX - 1 - 3 * k - side * (k % 2),
    ];
    let lengths: Vec<_> = (0..20).chain([24, 25, 33]).collect();
    let (mut a, mut b, mut rows) = (BTreeSet::new(), BTreeSet::new(), 0);
    for column in columns {
        for &n in &lengths {
            for &m in &lengths {
                a.extend((0..n).map(|k| (rows, column(0, k))));
                b.extend((0..m).map(|k| (rows, column(1, k))));
                rows += 1;
            }
        }
    }
    check_csr(rows, &a, &b);
    check_csr(rows, &b, &a);
}

#[test]
fn integers_wrap_and_halves_round_once() {
    let mut out = [0u8; 2];
    zip_rows::<_, i32>(BinaryOp::Sub, &[1, 200], &[], None, &[2, 100], &[], None, 1, &mut out);
    assert_eq!(out, [255, 100]);
    let mut out = [f16::ZERO; 1];
    zip_rows::<_, i32>(BinaryOp::Div, &[f16::ONE], &[], None, &[f16::ZERO], &[], None, 1, &mut out);
    assert_eq!(out, [f16::INFINITY]);
}

#[test]
fn a_map_out_of_range_panics() {
    for map in [[0i32, 3], [-1, 0], [2, i32::MAX]] {
        let zipped =
            || zip_rows(BinaryOp::Add, &[1.0f32, 2.0], &[0.0], Some(&map), &[5.0, 6.0], &[], None, 1, &mut [0.0; 2]);
        assert!(std::panic::catch_unwind(zipped).is_err(), "{map:?}");
    }
}

#[test]
fn large_patterns_on_any_number_of_threads() {
    let mut state = 7u64;
    let mut next = |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    // A few long rows among many short ones.
    let mut draw = |n: usize| -> BTreeSet<(usize, i32)> {
        (0..n).map(|k| (if k % 3 == 0 { 17 } else { next(900) as usize }, next(60_000) as i32)).collect()
    };
    let (a, b) = (draw(60_000), draw(50_000));
    let coords = |s: &BTreeSet<(usize, i32)>| -> BTreeSet<Vec<i64>> {
        s.iter().map(|&(r, c)| vec![r as i64, c as i64 % 7, c as i64]).collect()
    };
    let (ac, bc) = (coords(&a), coords(&b));
    for threads in [1, 2, 5] {
        let pool = rayon_pool(threads);
        pool.install(|| {
            check_csr(900, &a, &b);
            check_coo::<i64>(3, &ac, &bc);
            check_coo::<i32>(3, &ac, &ac);
        });
    }
}

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}
