//! Random shapes, layouts and values against dense Burn and plain host code, on both CPU backends.
#![allow(deprecated)] // NdArray is, and is tested all the same.

#[path = "common/draw.rs"]
mod draw;
#[path = "properties/patterns.rs"]
mod patterns;

use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
use draw::{Plain, plain, value};
use proptest::prelude::*;
use proptest::test_runner::Config;
use sparse_tensor::ops::{self, Reduce};
use sparse_tensor::{CooTensor, CsrTensor, Fill, SparseError};

fn config() -> Config {
    Config { source_file: Some(file!()), ..Config::default() }
}

fn device(pick: bool) -> Device {
    if pick { Device::flex() } else { Device::ndarray() }
}

fn read<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// NaN equals NaN, equal infinities match, zeros of either sign match.
fn close(got: &[f64], want: &[f64]) -> Result<(), TestCaseError> {
    prop_assert_eq!(got.len(), want.len());
    for (k, (&got, &want)) in got.iter().zip(want).enumerate() {
        let same = (got.is_nan() && want.is_nan()) || got == want || (got - want).abs() <= 1e-9 * want.abs().max(1.0);
        prop_assert!(same, "element {}: {} and {}", k, got, want);
    }
    Ok(())
}

/// Bit for bit, but for the payload of NaN.
fn identical(got: &[f64], want: &[f64]) -> Result<(), TestCaseError> {
    for (k, (got, want)) in got.iter().zip(want).enumerate() {
        let same = (got.is_nan() && want.is_nan()) || got.to_bits() == want.to_bits();
        prop_assert!(same, "element {}: {:?} and {:?}", k, got, want);
    }
    Ok(())
}

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![6 => value(), 1 => Just(-0.0), 1 => Just(f64::NAN), 1 => Just(f64::INFINITY), 1 => Just(f64::NEG_INFINITY)]
}

/// The tensor with some of its values replaced by special ones.
fn special(shape: Vec<usize>) -> impl Strategy<Value = Plain> {
    plain(shape, false).prop_flat_map(|plain| {
        let count = plain.values.len();
        proptest::collection::vec(any_value(), count).prop_map(move |values| Plain { values, ..plain.clone() })
    })
}

