//! `put`, its gradients and `gather`, compared with groups collected in lists.

mod gradients;
mod put;

use gradients::check_backward;
use half::f16;
use proptest::prelude::*;
use put::check_put;
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

/// Large enough for every path: wide rows, blocks of columns, ranges of destinations.
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
        (1, 40, 20, 3000),
    ] {
        for (axis, ascends) in [(false, false), (true, false), (true, true)] {
            let entries = if axis { count } else { outer * count * inner };
            let l = len as i64;
            let mut index: Vec<i64> =
                (0..entries).map(|p| ((p as i64 * 7919) ^ (p as i64 >> 3)).rem_euclid(2 * l) - l).collect();
            if ascends {
                // All values of a cell may lie in one block of steps that is not the first.
                index.sort_unstable_by_key(|j| j.rem_euclid(l));
            }
            let case = Case { outer, len, inner, count, index, axis };
            // With 9 threads wide rows are grouped.
            for threads in [1, 2, 5, 9] {
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
