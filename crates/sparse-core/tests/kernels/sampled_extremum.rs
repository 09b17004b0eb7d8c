//! Products of two sparse matrices with an extremum in place of the sum, at a mask, against plain loops.

use proptest::prelude::*;
use sparse_core::*;

const HOWS: [(Extremum, Term); 4] = [
    (Extremum::Max, Term::Product),
    (Extremum::Min, Term::Product),
    (Extremum::Max, Term::Sum),
    (Extremum::Min, Term::Sum),
];

/// A dense matrix of what is stored.
#[derive(Clone, Debug)]
struct Matrix {
    cols: usize,
    cells: Vec<Option<f64>>,
}

impl Matrix {
    fn rows(&self) -> usize {
        self.cells.len() / self.cols
    }

    fn at(&self, row: usize, col: usize) -> Option<f64> {
        self.cells[row * self.cols + col]
    }

    fn transposed(&self) -> Self {
        let cells = (0..self.cols).flat_map(|col| (0..self.rows()).map(move |row| self.at(row, col))).collect();
        Self { cols: self.rows(), cells }
    }

    /// Pointers, columns, values, and the place of each stored cell among the elements.
    fn compressed(&self) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
        let (mut ptr, mut idx, mut values) = (vec![0], vec![], vec![]);
        for row in 0..self.rows() {
            for col in 0..self.cols {
                if let Some(value) = self.at(row, col) {
                    idx.push(col as i32);
                    values.push(value);
                }
            }
            ptr.push(idx.len() as i32);
        }
        (ptr, idx, values)
    }
}

