//! Coordinates, row pointers and sizes that make no tensor.

use super::*;
use sparse_tensor::CsrTensor;
use sparse_tensor::pattern::{CooPattern, CsrPattern};

#[test]
fn patterns_that_do_not_fit() {
    let rows =
        |pointers: usize, shape: &[usize]| CsrPattern::new(ids(vec![0; pointers], [pointers]), ids([], [0]), shape);
    let got = (1u128 << 80).to_string();
    let got = got.as_str();
    refused! {
        shape_mismatch "CsrPattern::new" ["rank 2 or 3", "[3]"] rows(4, &[3]);
        shape_mismatch "CsrPattern::new" ["rank 2 or 3", "[1, 1, 3, 3]"] rows(4, &[1, 1, 3, 3]);
        overflow "CsrPattern::new" ["batch * columns", got] rows(1, &[1 << 40, 1, 1 << 40]);
        overflow "CsrPattern::new" ["batch * rows", got] rows(1, &[1 << 40, 1 << 40, 1]);
        overflow "CsrPattern::new" ["a dimension", "9223372036854775808"] rows(1, &[1 << 63, 1]);
        length_mismatch "CsrPattern::new" ["length 3", "got 2"] rows(2, &[2, 5]);
        length_mismatch "CsrPattern::new" ["length 6", "got 5"] rows(5, &[2, 2, 5]);
        index_out_of_range "CooPattern::new" ["dim 1", "[0, 5)", "got 5"] CooPattern::new(ids([0, 5], [2, 1]), &[2, 5]);
    }
}

/// Pointers of a batch that are larger than any index of 32 bits.
#[test]
fn pointers_beyond_all_elements() {
    for beyond in [4, 1 << 31, i64::MAX] {
        let pointers = ids([0, 1, 2, 0, 1, beyond], [6]);
        let made = CsrTensor::<3>::new(pointers, ids([0, 1, 0, 1], [4]), ones([4]), [2, 2, 2]);
        let kind = if beyond == i64::MAX { "overflow" } else { "invalid_row_ptr" };
        refused(kind, "CsrTensor::new", &[], made);
        let made = CsrTensor::<3>::new(ids([0, 0, beyond], [3]), ids([0], [1]), ones([1]), [1, 2, 2]);
        refused("invalid_row_ptr", "CsrTensor::new", &[&beyond.to_string()], made);
    }
}

#[test]
fn coordinates_without_a_size() {
    let inferred = |list: [i64; 2]| CooTensor::<2>::new_inferred(ids(list, [2, 1]), ones([1]));
    refused! {
        index_out_of_range "CooTensor::new_inferred" ["got -2"] inferred([-2, 0]);
        overflow "CooTensor::new_inferred" ["a dimension"] inferred([0, i64::MAX]);
    }
    assert_eq!(inferred([0, 4]).unwrap().dims(), [1, 5]);
    let csr = CsrTensor::<2>::new_inferred(ids([0, 0], [2]), ids([], [0]), ones([0])).unwrap();
    assert_eq!(csr.dims(), [1, 0]);
}
