//! A matrix of the set-up, with what was read of it.

use super::config::OP;
use super::host::{Host, numbers};
use burn::tensor::{DType, Tensor};
use sparse_core::multigrid::{Diagonal, Wrong, diagonal, pseudo_inverse};
use sparse_ops::extend::check_square;
use sparse_ops::{CsrTensor, Result, SparseError};

#[derive(Debug)]
pub(super) struct Matrix {
    pub(super) a: CsrTensor<2>,
    pub(super) host: Host,
    pub(super) diagonal: Diagonal,
}

impl Matrix {
    /// # Errors
    ///
    /// `invalid` that names a row without relaxation.
    pub(super) fn new(a: CsrTensor<2>) -> Result<Self> {
        Self::coarse(a, 0.0)
    }

    /// A coarse one, where the largest diagonal of the first one is `scale`.
    ///
    /// # Errors
    ///
    /// `invalid` if numbers overflow.
    pub(super) fn coarse(a: CsrTensor<2>, scale: f64) -> Result<Self> {
        let host = Host::of(&a);
        let wrong = |wrong| {
            let message = match wrong {
                Wrong::Diagonal(row, got) => {
                    format!("the diagonal and its inverse must be positive and finite, got {got:e} in row {row}")
                }
                Wrong::Numbers(row) => format!("the numbers must be finite, got others in row {row}"),
            };
            SparseError::invalid(OP, message)
        };
        let diagonal = diagonal(host.ptr(), host.idx(), host.values(), scale).map_err(wrong)?;
        Ok(Self { a, host, diagonal })
    }

    pub(super) fn rows(&self) -> usize {
        self.diagonal.numbers.len()
    }
}

/// The matrix of a user without the tape.
///
/// # Errors
///
/// Those of a matrix that is none of multigrid.
pub(super) fn checked(a: &CsrTensor<2>) -> Result<CsrTensor<2>> {
    check_square(OP, a)?;
    if !matches!(a.dtype(), DType::F32 | DType::F64) {
        let dtype = format!("{:?}", a.dtype()).to_lowercase();
        return Err(SparseError::unsupported_dtype(OP, "multigrid", dtype));
    }
    if !a.fill().is_zero() {
        return Err(SparseError::invalid(OP, "the fill must be zero, got another one"));
    }
    Ok(burn::module::Module::valid(a))
}

/// The pseudo-inverse of a coarsest matrix, where the largest diagonal of the first one is `scale`.
pub(super) fn inverse(at: &Matrix, scale: f64) -> Tensor<2> {
    let (rows, dtype) = (at.rows(), at.a.dtype());
    let dense = at.host.dense(rows);
    let largest = (0..rows).map(|row| dense[row * rows + row]).fold(0.0, f64::max);
    let eps = if dtype == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let least = eps * scale.max(largest * rows as f64);
    numbers(pseudo_inverse(&dense, rows, least), [rows, rows], &at.a.device(), dtype)
}
