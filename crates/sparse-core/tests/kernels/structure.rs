//! Grouping, sorting, coalescing and transposing, compared with the standard library's stable sort.

use proptest::prelude::*;
use sparse_core::*;

/// A generator for large inputs; proptest's own vectors are too slow for them.
fn random(n: usize, below: u64, mut seed: u64) -> Vec<i64> {
    (0..n)
        .map(|_| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((seed >> 33) % below) as i64
        })
        .collect()
}

fn check_groups(keys: &[i64], groups: usize) {
    let Segments { ptr, order } = group_by(keys, groups);
    let mut want: Vec<i64> = (0..keys.len() as i64).collect();
    want.sort_by_key(|&k| keys[k as usize]);
    assert_eq!(order, want);
    assert_eq!(ptr.len(), groups + 1);
    let mut counts = vec![0i64; groups + 1];
    for &k in keys {
        counts[k as usize + 1] += 1;
    }
    for g in 0..groups {
        counts[g + 1] += counts[g];
    }
    assert_eq!(ptr, counts);
    let sorted: Vec<i64> = order.iter().map(|&k| keys[k as usize]).collect();
    assert_eq!(compress(&sorted, groups), counts);
    assert_eq!(expand_ptr(&ptr), sorted);
}

fn entries(dims: usize, indices: &[i64], nnz: usize) -> Vec<Vec<i64>> {
    (0..nnz).map(|k| (0..dims).map(|d| indices[d * nnz + k]).collect()).collect()
}

fn check_coords(shape: &[usize], indices: &[i64], nnz: usize) {
    let coords = entries(shape.len(), indices, nnz);
    let mut want: Vec<i64> = (0..nnz as i64).collect();
    want.sort_by_key(|&k| &coords[k as usize]);
    assert_eq!(sort_coords(shape, indices, nnz), want);

    let Coalesced { indices: unique, segments } = coalesce(shape, indices, nnz);
    let m = segments.ptr.len() - 1;
    assert_eq!(segments.order, want);
    let mut dedup: Vec<_> = want.iter().map(|&k| coords[k as usize].clone()).collect();
    dedup.dedup();
    assert_eq!(entries(shape.len(), &unique, m), dedup);
    assert_eq!(m, dedup.len());
    for (s, coordinate) in dedup.iter().enumerate() {
        let members = &segments.order[segments.ptr[s] as usize..segments.ptr[s + 1] as usize];
        assert!(!members.is_empty() && members.iter().all(|&k| coords[k as usize] == *coordinate));
    }
    assert_eq!(*segments.ptr.last().unwrap() as usize, nnz);
}

proptest! {
    #[test]
    fn keys_are_grouped_in_order(groups in 1usize..20, raw in prop::collection::vec(0i64..1000, 0..80)) {
        let keys: Vec<i64> = raw.iter().map(|k| k % groups as i64).collect();
        check_groups(&keys, groups);
    }

    #[test]
    fn coordinates_are_sorted_and_joined(
        shape in prop::collection::vec(prop_oneof![1usize..4, Just(1usize << 31), Just(1usize << 62)], 0..6),
        nnz in 0usize..40,
        raw in prop::collection::vec((any::<u64>(), any::<bool>()), 240),
    ) {
        let indices: Vec<i64> = (0..shape.len() * nnz)
            .map(|p| { let (x, near) = raw[p]; (if near { x % 2 } else { x } % shape[p / nnz] as u64) as i64 })
            .collect();
        check_coords(&shape, &indices, nnz);
    }
}

#[test]
fn many_keys_are_grouped_in_order() {
    for (n, groups, below) in
        [(300_000, 70_000, 70_000), (300_000, 5, 5), (300_000, 1 << 20, 7), (1000, 3_000_000, 3_000_000)]
    {
        check_groups(&random(n, below, 1), groups);
    }
    check_groups(&[], 0);
    check_groups(&[], 100_000);
}

