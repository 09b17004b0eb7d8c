//! Known answers, kinds of errors and hostile inputs.

mod elementwise;
mod fills;
mod hostile;
mod patterns;
mod put;
mod reductions;
mod refusals;
mod selection;

use crate::device::cpus;
use crate::draw::{Plain, plain, value};
use burn::tensor::{Device, Int, Tensor};
use proptest::prelude::*;

/// The first or the last CPU backend of the build.
fn device(pick: bool) -> Device {
    let mut devices = cpus();
    if pick { devices.swap_remove(0) } else { devices.pop().expect("Flex") }
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