fn matrix() -> impl Strategy<Value = Plain> {
    (0usize..6, 0usize..6).prop_flat_map(|(m, n)| plain(vec![m, n], true))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn dense_equivalent(a in matrix(), pick: bool, fill in value()) {
        let coo: CooTensor<2> = a.coo(a.leaf(&device(pick)));
        let want = a.dense(fill);
        let filled = coo.with_fill(Fill::scalar(fill));
        close(&read(filled.to_dense()), &want)?;
        close(&read(filled.coalesce().to_dense()), &want)?;
        close(&read(filled.to_csr().to_dense()), &want)?;
        close(&read(filled.to_csr().to_coo().to_dense()), &want)?;
        prop_assert!(filled.coalesce().is_coalesced());
        let dense: Tensor<2> = filled.to_dense();
        close(&read(filled.transpose().to_dense()), &read(dense.clone().transpose()))?;
        close(&read(filled.to_csr().transpose().to_dense()), &read(dense.transpose()))?;
    }

    #[test]
    fn from_dense_and_back(a in matrix(), pick: bool) {
        let dense = a.coo::<2>(a.leaf(&device(pick))).to_dense();
        let want = read(dense.clone());
        let coo = CooTensor::from_dense(dense.clone(), 0);
        prop_assert_eq!(coo.nnz(), want.iter().filter(|&&value| value != 0.0).count());
        close(&read(coo.to_dense()), &want)?;
        close(&read(CsrTensor::from_dense(dense.clone()).to_dense()), &want)?;
        close(&read(CooTensor::from_dense(dense, 1).to_dense()), &want)?;
    }

    #[test]
    fn products((a, x, y) in matrix().prop_flat_map(|a| {
        let (m, n) = (a.shape[0], a.shape[1]);
        (Just(a), proptest::collection::vec(value(), n * 3), proptest::collection::vec(value(), 2 * m))
    }), fill in prop_oneof![Just(0.0), value()], pick: bool) {
        let device = device(pick);
        let tensor = |list: Vec<f64>, shape: [usize; 2]| Tensor::<2>::from_data(TensorData::new(list, shape), (&device, DType::F64));
        let (m, n) = (a.shape[0], a.shape[1]);
        let coo = a.coo::<2>(a.leaf(&device)).with_fill(Fill::scalar(fill));
        let dense = a.dense(fill);
        // Summed on the host: dense Burn need not multiply matrices of no size.
        let mut want = vec![0.0; m * 3];
        for (k, slot) in want.iter_mut().enumerate() {
            *slot = (0..n).map(|j| dense[k / 3 * n + j] * x[j * 3 + k % 3]).sum();
        }
        close(&read(coo.matmul(tensor(x.clone(), [n, 3]))), &want)?;
        close(&read(coo.to_csr().matmul(tensor(x, [n, 3]))), &want)?;
        let mut want = vec![0.0; 2 * n];
        for (k, slot) in want.iter_mut().enumerate() {
            *slot = (0..m).map(|i| y[k / n * m + i] * dense[i * n + k % n]).sum();
        }
        close(&read(coo.rmatmul(tensor(y.clone(), [2, m]))), &want)?;
        close(&read(coo.to_csr().rmatmul(tensor(y, [2, m]))), &want)?;
    }

    /// Values that are views of a larger buffer, transposed or strided.
    #[test]
    fn values_that_are_not_contiguous(a in plain(vec![3, 4], false), pick: bool) {
        let device = device(pick);
        let n = a.values.len();
        let doubled: Vec<f64> = a.values.iter().flat_map(|&value| [value, -9.0]).collect();
        let wide = Tensor::<2>::from_data(TensorData::new(doubled, [n, 2]), (&device, DType::F64));
        prop_assume!(n > 0);
        let view = wide.narrow(1, 0, 1).reshape([n as i64]);
        let x = Tensor::<2>::from_data(TensorData::new((0..8).map(f64::from).collect::<Vec<_>>(), [2, 4]), (&device, DType::F64)).transpose();
        let got = a.coo::<2>(view).to_csr().matmul(x.clone());
        close(&read(got), &read(a.coo::<2>(a.leaf(&device)).to_dense().matmul(x)))?;
    }

    /// The law of the element-wise operations, NaN, infinities and signed zeros included.
    #[test]
    fn arithmetic(a in special(vec![3, 4]), b in special(vec![3, 4]), fills in (any_value(), any_value()), zero: (bool, bool), csr: bool, pick: bool) {
        let device = device(pick);
        let fill = |own: f64, zero: bool| if zero { Fill::Zero } else { Fill::scalar(own) };
        let (fill_a, fill_b) = (if zero.0 { 0.0 } else { fills.0 }, if zero.1 { 0.0 } else { fills.1 });
        let left: CooTensor<2> = a.coo(a.leaf(&device)).with_fill(fill(fills.0, zero.0));
        let right: CooTensor<2> = b.coo(b.leaf(&device)).with_fill(fill(fills.1, zero.1));
        let (dense_a, dense_b) = (a.dense(fill_a), b.dense(fill_b));
        type Op = (fn(f64, f64) -> f64, fn(&CooTensor<2>, &CooTensor<2>) -> CooTensor<2>, fn(&CsrTensor<2>, &CsrTensor<2>) -> CsrTensor<2>);
        let ops: [Op; 4] = [
            (|x, y| x + y, |a, b| a + b, |a, b| a + b),
            (|x, y| x - y, |a, b| a - b, |a, b| a - b),
            (|x, y| x * y, |a, b| a * b, |a, b| a * b),
            (|x, y| x / y, |a, b| a / b, |a, b| a / b),
        ];
        for (scalar, coo, compressed) in ops {
            let want: Vec<f64> = dense_a.iter().zip(&dense_b).map(|(&x, &y)| scalar(x, y)).collect();
            let got = if csr { compressed(&left.to_csr(), &right.to_csr()).to_dense() } else { coo(&left, &right).to_dense() };
            // The host's sum of duplicates starts at +0, which loses the sign of a stored -0: values here are unique.
            identical(&read(got), &want)?;
        }
    }

    /// (a / b) * b is a where b is specified and not zero.
    #[test]
    fn quotient_times_divisor(a in plain(vec![4, 3], false), b in plain(vec![4, 3], false), pick: bool) {
        let device = device(pick);
        let (left, right): (CooTensor<2>, CooTensor<2>) = (a.coo(a.leaf(&device)), b.coo(b.leaf(&device)));
        let back = read((&(&left / &right) * &right).to_dense_or(0.0));
        let want = a.dense(0.0);
        for (at, value) in b.coordinates.iter().zip(&b.values).filter(|(_, value)| **value != 0.0) {
            let flat = at[0] * 3 + at[1];
            prop_assert!((back[flat] - want[flat]).abs() < 1e-9, "{} / {}", want[flat], value);
        }
    }

    /// concat then narrow gives the parts back, along every axis and in both layouts.
    #[test]
    fn concat_gives_its_parts_back(a in plain(vec![2, 3, 2], true), b in plain(vec![2, 3, 2], false), axis in 0usize..3, csr: bool, pick: bool) {
        let device = device(pick);
        let parts: [CooTensor<3>; 2] = [a.coo(a.leaf(&device)), b.coo(b.leaf(&device))];
        let joined = if csr {
            ops::concat(&parts.each_ref().map(|part| part.to_csr()), axis as isize).to_dense()
        } else {
            ops::concat(&parts, axis as isize).to_dense()
        };
        let size = a.shape[axis];
        close(&read(joined.clone().narrow(axis, 0, size)), &a.dense(0.0))?;
        close(&read(joined.narrow(axis, size, size)), &b.dense(0.0))?;
    }

    /// Int and Bool are moved and joined like floats.
    #[test]
    fn concat_of_other_kinds(a in plain(vec![2, 3], false), axis in -2isize..2, pick: bool) {
        let device = device(pick);
        let ints: Vec<i64> = a.values.iter().map(|&value| value as i64 + 1).collect();
        let n = ints.len();
        let values = Tensor::<1, Int>::from_data(TensorData::new(ints, [n]), (&device, DType::I64));
        let int = CooTensor::<2, Int>::new(a.indices(&device), values, [2, 3]).unwrap();
        let bool = CooTensor::<2, Bool>::new(a.indices(&device), int.values::<1>().greater_elem(0), [2, 3]).unwrap();
        let dense = Tensor::cat(vec![int.to_dense(), int.to_dense()], axis);
        prop_assert_eq!(ops::concat(&[int.clone(), int.clone()], axis).to_dense().into_data(), dense.clone().into_data());
        prop_assert_eq!(ops::concat(&[int.to_csr(), int.to_csr()], axis).to_dense().into_data(), dense.into_data());
        let dense = Tensor::cat(vec![bool.to_dense(), bool.to_dense()], axis);
        prop_assert_eq!(ops::concat(&[bool.clone(), bool], axis).to_dense().into_data(), dense.into_data());
    }

    /// A permutation put by assign, then gathered, is the identity.
    #[test]
    fn put_then_gather(order in Just((0..5i64).collect::<Vec<_>>()).prop_shuffle(), x in proptest::collection::vec(any_value(), 10), pick: bool) {
        let device = device(pick);
        let x = Tensor::<2>::from_data(TensorData::new(x, [5, 2]), (&device, DType::F64));
        let at = Tensor::<2, Int>::from_data(TensorData::new(order, [5, 1]), (&device, DType::I64));
        let put = ops::put_along_axis(Tensor::zeros([5, 2], (&device, DType::F64)), at.clone(), x.clone(), 0, Reduce::Assign, true);
        identical(&read(ops::gather(put, at.expand([5, 2]), 0)), &read(x))?;
    }

    #[test]
    fn gather_is_gather_nd(x in proptest::collection::vec(value(), 12), index in proptest::collection::vec(-4i64..4, 6), pick: bool) {
        let device = device(pick);
        let x = Tensor::<2>::from_data(TensorData::new(x, [4, 3]), (&device, DType::F64));
        let at = Tensor::<2, Int>::from_data(TensorData::new(index, [2, 3]), (&device, DType::I64));
        let nd = ops::gather_nd(x.clone(), at.clone().unsqueeze_dim::<3>(2), Some(&[0]));
        prop_assert_eq!(ops::gather(x, at, 0).into_data(), nd.into_data());
    }

    /// Whatever is wrong with row pointers and columns, the answer is an error or a tensor, never a panic.
    #[test]
    fn hostile_compressed_rows(
        row_ptr in proptest::collection::vec(prop_oneof![-2i64..8, Just(i64::MAX), Just(i64::MIN)], 0..6),
        col_idx in proptest::collection::vec(prop_oneof![-2i64..6, Just(i64::MAX), Just(1i64 << 32)], 0..6),
        shape in (0usize..4, 0usize..6), pick: bool, batched: bool,
    ) {
        let device = device(pick);
        let ints = |list: &[i64]| Tensor::<1, Int>::from_data(TensorData::new(list.to_vec(), [list.len()]), (&device, DType::I64));
        let values = Tensor::<1>::ones([col_idx.len()], &device);
        if batched {
            let _ = CsrTensor::<3>::new(ints(&row_ptr), ints(&col_idx), values, [2, shape.0, shape.1]);
        } else {
            let _ = CsrTensor::<2>::new(ints(&row_ptr), ints(&col_idx), values, [shape.0, shape.1]);
        }
    }

    #[test]
    fn hostile_coordinates(
        indices in proptest::collection::vec(prop_oneof![-2i64..6, Just(i64::MAX), Just(1i64 << 32)], 8), shape in (0usize..5, 0usize..5), pick: bool,
    ) {
        let device = device(pick);
        let at = Tensor::<2, Int>::from_data(TensorData::new(indices.clone(), [2, 4]), (&device, DType::I64));
        let good = indices[..4].iter().all(|&i| (0..shape.0 as i64).contains(&i)) && indices[4..].iter().all(|&i| (0..shape.1 as i64).contains(&i));
        let made = CooTensor::<2>::new(at, Tensor::<1>::ones([4], &device), [shape.0, shape.1]);
        prop_assert_eq!(made.is_ok(), good);
        if let Err(trouble) = made {
            prop_assert_eq!(trouble.kind(), "index_out_of_range");
        }
    }
}

