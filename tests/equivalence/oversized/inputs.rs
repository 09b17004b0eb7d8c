//! Tensors far larger than memory, with a few thousand stored elements.

use super::Oversized;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, Fill, FillValue, SparseTensor, ops};

pub const SIZE: usize = 1_000_000;
pub const NNZ: usize = 3000;
/// Elements of a matrix `[SIZE, SIZE]`.
pub const CELLS: u128 = (SIZE * SIZE) as u128;

/// Two tensors of each layout.
pub struct Inputs {
    /// `[SIZE, SIZE]`.
    pub coo: [CooTensor<2>; 2],
    pub csr: [CsrTensor<2>; 2],
    /// `[SIZE, SIZE, 4]` with a dense dim.
    pub hybrid: [CooTensor<3>; 2],
    /// `[2, SIZE, SIZE]`.
    pub batched: [CsrTensor<3>; 2],
}

impl Inputs {
    pub fn new() -> Self {
        let coo = [977, 13].map(|step| {
            let made = CooTensor::new(coordinates(step), values([NNZ]), [SIZE, SIZE]);
            made.expect("valid coordinates").coalesce().detach().require_grad()
        });
        let hybrid = [977, 13].map(|step| {
            let made = CooTensor::new(coordinates(step), values([NNZ, 4]), [SIZE, SIZE, 4]);
            made.expect("valid coordinates").coalesce().detach().require_grad()
        });
        let csr = coo.each_ref().map(|part| part.to_csr().detach().require_grad());
        let batched = [[0, 1], [1, 0]].map(|order| {
            let parts = order.map(|k: usize| csr[k].clone());
            ops::stack::<_, 2, 3, _>(&parts, 0).detach().require_grad()
        });
        Self { coo, csr, hybrid, batched }
    }
}

pub fn device() -> Device {
    Device::flex().autodiff()
}

/// Coordinates far apart, in order, some of them on the diagonal.
fn coordinates(step: usize) -> Tensor<2, Int> {
    let row = |k: usize| (k * 331 % SIZE) as i64;
    let col = |k: usize| if k.is_multiple_of(5) { row(k) } else { (k * step % SIZE) as i64 };
    let data: Vec<i64> = (0..NNZ).map(row).chain((0..NNZ).map(col)).collect();
    Tensor::from_data(TensorData::new(data, [2, NNZ]), &Device::flex())
}

fn values<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    let values = (0..shape.iter().product()).map(|k| 0.5 + (k % 17) as f32 / 8.0).collect();
    Tensor::from_data(TensorData::new(values, shape), &device())
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

pub fn index(at: &[i64]) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(at.to_vec(), [at.len()]), &Device::flex())
}

/// A place with something stored, on the diagonal, along a long axis; the second one along another.
pub fn stored_at(size: usize) -> usize {
    if size == SIZE { 5 * 331 } else { 1 }
}

/// Places along an axis, two of them the same.
pub fn stored_index(size: usize) -> Tensor<1, Int> {
    let stored = stored_at(size) as i64;
    index(&[0, stored, -1, stored])
}

pub fn ones<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::ones(shape, &device()).require_grad()
}

/// Dense operands.
impl<P: Pattern, const D: usize> Oversized<P, D> {
    /// Beside [`Oversized::tall`].
    pub fn tall_ones(&self) -> Tensor<D> {
        ones(self.tall().dims())
    }

    /// Two columns.
    pub fn columns(&self) -> Tensor<D> {
        let mut shape = self.a.dims();
        shape[D - 1] = 2;
        ones(shape)
    }

    /// For a tensor with dense dims: one feature for each of them.
    pub fn features(&self) -> Tensor<D> {
        let shape = self.a.dims();
        ones(std::array::from_fn(|dim| if dim + 1 < D { shape[dim + 1] } else { 1 }))
    }

    /// Two heads of two features for each row, or column, of a mask: as many as dim `rows` has.
    pub fn rows_of_heads<const D2: usize>(&self, rows: usize) -> Tensor<D2> {
        let shape = self.a.dims();
        ones(std::array::from_fn(|dim| match D2 - dim {
            1 | 2 => 2,
            3 => shape[rows],
            _ => shape[dim],
        }))
    }

    /// Two rows.
    pub fn lying(&self) -> Tensor<D> {
        let mut shape = self.a.dims();
        shape[D - 2] = 2;
        ones(shape)
    }
}
