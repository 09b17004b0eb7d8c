//! Tensors and patterns from their parts, and their parts.

use crate::base::kind::{Kind, of_kind};
use crate::base::limits;
use crate::kernel::{Arrays, Compressed};
use crate::pattern::coo::CooPattern;
use crate::pattern::csr::{CsrPattern, split_row_ptr};
use crate::pattern::layout::Pattern;
use crate::tensor::fill::Fill;
use crate::tensor::sparse::SparseTensor;
use burn::tensor::{Int, Tensor};
use sparse_core::Result;

/// A tensor from its parts, and its parts.
pub trait Parts<P: Pattern, const D: usize, K: Kind>: Sized {
    /// The stored values as rows `[nnz, block]`, in storage order. A block has the elements of the dense dims: one if
    /// there are none.
    fn rows(&self) -> &Tensor<2, K>;

    /// The fill as a row `[1, elements]`, one number for each element of a block or, for a number of the host, of any
    /// length. A number of the host becomes an element of the dtype.
    fn fill_row(&self, elements: usize) -> Tensor<2, K>;

    /// The tensor of these parts: `rows` is `[nnz, block]`, and `dense_shape` are the sizes of the dense dims.
    fn from_parts(pattern: P, rows: Tensor<2, K>, dense_shape: Vec<usize>, fill: Fill<K>) -> Self;

    /// The same structure with other rows and another fill, perhaps of another kind.
    fn with_rows<K2: Kind>(&self, rows: Tensor<2, K2>, fill: Fill<K2>) -> SparseTensor<P, D, K2>;

    /// Checks that a dense result with a number for each of `size` indices is not far larger than the tensor.
    ///
    /// # Errors
    ///
    /// `would_densify` past the limits of [`Limits`](crate::Limits).
    fn check_dim(&self, op: &'static str, size: usize) -> Result<()>;
}

impl<P: Pattern, const D: usize, K: Kind> Parts<P, D, K> for SparseTensor<P, D, K> {
    fn rows(&self) -> &Tensor<2, K> {
        &self.values
    }

    fn fill_row(&self, elements: usize) -> Tensor<2, K> {
        of_kind(self.fill().row(elements, self.dtype(), &self.device()))
    }

    fn from_parts(pattern: P, rows: Tensor<2, K>, dense_shape: Vec<usize>, fill: Fill<K>) -> Self {
        Self::from_parts(pattern, rows, dense_shape, fill)
    }

    fn with_rows<K2: Kind>(&self, rows: Tensor<2, K2>, fill: Fill<K2>) -> SparseTensor<P, D, K2> {
        Self::with_rows(self, rows, fill)
    }

    fn check_dim(&self, op: &'static str, size: usize) -> Result<()> {
        limits::check_dim(op, size, self.pattern.memo().held())
    }
}

/// The index arrays of a pattern, as they are exchanged: coordinates, or row pointers and columns, where the pointers
/// of each matrix of a batch start at 0.
pub fn arrays<P: Pattern>(pattern: &P) -> Arrays {
    match pattern.arrays() {
        Arrays::Csr(ptr, col) => Arrays::Csr(split_row_ptr(&ptr, pattern.shape()), col),
        coordinates => coordinates,
    }
}

/// The same positions in the layout `P`, which has tensors of this rank. For CSR they must be coalesced. Cost: none if
/// it is that layout already.
pub fn in_layout<P: Pattern, Q: Pattern>(pattern: &Q) -> P {
    if P::LAYOUT == Q::LAYOUT {
        return P::from_arrays(pattern.arrays(), pattern.shape(), pattern.is_coalesced());
    }
    P::from_coordinates(pattern.coordinates().clone(), pattern.shape(), pattern.is_coalesced())
}

/// The pattern of a layout from coordinates `[sparse_dims, nnz]` in the index dtype of `shape`. For CSR they must be
/// coalesced: in lexicographic order, none twice.
pub fn from_coordinates<P: Pattern>(coordinates: Tensor<2, Int>, shape: &[usize], coalesced: bool) -> P {
    P::from_coordinates(coordinates, shape, coalesced)
}

/// A matrix by rows: pointers, columns, and the position of each value (`None`: values are in row order). A batch is
/// one block-diagonal matrix. Kept with the pattern. `None` for other ranks.
pub fn by_rows<P: Pattern>(pattern: &P) -> Option<&Compressed> {
    Some(pattern.matrix()?.by_row())
}

/// A matrix by columns: pointers, rows, and the position of each value. Kept with the pattern. `None` for other ranks.
pub fn by_columns<P: Pattern>(pattern: &P) -> Option<&Compressed> {
    Some(pattern.matrix()?.by_col())
}

/// The pattern of row pointers and columns, checked as [`CsrPattern::new`] does. Errors name `op`.
///
/// # Errors
///
/// As [`CsrPattern::new`].
pub fn csr_pattern(
    op: &'static str,
    row_ptr: Tensor<1, Int>,
    col_idx: Tensor<1, Int>,
    shape: &[usize],
) -> Result<CsrPattern> {
    CsrPattern::checked(op, row_ptr, col_idx, shape)
}

/// The pattern of coordinates, checked as [`CooPattern::new`] does. Errors name `op`.
///
/// # Errors
///
/// As [`CooPattern::new`].
pub fn coo_pattern(op: &'static str, indices: Tensor<2, Int>, shape: &[usize]) -> Result<CooPattern> {
    CooPattern::checked(op, indices, shape)
}

/// Checks that a layout has tensors with sparse dims of this shape. `held` is how many numbers are in memory already.
///
/// # Errors
///
/// `would_densify` for compressed rows past the limits of [`Limits`](crate::Limits); `shape_mismatch` for other ranks.
pub fn check_shape<P: Pattern>(op: &'static str, shape: &[usize], held: usize) -> Result<()> {
    P::check_shape(op, shape, held)
}
