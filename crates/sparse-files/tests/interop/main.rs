//! Conversions to matrices and graphs of other crates and back: random ones, known answers, products by the other
//! crate, and what must be an error.
//!
//!     cargo test --workspace --features interop --test interop

mod errors;
mod faer;
mod nalgebra;
mod petgraph;
mod sprs;

use burn::tensor::{Device, Float, Tensor};
use proptest::prelude::*;
use sparse_files::interop::{HostMatrix, Interop};
use sparse_tensor::pattern::Pattern;
use sparse_tensor::{CooTensor, CsrTensor, SparseTensor};

/// Entries of a matrix in any order: some repeat, some are zero, and a size may be zero.
#[derive(Clone, Debug)]
struct Drawn {
    shape: [usize; 2],
    rows: Vec<usize>,
    cols: Vec<usize>,
    /// Small whole numbers, whose sums and products are exact.
    values: Vec<f64>,
}

impl Drawn {
    /// `[[0, 7, 0], [5, 0, -1]]`, where the last element has two entries.
    fn known() -> Self {
        let (rows, cols, values) = (vec![1, 0, 1, 1], vec![2, 1, 0, 2], vec![1.0, 7.0, 5.0, -2.0]);
        Self { shape: [2, 3], rows, cols, values }
    }

    fn tensor<P: Pattern>(&self) -> SparseTensor<P, 2> {
        let options = (&Device::flex(), burn::tensor::DType::F64);
        SparseTensor::from_triplets(&self.rows, &self.cols, &self.values, self.shape, options).unwrap()
    }

    fn csr(&self) -> CsrTensor<2> {
        self.tensor()
    }

    fn coo(&self) -> CooTensor<2> {
        self.tensor()
    }

    /// A vector that the matrix can be multiplied with, and the product.
    fn product(&self) -> (Vec<f64>, Vec<f64>) {
        let vector: Vec<f64> = (0..self.shape[1]).map(|at| at as f64 * 3.0 - 4.0).collect();
        let mut product = vec![0.0; self.shape[0]];
        for ((&row, &col), value) in self.rows.iter().zip(&self.cols).zip(&self.values) {
            product[row] += value * vector[col];
        }
        (vector, product)
    }
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (0usize..7, 0usize..7).prop_flat_map(|(rows, cols)| {
        let most = if rows * cols == 0 { 0 } else { 20 };
        let entry = (0..rows.max(1), 0..cols.max(1), -4i32..5);
        prop::collection::vec(entry, 0..=most).prop_map(move |entries| Drawn {
            shape: [rows, cols],
            rows: entries.iter().map(|entry| entry.0).collect(),
            cols: entries.iter().map(|entry| entry.1).collect(),
            values: entries.iter().map(|entry| entry.2.into()).collect(),
        })
    })
}

/// Shape, rows, columns and values: all that a tensor stores.
type Stored = ([usize; 2], (Vec<usize>, Vec<usize>, Vec<f64>));

fn stored<P: Pattern>(tensor: &SparseTensor<P, 2>) -> Stored {
    (tensor.dims(), tensor.to_triplets())
}

/// What the tensor of a matrix stores, in each layout, and its product with a vector.
fn loaded(matrix: &impl HostMatrix) -> (Stored, Stored) {
    let csr = CsrTensor::<2, Float>::from_matrix(matrix, &Device::flex()).unwrap();
    let coo = CooTensor::<2, Float>::from_matrix(matrix, &Device::flex()).unwrap();
    (stored(&csr), stored(&coo))
}

/// The product of the tensor of a matrix with a vector.
fn our_product(matrix: &impl HostMatrix, vector: &[f64]) -> Vec<f64> {
    let tensor = CsrTensor::<2, Float>::from_matrix(matrix, &Device::flex()).unwrap();
    let column = Tensor::<1>::from_data(vector, (&Device::flex(), burn::tensor::DType::F64));
    tensor.matmul(column.reshape([-1, 1])).into_data().iter::<f64>().collect()
}

/// Entries by columns, as a tensor in coordinates keeps those of a matrix of compressed columns.
fn by_columns((shape, (rows, cols, values)): Stored) -> Stored {
    let mut entries: Vec<_> = cols.into_iter().zip(rows).zip(values).collect();
    entries.sort_by_key(|&(at, _)| at);
    let (at, values): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
    let (cols, rows) = at.into_iter().unzip();
    (shape, (rows, cols, values))
}
