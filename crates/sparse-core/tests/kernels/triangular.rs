//! Triangular systems, compared with dense substitution.

use proptest::prelude::*;
use sparse_core::{Compressed, Levels, Triangle, TrianglePlan, group_with, solve_triangular};

/// Square, by rows; elements on both sides of the diagonal.
#[derive(Debug, Clone)]
struct Matrix {
    n: usize,
    ptr: Vec<i32>,
    idx: Vec<i32>,
    values: Vec<f64>,
}

impl Matrix {
    fn of(n: usize, at: impl Fn(usize, usize) -> f64) -> Self {
        let (mut ptr, mut idx, mut values) = (vec![0], vec![], vec![]);
        for r in 0..n {
            for c in 0..n {
                if at(r, c) != 0.0 {
                    idx.push(c as i32);
                    values.push(at(r, c));
                }
            }
            ptr.push(idx.len() as i32);
        }
        Self { n, ptr, idx, values }
    }

    fn view(&self) -> Compressed<'_, i32> {
        Compressed { ptr: &self.ptr, idx: &self.idx, perm: None }
    }
}

/// By substitution in the dense triangle.
fn reference(n: usize, at: &dyn Fn(usize, usize) -> f64, triangle: Triangle, b: &[f64], width: usize) -> Vec<f64> {
    let mut x = b.to_vec();
    for step in 0..n {
        let r = if triangle.upper { n - 1 - step } else { step };
        for f in 0..width {
            let beside = if triangle.upper { r + 1..n } else { 0..r };
            let sum: f64 = beside.map(|c| at(r, c) * x[c * width + f]).sum();
            x[r * width + f] = (b[r * width + f] - sum) / if triangle.unit { 1.0 } else { at(r, r) };
        }
    }
    x
}

fn solved(a: Compressed<'_, i32>, values: &[f64], triangle: Triangle, b: &[f64], width: usize) -> Vec<f64> {
    let mut out = vec![f64::NAN; b.len()];
    solve_triangular("op", a, values, triangle, None, (b, width), &mut out).unwrap();
    let plan = TrianglePlan::forced(a, triangle.upper);
    let mut planned = vec![f64::NAN; b.len()];
    solve_triangular("op", a, values, triangle, Some(&plan), (b, width), &mut planned).unwrap();
    assert_eq!(out, planned, "the bits do not depend on the plan");
    out
}

fn close(got: &[f64], want: &[f64]) -> bool {
    got.len() == want.len() && got.iter().zip(want).all(|(x, y)| (x - y).abs() <= 1e-9 * (1.0 + y.abs()))
}

proptest! {
    #[test]
    fn agrees_with_substitution(
        (n, cells) in (0usize..9).prop_flat_map(|n| {
            (Just(n), prop::collection::vec(prop_oneof![Just(0.0), -2.0f64..2.0], n * n))
        }),
        right in prop::collection::vec(-2.0f64..2.0, 9 * 3),
        width in 0usize..4,
        [upper, unit] in any::<[bool; 2]>(),
    ) {
        let at = |r: usize, c: usize| if r == c { 2.0 + cells[r * n + c].abs() } else { cells[r * n + c] };
        let (triangle, b) = (Triangle { upper, unit }, &right[..n * width]);
        let a = Matrix::of(n, at);
        let want = reference(n, &at, triangle, b, width);
        prop_assert!(close(&solved(a.view(), &a.values, triangle, b, width), &want));

        // The transpose, by columns.
        let rows: Vec<i32> = (0..n).flat_map(|r| vec![r as i32; (a.ptr[r + 1] - a.ptr[r]) as usize]).collect();
        let (groups, idx) = group_with(&a.idx, &rows, n);
        let by_col = Compressed { ptr: &groups.ptr, idx: &idx, perm: Some(&groups.order) };
        let want = reference(n, &|r, c| at(c, r), triangle, b, width);
        prop_assert!(close(&solved(by_col, &a.values, triangle, b, width), &want));
    }
}

/// Sizes at which threads share columns, and the rows of a level.
#[test]
fn shared_work_has_the_same_bits() {
    let (rows, per_row) = (40_000usize, 3);
    let below = |r: usize, k: usize| (r / 20_000 * 20_000).checked_sub(1 + (r * 7 + k * 4999) % 20_000);
    let (mut ptr, mut idx, mut values) = (vec![0i32], vec![], vec![]);
    for r in 0..rows {
        let mut cols: Vec<usize> = (0..per_row).filter_map(|k| below(r, k)).collect();
        cols.sort_unstable();
        cols.push(r);
        for c in cols {
            idx.push(c as i32);
            values.push(((r * 31 + c * 17) % 97) as f64 / 50.0 - if c == r { 5.0 } else { 1.0 });
        }
        ptr.push(idx.len() as i32);
    }
    let a = Compressed { ptr: &ptr, idx: &idx, perm: None };
    let levels = Levels::new(a, false);
    assert_eq!(levels.ptr, [0, 20_000, 40_000]);
    let plan = TrianglePlan::new(a, false).expect("both levels are wide");
    assert!(plan.held() > idx.len());
    for width in [1, 2, 15, 16, 37] {
        let b: Vec<f64> = (0..rows * width).map(|k| ((k * 13) % 101) as f64 / 10.0 - 5.0).collect();
        let mut lists = vec![];
        for threads in [1, 2, 5] {
            for plan in [None, Some(&plan)] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut out = vec![f64::NAN; b.len()];
                let triangle = Triangle::default();
                let run = || solve_triangular("op", a, &values, triangle, plan, (&b, width), &mut out);
                pool.install(run).unwrap();
                lists.push(out);
            }
        }
        assert!(lists.windows(2).all(|pair| pair[0] == pair[1]), "{width}");
        // The residual, by the definition.
        for r in (0..rows).step_by(997) {
            for f in 0..width {
                let own = ptr[r] as usize..ptr[r + 1] as usize;
                let sum: f64 = own.map(|k| values[k] * lists[0][idx[k] as usize * width + f]).sum();
                assert!((sum - b[r * width + f]).abs() < 1e-9, "{r}");
            }
        }
    }
}