/// The others fit the words beside the keys, or do not: then they are gathered.
#[test]
fn others_go_along() {
    for (n, groups, largest) in
        [(0, 3, 1u64), (1000, 40, 9), (200_000, 70_000, 1 << 30), (200_000, 70_000, 1 << 62), (50_000, 3_000_000, 4)]
    {
        let (keys, mut others) = (random(n, groups as u64, 1), random(n, largest.min(1 << 31), 2));
        // Of as many bits as asked, and below zero.
        if let [first, second, ..] = &mut others[..] {
            (*first, *second) = (largest as i64 - 1, if largest > 1 << 31 { -1 } else { 0 });
        }
        let (segments, grouped) = group_with(&keys, &others, groups);
        assert_eq!(segments, group_by(&keys, groups));
        let want: Vec<i64> = segments.order.iter().map(|&k| others[k as usize]).collect();
        assert_eq!(grouped, want, "{n} keys, {groups} groups, others to {largest}");
        if largest <= 1 << 30 {
            let (keys, others) = (cast_ids::<i64, i32>(&keys), cast_ids(&others));
            let (segments, grouped) = group_with::<i32>(&keys, &others, groups);
            assert_eq!(cast_ids::<i32, i64>(&grouped), want);
            assert_eq!(cast_ids::<i32, i64>(&segments.order), group_by(&cast_ids::<i32, i64>(&keys), groups).order);
        }
    }
}

#[test]
fn keys_out_of_range_panic() {
    for (keys, groups) in [(vec![5i64], 5), (vec![0], 0), (vec![-1], 7), (vec![0, 1 << 40], 3), (vec![6; 20_000], 6)] {
        assert!(std::panic::catch_unwind(|| group_by(&keys, groups)).is_err(), "{groups} groups");
    }
    // Far from the first, and 0 in the bits that the partition keeps.
    let keys = [vec![0i64; 20_000], vec![1 << 40]].concat();
    assert!(std::panic::catch_unwind(|| group_by(&keys, 3)).is_err());
    assert!(std::panic::catch_unwind(|| group_with(&[0i32, 1], &[3], 2)).is_err());
}

#[test]
fn extremes_are_those_of_a_loop() {
    for n in [1, 2, 1000, 200_000] {
        let ids: Vec<i64> = random(n, 1 << 40, 3).iter().map(|id| id - (1 << 39)).collect();
        assert_eq!(extremes(&ids), [*ids.iter().min().unwrap(), *ids.iter().max().unwrap()]);
    }
    assert_eq!(extremes(&[7i32, -3, 7]), [-3, 7]);
}

#[test]
fn a_cast_wraps() {
    assert_eq!(cast_ids::<i64, i32>(&[-1, 1 << 31, (1 << 32) + 7]), [-1, i32::MIN, 7]);
    assert_eq!(cast_ids::<i32, i64>(&[-1, i32::MAX]), [-1, i64::from(i32::MAX)]);
}

#[test]
fn large_coordinates() {
    let n = 200_000;
    let join = |sizes: &[u64]| -> Vec<i64> {
        sizes.iter().enumerate().flat_map(|(d, &s)| random(n, s, d as u64 + 3)).collect()
    };
    check_coords(&[1 << 20, 1 << 20], &join(&[1 << 20, 1 << 20]), n);
    check_coords(&[300, 300], &join(&[300, 300]), n);
    // Duplicates, and one bucket with many entries.
    check_coords(&[1 << 31, 1 << 31, 4], &join(&[2, 1 << 30, 4]), n);
    // 93 bits of coordinates, with duplicates in every bucket.
    let far: Vec<i64> = join(&[40, 50, 60]).iter().map(|id| id << 25).collect();
    check_coords(&[1 << 31; 3], &far, n);
    // 155 bits of coordinates.
    check_coords(&[1 << 31; 5], &join(&[3, 1 << 31, 3, 1 << 31, 1 << 31]), n);
    check_coords(&[1 << 31; 5], &join(&[1 << 31; 5]), n);
    let mut ordered = join(&[1 << 20]);
    ordered.sort_unstable();
    check_coords(&[1 << 20], &ordered, n);
}

#[test]
fn no_sparse_dims_is_one_coordinate() {
    let one = coalesce::<i32>(&[], &[], 3);
    assert_eq!((one.indices, one.segments.ptr, one.segments.order), (vec![], vec![0, 3], vec![0, 1, 2]));
    let none = coalesce::<i32>(&[], &[], 0);
    assert_eq!((none.segments.ptr, none.segments.order), (vec![0], vec![]));
}

#[test]
fn threads_do_not_matter() {
    let n = 150_000;
    let keys = random(n, 5000, 9);
    let coords: Vec<i64> = [random(n, 400, 1), random(n, 400, 2)].concat();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            (group_by(&keys, 5000), coalesce(&[400, 400], &coords, n), validate_coo("t", &[400, 400], &coords, n))
        })
    };
    assert_eq!(run(1), run(2));
    assert_eq!(run(1), run(7));
}
