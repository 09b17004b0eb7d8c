use burn::tensor::{DType, Device, Int, Tensor, TensorData, Tolerance};
use proptest::prelude::*;
use sparse_dev::gradients::check;
use sparse_tensor::nn::{try_gather_mm, try_segment_mm};

fn ints(list: &[i64]) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(list.to_vec(), [list.len()]), &Device::flex())
}

fn dense<const D: usize>(values: &[f64], shape: [usize; D]) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values.to_vec(), shape), (&Device::flex(), DType::F64))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Values and gradients are those of a dense product for each row.
    #[test]
    fn rows_are_multiplied_by_the_matrix_of_their_group(
        groups in prop::collection::vec(0usize..3, 0..7),
        [width, out] in [0usize..4, 1usize..4],
        numbers in prop::collection::vec(-2.0f64..2.0, 60),
    ) {
        let (rows, own) = (groups.len(), &numbers[24..24 + 3 * width * out]);
        let x = || dense(&numbers[..rows * width], [rows, width]);
        let weights = || dense(own, [3, width, out]);
        let as_list = |groups: &[usize]| ints(&groups.iter().map(|&group| group as i64).collect::<Vec<_>>());
        let product = try_gather_mm(x(), as_list(&groups), weights()).unwrap();
        prop_assert_eq!(product.dims(), [rows, out]);
        let cell = |row: usize, col: usize| -> f64 {
            (0..width).map(|k| numbers[row * width + k] * own[(groups[row] * width + k) * out + col]).sum()
        };
        let right: Vec<f64> = (0..rows * out).map(|at| cell(at / out, at % out)).collect();
        let right = TensorData::new(right, [rows, out]);
        product.into_data().assert_approx_eq::<f64>(&right, Tolerance::default());

        // The same rows in order, between pointers.
        let mut sorted = groups.clone();
        sorted.sort_unstable();
        let ptr: Vec<usize> = (0..=3).map(|group| sorted.partition_point(|&own| own < group)).collect();
        let by_ptr = try_segment_mm(x(), &ptr, weights()).unwrap();
        let by_list = try_gather_mm(x(), as_list(&sorted), weights()).unwrap();
        prop_assert_eq!(by_ptr.into_data(), by_list.into_data());
    }

    #[test]
    fn gradients_reach_rows_and_matrices(
        groups in prop::collection::vec(0i64..3, 4),
        numbers in prop::collection::vec(-2.0f64..2.0, 8 + 18),
        pick in 0usize..2,
    ) {
        let inputs =
            [TensorData::new(numbers[..8].to_vec(), [4, 2]), TensorData::new(numbers[8..].to_vec(), [6, 3])];
        check(pick, &inputs, |xs| {
            let (x, weights): (Tensor<2>, Tensor<2>) = (xs[0].tensor(), xs[1].tensor());
            let groups = Tensor::<1, Int>::from_data(TensorData::new(groups.clone(), [4]), &x.device().inner());
            try_gather_mm(x, groups, weights.reshape([3, 2, 3])).unwrap()
        })?;
    }
}

#[test]
fn groups_that_do_not_fit_are_refused() {
    let (x, weights) = (|| dense(&[1.0; 6], [3, 2]), || dense(&[1.0; 8], [2, 2, 2]));
    let told = |result: sparse_tensor::Result<Tensor<2>>, kind: &str, parts: &[&str]| {
        let trouble = result.unwrap_err();
        let text = trouble.to_string();
        assert!(trouble.kind() == kind && parts.iter().all(|part| text.contains(part)), "{text}");
    };
    told(try_gather_mm(x(), ints(&[0, 1]), weights()), "length_mismatch", &["groups"]);
    told(try_gather_mm(x(), ints(&[0, 2, 1]), weights()), "index_out_of_range", &["gather_mm", "2", "position 1"]);
    told(try_gather_mm(x(), ints(&[0, 1, -1]), weights()), "index_out_of_range", &["gather_mm", "-1", "position 2"]);
    // Times the width of 2 it is 0 in 32 bits, or in 64.
    for far in [1 << 31, i64::MIN] {
        let groups = Tensor::<1, Int>::from_data(TensorData::new(vec![0, far, 1], [3]), (&Device::flex(), DType::I64));
        told(try_gather_mm(x(), groups, weights()), "index_out_of_range", &[&far.to_string(), "position 1"]);
    }
    told(try_gather_mm(x(), ints(&[0; 3]), dense(&[1.0; 6], [2, 3, 1])), "shape_mismatch", &["[3, 2]", "[2, 3, 1]"]);
    told(try_gather_mm(x().cast(DType::F32), ints(&[0; 3]), weights()), "dtype_mismatch", &[]);
    told(try_segment_mm(x(), &[0, 3], weights()), "length_mismatch", &["pointers"]);
    told(try_segment_mm(x(), &[0, 2, 1], weights()), "invalid", &["ascend from 0 to 3"]);
    told(try_segment_mm(x(), &[0, 4, 3], weights()), "invalid", &["ascend from 0 to 3"]);
}
