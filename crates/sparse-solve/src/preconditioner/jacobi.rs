//! The inverse of the diagonal.

use crate::operator::Operator;
use crate::triangular::check_factor;
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, read_data};
use sparse_ops::pattern::Pattern;
use sparse_ops::{Fill, Result, SparseError, SparseTensor};

const OP: &str = "jacobi";

/// Jacobi's preconditioner: the inverse of the diagonal. Not on the tape. Cost: one pass over `A`, one read.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::{Hints, Method, SolverConfig, jacobi};
///
/// let device = Device::flex();
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[400.0, 1.0], [1.0, 3.0]], &device));
/// let b = Tensor::<1>::from_floats([401.0, 4.0], &device);
/// let preconditioner = jacobi(&a);
/// let hints = Hints { preconditioner: Some(&preconditioner), ..Hints::default() };
/// let solution = SolverConfig::new(Method::Cg).try_solve_with(&a, b, hints).unwrap();
/// assert!(solution.report.iterations <= 2);
/// ```
///
/// # Errors
///
/// `shape_mismatch` if the matrix is not square; `invalid` that names the row whose diagonal is 0, so small that its
/// inverse is not finite, or no number; `fill_mismatch` for another fill than zero or `Undefined`; `unsupported_dtype`.
#[or_panic]
pub fn try_jacobi<P: Pattern>(a: &SparseTensor<P, 2>) -> Result<Operator> {
    check_factor(OP, a)?;
    // The diagonal of an `Undefined` fill has no value; of what is not stored it must be an error.
    let inverse = inverse_diagonal(OP, &a.coalesce().try_with_fill(Fill::Zero)?)?;
    let [n] = inverse.dims();
    Ok(Operator::diagonal(inverse.reshape(Exact([n, 1]))))
}

/// The inverse of the diagonal, `[n]`, all of it finite and none of it 0.
pub(super) fn inverse_diagonal<P: Pattern>(op: &'static str, a: &SparseTensor<P, 2>) -> Result<Tensor<1>> {
    let diagonal = a.try_diagonal()?.inner();
    let inverse = diagonal.clone().recip();
    let list: Vec<f64> = read_data(inverse.clone()).convert::<f64>().iter().collect();
    if let Some(row) = list.iter().position(|&inverse| inverse == 0.0 || !inverse.is_finite()) {
        let pivots: Vec<f64> = read_data(diagonal).convert::<f64>().iter().collect();
        let message = format!("the diagonal and its inverse must be finite, got {:e} in row {row}", pivots[row]);
        return Err(SparseError::invalid(op, message));
    }
    Ok(inverse)
}
