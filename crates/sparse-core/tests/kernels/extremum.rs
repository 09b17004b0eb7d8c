//! Sparse x dense with an extremum and its gradients, compared with plain loops over the definition.

use half::{bf16, f16};
use proptest::prelude::*;
use sparse_core::*;

/// Widths near those of lanes and tiles.
const FEATURES: [usize; 11] = [0, 1, 2, 3, 7, 16, 31, 33, 64, 129, 200];

trait Test: Element {
    /// Draws from a few numbers, so that products tie. The floats include NaN and infinities.
    fn of(pick: u8) -> Self;
}

macro_rules! test_float {
    ($($t:ty: $of:expr),*) => { $(impl Test for $t {
        fn of(pick: u8) -> Self {
            $of(match pick % 41 {
                0 => f32::NAN,
                1 => f32::INFINITY,
                2 => f32::NEG_INFINITY,
                3 => -0.0,
                // Products of these are rounded in 16 bits and in 32 bits.
                n => [0.0, 1.0, -1.0, 1.1, -1.3, 2.7, 0.37][n as usize % 7],
            })
        }
    })* };
}
macro_rules! test_int {
    ($($t:ty),*) => { $(impl Test for $t {
        fn of(pick: u8) -> Self {
            [0, 1, <$t>::MAX, <$t>::MIN, 3, 100, <$t>::MAX / 3][pick as usize % 7]
        }
    })* };
}
test_float!(f32: |x| x, f64: f64::from, f16: f16::from_f32, bf16: bf16::from_f32);
test_int!(i32, i64, u8);

#[derive(Clone, Debug)]
struct Case {
    cols: usize,
    heads: usize,
    /// Columns of all heads.
    features: usize,
    ptr: Vec<i32>,
    idx: Vec<i32>,
    picks: Vec<u8>,
}

impl Case {
    fn rows(&self) -> usize {
        self.ptr.len() - 1
    }
    /// The position of the value of element `k` for feature `f`.
    fn place(&self, k: usize, f: usize) -> usize {
        k * self.heads + f / (self.features / self.heads)
    }
    fn list<T: Test>(&self, len: usize, seed: usize) -> Vec<T> {
        (0..len).map(|k| T::of(self.picks[(k * 7 + k / 5 + seed) % self.picks.len()])).collect()
    }
    fn perm(&self) -> Vec<i32> {
        (0..self.idx.len() as i32).rev().collect()
    }
    /// The compressed columns, and the positions of their values.
    fn transposed(&self) -> (Vec<i32>, Vec<i32>, Vec<i32>) {
        let rows = expand_ptr(&self.ptr);
        let mut perm: Vec<i32> = (0..self.idx.len() as i32).collect();
        perm.sort_by_key(|&k| self.idx[k as usize]);
        let ptr = (0..=self.cols as i32).map(|col| self.idx.iter().filter(|&&c| c < col).count() as i32).collect();
        (ptr, perm.iter().map(|&k| rows[k as usize]).collect(), perm)
    }
}

fn case() -> impl Strategy<Value = Case> {
    let lists = prop::collection::vec(prop::collection::vec(0usize..1000, 0..9), 0..7);
    let picks = prop::collection::vec(any::<u8>(), 53);
    let several = (prop::sample::select(&[2usize, 3, 8]), prop::sample::select(&[1usize, 2, 5, 8, 11]));
    let heads = prop_oneof![prop::sample::select(&FEATURES).prop_map(|width| (1, width)), several];
    (1usize..7, heads, lists, picks).prop_map(|(cols, (heads, width), lists, picks)| {
        let (mut ptr, mut idx) = (vec![0], vec![]);
        for list in lists {
            idx.extend(list.into_iter().map(|c| (c % cols) as i32));
            ptr.push(idx.len() as i32);
        }
        Case { cols, heads, features: heads * width, ptr, idx, picks }
    })
}

fn same<T: Element>(a: T, b: T) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

/// Both extremes of products and of sums.
type How = (Extremum, Term);

const HOWS: [How; 4] = [
    (Extremum::Max, Term::Product),
    (Extremum::Min, Term::Product),
    (Extremum::Max, Term::Sum),
    (Extremum::Min, Term::Sum),
];

