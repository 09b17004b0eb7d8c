//! Wrong arguments, operation by operation: an error of the right kind that names the operation and what was given. And
//! branches that few arguments reach, beside the dense answer of Burn.

mod branches;
mod empty;
mod patterns;
mod places;
mod products;
mod rare;
mod shapes;

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use sparse_tensor::{CooTensor, SparseError};

fn flex() -> Device {
    Device::flex()
}

/// 1, 2, 3, ...
fn count<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    let numbers: Vec<f32> = (1..=shape.iter().product::<usize>()).map(|k| k as f32).collect();
    Tensor::from_data(TensorData::new(numbers, shape), &flex())
}

fn ones<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::ones(shape, &flex())
}

fn wide<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::ones(shape, (&flex(), DType::F64))
}

fn ids<const D: usize>(list: impl Into<Vec<i64>>, shape: [usize; D]) -> Tensor<D, Int> {
    Tensor::from_data(TensorData::new(list.into(), shape), (&flex(), DType::I64))
}

/// Integers of 16 bits, for which the library has no kernels.
fn short<const D: usize>(shape: [usize; D]) -> Tensor<D, Int> {
    Tensor::ones(shape, (&flex(), DType::I16))
}

/// `[[1, 0, 2], [0, 3, 0]]`.
fn small() -> CooTensor<2> {
    CooTensor::from_dense(Tensor::from_floats([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], &flex()), 0)
}

/// A tensor that stores nothing; its last `dense` dims are dense.
fn bare<const D: usize>(shape: [usize; D], dense: usize) -> CooTensor<D> {
    CooTensor::from_dense(Tensor::zeros(shape, &flex()), dense)
}

/// One element 1 at the origin of a tensor that may be too large for a dense one.
fn lone<const D: usize>(shape: [usize; D]) -> CooTensor<D> {
    CooTensor::new(Tensor::zeros([D, 1], &flex()), ones([1]), shape).unwrap()
}

fn refused<T>(kind: &str, op: &str, names: &[&str], result: Result<T, SparseError>) {
    let Some(trouble) = result.err() else { panic!("{op} must refuse: {kind} {names:?}") };
    let told = trouble.to_string();
    assert_eq!(trouble.kind(), kind, "{told}");
    assert!(told.starts_with(&format!("{op}: ")), "{op} must name itself: {told}");
    names.iter().for_each(|name| assert!(told.contains(name), "{op} must say {name:?}: {told}"));
}

fn list<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// The same shape and numbers, up to some steps of f32. NaN equals NaN.
#[track_caller]
fn near<const D: usize>(got: Tensor<D>, want: Tensor<D>) {
    assert_eq!(got.dims(), want.dims());
    let pairs = list(got).into_iter().zip(list(want));
    for (k, (got, want)) in pairs.enumerate() {
        let same = got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= 1e-5 * want.abs().max(1.0);
        assert!(same, "element {k}: {got} and {want}");
    }
}
