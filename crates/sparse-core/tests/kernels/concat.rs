//! Concatenations, compared with sorted lists of (coordinates, source).

use proptest::prelude::*;
use sparse_core::*;
use std::collections::BTreeSet;

type Set = BTreeSet<(usize, usize)>;

fn csr(rows: usize, at: &Set) -> (Vec<i32>, Vec<i32>) {
    let ptr = (0..=rows).map(|r| at.iter().filter(|k| k.0 < r).count() as i32).collect();
    (ptr, at.iter().map(|k| k.1 as i32).collect())
}

/// Sorts all elements by their new coordinates and returns the source of each.
fn expected<K: Ord + Clone>(parts: &[Vec<K>]) -> (Vec<K>, Vec<i32>) {
    let mut all: Vec<(K, i32)> = parts.concat().into_iter().zip(0..).collect();
    all.sort();
    all.into_iter().unzip()
}

fn sets(parts: usize) -> impl Strategy<Value = Vec<Set>> {
    prop::collection::vec(prop::collection::btree_set((0usize..6, 0usize..5), 0..16), parts)
}

proptest! {
    #[test]
    fn csr_rows_follow_each_other(parts in (1usize..5).prop_flat_map(sets)) {
        let built: Vec<_> = parts.iter().map(|p| csr(6, p)).collect();
        let borrowed: Vec<CsrPart<i32>> = built.iter().map(|(p, c)| (&p[..], &c[..])).collect();
        let moved: Vec<Vec<(usize, usize)>> =
            parts.iter().enumerate().map(|(p, s)| s.iter().map(|k| (k.0 + 6 * p, k.1)).collect()).collect();
        let (all, map) = expected(&moved);
        prop_assert!(map.iter().copied().eq(0..map.len() as i32));
        prop_assert_eq!(concat_csr_rows(&borrowed), csr(6 * parts.len(), &all.into_iter().collect()));
    }

    #[test]
    fn csr_columns_are_shifted(parts in (1usize..5).prop_flat_map(sets)) {
        let built: Vec<_> = parts.iter().map(|p| csr(6, p)).collect();
        let borrowed: Vec<CsrPart<i32>> = built.iter().map(|(p, c)| (&p[..], &c[..])).collect();
        let offsets: Vec<usize> = (0..parts.len()).map(|p| 5 * p).collect();
        let moved: Vec<Vec<(usize, usize)>> =
            parts.iter().enumerate().map(|(p, s)| s.iter().map(|k| (k.0, k.1 + 5 * p)).collect()).collect();
        let (all, map) = expected(&moved);
        let (row_ptr, col_idx) = csr(6, &all.into_iter().collect());
        prop_assert_eq!(concat_csr_cols(&borrowed, &offsets), (row_ptr.clone(), col_idx.clone(), map.clone()));
        let mut next = 0..;
        let values: Vec<Vec<i32>> = parts.iter().map(|p| next.by_ref().take(p.len()).collect()).collect();
        let values: Vec<&[i32]> = values.iter().map(|v| &v[..]).collect();
        prop_assert_eq!(concat_csr_cols_values(&borrowed, &values, &offsets), (row_ptr, col_idx, map));
    }

    #[test]
    fn csr_batched_rows(
        batch in 0usize..4,
        parts in (1usize..4).prop_flat_map(sets),
        heights in prop::collection::vec(0usize..4, 3)
    ) {
        let heights = &heights[..parts.len()];
        // Part p has `height` rows per batch; elements outside are dropped.
        let parts: Vec<Set> =
            parts.into_iter().zip(heights).map(|(s, h)| s.into_iter().filter(|k| k.0 < batch * h).collect()).collect();
        let built: Vec<_> = parts.iter().zip(heights).map(|(p, h)| csr(batch * h, p)).collect();
        let borrowed: Vec<(usize, &[i32], &[i32])> =
            built.iter().zip(heights).map(|((p, c), &h)| (h, &p[..], &c[..])).collect();
        let total: usize = heights.iter().sum();
        let mut above = 0;
        let mut moved = Vec::new();
        for (part, &h) in parts.iter().zip(heights) {
            moved.push(part.iter().map(|&(r, c)| (r / h * total + above + r % h, c)).collect::<Vec<_>>());
            above += h;
        }
        let (all, map) = expected(&moved);
        let (row_ptr, col_idx) = csr(batch * total, &all.into_iter().collect());
        prop_assert_eq!(interleave_csr_rows(batch, &borrowed), (row_ptr, col_idx, map));
    }

    #[test]
    fn coo_any_axis(
        (dims, axis, parts) in (1usize..4).prop_flat_map(|dims| {
            let element = prop::collection::vec(0i64..4, dims);
            (Just(dims), 0..dims, prop::collection::vec(prop::collection::vec(element, 0..20), 1..5))
        }),
        coalesced: bool,
    ) {
        let parts: Vec<Vec<Vec<i64>>> = parts
            .into_iter()
            .map(|p| if coalesced { p.into_iter().collect::<BTreeSet<_>>().into_iter().collect() } else { p })
            .collect();
        let rows = |elements: &[Vec<i64>]| -> Vec<i64> {
            (0..dims).flat_map(|d| elements.iter().map(move |k| k[d])).collect()
        };
        let built: Vec<Vec<i64>> = parts.iter().map(|p| rows(p)).collect();
        let borrowed: Vec<(&[i64], usize)> = built.iter().zip(&parts).map(|(i, p)| (&i[..], p.len())).collect();
        let offsets: Vec<usize> = (0..parts.len()).map(|p| 4 * p).collect();
        let mut moved = parts.clone();
        for (p, part) in moved.iter_mut().enumerate() {
            for k in part {
                k[axis] += 4 * p as i64;
            }
        }
        let (indices, map) = concat_coo(axis, &offsets, &borrowed, dims, coalesced);
        // A value that is its own position is moved as the map says.
        let places: Vec<i64> = (0..parts.iter().map(|p| p.len() as i64).sum()).collect();
        let mut rest = &places[..];
        let values: Vec<&[i64]> = parts.iter().map(|p| rest.split_off(..p.len()).expect("as many")).collect();
        let moved_too = concat_coo_values(axis, &offsets, &borrowed, &values, dims, coalesced);
        prop_assert_eq!(moved_too, (indices.clone(), map.clone().unwrap_or(places)));
        if coalesced {
            let (all, want) = expected(&moved);
            prop_assert_eq!(indices, rows(&all));
            let map = map.unwrap_or((0..want.len() as i64).collect());
            prop_assert!(map.into_iter().eq(want.into_iter().map(i64::from)));
        } else {
            prop_assert_eq!(map, None);
            prop_assert_eq!(indices, rows(&moved.concat()));
        }
    }
}