/// put_along_axis writes into the buffer of an array that nobody else holds.
#[test]
fn put_reuses_the_buffer() {
    let device = Device::flex();
    let arr = Tensor::<2>::zeros([64, 8], &device);
    let before = storage(&arr);
    let index = Tensor::<2, Int>::zeros([3, 1], &device);
    let out = ops::put_along_axis(arr, index.clone(), 1.0, 0, Reduce::Add, true);
    assert_eq!(storage(&out), before, "no new buffer for an array given by value");
    let kept = out.clone();
    let other = ops::put_along_axis(out, index, 1.0, 0, Reduce::Add, true);
    assert_ne!(storage(&other), before, "a shared array is not written to");
    assert_eq!(kept.narrow(0, 0, 1).into_data().iter::<f32>().collect::<Vec<_>>(), [3.0; 8]);
}

/// Address of a Flex tensor's storage.
fn storage(tensor: &Tensor<2>) -> usize {
    let primitive = tensor.clone().try_into_primitive::<burn::backend::Flex>().expect("a Flex tensor");
    primitive.bytes().as_ptr() as usize
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

/// A column times a row has an element everywhere: more than can be counted are an error, and a panic with its message.
#[test]
fn products_beyond_32_bits() {
    let device = Device::flex();
    let line = |axis: usize| {
        let ids = Tensor::<1, Int>::arange(0..70_000, &device).reshape([1, 70_000]);
        let zeros = ids.zeros_like();
        let at = Tensor::cat(if axis == 0 { vec![ids, zeros] } else { vec![zeros, ids] }, 0);
        let shape = if axis == 0 { [70_000, 1] } else { [1, 70_000] };
        CooTensor::<2>::new(at, Tensor::<1>::ones([70_000], &device), shape).unwrap()
    };
    let (column, row) = (line(0), line(1));
    for trouble in [
        column.try_matmul_sparse(&row).unwrap_err(),
        column.to_csr().try_matmul_sparse(&row.to_csr()).unwrap_err(),
        column.try_matmul_transposed(&column).unwrap_err(),
        column.try_product_pattern(&row).unwrap_err(),
    ] {
        assert_eq!(trouble.kind(), "overflow");
        assert!(trouble.to_string().ends_with("must fit 2147483646, got 4900000000"), "{trouble}");
    }
    let panic = std::panic::catch_unwind(|| column.matmul_sparse(&row)).unwrap_err();
    let told = panic.downcast_ref::<String>().expect("a message");
    assert_eq!(*told, column.try_matmul_sparse(&row).unwrap_err().to_string());
    assert_eq!(row.matmul_sparse(&column).values::<1>().into_data().iter::<f32>().collect::<Vec<_>>(), [70_000.0]);
}

#[test]
fn messages_name_both_values() {
    let device = Device::flex();
    let a = CooTensor::<2>::from_dense(Tensor::<2>::ones([2, 3], &device), 0);
    let trouble: SparseError = a.try_matmul(Tensor::ones([4, 1], &device)).unwrap_err();
    assert_eq!(trouble.to_string(), "matmul: inner sizes and batches must agree, got [2, 3] and [4, 1]");
    let trouble = ops::try_put_along_axis(
        Tensor::<1, Bool>::full([2], true, &device),
        Tensor::zeros([1], &device),
        true,
        0,
        Reduce::Add,
        true,
    );
    assert_eq!(trouble.unwrap_err().kind(), "unsupported_dtype");
}

#[test]
fn a_person_can_read_it() {
    let device = Device::flex();
    let a = CsrTensor::<2>::from_dense(Tensor::<2>::from_floats([[0.0, 1.5], [2.0, 0.0]], &device));
    let shown = a.to_string();
    assert_eq!(shown, "CSR tensor [2, 2] f32, nnz 2 (50.0000 %), fill 0\n  (0, 1) 1.5000\n  (1, 0) 2.0000");
    assert!(format!("{a:?}").starts_with("CSRTensor { shape: [2, 2]"));
}

/// What each operation promises outside f64 and valid input.
#[test]
fn dtypes_and_errors_of_put_and_plans() {
    use burn::tensor::{FloatDType, IntDType};
    use sparse_tensor::ops::IndexPlan;
    let device = Device::flex();
    let index = || Tensor::<1, Int>::from_ints([0, 0, 1], &device);
    let arr = Tensor::<1>::from_floats([2.0, 3.0], &device);
    let values = Tensor::<1>::from_floats([1.5, 4.0, 0.5], &device);
    let list = |tensor: Tensor<1>| tensor.into_data().iter::<f32>().collect::<Vec<f32>>();
    for dtype in [FloatDType::F16, FloatDType::BF16, FloatDType::F64] {
        let out =
            ops::put_along_axis(arr.clone().cast(dtype), index(), values.clone().cast(dtype), 0, Reduce::Mul, true);
        assert_eq!(list(out), [12.0, 1.5]);
    }
    let ints = |values: [i32; 2], dtype: IntDType| Tensor::<1, Int>::from_ints(values, &device).cast(dtype);
    let out = ops::put_along_axis(
        ints([7, 250], IntDType::U8),
        Tensor::from_ints([1, 1], &device),
        ints([1, 9], IntDType::U8),
        0,
        Reduce::Add,
        true,
    );
    assert_eq!(out.into_data().iter::<i64>().collect::<Vec<_>>(), [7, 4], "u8 wraps");
    let out = ops::put_along_axis(
        Tensor::<1, Bool>::full([2], false, &device),
        Tensor::from_ints([-1], &device),
        true,
        0,
        Reduce::Assign,
        true,
    );
    assert_eq!(out.into_data().iter::<bool>().collect::<Vec<_>>(), [false, true]);
    let narrow = ints([1, 2], IntDType::I16);
    let trouble = ops::try_put_along_axis(
        narrow.clone(),
        Tensor::from_ints([0], &device),
        narrow.clone().narrow(0, 0, 1),
        0,
        Reduce::Add,
        true,
    );
    assert_eq!(trouble.unwrap_err().kind(), "unsupported_dtype");

    let plan = IndexPlan::new(index(), 2).unwrap();
    let wide = values.clone().cast(FloatDType::F64);
    assert_eq!(plan.try_put(arr.clone(), wide.clone(), 0, Reduce::Add, true).unwrap_err().kind(), "dtype_mismatch");
    assert_eq!(plan.try_put(arr.clone(), arr.clone(), 0, Reduce::Add, true).unwrap_err().kind(), "shape_mismatch");
    assert_eq!(plan.try_gather(narrow, 1).unwrap_err().kind(), "axis_out_of_range");
    assert_eq!(
        ops::try_put_along_axis(arr.clone(), index(), wide, 0, Reduce::Add, true).unwrap_err().kind(),
        "dtype_mismatch"
    );
    assert_eq!(IndexPlan::new(index(), 1).unwrap_err().kind(), "index_out_of_range");
    for reduce in Reduce::ALL {
        for own in [false, true] {
            let plain = ops::put_along_axis(arr.clone(), index(), values.clone(), 0, reduce, own);
            assert_eq!(list(plan.put(arr.clone(), values.clone(), 0, reduce, own)), list(plain), "{reduce:?} {own}");
        }
    }
    let empty = ops::gather(Tensor::<2>::ones([4, 3], &device), Tensor::zeros([2, 0], &device), 0);
    assert_eq!(empty.dims(), [2, 0]);
    let at = Tensor::<3, Int>::from_ints([[[0, 0], [1, 9]]], &device);
    let trouble = ops::try_gather_nd(Tensor::<2>::ones([2, 2], &device), at, None).unwrap_err();
    assert!(trouble.to_string().contains("position 3"), "the position in the index: {trouble}");
}

/// The gradient of a product in f16 whose result is subnormal, which says too little to divide by.
#[test]
fn products_in_f16() {
    use burn::tensor::FloatDType;
    let device = Device::flex().autodiff();
    let half = |values: &[f32]| Tensor::<1>::from_floats(values, &device).cast(FloatDType::F16).detach().require_grad();
    let (arr, values) = (half(&[1e-3]), half(&[1e-4]));
    let out = ops::put_along_axis(arr.clone(), Tensor::from_ints([0], &device), values.clone(), 0, Reduce::Mul, true);
    let grads = out.backward();
    let got = |leaf: Tensor<1>| leaf.grad(&grads).unwrap().into_data().iter::<f32>().next().unwrap();
    assert!((got(values) / 1e-3 - 1.0).abs() < 1e-2 && (got(arr) / 1e-4 - 1.0).abs() < 1e-2);
}

/// Fills on the host are rounded as elements are, and zero keeps its sign.
#[test]
fn fills_of_numbers() {
    use burn::tensor::FloatDType;
    let device = Device::flex();
    let a = CooTensor::<1>::new(Tensor::from_ints([[0]], &device), Tensor::<1>::ones([1], &device), [3]).unwrap();
    let with = |value: f64| a.clone().with_fill(Fill::scalar(value));
    let dense = |tensor: CooTensor<1>| tensor.to_dense().into_data().iter::<f32>().collect::<Vec<f32>>();
    assert_eq!(dense(&(&with(1e30) * &with(1e30)) / &with(1e30))[1], f32::INFINITY);
    let half = with(300.0).cast(FloatDType::F16);
    assert_eq!(dense(&half * &half)[1], f32::INFINITY);
    assert_eq!(dense(&a / &(a.clone() * -1.0).add_scalar(0.0)).len(), 3);
    assert_eq!(dense(&with(1.0) / &(a.clone() * -1.0))[1], f32::NEG_INFINITY);
    assert!(a.add_scalar(1.0).sub_scalar(1.0).fill().is_zero());
    assert!(ops::try_concat(&[a.clone().with_fill(Fill::scalar(0.1f32)), with(0.1)], 0).is_ok());
    assert_eq!(a.try_add_along(Tensor::ones([3], &device), 0).unwrap_err().kind(), "would_densify");
    assert_eq!(a.try_sub_dense(Tensor::ones([3], &device)).unwrap_err().kind(), "would_densify");
    let twice = Tensor::<2, Int>::from_ints([[0, 0]], &device);
    let twice = CooTensor::<1>::new(twice, Tensor::<1>::from_floats([2.0, -1.0], &device), [1]).unwrap();
    assert_eq!(dense(twice / 0.0)[0], f32::INFINITY);
    let none = CooTensor::<1>::new(Tensor::zeros([1, 0], &device), Tensor::<1>::zeros([0], &device), [3]).unwrap();
    assert!(none.to_string().contains("nnz 0"));
    let whole =
        CooTensor::<1, Int>::new(Tensor::from_ints([[1]], &device), Tensor::<1, Int>::from_ints([3], &device), [2])
            .unwrap();
    assert_eq!((&whole / 2i64).to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [0.0, 1.5]);
    let quotient: CooTensor<1> = &whole.clone().with_fill(Fill::scalar(4)) / whole.with_fill(Fill::scalar(2));
    assert_eq!(quotient.to_dense().into_data().iter::<f32>().collect::<Vec<_>>(), [2.0, 1.0]);
}

/// Functions of whole numbers against the host's, with zeros on either side.
#[test]
fn functions_of_whole_numbers() {
    let device = Device::flex();
    let (x, y) = ([0, -7, 12, 5, 0, 9], [3, 2, 0, 3, 0, 1]);
    let sparse = |values: [i32; 6]| {
        CooTensor::<2, Int>::from_dense(Tensor::<1, Int>::from_ints(values, &device).reshape([2, 3]), 0)
    };
    let (a, b) = (sparse(x), sparse(y));
    let list = |tensor: CooTensor<2, Int>| tensor.to_dense().into_data().convert::<i64>().iter().collect::<Vec<i64>>();
    let pairs = |f: fn(i64, i64) -> i64| x.iter().zip(y).map(|(&a, b)| f(a.into(), b.into())).collect::<Vec<_>>();
    let each = |f: fn(i64) -> i64| x.iter().map(|&a| f(a.into())).collect::<Vec<_>>();
    assert_eq!(list(a.remainder(&b)), pairs(|a, b| if b == 0 { 0 } else { a.rem_euclid(b) }));
    assert_eq!(list(a.powi(&b)), pairs(|a, b| a.pow(b as u32)));
    assert_eq!(list(a.bitwise_and(&b)), pairs(|a, b| a & b));
    assert_eq!(list(a.bitwise_or(&b)), pairs(|a, b| a | b));
    assert_eq!(list(a.bitwise_xor(&b)), pairs(|a, b| a ^ b));
    assert_eq!(list(a.bitwise_left_shift(&b)), pairs(|a, b| a << b));
    assert_eq!(list(a.bitwise_right_shift(&b)), pairs(|a, b| a >> b));
    assert_eq!(list(a.remainder_scalar(4)), each(|a| a.rem_euclid(4)));
    assert_eq!(list(a.remainder_scalar(-1)), [0; 6]);
    assert_eq!(list(a.bitwise_and_scalar(6)), each(|a| a & 6));
    assert_eq!(list(a.bitwise_or_scalar(6)), each(|a| a | 6));
    assert_eq!(list(a.bitwise_xor_scalar(6)), each(|a| a ^ 6));
    assert_eq!(list(a.bitwise_not()), each(|a| !a));
    assert_eq!(list(a.bitwise_left_shift_scalar(3)), each(|a| a << 3));
    assert_eq!(list(a.bitwise_right_shift_scalar(1)), each(|a| a >> 1));
    assert!(a.bitwise_or(&b).fill().is_zero() && a.remainder(&b.clone().with_fill(Fill::scalar(2))).fill().is_zero());
    let least = Tensor::<1, Int>::from_ints([i32::MIN], &device);
    let (least, minus) = (CooTensor::<1, Int>::from_dense(least, 0), Tensor::<1, Int>::from_ints([-1], &device));
    let rest = least.remainder(&CooTensor::from_dense(minus, 0)).to_dense().into_data().convert::<i64>();
    assert_eq!(rest.iter::<i64>().collect::<Vec<_>>(), [0]);
}

/// Functions that the law does not draw, at fixed places with signs of both kinds.
#[test]
fn functions_of_pairs_and_numbers() {
    let device = Device::flex();
    let x = Tensor::<2>::from_floats([[0.0, -2.5, 1.5], [3.0, 0.0, -0.75]], &device);
    let y = Tensor::<2>::from_floats([[1.25, 0.0, -2.0], [0.5, 0.0, 4.0]], &device);
    let (a, b) = (CooTensor::<2>::from_dense(x.clone(), 0), CooTensor::<2>::from_dense(y.clone(), 0));
    let same = |got: CooTensor<2>, want: Tensor<2>| close(&read(got.to_dense()), &read(want)).unwrap();
    same(a.atan2(&b), x.clone().atan2(y.clone()));
    same(a.hypot(&b), x.clone().hypot(y.clone()));
    same(a.remainder_scalar(2.0), x.clone().remainder_scalar(2.0));
    same(a.fmod_scalar(2.0), x.clone() - x.clone().div_scalar(2.0).trunc() * 2.0);
    same(a.rad2deg().deg2rad(), x.clone());
    // NaN where both are zero, as for dense tensors.
    let numbers = |tensor: Tensor<2>| read(tensor.clone().mask_fill(tensor.is_nan(), 99.0));
    close(&numbers(a.remainder(&b).to_dense()), &numbers(x.clone().remainder(y.clone()))).unwrap();
    close(&numbers(a.fmod(&b).to_dense()), &numbers(x.clone().fmod(y.clone()))).unwrap();
    assert!(a.remainder(&b.clone().with_fill(Fill::scalar(2.0))).fill().is_zero());
    let n = Tensor::<2, Int>::from_ints([[3, 3, 2], [0, 0, -1]], &device);
    let power = CooTensor::<2, Int>::from_dense(n.clone(), 0);
    let want = [0.0, -15.625, 2.25, 1.0, 1.0, f64::from(-4.0f32 / 3.0)];
    close(&read(a.powi(&power).to_dense()), &want).unwrap();
    assert!(a.powi(&power.clone().with_fill(Fill::scalar(2))).fill().is_zero());
    let bool = |tensor: CooTensor<2, Bool>| tensor.to_dense().into_data().iter::<bool>().collect::<Vec<_>>();
    assert_eq!(bool(a.is_close(&a.mul_scalar(1.0 + 1e-6), 1e-5, 1e-8)), [true; 6]);
    assert_eq!(bool(a.is_close(&b, 1e-5, 1e-8)), [false, false, false, false, true, false]);
    same(a.zip_with(&b, |x, y| x.sin() + y), x.clone().sin() + y.clone());
    same(a.matmul_transposed(&b), x.clone().matmul(y.clone().transpose()));
    let (p, q) = (a.greater_elem(0.0), b.greater_elem(0.0));
    let (dense_p, dense_q) = (x.greater_elem(0.0), y.greater_elem(0.0));
    let same = |got: CooTensor<2, Bool>, want: Tensor<2, Bool>| {
        assert!(matches!(got.fill(), Fill::Zero) || got.fill().to_string() == "true");
        assert_eq!(got.to_dense().int().into_data(), want.int().into_data());
    };
    same(p.bool_and(&q), dense_p.clone().bool_and(dense_q.clone()));
    same(p.bool_or(&q), dense_p.clone().bool_or(dense_q.clone()));
    same(p.bool_xor(&q), dense_p.clone().not_equal(dense_q));
    same(p.bool_not(), dense_p.bool_not());
    // Fills of numbers are known without the device, so what needs a zero takes them.
    assert_eq!(a.max_pair(&b).clamp(-1.0, 1.0).matmul_sparse(&b.transpose()).dims(), [2, 2]);
    assert_eq!(a.masked_select(&a.greater(&b)).dims(), [2]);
    // A transpose is one pattern however often it is taken.
    assert!(sparse_tensor::pattern::Pattern::is_same(a.transpose().pattern(), a.transpose().pattern()));
}

/// One tensor on Flex, the other on NdArray: an error before any kernel runs, with the kind of the contract.
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
        kind(coo.with_values(values(&there)).map(drop)),
        kind(csr.try_matmul(square(&there)).map(drop)),
        kind(csr.try_rmatmul(square(&there)).map(drop)),
        kind(csr.try_matvec(values(&there)).map(drop)),
        kind(csr.try_matmul_reduce(square(&there), Reduce::Amax).map(drop)),
        kind(ops::try_masked_matmul(square(&here), square(&there), &csr).map(drop)),
        kind(ops::try_masked_matmul(square(&there), square(&there), &csr).map(drop)),
    ];
    assert!(mismatches.iter().all(|kind| *kind == "device_mismatch"), "{mismatches:?}");
    // An autodiff association makes no other device of it.
    let tracked = Tensor::<1>::from_floats([1.0, 2.0], &here.clone().autodiff()).require_grad();
    assert!(CooTensor::<2>::new(ends(&here), tracked.clone(), [2, 2]).is_ok());
    assert!(coo.with_values(tracked).is_ok());
}