/// The product or sum, rounded like a stored value.
fn joined<T: Element>(term: Term, value: T, x: T) -> T {
    let (value, x) = (value.widen(), x.widen());
    T::narrow(match term {
        Term::Product => T::mul(value, x),
        Term::Sum => T::add(value, x),
    })
}

/// The result of a row without elements.
fn of_none<T: Test>((extremum, term): How) -> T {
    match (term, extremum) {
        (Term::Product, _) => T::ZERO,
        (_, Extremum::Max) => T::LOWEST,
        (_, Extremum::Min) => T::HIGHEST,
    }
}

fn extreme<T: Test>((extremum, term): How, products: impl Iterator<Item = T>) -> T {
    let better = |a: T, b: T| match extremum {
        _ if a.is_nan() || b.is_nan() => b.is_nan(),
        Extremum::Max => b > a,
        Extremum::Min => b < a,
    };
    products.reduce(|a, b| if better(a, b) { b } else { a }).unwrap_or(of_none((extremum, term)))
}

fn forward<T: Test>(c: &Case, how: How, permuted: bool) -> Vec<T> {
    let (values, dense) = (c.list::<T>(c.idx.len() * c.heads, 1), c.list::<T>(c.cols * c.features, 2));
    let mut out = vec![T::ONE; c.rows() * c.features];
    let perm = c.perm();
    let perm = permuted.then_some(&perm[..]);
    let a = Compressed { ptr: &c.ptr, idx: &c.idx, perm };
    spmm_extremum(how, a, &values, &dense, c.heads, c.features, &mut out);
    for r in 0..c.rows() {
        for f in 0..c.features {
            let products = (c.ptr[r] as usize..c.ptr[r + 1] as usize).map(|k| {
                let value = values[c.place(perm.map_or(k, |perm| perm[k] as usize), f)];
                joined(how.1, value, dense[c.idx[k] as usize * c.features + f])
            });
            let (got, want) = (out[r * c.features + f], extreme(how, products));
            assert!(same(got, want), "{how:?} [{r}, {f}]: {got} and {want}");
        }
    }
    out
}

fn close<T: Test + Into<f64>>(got: T, want: f64, size: f64) -> bool {
    let got: f64 = got.into();
    let step = if size_of::<T>() == 2 { 0.02 } else { 1e-4 };
    (got.is_nan() && want.is_nan()) || got == want || (size.is_finite() && (got - want).abs() <= step * size)
}

fn backward<T: Test + Into<f64>>(c: &Case, how: How) {
    let (nnz, f_len, cells) = (c.idx.len(), c.features, c.rows() * c.features);
    let (values, dense) = (c.list::<T>(nnz * c.heads, 1), c.list::<T>(c.cols * f_len, 2));
    let out = forward::<T>(c, how, false);
    let grad: Vec<T> = (0..cells).map(|k| T::narrow(T::from_count(k % 5 + 1))).collect();
    let (mut shares, mut value_grads) = (vec![T::ONE; cells], vec![T::ONE; nnz * c.heads]);
    let pattern = (&c.ptr[..], &c.idx[..]);
    let grads = Some(&mut value_grads[..]);
    extremum_rows_backward(how.1, pattern, &values, &dense, &out, &grad, c.heads, f_len, &mut shares, grads);
    let mut alone = vec![T::ZERO; cells];
    extremum_rows_backward(how.1, pattern, &values, &dense, &out, &grad, c.heads, f_len, &mut alone, None);
    assert!(alone == shares, "shares must not depend on what else is asked for");
    let (ptr, idx, perm) = c.transposed();
    let mut dense_grad = vec![T::ONE; dense.len()];
    let by_col = Compressed { ptr: &ptr, idx: &idx, perm: Some(&perm) };
    extremum_cols_backward(how.1, by_col, &values, &dense, &out, &shares, c.heads, f_len, &mut dense_grad);

    let (mut want_values, mut want_dense) = (vec![(0.0, 0.0); nnz * c.heads], vec![(0.0, 0.0); dense.len()]);
    for r in 0..c.rows() {
        for f in 0..f_len {
            let row = c.ptr[r] as usize..c.ptr[r + 1] as usize;
            let at = |k: usize| c.idx[k] as usize * f_len + f;
            let won = |&k: &usize| same(joined(how.1, values[c.place(k, f)], dense[at(k)]), out[r * f_len + f]);
            let ties = row.clone().filter(won).count();
            assert!(ties > 0 || row.is_empty(), "the result is one of the products");
            let share = grad[r * f_len + f].into() / ties.max(1) as f64;
            assert!(close(shares[r * f_len + f], share, share.abs()), "a share");
            for k in row.filter(won) {
                let (value, x): (f64, f64) = (values[c.place(k, f)].into(), dense[at(k)].into());
                let add = |sum: &mut (f64, f64), term: f64| *sum = (sum.0 + term, sum.1 + term.abs());
                let slopes = if how.1 == Term::Product { [x, value] } else { [1.0; 2] };
                add(&mut want_values[c.place(k, f)], share * slopes[0]);
                add(&mut want_dense[at(k)], share * slopes[1]);
            }
        }
    }
    for (got, want) in [(&value_grads, want_values), (&dense_grad, want_dense)] {
        assert_eq!(got.len(), want.len());
        for (&got, (want, size)) in got.iter().zip(want) {
            assert!(close(got, want, size), "{how:?}: {got} and {want}");
        }
    }
}

