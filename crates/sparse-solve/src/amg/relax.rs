//! Smoothers.

use super::config::Smoother;
use super::host::{numbers, value_rows};
use super::matrix::Matrix;
use crate::chebyshev::chebyshev;
use burn::tensor::Tensor;
use sparse_core::multigrid::{self, relaxed};
use sparse_ops::extend::Parts;
use sparse_ops::{CsrTensor, Fill, Result};

/// Products with which the spectral radius is estimated.
const STEPS: usize = 10;

/// How far the spectral radius may be above what is found of it.
const MARGIN: f64 = 1.1;

/// The spectral radius of `D^-1 A`, from above: what Lanczos finds is below, and has a margin here; the row sums are a
/// bound that is always safe.
pub(super) fn spectral_radius(at: &Matrix) -> f64 {
    let (host, diagonal) = (&at.host, &at.diagonal);
    let found = multigrid::spectral_radius(host.ptr(), host.idx(), host.values(), &diagonal.numbers, STEPS);
    let bound = if found > 0.0 { (MARGIN * found).min(diagonal.bound) } else { diagonal.bound };
    // It is 1 at least, but for rows whose diagonal is rounding: these are hardly relaxed.
    bound.max(1.0)
}

/// `I - factor D^-1 A`.
pub(super) fn relaxation(at: &Matrix, factor: f64) -> CsrTensor<2> {
    let host = &at.host;
    let values = relaxed(host.ptr(), host.idx(), host.values(), &at.diagonal.numbers, factor);
    at.a.with_rows(value_rows(values, &at.a.device()), Fill::Zero)
}

/// The smoother of one level.
#[derive(Debug)]
pub(super) enum Relax {
    Jacobi {
        /// `I - w D^-1 A`.
        matrix: CsrTensor<2>,
        /// `w D^-1` as a column.
        weights: Tensor<2>,
    },
    Chebyshev {
        /// `D^-1` as a column.
        inverse: Tensor<2>,
        degree: usize,
        /// Of the part of the spectrum that is damped.
        bounds: [f64; 2],
    },
}

impl Relax {
    /// With the spectral radius of `D^-1 A`, from above. `made` is a relaxation matrix with its factor.
    pub(super) fn new(smoother: Smoother, at: &Matrix, radius: f64, made: Option<(f64, &CsrTensor<2>)>) -> Self {
        let column = |factor: f64| {
            let list = at.diagonal.numbers.iter().map(|own| factor / own).collect();
            numbers(list, [at.rows(), 1], &at.a.device(), at.a.dtype())
        };
        match smoother {
            Smoother::Jacobi(factor) => {
                let factor = factor / radius;
                let matrix = match made {
                    Some((own, matrix)) if own == factor => matrix.clone(),
                    _ => relaxation(at, factor),
                };
                Self::Jacobi { matrix, weights: column(factor) }
            }
            Smoother::Chebyshev(degree) => {
                Self::Chebyshev { inverse: column(1.0), degree, bounds: [0.1 * radius, radius] }
            }
        }
    }

    /// What is kept of `b` for the sweeps of one visit.
    pub(super) fn scaled(&self, b: &Tensor<2>) -> Tensor<2> {
        match self {
            Self::Jacobi { weights, .. } => b.clone() * weights.clone(),
            Self::Chebyshev { .. } => b.clone(),
        }
    }

    /// `sweeps` sweeps for `A x = b` from `x`; from 0 if there is none.
    pub(super) fn sweep(
        &self,
        a: &CsrTensor<2>,
        scaled: &Tensor<2>,
        mut x: Option<Tensor<2>>,
        sweeps: usize,
    ) -> Result<Option<Tensor<2>>> {
        for _ in 0..sweeps {
            x = Some(match (self, x) {
                (Self::Jacobi { .. }, None) => scaled.clone(),
                (Self::Jacobi { matrix, .. }, Some(x)) => matrix.try_matmul(x)? + scaled.clone(),
                (Self::Chebyshev { inverse, degree, bounds }, x) => {
                    let step = |residual| {
                        let weigh = |residual| residual * inverse.clone();
                        chebyshev(|step| a.try_matmul(step), weigh, *bounds, *degree, residual)
                    };
                    match x {
                        Some(x) => x.clone() + step(scaled.clone() - a.try_matmul(x)?)?,
                        None => step(scaled.clone())?,
                    }
                }
            });
        }
        Ok(x)
    }
}