#[test]
fn new_values_have_the_dtype_of_a_fill_in_a_tensor() {
    let device = Device::flex();
    let a = CooTensor::<2>::from_dense(Tensor::<2>::eye(2, &device), 0);
    let doubles = Tensor::<1>::ones([2], (&device, DType::F64));
    assert!(a.with_values(doubles.clone()).is_ok());
    let filled = a.with_fill(Fill::tensor(Tensor::<1>::ones([1], &device)));
    assert_eq!(filled.with_values(doubles).unwrap_err().kind(), "dtype_mismatch");
}

/// A zero that is known to be one stays so through functions that keep it; minus zero too, which divides another way.
#[test]
fn zero_fills_stay_known() {
    use burn::tensor::{FloatDType, IntDType};
    let device = Device::flex();
    let a = CooTensor::<2>::from_dense(Tensor::<2>::from_floats([[0.0, -2.0], [3.0, 0.0]], &device), 0);
    let minus = a.neg();
    assert!(minus.fill().is_zero() && !matches!(minus.fill(), Fill::Zero));
    let by = Tensor::<1>::from_floats([2.0], &device);
    let kept = [minus.tanh(), minus.sqrt(), minus.powi_scalar(3), minus.mul_scalar(by), minus.cast(FloatDType::F64)];
    let plain = [minus.relu(), minus.abs(), minus.square(), minus.powi_scalar(2), minus.powf_scalar(2.0), &a - &a];
    for (number, known) in kept.iter().chain(&plain).enumerate() {
        assert!(known.fill().is_zero(), "function {number}");
        assert_eq!(matches!(known.fill(), Fill::Zero), number >= kept.len(), "function {number}");
        let quotient = read(known.recip().to_dense())[0];
        assert_eq!(quotient, if number < kept.len() { f64::NEG_INFINITY } else { f64::INFINITY }, "function {number}");
    }
    assert!(minus.relu().try_matmul_sparse(&a).is_ok());
    assert!(minus.tanh().try_mul_along(Tensor::ones([2], &device), 0).is_ok());
    assert!(minus.cast(FloatDType::F64).try_tril(0).is_ok());
    // At the angle of minus zero a point is on the other side.
    assert!(a.atan2(&a).fill().is_zero() && !a.atan2(&minus).fill().is_zero());
    let two = a.clone().with_fill(Fill::scalar(2));
    assert!(a.powf(&two).fill().is_zero() && minus.fmod(&two).fill().is_zero());
    let whole = CooTensor::<2, Int>::from_dense(Tensor::<2, Int>::from_ints([[0, -2], [3, 0]], &device), 0);
    assert!(whole.remainder(&whole).fill().is_zero());
    for known in [whole.neg(), whole.neg().abs(), whole.cast(IntDType::I64), minus.int()] {
        assert!(matches!(known.fill(), Fill::Zero));
    }
    assert_eq!(whole.bitwise_not().fill().to_string(), "-1");
    assert!(whole.neg().abs().try_prune(0.0).is_ok());
    assert!(a.powi(&whole.with_fill(Fill::scalar(2))).fill().is_zero());
}

