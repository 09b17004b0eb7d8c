//! Symmetric successive over-relaxation.

use super::factors::inverse;
use super::jacobi::inverse_diagonal;
use crate::operator::Operator;
use crate::triangular::{Triangle, check_factor};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, Parts, along};
use sparse_ops::pattern::Pattern;
use sparse_ops::{Fill, Result, SparseError, SparseTensor};

/// The preconditioner of symmetric successive over-relaxation, SSOR: with `A = D + L + U` of a diagonal and the parts
/// below and above it
///
/// `M = omega / (2 - omega) (D / omega + L) D^-1 (D / omega + U)`, applied as `M^-1`.
///
/// With `omega` 1 this is symmetric Gauss-Seidel. Symmetric, and positive definite, if `A` is. Nothing is factored:
/// both triangles are those of `A`, with a scaled diagonal. f32 and f64. Not on the tape.
///
/// Cost: a copy of the values once, then two triangular solves for each product. (Young 1971; Saad, "Iterative methods
/// for sparse linear systems", 2003, chapter 10.2.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::solve::{Boundary, Hints, Method, SolverConfig, laplacian, ssor};
///
/// let device = Device::flex();
/// let a = laplacian(&[20, 20], Boundary::Dirichlet, &device).unwrap();
/// let preconditioner = ssor(&a, 1.5);
/// let hints = Hints { preconditioner: Some(&preconditioner), ..Hints::default() };
/// let solution = SolverConfig::new(Method::Cg).try_solve_with(&a, Tensor::<1>::ones([400], &device), hints).unwrap();
/// assert!(solution.report.iterations <= 20);
/// ```
///
/// # Errors
///
/// `invalid` if `omega` is not between 0 and 2, and for the row of a diagonal that is 0 or has no finite inverse;
/// `shape_mismatch` if the matrix is not square; `fill_mismatch`, `unsupported_dtype`.
#[or_panic]
pub fn try_ssor<P: Pattern>(a: &SparseTensor<P, 2>, omega: f64) -> Result<Operator> {
    const OP: &str = "ssor";
    check_factor(OP, a)?;
    if !(omega > 0.0 && omega < 2.0) {
        return Err(SparseError::invalid(OP, format!("omega must be between 0 and 2, got {omega}")));
    }
    // The diagonal of an `Undefined` fill has no value; of what is not stored it must be an error.
    let a = a.coalesce().try_with_fill(Fill::Zero)?.detach();
    let (n, nnz) = (a.dims()[0], a.nnz());
    inverse_diagonal(OP, &a)?;
    let diagonal = a.try_diagonal()?.inner().reshape(Exact([n, 1]));
    let [rows, cols] = [0, 1].map(|dim| along(a.pattern().coordinates(), dim));
    let values = a.rows().clone().inner();
    let scaled = values.clone().div_scalar(omega);
    let values = values.mask_where(rows.equal(cols).reshape(Exact([nnz, 1])), scaled);
    let matrix = a.with_rows(values, Fill::Zero);
    let upper = inverse(&matrix, Triangle { upper: true, ..Triangle::default() });
    let middle = Operator::diagonal(diagonal) * ((2.0 - omega) / omega);
    Ok(upper * middle * inverse(&matrix, Triangle::default()))
}