proptest! {
    #[test]
    fn forward_of_every_type(c in case(), permuted: bool) {
        for how in HOWS {
            forward::<f32>(&c, how, permuted);
            forward::<f64>(&c, how, permuted);
            forward::<f16>(&c, how, permuted);
            forward::<bf16>(&c, how, permuted);
            forward::<i32>(&c, how, permuted);
            forward::<i64>(&c, how, permuted);
            forward::<u8>(&c, how, permuted);
        }
    }

    #[test]
    fn gradients_of_floats(c in case()) {
        for how in HOWS {
            backward::<f32>(&c, how);
            backward::<f64>(&c, how);
            backward::<f16>(&c, how);
            backward::<bf16>(&c, how);
        }
    }
}

/// Enough rows and elements for several threads, with one row so long that it is cut.
#[test]
fn rows_cut_among_threads() {
    let lens = (0..600).map(|r| if r == 77 { 40_000 } else { r % 9 });
    let (mut ptr, mut idx) = (vec![0], vec![]);
    for len in lens {
        idx.extend((0..len).map(|k| (k * 31 + ptr.len() as i32) % 50));
        ptr.push(idx.len() as i32);
    }
    let picks: Vec<u8> = (0..53usize).map(|k| (3 + (k * 5) % 38) as u8).collect();
    for heads in [1, 4] {
        let (ptr, idx, picks) = (ptr.clone(), idx.clone(), Vec::clone(&picks));
        let c = Case { cols: 50, heads, features: 20, ptr, idx, picks };
        for how in HOWS {
            backward::<f32>(&c, how);
            forward::<i32>(&c, how, true);
        }
    }
}

#[test]
fn the_tie_is_shared() {
    // 2 * 3 = 3 * 2 = 6 > 5 * 1; the second row is NaN twice, the third empty.
    let (ptr, idx) = ([0i32, 3, 6, 6], [0i32, 1, 2, 0, 1, 2]);
    let values = [2.0f32, 3.0, 5.0, f32::NAN, f32::NAN, 1.0];
    let dense = [3.0f32, 2.0, 1.0];
    let mut out = [1.0; 3];
    let a = Compressed { ptr: &ptr, idx: &idx, perm: None };
    spmm_extremum((Extremum::Max, Term::Product), a, &values, &dense, 1, 1, &mut out);
    assert!(out[0] == 6.0 && out[1].is_nan() && out[2] == 0.0);
    let (mut shares, mut grads) = ([0.0; 3], [0.0; 6]);
    let grad = [1.0; 3];
    let pattern = (&ptr[..], &idx[..]);
    extremum_rows_backward(Term::Product, pattern, &values, &dense, &out, &grad, 1, 1, &mut shares, Some(&mut grads));
    assert_eq!((shares, grads), ([0.5, 0.5, 1.0], [1.5, 1.0, 0.0, 1.5, 1.0, 0.0]));
}

#[test]
#[should_panic(expected = "row index must be in [0, 2), got 2")]
fn a_column_out_of_range_panics() {
    let a = Compressed { ptr: &[0i32, 1], idx: &[2], perm: None };
    spmm_extremum((Extremum::Min, Term::Product), a, &[1.0f32], &[1.0; 6], 1, 3, &mut [0.0; 3]);
}
