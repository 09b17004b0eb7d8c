//! A matrix of the set-up, with what was read of it.

use super::host::{Host, numbers};
use crate::triangular::check_factor;
use burn::tensor::{DType, Tensor};
use sparse_core::multigrid::{Diagonal, Wrong, diagonal, pseudo_inverse};
use sparse_ops::extend::{Parts, read_data};
use sparse_ops::{CsrTensor, Fill, Result, SparseError};

#[derive(Debug)]
pub(super) struct Matrix {
    pub(super) a: CsrTensor<2>,
    pub(super) host: Host,
    pub(super) diagonal: Diagonal,
}

impl Matrix {
    /// The first one, where `op` asks for it.
    ///
    /// # Errors
    ///
    /// `invalid` that names a row without relaxation.
    pub(super) fn new(op: &'static str, a: CsrTensor<2>) -> Result<Self> {
        Self::of(op, a, None)
    }

    /// A coarse one, with the sizes of what was added into its rows.
    ///
    /// # Errors
    ///
    /// `invalid` if numbers overflow.
    pub(super) fn coarse(op: &'static str, a: CsrTensor<2>, sizes: &[f64]) -> Result<Self> {
        Self::of(op, a, Some(sizes))
    }

    fn of(op: &'static str, a: CsrTensor<2>, sizes: Option<&[f64]>) -> Result<Self> {
        let host = Host::of(&a);
        let wrong = |wrong| {
            let message = match wrong {
                Wrong::Diagonal(row, got) => {
                    format!("the diagonal and its inverse must be positive and finite, got {got:e} in row {row}")
                }
                Wrong::Numbers(row) => format!("the numbers must be finite, got others in row {row}"),
            };
            SparseError::invalid(op, message)
        };
        let diagonal = diagonal(host.ptr(), host.idx(), host.values(), sizes).map_err(wrong)?;
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
pub(super) fn checked(op: &'static str, a: &CsrTensor<2>) -> Result<CsrTensor<2>> {
    check_factor(op, a)?;
    let a = burn::module::Module::valid(a);
    Ok(a.with_rows(a.rows().clone(), Fill::Zero))
}

/// The sizes of what is added into the rows of `P^T A P`, where `restrict` is `P^T`: the mean of those of `A`, weighted
/// with the squares of `P`. A sum would shrink from level to level, and rounding does not.
pub(super) fn coarse_sizes(at: &Matrix, restrict: &CsrTensor<2>) -> Result<Vec<f64>> {
    let squares = restrict.with_rows(restrict.rows().clone().square(), Fill::Zero);
    let pairs = at.diagonal.sizes.iter().flat_map(|size| [*size, 1.0]).collect();
    let pairs = numbers(pairs, [at.rows(), 2], &at.a.device(), at.a.dtype());
    let sums: Vec<f64> = read_data(squares.try_matmul(pairs)?).iter::<f64>().collect();
    // Columns of `P` are hardly longer than 1.
    Ok(sums.chunks(2).map(|sums| sums[0] / sums[1].clamp(f64::MIN_POSITIVE, 1.0)).collect())
}

/// The inverse of a coarsest matrix, or what is one where the system has a solution: the pseudo-inverse of
/// `D^-1/2 A D^-1/2`, scaled back. Pivots that are no more than rounding count as 0, each compared with its own row, so
/// that a part with small numbers stays beside one with large numbers.
pub(super) fn inverse(at: &Matrix) -> Tensor<2> {
    let (rows, dtype, Diagonal { numbers: own, sizes, .. }) = (at.rows(), at.a.dtype(), &at.diagonal);
    let eps = if dtype == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let least: Vec<f64> = own.iter().zip(sizes).map(|(own, size)| eps * (size / own).max(rows as f64)).collect();
    let roots: Vec<f64> = own.iter().map(|own| own.sqrt()).collect();
    let scaled = |mut list: Vec<f64>| {
        for (row, list) in list.chunks_mut(rows.max(1)).enumerate() {
            list.iter_mut().zip(&roots).for_each(|(x, root)| *x /= roots[row] * root);
        }
        list
    };
    let inverse = scaled(pseudo_inverse(&scaled(at.host.dense(rows)), rows, &least));
    numbers(inverse, [rows, rows], &at.a.device(), dtype)
}
