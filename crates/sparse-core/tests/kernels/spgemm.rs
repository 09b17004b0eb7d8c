//! Products of sparse matrices, compared with dense loops.

use proptest::prelude::*;
use sparse_core::{Compressed, spgemm, spgemm_sampled, spgemm_values};

struct Matrix {
    ptr: Vec<i32>,
    idx: Vec<i32>,
    values: Vec<f64>,
}

impl Matrix {
    fn of(dense: &[f64], rows: usize, cols: usize, stride: i32) -> Self {
        let (mut ptr, mut idx, mut values) = (vec![0], vec![], vec![]);
        for r in 0..rows {
            for c in 0..cols {
                if dense[r * cols + c] != 0.0 {
                    idx.push(c as i32 * stride);
                    values.push(dense[r * cols + c]);
                }
            }
            ptr.push(idx.len() as i32);
        }
        Self { ptr, idx, values }
    }

    fn view(&self) -> Compressed<'_, i32> {
        Compressed { ptr: &self.ptr, idx: &self.idx, perm: None }
    }
}

fn draw(rows: usize, cols: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(prop_oneof![2 => Just(0.0), 1 => (1..9i32).prop_map(f64::from)], rows * cols)
}

proptest! {
    #[test]
    fn agrees_with_dense(
        (m, k, n, a, b) in (0usize..7, 0usize..7, 0usize..7)
            .prop_flat_map(|(m, k, n)| (Just(m), Just(k), Just(n), draw(m, k), draw(k, n))),
        // Columns so far apart that a dense row is too long for few products, or that only the used ones get a place.
        stride in prop_oneof![Just(1), Just(60_000), Just(50_000_000)],
    ) {
        let (left, right) = (Matrix::of(&a, m, k, 1), Matrix::of(&b, k, n, stride));
        let cols = n * stride as usize;
        let (ptr, idx, values) = spgemm(left.view(), &left.values, right.view(), &right.values, cols).unwrap();
        let mut dense = vec![0.0; m * n];
        for r in 0..m {
            prop_assert!(idx[ptr[r] as usize..ptr[r + 1] as usize].is_sorted_by(|x, y| x < y));
            for e in ptr[r] as usize..ptr[r + 1] as usize {
                dense[r * n + (idx[e] / stride) as usize] = values[e];
            }
        }
        let mut hits = 0;
        for r in 0..m {
            for c in 0..n {
                let products = (0..k).map(|j| a[r * k + j] * b[j * n + c]);
                hits += usize::from(products.clone().any(|x| x != 0.0));
                prop_assert_eq!(dense[r * n + c], products.sum::<f64>());
            }
        }
        prop_assert_eq!(hits, idx.len());
        let mut again = vec![0.0; idx.len()];
        spgemm_values((&ptr, &idx), left.view(), &left.values, right.view(), &right.values, cols, &mut again);
        prop_assert_eq!(&again, &values);
        // The product's values serve as the gradient of C. The gradient of A is then `C B^T` at A's elements.
        let mut grad = vec![0.0; left.idx.len()];
        let c = Compressed { ptr: &ptr, idx: &idx, perm: None };
        spgemm_sampled((&left.ptr, &left.idx), c, &values, right.view(), &right.values, cols, &mut grad);
        for r in 0..m {
            let row = left.ptr[r] as usize..left.ptr[r + 1] as usize;
            for (got, j) in grad[row.clone()].iter().zip(&left.idx[row]) {
                let j = *j as usize;
                let want: f64 = (0..n).map(|c| dense[r * n + c] * b[j * n + c]).sum();
                prop_assert_eq!(*got, want);
            }
        }
    }
}

/// A column times a row has an element everywhere. If there are too many to count, that is an error before anything is
/// computed.
#[test]
fn too_many_elements() {
    let long = 70_000;
    let (column, zeros) = ((0..=long).collect::<Vec<i32>>(), vec![0i32; long as usize]);
    let (one, row) = (vec![0, long], (0..long).collect::<Vec<i32>>());
    let a = Compressed { ptr: &column, idx: &zeros, perm: None };
    let b = Compressed { ptr: &one, idx: &row, perm: None };
    let ones = vec![1.0f32; long as usize];
    let trouble = spgemm(a, &ones, b, &ones, long as usize).unwrap_err();
    assert_eq!(trouble.kind(), "overflow");
    assert!(trouble.to_string().contains("4900000000"), "{trouble}");
    // The same number of products in a single element is not too many.
    let (ptr, idx, values) = spgemm(b, &ones, a, &ones, 1).unwrap();
    assert_eq!((ptr, idx, values), (vec![0, 1], vec![0], vec![70_000.0]));
}

/// The products of a row are sorted where there are many columns, and summed in a dense row where there are few.
#[test]
fn wide_matrices_have_the_bits_of_narrow_ones() {
    let random = |k: usize, seed: usize| (k.wrapping_mul(2654435761) ^ seed.wrapping_mul(40503)) >> 7;
    let matrix = |rows: usize, cols: usize, seed: usize| {
        let (mut ptr, mut idx, mut values) = (vec![0i32], vec![], vec![]);
        for row in 0..rows {
            // One row with so many products that it is never sorted.
            let count = if row == 5 { cols } else { random(row, seed) % 9 };
            let mut own: Vec<i32> = (0..count).map(|k| (random(row * 100 + k, seed + 1) % cols) as i32).collect();
            own.sort_unstable();
            own.dedup();
            values.extend(own.iter().map(|&col| ((col as f32 + row as f32) * 0.37 + seed as f32).sin()));
            idx.extend(own);
            ptr.push(idx.len() as i32);
        }
        (ptr, idx, values)
    };
    let (a, b) = (matrix(300, 400, 1), matrix(400, 700, 2));
    fn view((ptr, idx, _): &(Vec<i32>, Vec<i32>, Vec<f32>)) -> Compressed<'_, i32> {
        Compressed { ptr, idx, perm: None }
    }
    let product = |cols| spgemm(view(&a), &a.2, view(&b), &b.2, cols).unwrap();
    let narrow = product(700);
    assert_eq!(product(400_000), narrow);
    let (ptr, mut idx, values) = narrow;
    let again = |idx: &[i32], cols| {
        let mut out = vec![0.0; values.len()];
        spgemm_values((&ptr, idx), view(&a), &a.2, view(&b), &b.2, cols, &mut out);
        out
    };
    assert_eq!(again(&idx, 400_000), values);
    assert_eq!(again(&idx, 700), values);
    // Columns that do not ascend.
    let mut want = values.clone();
    for row in ptr.windows(2).map(|row| row[0] as usize..row[1] as usize) {
        idx[row.clone()].reverse();
        want[row].reverse();
    }
    assert_eq!(again(&idx, 400_000), want);
}

#[test]
#[should_panic(expected = "column")]
fn a_column_out_of_range_panics() {
    let ptr: Vec<i32> = (0..=200).collect();
    let (diagonal, ones) = ((0..200).collect::<Vec<i32>>(), vec![1.0f32; 200]);
    let mut wrong = diagonal.clone();
    wrong[101] = 300_000;
    let (a, b) =
        (Compressed { ptr: &ptr, idx: &diagonal, perm: None }, Compressed { ptr: &ptr, idx: &wrong, perm: None });
    let _ = spgemm(a, &ones, b, &ones, 270_000);
}
