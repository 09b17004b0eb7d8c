//! Incomplete LU factors by the size of elements.

use super::factors::incomplete;
use super::ilu0::of_factors;
use crate::operator::Operator;
use sparse_macros::or_panic;
use sparse_ops::extend::kernel::Incomplete;
use sparse_ops::pattern::Pattern;
use sparse_ops::{Result, SparseError, SparseTensor};

/// The incomplete LU preconditioner ILUT: `(L U)^-1`, where `L` and `U` have the largest elements of each row, wherever
/// they are.
///
/// A row is eliminated as in LU. Elements smaller than `drop` times the Euclidean norm of the row of `A` are left out,
/// while it is eliminated and after that; those of `L` by their size before they are divided by the pivot, as MATLAB's
/// `ilu` does it, so that `A` times a number has the same `L`. Of the others the `fill` largest on each side of the
/// diagonal stay (of equal ones the first), and the diagonal. With `drop` 0 and a `fill` of the size of the matrix it
/// is LU. No rows are exchanged. f32 and f64; it is factored in f64. Not on the tape.
///
/// Cost: the factors once, on one thread of the host: up to `fill` steps for each element that a row has below the
/// diagonal while it is eliminated. With a good `drop` these are few. With `drop` 0 they may be all, in time
/// `O(n^2 (fill + log n))`. Then two triangular solves with at most `n (2 fill + 1)` elements for each product.
/// (Saad 1994; "Iterative methods for sparse linear systems", 2003, algorithm 10.6.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::solve::{Boundary, Hints, Method, SolverConfig, ilut, laplacian};
///
/// let device = Device::flex();
/// let a = laplacian(&[20, 20], Boundary::Dirichlet, &device).unwrap();
/// let preconditioner = ilut(&a, 10, 1e-3);
/// let hints = Hints { preconditioner: Some(&preconditioner), ..Hints::default() };
/// let solver = SolverConfig::new(Method::BiCgStab);
/// let solution = solver.try_solve_with(&a, Tensor::<1>::ones([400], &device), hints).unwrap();
/// assert!(solution.report.iterations <= 6);
/// ```
///
/// # Errors
///
/// Those of [`ilu0`](crate::try_ilu0), and `invalid` that names the row of an element of `A` that is not finite, or if
/// `drop` is no number from 0 on; `overflow` if an index cannot count the elements.
#[or_panic]
pub fn try_ilut<P: Pattern>(a: &SparseTensor<P, 2>, fill: usize, drop: f64) -> Result<Operator> {
    const OP: &str = "ilut";
    if !(drop >= 0.0 && drop.is_finite()) {
        return Err(SparseError::invalid(OP, format!("drop must be a number from 0 on, got {drop}")));
    }
    Ok(of_factors(&incomplete(OP, a, Incomplete::Threshold { fill, drop })?))
}