/// A number of the host is an element of its tensor's dtype, on the host as on the device.
#[test]
fn fills_are_elements_of_their_dtype() {
    use burn::tensor::Scalar;
    let device = Device::flex();
    let with = |dtype, value: Scalar| {
        CooTensor::<1, Int>::empty([2], &device, dtype).with_fill(Fill::scalar(value)).fill().to_string()
    };
    assert_eq!(with(DType::I32, Scalar::Int(3_000_000_000)), "-1294967296");
    assert_eq!(with(DType::U8, Scalar::Int(-1)), "255");
    assert_eq!(with(DType::U8, Scalar::Int(256)), "0");
    assert_eq!(with(DType::I64, Scalar::Int(1 << 60)), "1152921504606846976");
    assert_eq!([2.9, -2.9, f64::NAN].map(|value| with(DType::I32, Scalar::Float(value))), ["2", "-2", "0"]);
    let bytes = |fill: i64| CooTensor::<1, Int>::empty([2], &device, DType::U8).with_fill(Fill::scalar(fill));
    let hits = |mask: CooTensor<1, Bool>| mask.fill().to_string();
    assert_eq!(hits(bytes(0).bitwise_or_scalar(255).equal_elem(255)), "true");
    assert_eq!(hits(bytes(5).neg().lower_elem(0)), "false");
    let none = CooTensor::<1>::empty([2], &device, DType::F32);
    assert!(matches!(none.with_fill(Fill::scalar(1e-60)).fill(), Fill::Zero));
    // 16-bit floats: the rounded number, so that equal elements cancel.
    let half = Tensor::<2>::from_floats([[0.1, 0.0]], &device).cast(burn::tensor::FloatDType::F16);
    let a = CooTensor::<2>::from_dense(half, 0).with_fill(Fill::scalar(0.1));
    let b = Tensor::<2>::from_floats([[1.0], [-1.0]], &device).cast(burn::tensor::FloatDType::F16);
    assert_eq!(read(a.matmul(b)), [0.0]);
}

