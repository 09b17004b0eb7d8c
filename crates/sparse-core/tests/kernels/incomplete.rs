//! Incomplete factors and block inverses, compared with dense loops over their definitions.

use proptest::prelude::*;
use sparse_core::{Compressed, Incomplete, Result, RowsOf, group_with, incomplete};

fn sparse(n: usize, at: &dyn Fn(usize, usize) -> f64) -> RowsOf<f64, i32> {
    let (mut ptr, mut idx, mut values) = (vec![0], vec![], vec![]);
    for r in 0..n {
        for c in (0..n).filter(|&c| at(r, c) != 0.0) {
            idx.push(c as i32);
            values.push(at(r, c));
        }
        ptr.push(idx.len() as i32);
    }
    (ptr, idx, values)
}

fn factors((ptr, idx, values): &RowsOf<f64, i32>, how: Incomplete) -> Result<RowsOf<f64, i32>> {
    incomplete("op", Compressed { ptr, idx, perm: None }, values, how)
}

fn dense(n: usize, (ptr, idx, values): &RowsOf<f64, i32>) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for r in 0..n {
        let own = ptr[r] as usize..ptr[r + 1] as usize;
        assert!(idx[own.clone()].is_sorted_by(|x, y| x < y), "columns ascend");
        own.for_each(|k| out[r * n + idx[k] as usize] = values[k]);
    }
    out
}

/// `L U` by its definition, at the elements that `keep` has.
fn lu(n: usize, at: &dyn Fn(usize, usize) -> f64, keep: &dyn Fn(usize, usize) -> bool) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for r in 0..n {
        for c in (0..n).filter(|&c| keep(r, c)) {
            let sum: f64 = (0..r.min(c)).map(|j| out[r * n + j] * out[j * n + c]).sum();
            out[r * n + c] = (at(r, c) - sum) / if c < r { out[c * n + c] } else { 1.0 };
        }
    }
    out
}

fn cholesky(n: usize, at: &dyn Fn(usize, usize) -> f64, keep: &dyn Fn(usize, usize) -> bool) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for r in 0..n {
        for c in (0..=r).filter(|&c| keep(r, c)) {
            let sum: f64 = (0..c).map(|j| out[r * n + j] * out[c * n + j]).sum();
            let rest = at(r, c) - sum;
            out[r * n + c] = if c == r { rest.sqrt() } else { rest / out[c * n + c] };
        }
    }
    out
}

/// ILUT by its definition: rows among zeros, and the largest element of a side that is left, `fill` times.
fn ilut(n: usize, at: &dyn Fn(usize, usize) -> f64, fill: usize, drop: f64) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for r in 0..n {
        let mut line: Vec<f64> = (0..n).map(|c| at(r, c)).collect();
        let least = drop * line.iter().map(|x| x * x).sum::<f64>().sqrt();
        for c in 0..r {
            line[c] = if line[c].abs() < least { 0.0 } else { line[c] / out[c * n + c] };
            for k in c + 1..n {
                line[k] -= line[c] * out[c * n + k];
            }
        }
        out[r * n + r] = line[r];
        for (side, least) in [(0..r, 0.0), (r + 1..n, least)] {
            for _ in 0..fill {
                let mut best = None;
                for c in side.clone().filter(|&c| line[c] != 0.0 && line[c].abs() >= least) {
                    if best.is_none_or(|best: usize| line[c].abs() > line[best].abs()) {
                        best = Some(c);
                    }
                }
                if let Some(c) = best {
                    out[r * n + c] = std::mem::take(&mut line[c]);
                }
            }
        }
    }
    out
}

fn close(got: &[f64], want: &[f64]) -> bool {
    got.len() == want.len() && got.iter().zip(want).all(|(x, y)| (x - y).abs() <= 1e-9 * (1.0 + y.abs()))
}

/// The 5-point matrix of a grid `[side, side]`.
fn poisson(side: usize) -> impl Fn(usize, usize) -> f64 {
    move |r, c| {
        let [dy, dx] = [(r / side).abs_diff(c / side), (r % side).abs_diff(c % side)];
        match dy + dx {
            0 => 4.0,
            1 => -1.0,
            _ => 0.0,
        }
    }
}

