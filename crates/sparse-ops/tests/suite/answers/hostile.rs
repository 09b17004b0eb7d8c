//! Inputs that break the rules, and sizes that pass an integer: an error that names them, never a panic.

use super::device;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use proptest::prelude::*;
use sparse_tensor::ops;
use sparse_tensor::pattern::CooPattern;
use sparse_tensor::{CooTensor, CsrTensor, SparseError};

/// Whether row pointers of each matrix start at 0 and rise, and their columns ascend within bounds with none left over.
fn are_rows(ptr: &[i64], columns: &[i64], [batch, rows, cols]: [usize; 3]) -> bool {
    let mut rest = columns;
    let mut is_row = |pair: &[i64]| {
        let length = pair[1].checked_sub(pair[0]).and_then(|length| usize::try_from(length).ok());
        let Some((row, after)) = length.and_then(|length| rest.split_at_checked(length)) else { return false };
        rest = after;
        row.iter().all(|column| (0..cols as i64).contains(column)) && row.windows(2).all(|pair| pair[0] < pair[1])
    };
    let mut is_matrix = |ptr: &[i64]| ptr[0] == 0 && ptr.windows(2).all(&mut is_row);
    ptr.len() == batch * (rows + 1) && ptr.chunks(rows + 1).all(&mut is_matrix) && rest.is_empty()
}

proptest! {
    /// Whatever is wrong with row pointers and columns is an error, never a panic.
    #[test]
    fn hostile_compressed_rows(
        row_ptr in proptest::collection::vec(prop_oneof![-2i64..8, Just(i64::MAX), Just(i64::MIN)], 0..6),
        col_idx in proptest::collection::vec(prop_oneof![-2i64..6, Just(i64::MAX), Just(1i64 << 32)], 0..6),
        shape in (0usize..4, 0usize..6), pick: bool, batched: bool, nearly: bool,
    ) {
        let device = device(pick);
        let mut row_ptr = row_ptr;
        if nearly {
            // Only the columns may be wrong.
            row_ptr.iter_mut().for_each(|at| *at = (*at).clamp(0, col_idx.len() as i64));
            row_ptr.sort_unstable();
            row_ptr.resize(shape.0 + 1, col_idx.len() as i64);
            (row_ptr[shape.0], row_ptr[0]) = (col_idx.len() as i64, 0);
        }
        let ints = |list: &[i64]| {
            let data = TensorData::new(list.to_vec(), [list.len()]);
            Tensor::<1, Int>::from_data(data, (&device, DType::I64))
        };
        let values = Tensor::<1>::ones([col_idx.len()], &device);
        let batch = if batched { 2 } else { 1 };
        let kind = if batched {
            CsrTensor::<3>::new(ints(&row_ptr), ints(&col_idx), values, [2, shape.0, shape.1]).err()
        } else {
            CsrTensor::<2>::new(ints(&row_ptr), ints(&col_idx), values, [shape.0, shape.1]).err()
        };
        prop_assert_eq!(kind.is_none(), are_rows(&row_ptr, &col_idx, [batch, shape.0, shape.1]), "{:?}", kind);
    }

    #[test]
    fn hostile_coordinates(
        indices in proptest::collection::vec(prop_oneof![40 => 0i64..4, 1 => Just(-1), 1 => Just(i64::MAX)], 8),
        shape in (0usize..6, 0usize..6), pick: bool,
    ) {
        let device = device(pick);
        let at = Tensor::<2, Int>::from_data(TensorData::new(indices.clone(), [2, 4]), (&device, DType::I64));
        let within = |list: &[i64], size: usize| list.iter().all(|at| (0..size as i64).contains(at));
        let good = within(&indices[..4], shape.0) && within(&indices[4..], shape.1);
        let made = CooTensor::<2>::new(at, Tensor::<1>::ones([4], &device), [shape.0, shape.1]);
        prop_assert_eq!(made.is_ok(), good);
        prop_assert_eq!(made.err().map_or("index_out_of_range", |trouble| trouble.kind()), "index_out_of_range");
    }
}