#[test]
fn large_parts_on_any_number_of_threads() {
    let part = |seed: usize, n: usize| -> Vec<(i64, i64, i64)> {
        let set: BTreeSet<_> = (0..n)
            .map(|k| {
                let x = (k * 7919 + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
                ((x % 50) as i64, (x / 50 % 7) as i64, (x / 350 % 5000) as i64)
            })
            .collect();
        set.into_iter().collect()
    };
    let parts = [part(1, 30_000), part(2, 0), part(3, 50_000), part(4, 9_000)];
    let built: Vec<Vec<i64>> = parts
        .iter()
        .map(|p| p.iter().map(|k| k.0).chain(p.iter().map(|k| k.1)).chain(p.iter().map(|k| k.2)).collect())
        .collect();
    let borrowed: Vec<(&[i64], usize)> = built.iter().zip(&parts).map(|(i, p)| (&i[..], p.len())).collect();
    for (axis, size) in [(1, 7), (2, 5000)] {
        let offsets: Vec<usize> = (0..4).map(|p| p * size).collect();
        let mut moved = parts.to_vec();
        for (part, &offset) in moved.iter_mut().zip(&offsets) {
            for k in part {
                *(if axis == 1 { &mut k.1 } else { &mut k.2 }) += offset as i64;
            }
        }
        let (all, want) = expected(&moved);
        let want: Vec<i64> = want.into_iter().map(i64::from).collect();
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (indices, map) = pool.install(|| concat_coo(axis, &offsets, &borrowed, 3, true));
            assert_eq!(map.as_ref(), Some(&want));
            let places: Vec<u64> = (0..want.len() as u64).collect();
            let mut rest = &places[..];
            let values: Vec<&[u64]> = parts.iter().map(|p| rest.split_off(..p.len()).expect("as many")).collect();
            let (_, moved) = pool.install(|| concat_coo_values(axis, &offsets, &borrowed, &values, 3, true));
            assert!(moved.iter().map(|&x| x as i64).eq(want.iter().copied()));
            let rows = all.iter().map(|k| k.0).chain(all.iter().map(|k| k.1)).chain(all.iter().map(|k| k.2));
            assert!(indices.iter().copied().eq(rows));
        }
    }
}

