//! Indexed reads and writes of dense tensors.

use super::{any_value, count, device, flex, identical, ids, near, read};
use burn::tensor::{DType, Device, FloatDType, Int, IntDType, Tensor, TensorData};
use proptest::prelude::*;
use sparse_tensor::ops::{self, Reduce};

proptest! {
    /// A permutation put by assign, then gathered, is the identity.
    #[test]
    fn put_then_gather(
        order in Just((0..5i64).collect::<Vec<_>>()).prop_shuffle(), x in proptest::collection::vec(any_value(), 10),
        pick: bool,
    ) {
        let device = device(pick);
        let x = Tensor::<2>::from_data(TensorData::new(x, [5, 2]), (&device, DType::F64));
        let at = Tensor::<2, Int>::from_data(TensorData::new(order, [5, 1]), (&device, DType::I64));
        let zeros = Tensor::zeros([5, 2], (&device, DType::F64));
        let put = ops::put_along_axis(zeros, at.clone(), x.clone(), 0, Reduce::Assign, true);
        identical(&read(ops::gather(put, 0, at.expand([5, 2]))), &read(x))?;
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

/// A put that fails at its last index has written nothing that anybody can see.
#[test]
fn a_put_that_fails_leaves_the_array() {
    let device = Device::flex();
    let arr = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device);
    let index = Tensor::<2, Int>::from_ints([[0, 1], [1, 0], [0, 2]], &device);
    for reduce in [Reduce::Assign, Reduce::Add, Reduce::Mul, Reduce::Mean, Reduce::Amax, Reduce::Amin] {
        let kept = arr.clone();
        let values = Tensor::<2>::full([3, 2], 7.0, &device);
        let error = ops::try_put_along_axis(arr.clone(), index.clone(), values.clone(), 0, reduce, true).unwrap_err();
        assert_eq!(error.kind(), "index_out_of_range");
        let error = ops::try_scatter_reduce(arr.clone(), 0, index.clone(), values, reduce, true).unwrap_err();
        assert_eq!(error.kind(), "index_out_of_range");
        assert_eq!(kept.into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0]);
    }
}

/// Address of a Flex tensor's storage.
fn storage(tensor: &Tensor<2>) -> usize {
    let primitive = tensor.clone().try_into_primitive::<burn::backend::Flex>().expect("a Flex tensor");
    primitive.bytes().as_ptr() as usize
}

#[test]
fn sums_of_small_integers_wrap() {
    let ints = |values: [i32; 2]| Tensor::<1, Int>::from_ints(values, &flex()).cast(IntDType::U8);
    let at = Tensor::from_ints([1, 1], &flex());
    let out = ops::put_along_axis(ints([7, 250]), at, ints([1, 9]), 0, Reduce::Add, true);
    assert_eq!(out.into_data().iter::<i64>().collect::<Vec<_>>(), [7, 4]);
}

#[test]
fn nothing_is_read() {
    let empty = ops::gather(Tensor::<2>::ones([4, 3], &flex()), 0, Tensor::zeros([2, 0], &flex()));
    assert_eq!(empty.dims(), [2, 0]);
}

/// The gradient of a product in f16 whose result is subnormal, which says too little to divide by.
#[test]
fn products_in_f16() {
    let device = Device::flex().autodiff();
    let half = |values: &[f32]| Tensor::<1>::from_floats(values, &device).cast(FloatDType::F16).detach().require_grad();
    let (arr, values) = (half(&[1e-3]), half(&[1e-4]));
    let out = ops::put_along_axis(arr.clone(), Tensor::from_ints([0], &device), values.clone(), 0, Reduce::Mul, true);
    let grads = out.backward();
    let got = |leaf: Tensor<1>| leaf.grad(&grads).unwrap().into_data().iter::<f32>().next().unwrap();
    assert!((got(values) / 1e-3 - 1.0).abs() < 1e-2 && (got(arr) / 1e-4 - 1.0).abs() < 1e-2);
}

