//! Matrices of nalgebra-sparse.

use super::{Drawn, by_columns, drawn, loaded, our_product, stored};
use nalgebra_sparse::na::DVector;
use nalgebra_sparse::{CooMatrix, CscMatrix, CsrMatrix};
use proptest::prelude::*;
use sparse_files::interop::{FromSparse, Interop};
use sparse_tensor::{CooTensor, CsrTensor};

proptest! {
    #[test]
    fn each_format_comes_back(drawn in drawn()) {
        let csr = drawn.csr();
        let rows = CsrMatrix::<f64>::from_sparse(&drawn.coo()).unwrap();
        prop_assert_eq!(loaded(&rows), (stored(&csr), stored(&csr)));
        let columns = CscMatrix::<f64>::from_sparse(&drawn.coo()).unwrap();
        prop_assert_eq!(loaded(&columns), (stored(&csr), by_columns(stored(&csr))));
        let entries = CooMatrix::<f64>::from_sparse(&drawn.coo()).unwrap();
        prop_assert_eq!(loaded(&entries), (stored(&csr), stored(&drawn.coo())));
        // The formats agree with each other by the other crate's conversions.
        prop_assert_eq!(&CsrMatrix::from(&entries), &rows);
        prop_assert_eq!(&CscMatrix::from(&entries), &columns);
    }

    #[test]
    fn products_agree(drawn in drawn()) {
        let (vector, expected) = drawn.product();
        let column = DVector::from_vec(vector.clone());
        let rows = CsrMatrix::<f64>::from_sparse(&drawn.csr()).unwrap();
        prop_assert_eq!(&rows * &column, DVector::from_vec(expected.clone()));
        let columns = CscMatrix::<f64>::from_sparse(&drawn.csr()).unwrap();
        prop_assert_eq!(&columns * &column, DVector::from_vec(expected.clone()));
        prop_assert_eq!(our_product(&columns, &vector), expected);
    }
}

#[test]
fn known_arrays() {
    let csr = Drawn::known().csr();
    let rows = CsrMatrix::<f64>::from_sparse(&csr).unwrap();
    assert_eq!(rows.csr_data(), (&[0, 1, 3][..], &[1, 0, 2][..], &[7.0, 5.0, -1.0][..]));
    let columns = CscMatrix::<f64>::from_sparse(&csr).unwrap();
    assert_eq!(columns.csc_data(), (&[0, 1, 2, 3][..], &[1, 0, 1][..], &[5.0, 7.0, -1.0][..]));
    assert_eq!(stored(&CsrTensor::<2>::from_matrix(&columns, &burn::tensor::Device::flex()).unwrap()), stored(&csr));
    assert_eq!(stored(&CooTensor::<2>::from_matrix(&rows, &burn::tensor::Device::flex()).unwrap()), stored(&csr));
}
