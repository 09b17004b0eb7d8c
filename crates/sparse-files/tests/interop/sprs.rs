//! Matrices of sprs.

use super::{Drawn, by_columns, drawn, loaded, our_product, stored};
use burn::tensor::{Bool, DType, Device, Int};
use proptest::prelude::*;
use sparse_files::interop::{FromSparse, Interop};
use sparse_tensor::{CooTensor, CsrTensor};
use sprs::prod::mul_acc_mat_vec_csr;
use sprs::{CsMat, CsMatI, TriMat, TriMatI};

proptest! {
    #[test]
    fn compressed_matrices_come_back(drawn in drawn()) {
        let csr = drawn.csr();
        for theirs in [CsMat::<f64>::from_sparse(&csr).unwrap(), CsMat::from_sparse(&drawn.coo()).unwrap()] {
            prop_assert!(theirs.is_csr());
            prop_assert_eq!(loaded(&theirs), (stored(&csr), stored(&csr)));
            prop_assert_eq!(loaded(&theirs.view()), (stored(&csr), stored(&csr)));
            let columns = theirs.to_csc();
            prop_assert_eq!(loaded(&columns), (stored(&csr), by_columns(stored(&csr))));
        }
        let narrow = CsMatI::<f64, u16, i32>::from_sparse(&csr).unwrap();
        prop_assert_eq!(loaded(&narrow), (stored(&csr), stored(&csr)));
    }

    #[test]
    fn triplets_come_back_with_duplicates(drawn in drawn()) {
        let theirs = TriMat::<f64>::from_sparse(&drawn.coo()).unwrap();
        prop_assert_eq!((theirs.row_inds(), theirs.col_inds()), (&drawn.rows[..], &drawn.cols[..]));
        prop_assert_eq!(loaded(&theirs), (stored(&drawn.csr()), stored(&drawn.coo())));
        let narrow = TriMatI::<f64, u16>::from_sparse(&drawn.coo()).unwrap();
        prop_assert_eq!(loaded(&narrow).1, stored(&drawn.coo()));
    }

    #[test]
    fn products_agree(drawn in drawn()) {
        let (vector, expected) = drawn.product();
        let theirs = CsMat::<f64>::from_sparse(&drawn.coo()).unwrap();
        let mut product = vec![0.0; drawn.shape[0]];
        mul_acc_mat_vec_csr(theirs.view(), &vector[..], &mut product[..]);
        prop_assert_eq!(&product, &expected);
        prop_assert_eq!(our_product(&theirs, &vector), expected);
    }
}

#[test]
fn known_arrays() {
    let theirs = CsMat::<f64>::from_sparse(&Drawn::known().coo()).unwrap();
    let expected = CsMat::new((2, 3), vec![0, 1, 3], vec![1, 0, 2], vec![7.0, 5.0, -1.0]);
    assert_eq!(theirs, expected);
    assert_eq!(
        stored(&CsrTensor::<2>::from_matrix(&expected, &burn::tensor::Device::flex()).unwrap()),
        stored(&Drawn::known().csr())
    );
    assert_eq!(
        stored(&CooTensor::<2>::from_matrix(&expected.to_csc(), &burn::tensor::Device::flex()).unwrap()).1.0,
        [1, 0, 1]
    );
}

#[test]
fn a_part_of_a_matrix() {
    let theirs = CsMat::<f64>::from_sparse(&Drawn::known().csr()).unwrap();
    // Its pointers do not start at 0.
    let last = theirs.slice_outer(1..2);
    assert_eq!(loaded(&last).0, ([1, 3], (vec![0, 0], vec![0, 2], vec![5.0, -1.0])));
}

#[test]
fn each_type_of_values() {
    let device = Device::flex();
    let theirs = CsMat::new((1, 2), vec![0, 2], vec![0, 1], vec![i64::MIN, 7]);
    let ours = CsrTensor::<2, Int>::from_matrix(&theirs, &device).unwrap();
    assert_eq!(ours.dtype(), DType::I64);
    assert_eq!(CsMat::<i64>::from_sparse(&ours).unwrap(), theirs);

    // Every bit of a float is kept, on a device whose own type is f32.
    let bits = vec![f64::from_bits(0x7ff8_0000_0000_1234), -0.0, 0.1, f64::MIN_POSITIVE / 4.0];
    let theirs = CsMat::new((1, 4), vec![0, 4], vec![0, 1, 2, 3], bits.clone());
    let ours = CsrTensor::<2>::from_matrix(&theirs, &device).unwrap();
    let back = CsMat::<f64>::from_sparse(&ours).unwrap();
    assert!(back.data().iter().zip(&bits).all(|(a, b)| a.to_bits() == b.to_bits()), "{back:?}");
    let rounded = CsrTensor::<2>::from_matrix(&theirs, (&device, DType::F32)).unwrap();
    assert_eq!(CsMat::<f32>::from_sparse(&rounded).unwrap().data()[2], 0.1f32);

    let edges = CsMat::new((1, 2), vec![0, 2], vec![0, 1], vec![true, false]);
    let ours = CsrTensor::<2, Bool>::from_matrix(&edges, &device).unwrap();
    assert_eq!(CsMat::<bool>::from_sparse(&ours).unwrap(), edges);
}
