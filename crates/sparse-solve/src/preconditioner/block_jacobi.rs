//! The inverses of the blocks on the diagonal.

use super::factors::incomplete;
use crate::operator::Operator;
use sparse_macros::or_panic;
use sparse_ops::extend::kernel::Incomplete;
use sparse_ops::pattern::Pattern;
use sparse_ops::{Result, SparseError, SparseTensor};

/// The block Jacobi preconditioner: the inverses of the dense blocks `[size, size]` on the diagonal. The last block may
/// be smaller. Size 1 is [`jacobi`](crate::jacobi()).
///
/// `M^-1 = diag(A_11^-1, A_22^-1, ..)`: for unknowns that belong together, as the components at a point. f32 and f64;
/// blocks are inverted in f64, with row exchanges. Not on the tape.
///
/// Cost: `O(n size^2)` once on the host, then a product with a sparse matrix of `n size` elements. (Saad, "Iterative
/// methods for sparse linear systems", 2003, chapter 10.2 and 12.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::{LinearOperator, block_jacobi};
///
/// let device = Device::flex();
/// let rows = [[0.0, 2.0, 9.0], [1.0, 0.0, 0.0], [0.0, 0.0, 4.0]];
/// let inverse = block_jacobi(&CsrTensor::<2>::from_dense(Tensor::from_floats(rows, &device)), 2);
/// let x = inverse.try_apply(Tensor::from_floats([[4.0], [1.0], [8.0]], &device)).unwrap();
/// assert_eq!(x.into_data().to_vec::<f32>().unwrap(), [1.0, 2.0, 2.0]);
/// ```
///
/// # Errors
///
/// `invalid` that names a row of a block that is singular, or whose inverse is not finite in the dtype, and for a size
/// of 0; `shape_mismatch` if the matrix is not square; `overflow` if an index cannot count the elements;
/// `fill_mismatch`, `unsupported_dtype`.
#[or_panic]
pub fn try_block_jacobi<P: Pattern>(a: &SparseTensor<P, 2>, size: usize) -> Result<Operator> {
    const OP: &str = "block_jacobi";
    if size == 0 {
        return Err(SparseError::invalid(OP, "a block must have at least one row, got a size of 0"));
    }
    incomplete(OP, a, Incomplete::Blocks { size }).map(Operator::from)
}
