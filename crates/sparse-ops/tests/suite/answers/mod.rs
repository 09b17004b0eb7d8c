//! Known answers that the equivalence test does not draw, and hostile inputs.

mod elementwise;
mod empty;
mod fills;
mod halves;
mod hostile;
mod patterns;
mod products;
mod put;
mod reductions;
mod selection;

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::device::cpus;
use sparse_dev::draw::{Plain, plain, value};
use sparse_tensor::CooTensor;

/// The first or the last CPU backend of the build.
fn device(pick: bool) -> Device {
    let mut devices = cpus();
    if pick { devices.swap_remove(0) } else { devices.pop().expect("Flex") }
}

pub fn flex() -> Device {
    Device::flex()
}

/// 1, 2, 3, ...
fn count<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    let numbers: Vec<f32> = (1..=shape.iter().product::<usize>()).map(|k| k as f32).collect();
    Tensor::from_data(TensorData::new(numbers, shape), &flex())
}

pub fn ones<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::ones(shape, &flex())
}

pub fn ids<const D: usize>(list: impl Into<Vec<i64>>, shape: [usize; D]) -> Tensor<D, Int> {
    Tensor::from_data(TensorData::new(list.into(), shape), (&flex(), DType::I64))
}

/// `[[1, 0, 2], [0, 3, 0]]`.
pub fn small() -> CooTensor<2> {
    CooTensor::from_dense(Tensor::from_floats([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], &flex()), 0)
}

fn read<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

fn ints<const D: usize>(tensor: Tensor<D, Int>) -> Vec<i64> {
    tensor.into_data().convert::<i64>().iter().collect()
}

/// NaN equals NaN, equal infinities match, zeros of either sign match.
fn close(got: &[f64], want: &[f64]) -> Result<(), TestCaseError> {
    prop_assert_eq!(got.len(), want.len());
    for (k, (&got, &want)) in got.iter().zip(want).enumerate() {
        // Beside an infinity every number would be near.
        let near = want.is_finite() && (got - want).abs() <= 1e-9 * want.abs().max(1.0);
        let same = (got.is_nan() && want.is_nan()) || got == want || near;
        prop_assert!(same, "element {}: {} and {}", k, got, want);
    }
    Ok(())
}

/// The same shape and numbers, up to some steps of f32. NaN equals NaN.
#[track_caller]
fn near<const D: usize>(got: Tensor<D>, want: Tensor<D>) {
    assert_eq!(got.dims(), want.dims());
    let pairs = read(got).into_iter().zip(read(want));
    for (k, (got, want)) in pairs.enumerate() {
        let same = got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= 1e-5 * want.abs().max(1.0);
        assert!(same, "element {k}: {got} and {want}");
    }
}

/// Bit for bit, but for the payload of NaN.
fn identical(got: &[f64], want: &[f64]) -> Result<(), TestCaseError> {
    prop_assert_eq!(got.len(), want.len());
    for (k, (got, want)) in got.iter().zip(want).enumerate() {
        let same = (got.is_nan() && want.is_nan()) || got.to_bits() == want.to_bits();
        prop_assert!(same, "element {}: {:?} and {:?}", k, got, want);
    }
    Ok(())
}

/// Of few steps or many, or what arithmetic treats in its own way.
pub fn any_value() -> impl Strategy<Value = f64> {
    let special = prop_oneof![Just(-0.0), Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY)];
    prop_oneof![6 => value(), 4 => special]
}

/// The tensor with some of its values replaced by special ones.
pub fn special(shape: Vec<usize>) -> impl Strategy<Value = Plain> {
    plain(shape, false).prop_flat_map(|plain| {
        let count = plain.values.len();
        proptest::collection::vec(any_value(), count).prop_map(move |values| Plain { values, ..plain.clone() })
    })
}
