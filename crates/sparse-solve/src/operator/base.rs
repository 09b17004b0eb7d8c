//! What an operator is, and a shared one.

use burn::tensor::{Device, Tensor};
use sparse_ops::extend::expect;
use sparse_ops::{Result, SparseError};
use std::fmt::Debug;
use std::sync::Arc;

/// A matrix `[rows, cols]` by what it does to columns.
///
/// Implemented for COO and CSR tensors, for dense matrices, and for a batched CSR, which is a matrix for each
/// system. [`Operator`] makes others of these, or of closures.
pub trait LinearOperator: Debug + Send + Sync {
    /// Rows and columns, of all systems of a batch together.
    fn dims(&self) -> [usize; 2];

    /// Whether it is a matrix, or one for each system of a batch.
    fn batch(&self) -> Batch {
        Batch::One
    }

    /// The device of what it is made of: one with the tape, if a part has it. `None` if it is made of no tensors.
    fn device(&self) -> Option<Device>;

    /// `A x`, `[cols, F]` to `[rows, F]`. On the tape where what it is made of is on the tape.
    ///
    /// # Errors
    ///
    /// Those of its products.
    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>>;

    /// `A^T`. A solver asks once, so what is sorted for it is sorted once. On the tape as `A` is.
    ///
    /// # Errors
    ///
    /// Those of the transposition; `invalid` if it has no transposed product.
    fn try_transposed(&self) -> Result<Operator>;

    /// `A^T x`, `[rows, F]` to `[cols, F]`.
    ///
    /// # Errors
    ///
    /// Those of [`try_transposed`](Self::try_transposed) and of its products.
    fn try_apply_transposed(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.try_transposed()?.try_apply(x)
    }

    /// Its diagonal `[n, 1]`, if it has nothing else: a solver then needs no pass for a product with it.
    fn scaling(&self) -> Option<Tensor<2>> {
        None
    }

    /// Its `of` systems in groups of `size`, of which the last may be smaller, if they can be taken apart: each with
    /// the rows and columns of its systems, and without the tape. On a CPU a solver then takes few of many small
    /// systems at a time, whose numbers stay in the cache, and a thread of a pool does each group.
    fn groups(&self, size: usize, of: usize) -> Option<Vec<Operator>> {
        let _ = (size, of);
        None
    }

    /// The same without the tape.
    fn without_tape(&self) -> Operator;
}

/// How many systems an operator has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batch {
    /// As many as what it is combined with, as the identity; alone it is one.
    Any,
    /// One matrix.
    One,
    /// Of `[B, M, N]`: `B` matrices `[M, N]`, the blocks on the diagonal of `[B M, B N]`.
    Systems([usize; 3]),
}

impl Batch {
    /// Of a sum. Matrices that are not blocks of one size couple the systems: then it is one.
    pub(super) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, kept) | (kept, Self::Any) => kept,
            (left, right) if left == right => left,
            _ => Self::One,
        }
    }

    /// Of a product.
    pub(super) fn times(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, kept) | (kept, Self::Any) => kept,
            (Self::Systems([count, rows, inner]), Self::Systems([same, own, cols]))
                if (count, inner) == (same, own) =>
            {
                Self::Systems([count, rows, cols])
            }
            _ => Self::One,
        }
    }
}

/// The device of several parts: one with the tape, if there is one.
pub(crate) fn device_of(parts: impl IntoIterator<Item = Option<Device>>) -> Option<Device> {
    parts.into_iter().flatten().reduce(|kept, next| if kept.is_autodiff() { kept } else { next })
}

/// A shared [`LinearOperator`], and what is made of several: sums, products, scalings, Kronecker products, blocks.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::{LinearOperator, Operator};
///
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[4.0, 1.0], [1.0, 3.0]], &Device::flex()));
/// // A + u v^T, of which no dense matrix is made.
/// let column = |list: [f32; 2]| Operator::from(Tensor::<1>::from_floats(list, &Device::flex()).reshape([2, 1]));
/// let updated = Operator::from(a) + column([1.0, 0.0]) * column([0.0, 1.0]).transposed();
/// let y = updated.try_apply(Tensor::from_floats([[1.0], [1.0]], &Device::flex())).unwrap();
/// assert_eq!(y.into_data().to_vec::<f32>().unwrap(), [6.0, 4.0]);
/// ```
#[derive(Debug, Clone)]
pub struct Operator(Arc<dyn LinearOperator>);

impl LinearOperator for Operator {
    fn dims(&self) -> [usize; 2] {
        self.0.dims()
    }

    fn batch(&self) -> Batch {
        self.0.batch()
    }

    fn device(&self) -> Option<Device> {
        self.0.device()
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.0.try_apply(x)
    }

    fn try_transposed(&self) -> Result<Operator> {
        self.0.try_transposed()
    }

    fn try_apply_transposed(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        self.0.try_apply_transposed(x)
    }

    fn scaling(&self) -> Option<Tensor<2>> {
        self.0.scaling()
    }

    fn groups(&self, size: usize, of: usize) -> Option<Vec<Operator>> {
        self.0.groups(size, of)
    }

    fn without_tape(&self) -> Operator {
        self.0.without_tape()
    }
}

impl Operator {
    /// Shares an operator of your own.
    pub fn new(operator: impl LinearOperator + 'static) -> Self {
        Self(Arc::new(operator))
    }

    /// `A^T`.
    ///
    /// # Panics
    ///
    /// If it has no transposed product; see [`LinearOperator::try_transposed`].
    #[track_caller]
    pub fn transposed(&self) -> Self {
        expect(self.try_transposed())
    }
}

pub(crate) fn check_sizes(op: &'static str, dims: [usize; 2], x: &Tensor<2>) -> Result<()> {
    match x.dims()[0] == dims[1] {
        true => Ok(()),
        false => {
            let rule = "the matrix {left} must have a column for each row of {right}";
            Err(SparseError::shape_mismatch(op, rule, dims, x.dims()))
        }
    }
}
