//! Both gradients of a product in one walk, compared with the two kernels that compute one each.

use half::bf16;
use proptest::prelude::*;
use sparse_core::{Compressed, Element, Epilogue, group_by, sddmm, spmm, spmm_backward};

fn f64_of<T: Element>(x: T) -> f64 {
    x.to_string().parse().expect("a number")
}

/// The elements by columns, in an order of the values that is theirs (`sorted`) or that of the rows.
fn check<T: Element>(
    of: impl Fn(f32) -> T,
    places: &[(usize, usize)],
    [height, width]: [usize; 2],
    heads: usize,
    part: usize,
    sorted: bool,
) {
    let mut places = places.to_vec();
    if sorted {
        places.sort_by_key(|&(_, col)| col);
    }
    let (rows, cols): (Vec<i32>, Vec<i32>) = places.iter().map(|&(row, col)| (row as i32, col as i32)).unzip();
    let by_col = group_by(&cols, width);
    let idx: Vec<i32> = by_col.order.iter().map(|&k| rows[k as usize]).collect();
    let a = Compressed { ptr: &by_col.ptr, idx: &idx, perm: (!sorted).then_some(&by_col.order[..]) };
    let inverse = (!sorted).then(|| group_by(&by_col.order, places.len()).order);
    let features = heads * part;
    let list = |len: usize, step: f32| (0..len).map(|k| of((k as f32 * step).sin() * 3.0)).collect::<Vec<T>>();
    let values = list(places.len() * heads, 0.7);
    let (dense, grad) = (list(width * features, 0.37), list(height * features, 0.53));

    let (mut of_dense, mut of_values) = (vec![T::ONE; dense.len()], vec![T::ONE; values.len()]);
    spmm_backward(a, inverse.as_deref(), &values, &dense, &grad, heads, features, &mut of_dense, &mut of_values);
    let (mut dense_alone, mut values_alone) = (vec![T::ONE; dense.len()], vec![T::ONE; values.len()]);
    spmm(a, &values, &grad, [1, heads, features], Epilogue::default(), &mut dense_alone);
    sddmm(&rows, &cols, &grad, &dense, heads, features, &mut values_alone);
    if features == 1 {
        // The product with a vector has its own order of additions.
        let near = |(a, b): (&T, &T)| (f64_of(*a) - f64_of(*b)).abs() <= 1e-2 * (1.0 + f64_of(*b).abs());
        assert!(of_dense.iter().zip(&dense_alone).all(near), "{of_dense:?} {dense_alone:?}");
    } else {
        assert_eq!(of_dense, dense_alone);
    }
    assert_eq!(of_values, values_alone);
}

proptest! {
    #[test]
    fn has_the_bits_of_two_kernels(
        places in prop::collection::vec((0usize..9, 0usize..12), 0..60),
        heads in 1usize..4, part in 0usize..70, sorted: bool,
    ) {
        check(|x| x, &places, [9, 12], heads, part, sorted);
        check(f64::from, &places, [9, 12], heads, part, sorted);
        check(bf16::from_f32, &places, [9, 12], heads, part, sorted);
    }
}

#[test]
fn has_them_on_many_threads() {
    let places: Vec<(usize, usize)> = (0..40_000).map(|k| (k * 7919 % 3001, k * 104_729 % 997 % 500)).collect();
    for (heads, part, sorted) in [(1, 32, false), (2, 16, false), (1, 40, true)] {
        check(|x| x, &places, [3001, 500], heads, part, sorted);
    }
    // One head of 64 and 128 floats has a loop of its own, and sources of this width are fetched ahead.
    for (heads, part, sorted) in [(1, 64, true), (1, 128, false), (2, 64, false)] {
        check(|x| x, &places, [3001, 500], heads, part, sorted);
    }
}

/// A column that has most elements is cut, and so is that of the product alone.
#[test]
fn has_them_where_a_column_is_long() {
    let places: Vec<(usize, usize)> =
        (0..50_000).map(|k| (k * 7919 % 3001, if k % 8 > 0 { 3 } else { k % 9 })).collect();
    for (heads, part, sorted) in [(1, 24, false), (3, 1, true), (1, 1, false)] {
        check(|x| x, &places, [3001, 10], heads, part, sorted);
        check(bf16::from_f32, &places, [3001, 10], heads, part, sorted);
    }
}

#[test]
#[should_panic(expected = "row pointers must cover all elements")]
fn elements_in_no_row_panic() {
    let a = Compressed { ptr: &[0i32, 1], idx: &[0, 0], perm: None };
    spmm_backward(a, None, &[1.0f32; 2], &[1.0; 2], &[1.0; 2], 1, 2, &mut [0.0; 2], &mut [0.0; 2]);
}

#[test]
#[should_panic(expected = "dense and its gradient must be [cols, features]")]
fn lengths_must_agree() {
    let a = Compressed { ptr: &[0, 1], idx: &[0], perm: None };
    spmm_backward(a, None, &[1.0f32], &[1.0], &[1.0], 1, 1, &mut [], &mut [0.0]);
}
