//! Tensors far larger than memory, with a few thousand stored elements.

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, Fill, FillValue, SparseTensor, ops};

pub const SIZE: usize = 1_000_000;
pub const NNZ: usize = 3000;
/// Elements of a matrix `[SIZE, SIZE]`.
pub const CELLS: u128 = (SIZE * SIZE) as u128;

pub fn device() -> Device {
    Device::flex().autodiff()
}

/// Coordinates far apart, in order, some of them on the diagonal.
fn coordinates(step: usize, cols: usize) -> Tensor<2, Int> {
    let row = |k: usize| (k * 331 % SIZE) as i64;
    let col = |k: usize| if k.is_multiple_of(5) { row(k) % cols as i64 } else { (k * step % cols) as i64 };
    let data: Vec<i64> = (0..NNZ).map(row).chain((0..NNZ).map(col)).collect();
    Tensor::from_data(TensorData::new(data, [2, NNZ]), &Device::flex())
}

fn values<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    let values = (0..shape.iter().product()).map(|k| 0.5 + (k % 17) as f32 / 8.0).collect();
    Tensor::from_data(TensorData::new(values, shape), &device())
}

/// `[SIZE, SIZE]`.
pub fn matrix(step: usize) -> CooTensor<2> {
    let made = CooTensor::new(coordinates(step, SIZE), values([NNZ]), [SIZE, SIZE]);
    made.expect("valid coordinates").coalesce().require_grad()
}

/// `[SIZE, 4]`, with both dims sparse: a dense tensor of this shape can be.
pub fn tall<P: Pattern>(like: &SparseTensor<P, 2>) -> SparseTensor<P, 2> {
    like.index_select(1, index([0, 331, 5 * 331, 10 * 331])).detach().require_grad()
}

/// `[2, SIZE, SIZE]` by compressed rows.
pub fn batch(a: &CooTensor<2>, b: &CooTensor<2>) -> CsrTensor<3> {
    ops::stack::<_, 2, 3, _>(&[a.to_csr(), b.to_csr()], 0).detach().require_grad()
}

/// `[SIZE, SIZE, 4]` with a dense dim.
pub fn hybrid(step: usize) -> CooTensor<3> {
    let made = CooTensor::new(coordinates(step, SIZE), values([NNZ, 4]), [SIZE, SIZE, 4]);
    made.expect("valid coordinates").coalesce().require_grad()
}

/// With a value at every element that is not stored, on the tape.
pub fn filled<P: Pattern, const D: usize>(x: &SparseTensor<P, D>) -> SparseTensor<P, D> {
    // A leaf of the tape, which any number of backward passes may reach.
    let row = Tensor::<2>::from_floats([[0.25]], &device()).require_grad();
    x.clone().with_fill(Fill::Value(FillValue::Block(row.into())))
}

/// The same with a number of the host.
pub fn host_filled<P: Pattern, const D: usize>(x: &SparseTensor<P, D>) -> SparseTensor<P, D> {
    x.clone().with_fill(Fill::scalar(0.25))
}

pub fn undefined<P: Pattern, const D: usize>(x: &SparseTensor<P, D>) -> SparseTensor<P, D> {
    x.clone().with_fill(Fill::Undefined)
}

pub fn mask<P: Pattern, const D: usize>(x: &SparseTensor<P, D>) -> SparseTensor<P, D, Bool> {
    x.greater_elem(1.0)
}

pub fn index<const N: usize>(at: [i64; N]) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::from(at), &Device::flex())
}

pub fn ones<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::ones(shape, &device()).require_grad()
}
