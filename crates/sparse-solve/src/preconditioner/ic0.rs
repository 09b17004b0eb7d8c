//! Incomplete Cholesky factors.

use super::factors::{incomplete, inverse};
use crate::operator::Operator;
use crate::triangular::Triangle;
use sparse_macros::or_panic;
use sparse_ops::extend::kernel::Incomplete;
use sparse_ops::pattern::Pattern;
use sparse_ops::{Result, SparseError, SparseTensor};

/// The incomplete Cholesky preconditioner IC(0) of a symmetric positive definite matrix: `(L L^T)^-1`, where `L` has
/// the stored elements of the lower triangle and no others.
///
/// `l_ik = (a_ik - sum over j < k of l_ij l_kj) / l_kk` for the stored `k < i`, and `l_ii^2 = a_ii - sum of l_ij^2`.
/// So `L L^T` equals `A` at the stored elements, and everywhere if no element is left out. It exists for M-matrices,
/// such as a [`laplacian`](crate::laplacian); of others a pivot may fail, then
/// [`ic0_shifted`](crate::ic0_shifted()) helps. The upper triangle is not read. f32 and f64; it is factored in f64. Not
/// on the tape.
///
/// Cost: the factor once, `O(nnz k)` with `k` elements in a row, on one thread of the host; then two triangular solves
/// for each product ([`solve_triangular`](crate::solve_triangular())). (Meijerink and van der Vorst 1977; Saad,
/// "Iterative methods for sparse linear systems", 2003, chapter 10.3.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::solve::{Boundary, Hints, Method, SolverConfig, ic0, laplacian};
///
/// let device = Device::flex();
/// let a = laplacian(&[20, 20], Boundary::Dirichlet, &device).unwrap();
/// let preconditioner = ic0(&a);
/// let hints = Hints { preconditioner: Some(&preconditioner), ..Hints::default() };
/// let solution = SolverConfig::new(Method::Cg).try_solve_with(&a, Tensor::<1>::ones([400], &device), hints).unwrap();
/// assert!(solution.report.iterations <= 20);
/// ```
///
/// # Errors
///
/// `invalid` that names the row of a pivot that is not positive, or of an element of the factor that its dtype does not
/// hold; `shape_mismatch` if the matrix is not square; `fill_mismatch`, `unsupported_dtype`.
#[or_panic]
pub fn try_ic0<P: Pattern>(a: &SparseTensor<P, 2>) -> Result<Operator> {
    factored("ic0", a, 0.0)
}

/// [`ic0`](crate::ic0()) of the matrix with its diagonal times `1 + shift` (Manteuffel 1980): for a positive definite
/// matrix of which a pivot fails. Take the smallest shift that works, from about 1e-3 on.
///
/// # Errors
///
/// Those of [`try_ic0`]; `invalid` for a shift that is no number from 0 on.
#[or_panic]
pub fn try_ic0_shifted<P: Pattern>(a: &SparseTensor<P, 2>, shift: f64) -> Result<Operator> {
    const OP: &str = "ic0_shifted";
    if !(shift >= 0.0 && shift.is_finite()) {
        return Err(SparseError::invalid(OP, format!("the shift must be a number from 0 on, got {shift}")));
    }
    factored(OP, a, shift)
}

fn factored<P: Pattern>(op: &'static str, a: &SparseTensor<P, 2>, shift: f64) -> Result<Operator> {
    let factor = incomplete(op, a, Incomplete::Cholesky { shift })?;
    let lower = Triangle::default();
    Ok(inverse(&factor, Triangle { transposed: true, ..lower }) * inverse(&factor, lower))
}
