//! Sparse matrices of faer.

use super::{Drawn, by_columns, drawn, loaded, our_product, stored};
use faer::sparse::linalg::matmul::sparse_dense_matmul;
use faer::sparse::{SparseColMat, SparseColMatRef, SparseRowMat, SymbolicSparseColMatRef, Triplet};
use faer::{Accum, Mat, Par};
use proptest::prelude::*;
use sparse_files::interop::{FromSparse, Interop};
use sparse_tensor::{CooTensor, CsrTensor};

proptest! {
    #[test]
    fn both_layouts_come_back(drawn in drawn()) {
        let csr = drawn.csr();
        let columns = SparseColMat::<u32, f64>::from_sparse(&drawn.coo()).unwrap();
        prop_assert_eq!(loaded(&columns), (stored(&csr), by_columns(stored(&csr))));
        prop_assert_eq!(loaded(&columns.as_ref()), loaded(&columns));
        let rows = SparseRowMat::<usize, f64>::from_sparse(&drawn.coo()).unwrap();
        prop_assert_eq!(loaded(&rows), (stored(&csr), stored(&csr)));
        prop_assert_eq!(loaded(&rows.as_ref()), loaded(&rows));
        // The other crate makes the same matrix of the entries.
        let entries = drawn.rows.iter().zip(&drawn.cols).zip(&drawn.values);
        let entries: Vec<_> = entries.map(|((&row, &col), &value)| Triplet::new(row, col, value)).collect();
        let [height, width] = drawn.shape;
        let theirs = SparseRowMat::<usize, f64>::try_new_from_triplets(height, width, &entries).unwrap();
        prop_assert_eq!((rows.row_ptr(), rows.col_idx()), (theirs.row_ptr(), theirs.col_idx()));
        prop_assert_eq!(rows.val(), theirs.val());
    }

    #[test]
    fn products_agree(drawn in drawn()) {
        let (vector, expected) = drawn.product();
        let theirs = SparseColMat::<usize, f64>::from_sparse(&drawn.csr()).unwrap();
        let column = Mat::from_fn(vector.len(), 1, |row, _| vector[row]);
        let mut product = Mat::<f64>::zeros(drawn.shape[0], 1);
        sparse_dense_matmul(product.as_mut(), Accum::Replace, theirs.as_ref(), column.as_ref(), 1.0, Par::Seq);
        prop_assert_eq!((0..drawn.shape[0]).map(|row| product[(row, 0)]).collect::<Vec<_>>(), expected.clone());
        prop_assert_eq!(our_product(&theirs, &vector), expected);
    }
}

#[test]
fn known_arrays() {
    let csr = Drawn::known().csr();
    let columns = SparseColMat::<u64, f64>::from_sparse(&csr).unwrap();
    assert_eq!((columns.col_ptr(), columns.row_idx()), (&[0, 1, 2, 3][..], &[1, 0, 1][..]));
    assert_eq!(columns.val(), [5.0, 7.0, -1.0]);
    assert_eq!(stored(&CsrTensor::<2>::from_matrix(&columns, &burn::tensor::Device::flex()).unwrap()), stored(&csr));
    assert_eq!(
        stored(&CooTensor::<2>::from_matrix(&columns.as_ref(), &burn::tensor::Device::flex()).unwrap()).1.0,
        [1, 0, 1]
    );
}

#[test]
fn columns_with_gaps_disorder_and_duplicates() {
    // Column 0 has room for four elements and uses three of them; column 1 uses none of its two.
    let (col_ptr, col_nnz, row_idx) = ([0u32, 4, 6], [3u32, 0], [2u32, 0, 2, 9, 9, 9]);
    let pattern = SymbolicSparseColMatRef::new_unsorted_checked(3, 2, &col_ptr, Some(&col_nnz), &row_idx);
    let theirs = SparseColMatRef::new(pattern, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
    let (csr, coo) = loaded(&theirs);
    assert_eq!(csr, ([3, 2], (vec![0, 2], vec![0, 0], vec![2.0, 5.0])));
    assert_eq!(coo, ([3, 2], (vec![2, 0, 2], vec![0, 0, 0], vec![1.0, 2.0, 4.0])));
}
