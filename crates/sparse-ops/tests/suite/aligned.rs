//! Copies that start on a cache line.

use burn::module::Param;
use burn::tensor::{DType, Device, Tensor};
use sparse_tensor::aligned;
use sparse_tensor::ops::{Reduce, try_put_along_axis};

/// Whether the memory of a tensor that nobody else holds starts on a cache line.
fn is_aligned<const D: usize>(x: Tensor<D>) -> bool {
    (x.into_data().as_bytes().as_ptr() as usize).is_multiple_of(64)
}

#[test]
fn numbers_and_dtype_stay_of_any_layout() {
    let device = Device::flex();
    let x = Tensor::<2>::from_floats([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &device);
    for x in [x.clone(), x.clone().transpose(), x.clone().slice([1..2, 1..3]), x.slice([0..0, 0..3])] {
        for dtype in [DType::F16, DType::F32, DType::F64] {
            let x = x.clone().cast(dtype);
            let copy = aligned(x.clone());
            assert_eq!(copy.clone().into_data(), x.into_data());
            assert!(is_aligned(copy));
        }
    }
    let large = Tensor::<2>::ones([1 << 10, 1 << 10], &device);
    assert_eq!(aligned(large.clone()).into_data(), large.into_data());
}

#[test]
fn gradients_pass_and_leaves_stay_leaves() {
    for device in [Device::flex().autodiff(), Device::flex().autodiff().gradient_checkpointing()] {
        gradients(device);
    }
}

fn gradients(device: Device) {
    let x = Tensor::<1>::from_floats([1.0, 2.0], &device).require_grad();
    // With other tensors of the device: Burn panics where two strategies of checkpointing meet.
    let w = Tensor::<1>::from_floats([3.0, 4.0], &device).require_grad();
    let plain = Tensor::<1>::from_floats([1.0, 2.0], &device);
    for aligned in [aligned(x.clone()), aligned(x.clone() * 1.0), aligned(plain)] {
        let grads = (aligned * w.clone()).sum().backward();
        assert_eq!(w.grad(&grads).unwrap().into_data().to_vec::<f32>().unwrap(), [1.0, 2.0]);
    }
    let grads = aligned(x.clone() * 2.0).powi_scalar(2).sum().backward();
    assert_eq!(x.grad(&grads).unwrap().into_data().to_vec::<f32>().unwrap(), [8.0, 16.0]);
    let leaf = aligned(x.clone());
    let grads = leaf.clone().sum().backward();
    assert!(leaf.is_require_grad() && leaf.grad(&grads).is_some() && x.grad(&grads).is_none());
    assert!(!aligned(Tensor::<1>::from_floats([1.0, 2.0], &device)).is_tracked());
    assert!(Param::from_tensor(x).map(aligned).val().is_require_grad());
}

/// What a table of rows relies on.
#[test]
fn an_update_in_place_keeps_the_memory() {
    let device = Device::flex();
    let x = aligned(Tensor::<2>::zeros([300, 3], &device));
    let index = Tensor::from_ints([[7], [3]], &device);
    let x = try_put_along_axis(x, index, Tensor::<2>::ones([2, 3], &device), 0, Reduce::Add, true).unwrap();
    assert_eq!(x.clone().sum().into_scalar::<f32>(), 6.0);
    assert!(is_aligned(x));
}