/// More elements than a piece of work holds, in rows of 0 to 20: runs are moved in every way.
#[test]
fn large_csr_parts_on_any_number_of_threads() {
    const ROWS: usize = 20_000;
    const BATCH: usize = 100;
    let part = |seed: usize, most: usize| -> (Vec<i32>, Vec<i32>) {
        let (mut ptr, mut col) = (vec![0], vec![]);
        for r in 0..ROWS {
            let h = (4 * r + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
            col.extend((0..h % (most + 1)).map(|k| (15 * k + h / 21 % 15) as i32));
            ptr.push(col.len() as i32);
        }
        (ptr, col)
    };
    let built = [part(0, 20), part(1, 0), part(2, 20), part(3, 20)];
    let borrowed: Vec<CsrPart<i32>> = built.iter().map(|(ptr, col)| (&ptr[..], &col[..])).collect();

    // Side by side.
    let offsets = [0usize, 300, 600, 900];
    let (mut ptr, mut col, mut map) = (vec![0i32], Vec::<i32>::new(), Vec::<i32>::new());
    for r in 0..ROWS {
        let mut base = 0;
        for ((part_ptr, part_col), offset) in built.iter().zip(offsets) {
            for at in part_ptr[r]..part_ptr[r + 1] {
                col.push(part_col[at as usize] + offset as i32);
                map.push(base + at);
            }
            base += part_col.len() as i32;
        }
        ptr.push(col.len() as i32);
    }
    let places: Vec<u64> = (0..col.len() as u64).map(|at| 3 * at + 1).collect();
    let mut rest = &places[..];
    let values: Vec<&[u64]> = built.iter().map(|(_, col)| rest.split_off(..col.len()).expect("as many")).collect();
    let moved: Vec<u64> = map.iter().map(|&at| 3 * at as u64 + 1).collect();

    // Row below row in each batch; one part has no elements, another no rows.
    let stacked: Vec<(usize, &[i32], &[i32])> = borrowed
        .iter()
        .zip([200, 30, 0, 120])
        .map(|(&(ptr, col), height)| (height, &ptr[..=BATCH * height], &col[..ptr[BATCH * height] as usize]))
        .collect();
    let (mut below_ptr, mut below_col, mut below_map) = (vec![0i32], Vec::<i32>::new(), Vec::<i32>::new());
    for b in 0..BATCH {
        let mut base = 0;
        for &(height, part_ptr, part_col) in &stacked {
            for r in b * height..(b + 1) * height {
                for at in part_ptr[r]..part_ptr[r + 1] {
                    below_col.push(part_col[at as usize]);
                    below_map.push(base + at);
                }
                below_ptr.push(below_col.len() as i32);
            }
            base += part_col.len() as i32;
        }
    }

    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let got = pool.install(|| concat_csr_cols(&borrowed, &offsets));
        assert!(got.0 == ptr && got.1 == col && got.2 == map, "columns on {threads} threads");
        let got = pool.install(|| concat_csr_cols_values(&borrowed, &values, &offsets));
        assert!(got.0 == ptr && got.1 == col && got.2 == moved, "columns and values on {threads} threads");
        let got = pool.install(|| interleave_csr_rows(BATCH, &stacked));
        assert!(got.0 == below_ptr && got.1 == below_col && got.2 == below_map, "rows on {threads} threads");
    }
}