fn matrix(rows: usize, cols: usize) -> impl Strategy<Value = Matrix> {
    let number = prop::sample::select(vec![0.0, 1.0, -1.0, 2.0, 2.5, -0.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    prop::collection::vec(prop_oneof![Just(None), number.prop_map(Some)], rows * cols)
        .prop_map(move |cells| Matrix { cols, cells })
}

/// A, the transpose of B, and a mask.
fn case() -> impl Strategy<Value = [Matrix; 3]> {
    (1usize..6, 1usize..6, 1usize..6)
        .prop_flat_map(|(m, k, n)| [matrix(m, k).boxed(), matrix(n, k).boxed(), matrix(m, n).boxed()])
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

fn join(term: Term, x: f64, y: f64) -> f64 {
    if term == Term::Product { x * y } else { x + y }
}

fn view<'a>(lists: &'a (Vec<i32>, Vec<i32>, Vec<f64>)) -> (Compressed<'a, i32>, &'a [f64]) {
    (Compressed { ptr: &lists.0, idx: &lists.1, perm: None }, &lists.2)
}

fn check([a, b, mask]: &[Matrix; 3], how: (Extremum, Term)) {
    let (x, y, at) = (a.compressed(), b.compressed(), mask.compressed());
    let mut out = vec![7.0; at.1.len()];
    sampled_extremum(how, (&at.0[..], &at.1[..]), view(&x), view(&y), a.cols, &mut out);
    let cells: Vec<(usize, usize)> = (0..mask.rows())
        .flat_map(|i| (0..mask.cols).map(move |j| (i, j)))
        .filter(|&(i, j)| mask.at(i, j).is_some())
        .collect();
    let grad: Vec<f64> = (0..out.len()).map(|e| (e % 5 + 1) as f64).collect();
    let (mut to_a, mut to_b) = (vec![0.0; a.cells.len()], vec![0.0; b.cells.len()]);
    for (e, &(i, j)) in cells.iter().enumerate() {
        let met: Vec<(usize, f64, f64)> = (0..a.cols).filter_map(|k| Some((k, a.at(i, k)?, b.at(j, k)?))).collect();
        let best = met.iter().map(|&(_, x, y)| join(how.1, x, y)).reduce(|p, q| match how.0 {
            _ if p.is_nan() || q.is_nan() => f64::NAN,
            Extremum::Max => p.max(q),
            Extremum::Min => p.min(q),
        });
        let none = match how {
            (_, Term::Product) => 0.0,
            (Extremum::Max, _) => f64::NEG_INFINITY,
            _ => f64::INFINITY,
        };
        assert!(same(out[e], best.unwrap_or(none)), "{how:?} ({i}, {j}): {} and {best:?}", out[e]);
        let won: Vec<_> = met.iter().filter(|&&(_, x, y)| same(join(how.1, x, y), out[e])).collect();
        for &&(k, x, y) in &won {
            let share = grad[e] / won.len() as f64;
            let [slope_x, slope_y] = if how.1 == Term::Product { [y, x] } else { [1.0; 2] };
            to_a[i * a.cols + k] += share * slope_x;
            to_b[j * b.cols + k] += share * slope_y;
        }
    }
    let stored = |matrix: &Matrix, grads: &[f64]| -> Vec<f64> {
        matrix.cells.iter().zip(grads).filter(|(cell, _)| cell.is_some()).map(|(_, grad)| *grad).collect()
    };
    let close = |got: &[f64], want: Vec<f64>| {
        assert_eq!(got.len(), want.len());
        let near = |(&x, &y): (&f64, &f64)| same(x, y) || (x - y).abs() <= 1e-12 * y.abs();
        assert!(got.iter().zip(&want).all(near), "{how:?}: {got:?} and {want:?}");
    };
    let mut grads = vec![7.0; x.1.len()];
    let rows = Compressed { ptr: &at.0, idx: &at.1, perm: None };
    sampled_extremum_backward(how.1, rows, view(&x), view(&y), a.cols, (&out, &grad), &mut grads);
    close(&grads, stored(a, &to_a));
    // The other side: everything transposed, with the results where they are.
    let turned = mask.transposed().compressed();
    let mut perm: Vec<i32> = (0..out.len() as i32).collect();
    perm.sort_by_key(|&e| at.1[e as usize]);
    let mut grads = vec![7.0; y.1.len()];
    let columns = Compressed { ptr: &turned.0, idx: &turned.1, perm: Some(&perm) };
    sampled_extremum_backward(how.1, columns, view(&y), view(&x), a.cols, (&out, &grad), &mut grads);
    close(&grads, stored(b, &to_b));
}

/// The kernels of whole products agree with those of a mask, which is here all of the product.
fn check_whole([a, b, _]: &[Matrix; 3], how: (Extremum, Term)) {
    let meets = |i: usize, j: usize| (0..a.cols).any(|k| a.at(i, k).is_some() && b.at(j, k).is_some());
    let cells = (0..a.rows()).flat_map(|i| (0..b.rows()).map(move |j| meets(i, j).then_some(1.0))).collect();
    let c = Matrix { cols: b.rows(), cells };
    let [x, y, at] = [a, b, &c].map(Matrix::compressed);
    let [x_cols, y_rows, at_cols] = [a, b, &c].map(|matrix| matrix.transposed().compressed());
    let places = (&at.0[..], &at.1[..]);
    let (mut want, mut got) = (vec![7.0; at.1.len()], vec![8.0; at.1.len()]);
    sampled_extremum(how, places, view(&x), view(&y), a.cols, &mut want);
    spgemm_extremum(how, places, view(&x), view(&y_rows), c.cols, &mut got);
    assert!(got.iter().zip(&want).all(|(&x, &y)| same(x, y)), "{how:?}: {got:?} and {want:?}");
    let grad: Vec<f64> = (0..got.len()).map(|e| (e % 5 + 1) as f64).collect();
    let mut perm: Vec<i32> = (0..got.len() as i32).collect();
    perm.sort_by_key(|&e| at.1[e as usize]);
    let rows = Compressed { ptr: &at.0, idx: &at.1, perm: None };
    let cols = Compressed { ptr: &at_cols.0, idx: &at_cols.1, perm: Some(&perm[..]) };
    let sides = [(rows, &x, &y, &y_rows, c.cols), (cols, &y, &x, &x_cols, a.rows())];
    for (at, own, other, turned, width) in sides {
        let (mut want, mut grads) = (vec![7.0; own.1.len()], vec![8.0; own.1.len()]);
        let results = (&got[..], &grad[..]);
        sampled_extremum_backward(how.1, at, view(own), view(other), a.cols, results, &mut want);
        spgemm_extremum_backward(how.1, at, view(own), view(turned), width, results, &mut grads);
        assert!(grads.iter().zip(&want).all(|(&x, &y)| same(x, y)), "{how:?}: {grads:?} and {want:?}");
    }
}

proptest! {
    #[test]
    fn extremes_and_their_gradients(c in case()) {
        HOWS.into_iter().for_each(|how| check(&c, how));
    }

    #[test]
    fn those_of_whole_products(c in case()) {
        HOWS.into_iter().for_each(|how| check_whole(&c, how));
    }
}

/// Many columns of which few are used, rows for several threads, and values in another order.
#[test]
fn wide_matrices_with_few_columns_in_use() {
    let (rows, cols) = (4000, 1 << 22);
    let ptr: Vec<i32> = (0..=rows).map(|r| 4 * r).collect();
    let idx: Vec<i32> = (0..4 * rows).map(|k| (k % 4) * 1_000_003 + k / 4 % 3).collect();
    let values: Vec<f32> = (0..4 * rows).map(|k| (k * 7 % 11) as f32).collect();
    let back: Vec<i32> = (0..4 * rows).rev().collect();
    let turned: Vec<f32> = values.iter().rev().copied().collect();
    let (mask_ptr, mask_idx): (Vec<i32>, Vec<i32>) = ((0..=rows).collect(), (0..rows).map(|r| r * 13 % rows).collect());
    let plain = (Compressed { ptr: &ptr, idx: &idx, perm: None }, &values[..]);
    let other = (Compressed { ptr: &ptr, idx: &idx, perm: Some(&back[..]) }, &turned[..]);
    let mut out = vec![0.0; rows as usize];
    sampled_extremum((Extremum::Min, Term::Sum), (&mask_ptr[..], &mask_idx[..]), plain, other, cols, &mut out);
    for r in 0..rows as usize {
        let k = mask_idx[r] as usize;
        let met = (0..4).flat_map(|p| (0..4).map(move |q| (4 * r + p, 4 * k + q)));
        let sums = met.filter(|&(p, q)| idx[p] == idx[q]).map(|(p, q)| values[p] + values[q]);
        assert_eq!(out[r], sums.fold(f32::INFINITY, f32::min), "row {r}");
    }
}

#[test]
fn integers_wrap_and_rows_that_do_not_meet_have_no_path() {
    let x = (vec![0, 1, 2], vec![0, 1], [i32::MAX, 5]);
    let a = (Compressed { ptr: &x.0, idx: &x.1, perm: None }, &x.2[..]);
    let mut out = [0; 4];
    sampled_extremum((Extremum::Min, Term::Sum), (&[0, 2, 4][..], &[0, 1, 0, 1][..]), a, a, 2, &mut out);
    assert_eq!(out, [-2, i32::MAX, i32::MAX, 10]);
    sampled_extremum((Extremum::Max, Term::Sum), (&[0, 2, 4][..], &[0, 1, 0, 1][..]), a, a, 2, &mut out);
    assert_eq!(out, [-2, i32::MIN, i32::MIN, 10]);
}