proptest! {
    /// Of a dominant diagonal, so that every pivot is there.
    #[test]
    fn agree_with_their_definitions(
        (n, cells) in (0usize..9).prop_flat_map(|n| {
            (Just(n), prop::collection::vec(prop_oneof![Just(0.0), -2.0f64..2.0], n * n))
        }),
        size in 1usize..5,
    ) {
        let at = |r: usize, c: usize| if r == c { 20.0 + cells[r * n + c] } else { cells[r * n + c] };
        let a = sparse(n, &at);
        let stored = |r: usize, c: usize| at(r, c) != 0.0;
        let got = factors(&a, Incomplete::Lu).unwrap();
        prop_assert!(close(&dense(n, &got), &lu(n, &at, &stored)));
        prop_assert_eq!((&got.0, &got.1), (&a.0, &a.1));

        // Nothing is left out: LU.
        let got = factors(&a, Incomplete::Threshold { fill: n, drop: 0.0 }).unwrap();
        prop_assert!(close(&dense(n, &got), &lu(n, &at, &|_, _| true)));

        // The same operations in the same order: the same numbers, and of equal ones the first stay.
        for drop in [0.0, 0.02, 0.06] {
            let rounded = |r: usize, c: usize| at(r, c).round();
            for (fill, at) in [(size - 1, &at as &dyn Fn(usize, usize) -> f64), (size, &rounded)] {
                let got = factors(&sparse(n, at), Incomplete::Threshold { fill, drop }).unwrap();
                prop_assert_eq!(dense(n, &got), ilut(n, at, fill, drop));
            }
        }

        let symmetric = |r: usize, c: usize| at(r.max(c), r.min(c));
        let kept = |r: usize, c: usize| symmetric(r, c) != 0.0;
        let got = factors(&sparse(n, &symmetric), Incomplete::Cholesky { shift: 0.0 }).unwrap();
        prop_assert!(close(&dense(n, &got), &cholesky(n, &symmetric, &kept)));
        // The upper triangle is not read.
        prop_assert_eq!(factors(&a, Incomplete::Cholesky { shift: 0.0 }).unwrap(), got);

        // Of the transpose, by columns.
        let rows: Vec<i32> = (0..n).flat_map(|r| vec![r as i32; (a.0[r + 1] - a.0[r]) as usize]).collect();
        let (groups, idx) = group_with(&a.1, &rows, n);
        let by_col = Compressed { ptr: &groups.ptr, idx: &idx, perm: Some(&groups.order) };
        let got = incomplete("op", by_col, &a.2, Incomplete::Lu).unwrap();
        prop_assert!(close(&dense(n, &got), &lu(n, &|r, c| at(c, r), &|r, c| stored(c, r))));

        // A block times its inverse.
        let inverse = dense(n, &factors(&a, Incomplete::Blocks { size }).unwrap());
        for r in 0..n {
            for c in 0..n {
                let same = |k: &usize| k / size == r / size;
                let product: f64 = (0..n).filter(same).map(|k| at(r, k) * inverse[k * n + c]).sum();
                let want = f64::from(u8::from(r == c));
                prop_assert!((product - want).abs() < 1e-9, "{} {} {}", r, c, product);
            }
        }
    }
}

/// Enough blocks for several pieces of work, with rows that are exchanged.
#[test]
fn many_blocks_and_one_that_needs_an_exchange() {
    let n = 9001;
    let at = |r: usize, c: usize| {
        let (row, col) = (r % 2, c % 2);
        if r / 2 != c / 2 {
            0.0
        } else if r == n - 1 {
            4.0
        } else {
            [[0.0, 2.0], [5.0, 1.0 + r as f64]][row][col]
        }
    };
    let (ptr, idx, values) = {
        let (mut ptr, mut idx, mut values) = (vec![0], vec![], vec![]);
        for r in 0..n {
            for c in (r / 2 * 2..(r / 2 * 2 + 2).min(n)).filter(|&c| at(r, c) != 0.0) {
                idx.push(c as i32);
                values.push(at(r, c) as f32);
            }
            ptr.push(idx.len() as i32);
        }
        (ptr, idx, values)
    };
    let a = Compressed { ptr: &ptr, idx: &idx, perm: None };
    let (_, _, out) = incomplete("op", a, &values, Incomplete::Blocks { size: 2 }).unwrap();
    assert_eq!(out.len(), 2 * n - 1);
    assert_eq!(out[2 * n - 2], 0.25);
    for block in (0..n / 2).step_by(251) {
        let own = &out[4 * block..][..4];
        let corner = 2.0 + 2.0 * block as f64;
        let want = [-corner / 10.0, 0.2, 0.5, 0.0];
        assert!(own.iter().zip(want).all(|(x, y)| (f64::from(*x) - y).abs() <= 1e-6 * y.abs()), "{own:?} {want:?}");
    }
}

