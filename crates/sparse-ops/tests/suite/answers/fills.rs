//! Fills: numbers of the host, tensors, blocks of them.

use super::read;
use burn::tensor::Bool;
use burn::tensor::{DType, Device, FloatDType, Int, IntDType, Scalar, Tensor};
use sparse_tensor::ops;
use sparse_tensor::{CooTensor, Fill};

/// Fills on the host are rounded as elements are, and zero keeps its sign.
#[test]
fn fills_of_numbers() {
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

#[test]
fn new_values_have_the_dtype_of_a_fill_in_a_tensor() {
    let device = Device::flex();
    let a = CooTensor::<2>::from_dense(Tensor::<2>::eye(2, &device), 0);
    let doubles = Tensor::<1>::ones([2], (&device, DType::F64));
    assert!(a.try_with_values(doubles.clone()).is_ok());
    let filled = a.with_fill(Fill::tensor(Tensor::<1>::ones([1], &device)));
    assert_eq!(filled.try_with_values(doubles).unwrap_err().kind(), "dtype_mismatch");
}

/// A zero that is known to be one stays so through functions that keep it; minus zero too, which divides another way.
#[test]
fn zero_fills_stay_known() {
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
    assert!(minus.relu().try_matmul(&a).is_ok());
    assert!(minus.tanh().try_mul_dense(Tensor::ones([2, 1], &device)).is_ok());
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
    let device = Device::flex();
    let with = |dtype, value: Scalar| {
        CooTensor::<1, Int>::zeros([2], (&device, dtype)).with_fill(Fill::scalar(value)).fill().to_string()
    };
    assert_eq!(with(DType::I32, Scalar::Int(3_000_000_000)), "-1294967296");
    assert_eq!(with(DType::U8, Scalar::Int(-1)), "255");
    assert_eq!(with(DType::U8, Scalar::Int(256)), "0");
    assert_eq!(with(DType::I64, Scalar::Int(1 << 60)), "1152921504606846976");
    assert_eq!([2.9, -2.9, f64::NAN].map(|value| with(DType::I32, Scalar::Float(value))), ["2", "-2", "0"]);
    let bytes = |fill: i64| CooTensor::<1, Int>::zeros([2], (&device, DType::U8)).with_fill(Fill::scalar(fill));
    let hits = |mask: CooTensor<1, Bool>| mask.fill().to_string();
    assert_eq!(hits(bytes(0).bitwise_or_scalar(255).equal_elem(255)), "true");
    assert_eq!(hits(bytes(5).neg().lower_elem(0)), "false");
    let none = CooTensor::<1>::zeros([2], (&device, DType::F32));
    assert!(matches!(none.with_fill(Fill::scalar(1e-60)).fill(), Fill::Zero));
    // 16-bit floats: the rounded number, so that equal elements cancel.
    let half = Tensor::<2>::from_floats([[0.1, 0.0]], &device).cast(FloatDType::F16);
    let a = CooTensor::<2>::from_dense(half, 0).with_fill(Fill::scalar(0.1));
    let b = Tensor::<2>::from_floats([[1.0], [-1.0]], &device).cast(FloatDType::F16);
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
    assert_eq!(with(Fill::tensor(list.clone().cast(FloatDType::F64))).err(), Some("dtype_mismatch"));
    assert!(with(Fill::tensor(list.clone().narrow(0, 2, 1))).is_ok() && with(Fill::tensor(list.clone())).is_ok());
    let filled = with(Fill::tensor(list.reshape([2, 3]))).unwrap();
    let turned = filled.permute([0, 2, 1]);
    assert_eq!(read(turned.to_dense())[..6], [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    // One number has no order to turn.
    assert!(a.permute([0, 2, 1]).fill().is_zero() && a.permute([0, 2, 1]).try_prune(0.0).is_ok());
    assert_eq!(with(Fill::scalar(2.5)).unwrap().permute([0, 2, 1]).fill().to_string(), "2.5");
}

/// A full row, or column, takes no fill, so an infinite one does not show there. The dense answers of the others are
/// not finite.
#[test]
fn full_lines_take_no_fill() {
    let device = Device::flex();
    let infinity = f32::INFINITY;
    let dense = Tensor::<2>::from_floats([[1.0, 2.0, 3.0], [4.0, 0.0, 0.0], [5.0, 6.0, 7.0]], &device);
    let x = Tensor::<2>::from_floats([[1.0, -1.0], [2.0, 1.0], [0.5, 2.0]], &device);
    let right = |out: Tensor<2>, want: Tensor<2>, row_is_full: &[bool]| {
        let (got, want) = (read(out), read(want));
        let columns = want.len() / row_is_full.len();
        for (at, (got, want)) in got.iter().zip(&want).enumerate() {
            assert!(if row_is_full[at / columns] { got == want } else { !got.is_finite() }, "{at}: {got}, not {want}");
        }
    };
    let row_fill = Fill::tensor(Tensor::<1>::from_floats([infinity], &device));
    for fill in [Fill::scalar(infinity), Fill::scalar(f32::NAN), row_fill] {
        let a = CooTensor::<2>::from_dense(dense.clone(), 0).with_fill(fill);
        let rows = [true, false, true];
        right(a.matmul(x.clone()), dense.clone().matmul(x.clone()), &rows);
        right(a.to_csr().matmul(x.clone()), dense.clone().matmul(x.clone()), &rows);
        right(a.addmm(1.0, x.clone(), 2.0, x.clone()), x.clone() + dense.clone().matmul(x.clone()) * 2.0, &rows);
        // Columns of the transpose are the rows here.
        let turned = a.transpose().rmatmul(x.clone().transpose()).transpose();
        right(turned, dense.clone().matmul(x.clone()), &rows);
        // Each matrix of a batch has its own full rows.
        let batch = CooTensor::<3>::from_dense(Tensor::stack(vec![dense.clone(), dense.clone().transpose()], 0), 0);
        let batch = batch.with_fill(a.fill().clone()).to_csr();
        let out: Tensor<3> = batch.matmul(Tensor::<2>::stack::<3>(vec![x.clone(), x.clone()], 0));
        let both = vec![dense.clone().matmul(x.clone()), dense.clone().transpose().matmul(x.clone())];
        right(out.reshape([6, 2]), Tensor::cat(both, 0), &[true, false, true, true, false, false]);
    }
}
