//! Products of sparse matrices, compared with dense loops.

use proptest::prelude::*;
use sparse_core::{Compressed, ProductPlan, group_with, spgemm, spgemm_sampled, spgemm_values};

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
        let plan = ProductPlan::new((&ptr, &idx), left.view(), right.view(), cols);
        let products = left.idx.iter().map(|k| right.ptr[*k as usize + 1] - right.ptr[*k as usize]);
        prop_assert_eq!(plan.as_ref().map(ProductPlan::products), Some(products.sum::<i32>() as usize));
        let plan = plan.expect("few products");
        again.fill(0.5);
        plan.values(&ptr, left.view(), &left.values, right.view(), &right.values, &mut again);
        prop_assert_eq!(&again, &values);
        // The product's values serve as the gradient of C. The gradient of A is then `C B^T` at A's elements.
        let mut grad = vec![0.0; left.idx.len()];
        let c = Compressed { ptr: &ptr, idx: &idx, perm: None };
        spgemm_sampled((&left.ptr, &left.idx), c, &values, right.view(), &right.values, cols, &mut grad);
        let mut planned = vec![0.5; left.idx.len()];
        plan.sampled((&left.ptr, &left.idx), c, &values, right.view(), &right.values, &mut planned);
        prop_assert_eq!(&planned, &grad);
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

type Rows = (Vec<i32>, Vec<i32>, Vec<f32>);

/// Rows of up to eight random elements.
fn matrix(rows: usize, cols: usize, seed: usize) -> Rows {
    let random = |k: usize, seed: usize| (k.wrapping_mul(2654435761) ^ seed.wrapping_mul(40503)) >> 7;
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
}

fn view((ptr, idx, _): &Rows) -> Compressed<'_, i32> {
    Compressed { ptr, idx, perm: None }
}

/// The products of a row are sorted where there are many columns, and summed in a dense row where there are few.
#[test]
fn wide_matrices_have_the_bits_of_narrow_ones() {
    let (a, b) = (matrix(300, 400, 1), matrix(400, 700, 2));
    let product = |cols| spgemm(view(&a), &a.2, view(&b), &b.2, cols).unwrap();
    let narrow = product(700);
    assert_eq!(product(400_000), narrow);
    let (ptr, mut idx, values) = narrow;
    let again = |idx: &[i32], cols| {
        let mut out = [vec![0.0; values.len()], vec![0.5; values.len()]];
        spgemm_values((&ptr, idx), view(&a), &a.2, view(&b), &b.2, cols, &mut out[0]);
        let plan = ProductPlan::new((&ptr, idx), view(&a), view(&b), cols).expect("few products");
        plan.values(&ptr, view(&a), &a.2, view(&b), &b.2, &mut out[1]);
        assert_eq!(out[0], out[1]);
        out[0].clone()
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

/// The values of a transpose are read by a permutation.
#[test]
fn a_plan_reads_the_values_of_a_transpose_in_place() {
    let (a, b) = (matrix(300, 400, 1), matrix(400, 700, 2));
    let (ptr, idx, values) = spgemm(view(&a), &a.2, view(&b), &b.2, 700).unwrap();
    let turned = |(ptr, idx, _): &Rows, cols| {
        let rows = sparse_core::expand_ptr(ptr);
        group_with(idx, &rows, cols)
    };
    let [a_t, b_t, c_t] = [turned(&a, 400), turned(&b, 700), turned(&(ptr, idx, vec![]), 700)];
    let [left, right, product] =
        [&b_t, &a_t, &c_t].map(|(by_col, rows)| Compressed { ptr: &by_col.ptr, idx: rows, perm: Some(&by_col.order) });
    let c = (product.ptr, product.idx);
    let plan = ProductPlan::new(c, left, right, 300).expect("few products");
    let mut out = [vec![0.0; values.len()], vec![0.5; values.len()]];
    spgemm_values(c, left, &b.2, right, &a.2, 300, &mut out[0]);
    plan.values(product.ptr, left, &b.2, right, &a.2, &mut out[1]);
    assert_eq!(out[0], out[1]);
    let mut out = [vec![0.0; b.1.len()], vec![0.5; b.1.len()]];
    spgemm_sampled((left.ptr, left.idx), product, &values, right, &a.2, 300, &mut out[0]);
    plan.sampled((left.ptr, left.idx), product, &values, right, &a.2, &mut out[1]);
    assert_eq!(out[0], out[1]);
}

/// Several threads share the rows, with their part of the slots.
#[test]
fn plans_of_many_rows_on_any_number_of_threads() {
    let (a, b) = (matrix(3000, 400, 1), matrix(400, 700, 2));
    let (ptr, idx, values) = spgemm(view(&a), &a.2, view(&b), &b.2, 700).unwrap();
    for threads in [1, 2, 5] {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let plan = ProductPlan::new((&ptr, &idx), view(&a), view(&b), 700).expect("few products");
            let mut out = vec![0.5; values.len()];
            plan.values(&ptr, view(&a), &a.2, view(&b), &b.2, &mut out);
            assert_eq!(out, values);
        });
    }
}

