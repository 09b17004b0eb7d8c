//! Which factors.

use serde::{Deserialize, Serialize};

/// How a matrix is factored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Factorization {
    /// `P A P^T = L L^T` of a symmetric positive definite matrix, with the order AMD.
    Cholesky,
    /// `P A P^T = L D L^T` of a symmetric matrix, with the order AMD and without pivoting: for quasi-definite matrices,
    /// such as saddle points `[[H, B^T], [B, -C]]` with positive definite `H` and `C`. Of other indefinite matrices a
    /// pivot may be zero or small; take `Lu` there.
    Ldlt,
    /// `A = L U` of a square matrix with partial pivoting, with the order COLAMD.
    Lu,
    /// `A = Q R` of any shape, with the order COLAMD. A solve with it is a least-squares solution, of a matrix with
    /// more columns than rows the shortest one. The rank must be full.
    Qr,
}

impl Factorization {
    /// Whether the matrix must be symmetric.
    pub(super) fn is_symmetric(self) -> bool {
        matches!(self, Self::Cholesky | Self::Ldlt)
    }
}