#[test]
fn poisson_factors_have_no_other_elements() {
    let (side, n) = (6, 36);
    let at = poisson(side);
    let a = sparse(n, &at);
    let stored = |r: usize, c: usize| at(r, c) != 0.0;
    let got = factors(&a, Incomplete::Cholesky { shift: 0.0 }).unwrap();
    assert!(close(&dense(n, &got), &cholesky(n, &at, &stored)));
    assert_eq!(got.1.len(), n + 2 * side * (side - 1));
    let shifted = factors(&a, Incomplete::Cholesky { shift: 0.25 }).unwrap();
    let more = |r: usize, c: usize| if r == c { 5.0 } else { at(r, c) };
    assert!(close(&dense(n, &shifted), &cholesky(n, &more, &stored)));

    // Few elements stay, and the largest ones.
    let full = dense(n, &factors(&a, Incomplete::Threshold { fill: n, drop: 0.0 }).unwrap());
    for (fill, drop) in [(0, 0.0), (1, 0.0), (2, 1e-3), (3, 0.01), (n, 0.1)] {
        let few = factors(&a, Incomplete::Threshold { fill, drop }).unwrap();
        assert_eq!(dense(n, &few), ilut(n, &at, fill, drop), "{fill} {drop}");
    }
    // Row 1 is the first with fill: from row 0, below the element of the grid's next row.
    assert!(full[n + side] != 0.0 && full[side * n + 1] != 0.0 && at(side, 1) == 0.0);
    let dropped = factors(&a, Incomplete::Threshold { fill: n, drop: 0.2 }).unwrap();
    assert_eq!(dense(n, &dropped)[side * n + 1], 0.0);
}

#[test]
fn pivots_that_fail_name_their_row() {
    let told = |at: &dyn Fn(usize, usize) -> f64, how: Incomplete, row: &str| {
        let trouble = factors(&sparse(3, at), how).unwrap_err();
        assert!(trouble.kind() == "invalid" && trouble.to_string().ends_with(row), "{trouble}");
    };
    let lu = [Incomplete::Lu, Incomplete::Threshold { fill: 3, drop: 0.0 }];
    // 1 1; 1 1 leaves nothing.
    let flat = |r: usize, c: usize| if r < 2 && c < 2 { 1.0 } else { f64::from(u8::from(r == c)) };
    let missing = |r: usize, c: usize| if r == c && r < 2 { 1.0 } else { 0.0 };
    let endless = |r: usize, c: usize| if r == c { [1.0, f64::INFINITY, 1.0][r] } else { 0.0 };
    for how in [lu[0], lu[1], Incomplete::Cholesky { shift: 0.0 }] {
        told(&flat, how, "row 1");
        told(&missing, how, "row 2");
        told(&endless, how, "row 1");
    }
    let negative = |r: usize, c: usize| if r == c { [1.0, -4.0, 1.0][r] } else { 0.0 };
    told(&negative, Incomplete::Cholesky { shift: 0.0 }, "got -4e0 in row 1");
    told(&flat, Incomplete::Blocks { size: 2 }, "row 1");
    told(&missing, Incomplete::Blocks { size: 2 }, "the rows from 2 on must be regular, got 0e0 in row 2");
    // With a shift the first has pivots.
    assert!(factors(&sparse(3, &flat), Incomplete::Cholesky { shift: 0.1 }).is_ok());
}

