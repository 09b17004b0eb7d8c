//! Operators that are made of others.

use super::base::Operator;
use super::blocks::Blocks;
use super::combined::{Diagonal, Identity, Product, Scaled, Sum};
use super::kron::Kron;
use burn::tensor::Tensor;
use sparse_ops::pattern::Pattern;
use sparse_ops::{CsrTensor, Result, SparseTensor};

impl Operator {
    /// The identity `[n, n]`, also of a batch.
    pub fn identity(n: usize) -> Self {
        Self::new(Identity(n))
    }

    /// The diagonal matrix of a column `[n, 1]`.
    pub(crate) fn diagonal(column: Tensor<2>) -> Self {
        Self::new(Diagonal(column))
    }

    /// The Kronecker product `A (x) B`: `A` on the outer and `B` on the inner index of a vector
    /// `[cols of A * cols of B]`.
    pub fn kron(self, inner: Operator) -> Self {
        Self::new(Kron(self, inner))
    }

    /// A matrix of blocks; `None` is zero.
    ///
    /// # Errors
    ///
    /// `invalid` if the rows of blocks have other lengths, or a row or column of blocks has no block; `shape_mismatch`
    /// if the blocks of a row or a column have other sizes; `empty_input`.
    pub fn try_blocks(rows: Vec<Vec<Option<Operator>>>) -> Result<Self> {
        Blocks::new(rows).map(Self::new)
    }
}

impl From<Tensor<2>> for Operator {
    fn from(matrix: Tensor<2>) -> Self {
        Self::new(matrix)
    }
}

impl<P: Pattern> From<SparseTensor<P, 2>> for Operator {
    fn from(matrix: SparseTensor<P, 2>) -> Self {
        Self::new(matrix)
    }
}

impl From<CsrTensor<3>> for Operator {
    fn from(matrices: CsrTensor<3>) -> Self {
        Self::new(matrices)
    }
}

impl std::ops::Add for Operator {
    type Output = Self;

    /// `A + B`. The sizes are compared when it is applied.
    fn add(self, other: Self) -> Self {
        Self::new(Sum(self, other))
    }
}

impl std::ops::Mul for Operator {
    type Output = Self;

    /// `A B`: `B` is applied first.
    fn mul(self, other: Self) -> Self {
        Self::new(Product(self, other))
    }
}

impl std::ops::Mul<f64> for Operator {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self::new(Scaled(self, factor))
    }
}
