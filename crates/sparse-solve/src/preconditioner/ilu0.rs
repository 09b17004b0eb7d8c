//! Incomplete LU factors at the stored elements.

use super::factors::{incomplete, inverse};
use crate::operator::Operator;
use crate::triangular::Triangle;
use sparse_macros::or_panic;
use sparse_ops::extend::kernel::Incomplete;
use sparse_ops::pattern::Pattern;
use sparse_ops::{CsrTensor, Result, SparseTensor};

/// The incomplete LU preconditioner ILU(0): `(L U)^-1`, where `L`, with a diagonal of 1, and `U` together have the
/// stored elements of `A` and no others.
///
/// `l_ik = (a_ik - sum over j < k of l_ij u_jk) / u_kk` for the stored `k < i`, and `u_ik = a_ik - sum over j < i of
/// l_ij u_jk` for the others. So `L U` equals `A` at the stored elements. No rows are exchanged: it is for matrices
/// whose diagonal is not small. f32 and f64; it is factored in f64. Not on the tape. The transposed product is
/// `L^-T U^-T`.
///
/// Cost: the factors once, `O(nnz k)` with `k` elements in a row, on one thread of the host; then two triangular solves
/// for each product. (Saad, "Iterative methods for sparse linear systems", 2003, algorithm 10.4. Chow and Patel 2015
/// find the same factors by iteration.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::{LinearOperator, ilu0};
///
/// // Nothing is left out of the factors of this matrix, so it is the inverse.
/// let device = Device::flex();
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[2.0, 1.0], [4.0, 3.0]], &device));
/// let x = ilu0(&a).try_apply(Tensor::from_floats([[3.0], [7.0]], &device)).unwrap();
/// assert_eq!(x.into_data().to_vec::<f32>().unwrap(), [1.0, 1.0]);
/// ```
///
/// # Errors
///
/// `invalid` that names the row of a pivot that is zero, not stored or not finite, or of another element of the factors
/// that is not finite, in the dtype of the matrix; `shape_mismatch` if the matrix is not square; `fill_mismatch`,
/// `unsupported_dtype`.
#[or_panic]
pub fn try_ilu0<P: Pattern>(a: &SparseTensor<P, 2>) -> Result<Operator> {
    Ok(of_factors(&incomplete("ilu0", a, Incomplete::Lu)?))
}

/// `(L U)^-1` of factors in one matrix.
pub(super) fn of_factors(factors: &CsrTensor<2>) -> Operator {
    let lower = Triangle { unit_diagonal: true, ..Triangle::default() };
    let upper = Triangle { upper: true, ..Triangle::default() };
    inverse(factors, upper) * inverse(factors, lower)
}