/// The fill of blocks has their shape, and follows their dims.
#[test]
fn fills_of_blocks() {
    let device = Device::flex();
    let at = Tensor::<2, Int>::from_ints([[1]], &device);
    let a = CooTensor::<3>::new(at, Tensor::<3>::ones([1, 2, 3], &device), [2, 2, 3]).unwrap();
    let list = Tensor::<1, Int>::arange(0..6, &device).float();
    let with = |fill| a.clone().try_with_fill(fill).map_err(|trouble| trouble.kind());
    assert_eq!(with(Fill::tensor(list.clone().reshape([3, 2]))).err(), Some("shape_mismatch"));
    assert_eq!(with(Fill::tensor(list.clone().narrow(0, 0, 5))).err(), Some("shape_mismatch"));
    assert_eq!(with(Fill::tensor(list.clone().cast(burn::tensor::FloatDType::F64))).err(), Some("dtype_mismatch"));
    assert!(with(Fill::tensor(list.clone().narrow(0, 2, 1))).is_ok() && with(Fill::tensor(list.clone())).is_ok());
    let filled = with(Fill::tensor(list.reshape([2, 3]))).unwrap();
    let turned = filled.permute([0, 2, 1]);
    assert_eq!(read(turned.to_dense())[..6], [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    // One number has no order to turn.
    assert!(a.permute([0, 2, 1]).fill().is_zero() && a.permute([0, 2, 1]).try_prune(0.0).is_ok());
    assert_eq!(with(Fill::scalar(2.5)).unwrap().permute([0, 2, 1]).fill().to_string(), "2.5");
}