/// Of f32: what f64 holds and f32 does not is an error, with its row.
#[test]
fn numbers_that_the_type_does_not_hold() {
    let of = |values: [f32; 4], how: Incomplete| {
        incomplete("op", Compressed { ptr: &[0, 2, 4], idx: &[0, 1, 0, 1], perm: None }, &values, how)
    };
    let told = |values: [f32; 4], how: Incomplete, part: &str| {
        let trouble = of(values, how).unwrap_err();
        assert!(trouble.kind() == "invalid" && trouble.to_string().ends_with(part), "{trouble}");
    };
    let ilut = Incomplete::Threshold { fill: 2, drop: 0.0 };
    for how in [Incomplete::Lu, ilut] {
        told([1.0, 1e-23, 1e-23, 0.0], how, "a pivot must be finite and not zero, got -0e0 in row 1");
        told([1e-38, 1e20, 1e20, 1.0], how, "a pivot must be finite and not zero, got -inf in row 1");
        told([1e-38, 0.0, 1e20, 1.0], how, "the elements must be finite, got inf in row 1");
    }
    told([1.0, 0.0, 0.0, 1.0], Incomplete::Cholesky { shift: 1e100 }, "the elements must be finite, got inf in row 0");
    told([1.0, 0.0, 0.0, 1e-40], Incomplete::Blocks { size: 1 }, "a finite inverse, got inf in row 1");
    told([1.0, 0.0, 0.0, 1e-40], Incomplete::Blocks { size: 2 }, "a finite inverse, got inf in row 1");
    // Nobody needs more than f32 has, though squares and products do.
    for scale in [1e-30, 1e30] {
        for how in [Incomplete::Lu, ilut, Incomplete::Threshold { fill: 2, drop: 0.3 }, Incomplete::Blocks { size: 2 }]
        {
            let (got, want) =
                (of([4.0, 2.0, 2.0, 3.0].map(|x| x * scale), how).unwrap(), of([4.0, 2.0, 2.0, 3.0], how));
            let want = want.unwrap();
            assert_eq!((&got.0, &got.1), (&want.0, &want.1));
            let inverse = matches!(how, Incomplete::Blocks { .. });
            for (k, (got, want)) in got.2.iter().zip(&want.2).enumerate() {
                let scale = if inverse {
                    1.0 / scale
                } else if k == 2 {
                    1.0
                } else {
                    scale
                };
                assert!((got / scale - want).abs() < 1e-5, "{how:?} {got:e} {want:e}");
            }
        }
    }
}

/// ILUT does not leave out what is not finite, and its least size is right where squares are not.
#[test]
fn rows_of_any_size() {
    let how = |drop: f64| Incomplete::Threshold { fill: 3, drop };
    for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for (row, col) in [(0, 2), (2, 0), (1, 1)] {
            let at = |r: usize, c: usize| if (r, c) == (row, col) { wrong } else { 2.0 + f64::from(u8::from(r == c)) };
            let trouble = factors(&sparse(3, &at), how(0.1)).unwrap_err().to_string();
            assert!(trouble.contains("must be finite") && trouble.ends_with(&format!("in row {row}")), "{trouble}");
        }
    }
    let entries = |r: usize, c: usize| [[4.0, 1.0, 0.01], [1.0, 5.0, 1.0], [0.01, 1.0, 6.0]][r][c];
    let want = factors(&sparse(3, &entries), how(0.1)).unwrap();
    assert_eq!(want.1, [0, 1, 0, 1, 2, 1, 2]);
    for scale in [2f64.powi(-600), 2f64.powi(600)] {
        let got = factors(&sparse(3, &|r, c| entries(r, c) * scale), how(0.1)).unwrap();
        assert_eq!((&got.0, &got.1), (&want.0, &want.1), "{scale:e}");
        let lower = |r: usize, c: usize| if c < r { 1.0 } else { scale };
        let all = dense(3, &want);
        for (k, got) in dense(3, &got).iter().enumerate() {
            assert_eq!(*got, all[k] * lower(k / 3, k % 3), "{scale:e}");
        }
    }
}