#[test]
fn sizes_beyond_32_and_64_bits() {
    let device = Device::flex();
    let big = 1usize << 40;
    let at = Tensor::<2, Int>::from_data(
        TensorData::new(vec![(1i64 << 39) + 1, 5, 5, 7, 0, 0], [3, 2]),
        (&device, DType::I64),
    );
    let a = CooTensor::<3>::new(at, Tensor::<1>::ones([2], &device), [big, big, big]).unwrap();
    assert_eq!(a.coalesce().indices().into_data().iter::<i64>().collect::<Vec<_>>(), [5, (1 << 39) + 1, 7, 5, 0, 0]);
    assert_eq!(a.try_to_dense().unwrap_err().kind(), "would_densify");
    assert_eq!((&a + &a).nnz(), 2);
    let far = Tensor::<2, Int>::from_data(TensorData::new(vec![0i64], [1, 1]), &device);
    let huge = CooTensor::<1>::new(far, Tensor::<1>::ones([1], &device), [usize::MAX]);
    assert_eq!(huge.unwrap_err().kind(), "overflow");
}

/// A column times a row has an element everywhere: more than memory holds are an error, and a panic with its message.
#[test]
fn products_beyond_32_bits() {
    let device = Device::flex();
    let line = |axis: usize| {
        let ids = Tensor::<1, Int>::arange(0..300_000, &device).reshape([1, 300_000]);
        let zeros = ids.zeros_like();
        let at = Tensor::cat(if axis == 0 { vec![ids, zeros] } else { vec![zeros, ids] }, 0);
        let shape = if axis == 0 { [300_000, 1] } else { [1, 300_000] };
        CooTensor::<2>::new(at, Tensor::<1>::ones([300_000], &device), shape).unwrap()
    };
    let (column, row) = (line(0), line(1));
    for trouble in [
        column.try_matmul(&row).unwrap_err(),
        column.to_csr().try_matmul(&row.to_csr()).unwrap_err(),
        column.try_matmul(column.transpose()).unwrap_err(),
        column.try_product_pattern(&row).unwrap_err(),
    ] {
        assert_eq!(trouble.kind(), "overflow");
        // Elements of 64-bit columns and f32: a terabyte.
        let told = trouble.to_string();
        assert!(told.contains("bytes of a sparse product") && told.ends_with("got 1080000000000"), "{told}");
    }
    let panic = std::panic::catch_unwind(|| column.matmul(&row)).unwrap_err();
    let told = panic.downcast_ref::<String>().expect("a message");
    assert!(told.contains("bytes of a sparse product"), "{told}");
    assert_eq!(row.matmul(&column).values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [300_000.0]);
}

#[test]
fn messages_name_both_values() {
    let device = Device::flex();
    let a = CooTensor::<2>::from_dense(Tensor::<2>::ones([2, 3], &device), 0);
    let trouble: SparseError = a.try_matmul(Tensor::<2>::ones([4, 1], &device)).unwrap_err();
    assert_eq!(
        trouble.to_string(),
        "matmul: the right operand [4, 1] must have as many rows as the left one [2, 3] has columns, and its batch"
    );
}