#[test]
#[should_panic(expected = "the plan must be of these patterns")]
fn a_plan_of_longer_rows_panics() {
    let (one, two) = (vec![0, 1], vec![0, 2]);
    let view = |ptr, idx| Compressed::<i32> { ptr, idx, perm: None };
    let plan = ProductPlan::new((&two, &[0, 1]), view(&one, &[0]), view(&two, &[0, 1]), 2).expect("few products");
    plan.values(&two, view(&one, &[0]), &[1.0f32], view(&one, &[0]), &[1.0], &mut [0.0; 2]);
}

/// A row of ones, `n` long, times a matrix whose rows have one element each, in columns `0..cols` by turns.
fn row_times(n: i32, cols: i32) -> Option<usize> {
    let (one, row) = (vec![0, n], (0..n).collect::<Vec<i32>>());
    let (ptr, idx) = ((0..=n).collect::<Vec<i32>>(), (0..n).map(|k| k % cols).collect::<Vec<i32>>());
    let (a, b) = (Compressed { ptr: &one, idx: &row, perm: None }, Compressed { ptr: &ptr, idx: &idx, perm: None });
    let c = (vec![0, cols], (0..cols).collect::<Vec<i32>>());
    ProductPlan::new((&c.0, &c.1), a, b, cols as usize).map(|plan| plan.products())
}

#[test]
fn plans_that_would_not_pay() {
    // Up to four products for each element, and rows of up to 2^16 elements.
    assert_eq!(row_times(40, 10), Some(40));
    assert_eq!(row_times(41, 10), None);
    assert_eq!(row_times(1 << 16, 1 << 16), Some(1 << 16));
    assert_eq!(row_times((1 << 16) + 1, (1 << 16) + 1), None);
}

#[test]
#[should_panic(expected = "each element of the product, row 1 has not")]
fn a_plan_needs_every_element() {
    let (ptr, diagonal) = (vec![0, 1, 2], vec![0, 1]);
    let a = Compressed { ptr: &ptr, idx: &diagonal, perm: None };
    let _ = ProductPlan::new((&ptr, &[0, 0]), a, a, 2);
}

#[test]
#[should_panic(expected = "the plan must be of these patterns")]
fn a_plan_of_other_patterns_panics() {
    let (a, b) = (matrix(30, 40, 1), matrix(40, 70, 2));
    let (ptr, idx, mut values) = spgemm(view(&a), &a.2, view(&b), &b.2, 70).unwrap();
    let plan = ProductPlan::new((&ptr, &idx), view(&a), view(&b), 70).expect("few products");
    let fewer = &ptr[..30];
    plan.values(fewer, view(&a), &a.2, view(&b), &b.2, &mut values);
}
