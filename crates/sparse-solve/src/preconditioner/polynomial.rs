//! Polynomials of a matrix.

use super::spectrum::extremes;
use crate::chebyshev::chebyshev;
use crate::finite::not_finite_element;
use crate::operator::{LinearOperator, Operator};
use crate::triangular::check_factor;
use burn::tensor::{Device, Tensor};
use sparse_macros::or_panic;
use sparse_ops::pattern::Pattern;
use sparse_ops::{Result, SparseError, SparseTensor};

const OP: &str = "polynomial";

/// Steps of Lanczos for the bounds.
const STEPS: usize = 20;

/// Its largest eigenvalue is a bound from inside.
const MARGIN: f64 = 1.1;

/// A polynomial preconditioner of a symmetric positive definite matrix: `M^-1 = p(A)`, where `p` of `degree` makes
/// `1 - t p(t)` as small as possible between bounds of the eigenvalues. It is what `degree + 1` steps of Chebyshev's
/// iteration make of a right-hand side.
///
/// It needs products with `A` only, so it runs where they run, GPUs too, and has nothing to factor. The bounds are
/// those of 20 steps of Lanczos, the upper one times 1.1. Symmetric; positive definite while the eigenvalues are below
/// the upper bound. f32 and f64. Not on the tape.
///
/// Cost: 20 products and one read once; then `degree` products with `A` for each product. (Saad, "Iterative methods for
/// sparse linear systems", 2003, chapter 12.3.)
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::solve::{Boundary, Hints, Method, SolverConfig, laplacian, polynomial};
///
/// let device = Device::flex();
/// let a = laplacian(&[20, 20], Boundary::Dirichlet, &device).unwrap();
/// let preconditioner = polynomial(&a, 4);
/// let hints = Hints { preconditioner: Some(&preconditioner), ..Hints::default() };
/// let solution = SolverConfig::new(Method::Cg).try_solve_with(&a, Tensor::<1>::ones([400], &device), hints).unwrap();
/// assert!(solution.report.iterations <= 16);
/// ```
///
/// # Errors
///
/// `invalid` for a matrix that has an eigenvalue of 0 or less among those that are seen, or numbers that are not
/// finite; `shape_mismatch` if the matrix is not square; `fill_mismatch`, `unsupported_dtype`.
#[or_panic]
pub fn try_polynomial<P: Pattern>(a: &SparseTensor<P, 2>, degree: usize) -> Result<Operator> {
    check_factor(OP, a)?;
    let (n, stored) = (a.dims()[0], a);
    let like = Tensor::zeros([1, n, 1], (&SparseTensor::device(a).inner(), a.dtype()));
    let a = Operator::from(a.clone().detach()).without_tape();
    if n == 0 {
        return Ok(Operator::identity(0));
    }
    let [least, largest] = extremes(&a, &like, STEPS)?.ok_or_else(|| not_finite_element(OP, stored))?;
    if least <= 0.0 {
        let message = format!("the matrix must be positive definite, got an eigenvalue of about {least:.1e}");
        return Err(SparseError::invalid(OP, message));
    }
    Ok(Operator::new(Chebyshev { a, degree, bounds: [least, MARGIN * largest] }))
}

#[derive(Debug)]
struct Chebyshev {
    a: Operator,
    degree: usize,
    bounds: [f64; 2],
}

impl LinearOperator for Chebyshev {
    fn dims(&self) -> [usize; 2] {
        self.a.dims()
    }

    fn device(&self) -> Option<Device> {
        self.a.device()
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        chebyshev(|step| self.a.try_apply(step), |residual| residual, self.bounds, self.degree + 1, x)
    }

    fn try_transposed(&self) -> Result<Operator> {
        let a = self.a.try_transposed()?;
        Ok(Operator::new(Self { a, degree: self.degree, bounds: self.bounds }))
    }

    fn without_tape(&self) -> Operator {
        Operator::new(Self { a: self.a.without_tape(), degree: self.degree, bounds: self.bounds })
    }
}
