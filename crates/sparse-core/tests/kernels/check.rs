//! Validators accept legal input. Hostile input gives an error and never a panic.

use proptest::prelude::*;
use sparse_core::{join_row_ptr, split_row_ptr, validate_coo, validate_csr};

fn kind<T: std::fmt::Debug>(result: sparse_core::Result<T>) -> &'static str {
    result.expect_err("must be an error").kind()
}

/// The rules of CSR, taken directly from the definition.
fn csr_kind(rows: usize, cols: usize, ptr: &[i32], idx: &[i32]) -> Option<&'static str> {
    if ptr.len() != rows + 1 {
        return Some("length_mismatch");
    }
    if ptr[0] != 0 || ptr.windows(2).any(|w| w[1] < w[0]) || ptr[rows] as i64 != idx.len() as i64 {
        return Some("invalid_row_ptr");
    }
    if idx.iter().any(|&c| c < 0 || c as i64 >= cols as i64) {
        return Some("index_out_of_range");
    }
    for r in 0..rows {
        if idx[ptr[r] as usize..ptr[r + 1] as usize].windows(2).any(|w| w[0] >= w[1]) {
            return Some("unsorted_columns");
        }
    }
    None
}

proptest! {
    #[test]
    fn csr_agrees_with_the_definition(
        rows in 0usize..5,
        cols in 0usize..6,
        ptr in prop::collection::vec(-1i32..8, 0..7),
        idx in prop::collection::vec(-1i32..6, 0..8),
        sorted: bool,
    ) {
        let mut ptr = ptr;
        if sorted {
            ptr.sort_unstable();
            ptr.resize(rows + 1, idx.len() as i32);
            ptr[0] = 0;
            ptr[rows] = idx.len() as i32;
        }
        let got = validate_csr("t", rows, cols, &ptr, &idx).err().map(|e| e.kind());
        prop_assert_eq!(got, csr_kind(rows, cols, &ptr, &idx));
    }

    #[test]
    fn coo_agrees_with_the_definition(
        shape in prop::collection::vec(0usize..4, 0..4),
        nnz in 0usize..6,
        raw in prop::collection::vec(-1i64..4, 24),
        valid: bool,
        short: bool,
    ) {
        let mut indices = raw[..shape.len() * nnz].to_vec();
        if valid {
            for (d, &size) in shape.iter().enumerate() {
                for i in &mut indices[d * nnz..(d + 1) * nnz] {
                    *i = (*i).clamp(0, (size as i64 - 1).max(0));
                }
            }
        }
        if short && !indices.is_empty() {
            indices.pop();
            prop_assert_eq!(kind(validate_coo("t", &shape, &indices, nnz)), "length_mismatch");
            return Ok(());
        }
        let bad = indices.iter().enumerate().find(|&(p, &i)| i < 0 || i >= shape[p / nnz] as i64);
        match (validate_coo("t", &shape, &indices, nnz), bad) {
            (
                Err(sparse_core::SparseError::IndexOutOfRange { axis, position, index, low, size, .. }),
                Some((p, &i))
            ) => {
                prop_assert_eq!((axis, position, index, low, size), (p / nnz, p, i, 0, shape[p / nnz]));
            }
            (Ok(coalesced), None) => {
                let entry = |k: usize| (0..shape.len()).map(|d| indices[d * nnz + k]).collect::<Vec<_>>();
                prop_assert_eq!(coalesced, (1..nnz).all(|k| entry(k - 1) < entry(k)));
            }
            (got, want) => prop_assert!(false, "{:?} but {:?}", got, want),
        }
    }

    #[test]
    fn join_and_split_are_inverse(parts in prop::collection::vec(prop::collection::vec(0i32..5, 3), 0..5)) {
        let mut flat = Vec::new();
        for part in &parts {
            let mut sum = 0;
            flat.push(0);
            flat.extend(part.iter().map(|n| { sum += n; sum }));
        }
        let joined = join_row_ptr("t", parts.len(), 3, &flat).unwrap();
        prop_assert_eq!(joined.len(), parts.len() * 3 + 1);
        prop_assert!(joined.is_sorted());
        prop_assert_eq!(joined[parts.len() * 3], parts.iter().flatten().sum::<i32>());
        prop_assert_eq!(split_row_ptr(parts.len(), 3, &joined), flat);
    }
}

#[test]
fn hostile_input_is_an_error() {
    assert_eq!(kind(validate_csr("t", 2, 3, &[0, i32::MAX, 2], &[0, 1])), "invalid_row_ptr");
    assert_eq!(kind(validate_csr("t", 2, 3, &[0i64, 1 << 40, 1 << 41], &[0, 1])), "invalid_row_ptr");
    assert_eq!(kind(validate_csr("t", 2, 3, &[0, -5, 2], &[0, 1])), "invalid_row_ptr");
    assert_eq!(kind(validate_csr::<i32>("t", usize::MAX, 3, &[], &[])), "length_mismatch");
    assert_eq!(kind(validate_csr("t", 1, usize::MAX, &[0i64, 1], &[-1])), "index_out_of_range");
    assert_eq!(kind(validate_coo::<i32>("t", &[2, 2, 2], &[], usize::MAX / 2)), "length_mismatch");
    assert_eq!(kind(join_row_ptr::<i32>("t", usize::MAX, usize::MAX, &[])), "length_mismatch");
    assert_eq!(kind(join_row_ptr("t", 2, 1, &[0, i32::MAX, 0, 1])), "overflow");
    assert_eq!(kind(join_row_ptr("t", 2, 1, &[0, 1, 1, 2])), "invalid_row_ptr");
    assert_eq!(kind(join_row_ptr("t", 1, 2, &[0, 2, 1])), "invalid_row_ptr");
}

#[test]
fn order_of_the_errors_on_large_input() {
    // Large enough for several threads: the first row that breaks the rule is reported.
    let rows = 100_000;
    let ptr: Vec<i32> = (0..=rows as i32).map(|r| r * 2).collect();
    let mut idx: Vec<i32> = (0..2 * rows as i32).map(|k| k % 2).collect();
    assert!(validate_csr("t", rows, 2, &ptr, &idx).is_ok());
    idx[150_001] = 0;
    idx[190_001] = 0;
    match validate_csr("t", rows, 2, &ptr, &idx) {
        Err(sparse_core::SparseError::UnsortedColumns { row, previous, column, .. }) => {
            assert_eq!((row, previous, column), (75_000, 0, 0));
        }
        other => panic!("{other:?}"),
    }
    idx[199_999] = 2;
    assert_eq!(kind(validate_csr("t", rows, 2, &ptr, &idx)), "index_out_of_range");
}