/// One tensor on Flex, the other on NdArray: an error before any kernel runs, with the kind of the contract.
#[cfg(feature = "ndarray")]
#[test]
fn two_devices_are_an_error() {
    let (here, there) = (Device::flex(), Device::ndarray());
    let kind = |result: Result<(), SparseError>| result.expect_err("two devices").kind();
    let line = |device: &Device| Tensor::<1, Int>::from_ints([0, 1], device);
    let ends = |device: &Device| Tensor::<2, Int>::from_ints([[0, 1], [1, 0]], device);
    let values = |device: &Device| Tensor::<1>::from_floats([1.0, 2.0], device);
    let square = |device: &Device| Tensor::<2>::ones([2, 2], device);
    let ptr = |device: &Device| Tensor::<1, Int>::from_ints([0, 1, 2], device);

    let coo = CooTensor::<2>::new(ends(&here), values(&here), [2, 2]).unwrap();
    let csr = CsrTensor::<2>::new(ptr(&here), line(&here), values(&here), [2, 2]).unwrap();
    let mismatches = [
        kind(CooTensor::<2>::new(ends(&there), values(&here), [2, 2]).map(drop)),
        kind(CsrTensor::<2>::new(ptr(&here), line(&here), values(&there), [2, 2]).map(drop)),
        kind(CsrTensor::<2>::new(ptr(&there), line(&here), values(&here), [2, 2]).map(drop)),
        kind(CooTensor::<2>::from_pattern(coo.pattern().clone(), values(&there)).map(drop)),
        kind(CsrTensor::<2>::from_pattern(csr.pattern().clone(), values(&there)).map(drop)),
        kind(coo.try_with_values(values(&there)).map(drop)),
        kind(csr.try_matmul(square(&there)).map(drop)),
        kind(csr.try_rmatmul(square(&there)).map(drop)),
        kind(csr.try_matmul(values(&there)).map(drop)),
        kind(csr.try_matmul_reduce(square(&there), ops::Reduce::Amax).map(drop)),
        kind(ops::try_masked_matmul(square(&here), square(&there), &csr).map(drop)),
        kind(ops::try_masked_matmul(square(&there), square(&there), &csr).map(drop)),
    ];
    assert!(mismatches.iter().all(|kind| *kind == "device_mismatch"), "{mismatches:?}");
    // An autodiff association makes no other device of it.
    let tracked = Tensor::<1>::from_floats([1.0, 2.0], &here.clone().autodiff()).require_grad();
    assert!(CooTensor::<2>::new(ends(&here), tracked.clone(), [2, 2]).is_ok());
    assert!(coo.try_with_values(tracked).is_ok());
}

/// Shapes whose sizes alone pass an integer: errors or empty results, not wrapped products.
#[test]
fn sizes_past_64_bits_are_errors() {
    let device = Device::flex();
    let (long, half) = (1usize << 62, 1usize << 61);
    let a = CooTensor::<3>::zeros([long; 3], &device);
    assert_eq!(a.try_reshape::<3>([long, long, 1 << 60]).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(a.reshape::<3>([long; 3]).dims(), [long; 3]);
    assert_eq!(a.reshape::<4>([1 << 31, 1 << 31, long, long]).nnz(), 0);

    let wide = CsrTensor::<3>::zeros([2, 1, half], &device);
    assert_eq!(ops::try_concat(&[wide.clone(), wide.clone()], 2).unwrap_err().kind(), "overflow");
    assert_eq!(ops::concat(&[wide.clone(), wide], 1).dims(), [2, 2, half]);

    let empty = CooTensor::<3>::zeros([1 << 40, 1 << 40, 0], &device);
    assert_eq!(empty.try_to_dense().unwrap_err().kind(), "overflow");
    let pattern = CooPattern::new(Tensor::empty([1, 0], (&device, DType::I64)), &[1 << 40]).unwrap();
    let blocks = CooTensor::<2>::from_pattern(pattern, Tensor::<2>::empty([0, 0], &device)).unwrap();
    assert_eq!(blocks.to_dense().dims(), [1 << 40, 0]);
    assert_eq!(CooTensor::<2>::zeros([0, 1 << 40], &device).to_dense().dims(), [0, 1 << 40]);
}

/// Nothing is looked at, so what is wrong shows when it is used.
#[test]
fn construction_without_a_check() {
    let device = Device::flex();
    let dense = Tensor::<2>::from_floats([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]], &device);
    let (coo, csr) = (CooTensor::<2>::from_dense(dense.clone(), 0), CsrTensor::<2>::from_dense(dense.clone()));
    let same = CooTensor::<2>::new_unchecked(coo.indices(), coo.values::<1>(), [2, 3], true);
    assert_eq!(same.to_dense().into_data(), dense.to_data());
    let same = CsrTensor::<2>::new_unchecked(csr.row_ptr(), csr.col_idx(), csr.values(), [2, 3]);
    assert_eq!(same.to_dense().into_data(), dense.to_data());
    let wrong = CsrTensor::<2>::new_unchecked(csr.row_ptr(), csr.col_idx() + 7, csr.values(), [2, 3]);
    let product = || wrong.matmul(Tensor::<2>::ones([3, 2], &device)).into_data();
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(product)).is_err());
}
