//! Wrong arguments: an error of the right kind, which names the operation and what was given. Each is asserted once.
//!
//! Whole messages are in `api`, kinds that every device must give in `tests/cases/errors.jsonl`, and refusals of what
//! no memory holds in the equivalence test's registry.

/// One refusal a line: its kind, the operation that it names, what else it says, and the call.
macro_rules! refused {
    ($($kind:ident $op:literal $says:tt $call:expr;)*) => {$(
        refused(stringify!($kind), $op, &$says, $call);
    )*};
}

mod construction;
mod joins;
mod pairs;
mod places;
mod products;
mod reductions;
mod shapes;
mod sizes;

use crate::answers::{flex, ids, ones, small};
use burn::tensor::{DType, Int, Tensor};
use sparse_tensor::{CooTensor, SparseError};

fn wide<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::ones(shape, (&flex(), DType::F64))
}

/// Integers of 16 bits, for which the library has no kernels.
fn short<const D: usize>(shape: [usize; D]) -> Tensor<D, Int> {
    Tensor::ones(shape, (&flex(), DType::I16))
}

/// A tensor that stores everything; its last `dense` dims are dense.
fn full<const D: usize>(shape: [usize; D], dense: usize) -> CooTensor<D> {
    CooTensor::from_dense(ones(shape), dense)
}

/// A tensor that stores nothing.
fn bare<const D: usize>(shape: [usize; D]) -> CooTensor<D> {
    CooTensor::zeros(shape, &flex())
}

/// One element 1 at the origin of a tensor that may be too large for a dense one.
fn lone<const D: usize>(shape: [usize; D]) -> CooTensor<D> {
    CooTensor::new(Tensor::zeros([D, 1], &flex()), ones([1]), shape).unwrap()
}

fn refused<T>(kind: &str, op: &str, says: &[&str], result: Result<T, SparseError>) {
    let Some(trouble) = result.err() else { panic!("{op} must refuse: {kind} {says:?}") };
    let told = trouble.to_string();
    assert_eq!(trouble.kind(), kind, "{told}");
    assert!(told.starts_with(&format!("{op}: ")), "{op} must name itself: {told}");
    says.iter().for_each(|says| assert!(told.contains(says), "{op} must say {says:?}: {told}"));
}