/// A u64 past i64 is out of range, not the last element.
#[test]
fn unsigned_indices_do_not_wrap() {
    let device = Device::flex();
    let index = |last: u64| {
        let data = TensorData::new(vec![0u64, last], [2]);
        Tensor::<1, Int>::from_data(data, (&device, DType::U64))
    };
    let x = Tensor::<1>::from_floats([1.0, 2.0, 3.0], &device);
    let picked = ops::gather(x.clone(), 0, index(2));
    assert_eq!(picked.into_data().iter::<f32>().collect::<Vec<_>>(), [1.0, 3.0]);
    assert_eq!(ops::try_gather(x, 0, index(u64::MAX)).unwrap_err().kind(), "index_out_of_range");
}

/// The array of a sum that includes it has the gradient of the result, wherever values were added.
#[test]
fn gradients_of_the_array_alone() {
    let device = flex().autodiff();
    for (reduce, include_self) in [(Reduce::Add, true), (Reduce::Add, false), (Reduce::Mul, true)] {
        let x = Tensor::from_data(count([2, 3]).into_data(), &device).require_grad();
        let values = Tensor::<2>::from_floats([[10.0], [20.0]], &device);
        let at = ids([0, 2], [2, 1]).to_device(&device);
        let weights = Tensor::from_data(count([2, 3]).into_data(), &device);
        let out = ops::put_along_axis(x.clone(), at, values, 1, reduce, include_self);
        let grads = (out * weights).sum().backward();
        let [first, last] = match (reduce, include_self) {
            (Reduce::Add, true) => [1.0, 6.0],
            (Reduce::Add, false) => [0.0, 0.0],
            _ => [10.0, 120.0],
        };
        let want = Tensor::from_floats([[first, 2.0, 3.0], [4.0, 5.0, last]], &flex());
        near(x.grad(&grads).unwrap(), want);
    }
}

/// A long index of 64 bits is copied to 32 bits, also one that is shared by columns.
#[test]
fn long_indices_write_read_and_have_gradients_as_loops_do() {
    let (rows, columns, len) = (1usize << 15, 32, 1000);
    let device = flex().autodiff();
    let entry = |k: usize| (k * 7919 % (2 * len)) as i64 - len as i64;
    let place = |entry: i64| entry.rem_euclid(len as i64) as usize;
    for width in [columns, 1] {
        let index: Vec<i64> = (0..rows * width).map(entry).collect();
        let at = |row: usize, column: usize| place(index[row * width + column % width]) * columns + column;
        let data = TensorData::new(index.clone(), [rows, width]);
        let indices = Tensor::<2, Int>::from_data(data, (&device.clone().inner(), DType::I64));
        let indices = indices.expand([rows, columns]);
        let values: Vec<f32> = (0..rows * columns).map(|k| (k % 1021) as f32).collect();
        let x = Tensor::<2>::from_data(TensorData::new(values.clone(), [rows, columns]), &device).require_grad();
        let zeros = Tensor::<2>::zeros([len, columns], &device);
        let sums = ops::put_along_axis(zeros, indices.clone(), x.clone(), 0, Reduce::Add, true);
        let read = ops::gather(sums.clone(), 0, indices);
        let grads = read.sum().backward();
        let (mut want, mut counts) = (vec![0.0; len * columns], vec![0.0f32; len * columns]);
        for row in 0..rows {
            for column in 0..columns {
                want[at(row, column)] += values[row * columns + column];
                counts[at(row, column)] += 1.0;
            }
        }
        assert_eq!(sums.into_data().try_to_vec::<f32>().unwrap(), want);
        let gradient = x.grad(&grads).unwrap().into_data().try_to_vec::<f32>().unwrap();
        let each = (0..rows * columns).map(|k| counts[at(k / columns, k % columns)]);
        assert!(gradient.into_iter().eq(each));
    }
}