/// Solves for `width` columns on two threads with the plan of another triangle, which only levels look at.
fn with_another_plan(width: usize) {
    let rows = 40_000;
    let list: Vec<i32> = (0..rows).collect();
    let ptr: Vec<i32> = (0..=rows).collect();
    let a = Compressed { ptr: &ptr, idx: &list, perm: None };
    let plan = TrianglePlan::forced(a, true);
    let (b, mut out) = (vec![6.0; rows as usize * width], vec![0.0; rows as usize * width]);
    let values = vec![2.0; rows as usize];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let solve = || solve_triangular("op", a, &values, Triangle::default(), Some(&plan), (&b, width), &mut out);
    pool.install(solve).unwrap();
    assert!(out.iter().all(|x| *x == 3.0));
}

#[test]
fn threads_share_16_columns() {
    with_another_plan(16);
}

#[test]
#[should_panic(expected = "the plan must be of this pattern")]
fn threads_share_levels_for_15_columns() {
    with_another_plan(15);
}

#[test]
fn levels_of_shapes_that_are_known() {
    let count = |a: &Matrix, upper: bool| Levels::new(a.view(), upper).len();
    let chain = Matrix::of(5, |r, c| if r == c || r == c + 1 { 1.0 } else { 0.0 });
    assert_eq!((count(&chain, false), count(&chain, true)), (5, 1));
    assert_eq!(Levels::new(chain.view(), false).order, [0, 1, 2, 3, 4]);
    let diagonal = Matrix::of(4, |r, c| if r == c { 1.0 } else { 0.0 });
    assert_eq!((count(&diagonal, false), count(&diagonal, true)), (1, 1));
    let none = Matrix::of(0, |_, _| 0.0);
    assert!(count(&none, false) == 0 && Levels::new(none.view(), true).is_empty());
    // Upwards: the last row first, and row 1 with it, which needs nothing.
    let fork = Matrix::of(3, |r, c| if r == c || (r == 0 && c == 2) { 1.0 } else { 0.0 });
    let levels = Levels::new(fork.view(), true);
    assert_eq!((&levels.order, &levels.ptr), (&vec![1, 2, 0], &vec![0, 2, 3]));
    assert_eq!(levels.longest(fork.view(), true), [0, 1]);
    let full = Matrix::of(3, |_, _| 1.0);
    assert_eq!(Levels::new(full.view(), false).longest(full.view(), false), [0, 1, 2]);
    // A chain has nothing to share.
    assert!(TrianglePlan::new(chain.view(), false).is_none());
}

#[test]
fn a_pivot_that_is_zero_or_missing_names_the_first_such_row() {
    let a = Matrix::of(5, |r, c| if r == c && r != 3 && r != 1 || r == c + 1 { 1.0 } else { 0.0 });
    let zero = {
        let mut a = Matrix::of(3, |r, c| if r >= c { 1.0 } else { 0.0 });
        a.values[2] = 0.0;
        a
    };
    for (a, row) in [(&a, "row 1"), (&zero, "row 1")] {
        for upper in [false, true] {
            for width in [0, 1, 2] {
                for plan in [None, Some(TrianglePlan::forced(a.view(), upper))] {
                    let (b, mut out) = (vec![1.0; a.n * width], vec![0.0; a.n * width]);
                    let solve = |unit: bool, out: &mut [f64]| {
                        let triangle = Triangle { upper, unit };
                        solve_triangular("op", a.view(), &a.values, triangle, plan.as_ref(), (&b, width), out)
                    };
                    let trouble = solve(false, &mut out).unwrap_err();
                    assert!(trouble.kind() == "invalid" && trouble.to_string().contains(row), "{trouble}");
                    // Nobody reads a diagonal of 1.
                    solve(true, &mut out).unwrap();
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "the plan must be of this pattern")]
fn a_plan_of_another_triangle() {
    let a = Matrix::of(2, |_, _| 1.0);
    let plan = TrianglePlan::forced(a.view(), true);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let solve =
        || solve_triangular("op", a.view(), &a.values, Triangle::default(), Some(&plan), (&[1.0; 2], 1), &mut [0.0; 2]);
    let _ = pool.install(solve);
}
