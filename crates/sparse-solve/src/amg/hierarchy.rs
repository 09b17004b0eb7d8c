//! Levels, and how they are made.

use super::coarsen::{Candidates, Kept};
use super::config::{AmgConfig, OP, Smoother};
use super::host::{Host, value_rows};
use super::matrix::{Matrix, checked, coarse_sizes, inverse};
use super::relax::{Relax, relaxation, spectral_radius};
use burn::tensor::Tensor;
use sparse_core::multigrid::filtered_values;
use sparse_ops::extend::{Parts, read_rows, same_elements};
use sparse_ops::pattern::Pattern;
use sparse_ops::{CsrTensor, Fill, Result, SparseError};
use std::sync::Arc;

/// A matrix, what smooths its errors, and the way to the next level.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) a: CsrTensor<2>,
    pub(super) relax: Relax,
    pub(super) prolong: CsrTensor<2>,
    /// `P^T`.
    pub(super) restrict: CsrTensor<2>,
    kept: Arc<Kept>,
}

/// How the coarsest system is solved.
#[derive(Debug)]
pub(super) enum Coarsest {
    /// There are no rows.
    Nothing,
    /// By the pseudo-inverse of the matrix.
    Inverse(CsrTensor<2>, Tensor<2>),
    /// It is too large, and smoothed.
    Smoothed(CsrTensor<2>, Relax),
}

#[derive(Debug)]
pub(super) struct Hierarchy {
    pub(super) levels: Vec<Level>,
    pub(super) coarsest: Coarsest,
    pub(super) rows: usize,
    omega: f64,
    smoother: Smoother,
    max_coarse: usize,
}

impl Hierarchy {
    fn start(rows: usize, omega: f64, smoother: Smoother, max_coarse: usize) -> Self {
        Self { levels: vec![], coarsest: Coarsest::Nothing, rows, omega, smoother, max_coarse }
    }

    pub(super) fn new(config: &AmgConfig, a: &CsrTensor<2>, mut candidates: Candidates) -> Result<Self> {
        let mut out = Self::start(a.dims()[0], config.omega, config.smoother, config.max_coarse);
        let mut at = Matrix::new(OP, checked(OP, a)?)?;
        while at.rows() > config.max_coarse && out.levels.len() + 1 < config.max_levels {
            let Some((kept, coarse)) = Kept::coarsened(config, &at, &candidates) else { break };
            (at, candidates) = (out.extend(OP, at, Arc::new(kept))?, coarse);
        }
        out.close(at);
        Ok(out)
    }

    /// The same for other values on the same pattern.
    pub(super) fn refreshed(&self, a: &CsrTensor<2>) -> Result<Self> {
        const OP: &str = "Amg::refresh";
        let mut out = Self::start(self.rows, self.omega, self.smoother, self.max_coarse);
        let mut a = checked(OP, a)?;
        if a.dims() != [self.rows; 2] {
            let rule = "the matrix {right} must have the shape {left} of the first one";
            return Err(SparseError::shape_mismatch(OP, rule, [self.rows; 2], a.dims()));
        }
        if let Some(own) = self.first() {
            same_elements(OP, own.rows(), a.rows())?;
            if !a.pattern().is_same(own.pattern()) {
                if !Host::of(&a).is_like(&Host::of(own)) {
                    let message = "the matrix must store the elements of the first one, got other ones";
                    return Err(SparseError::invalid(OP, message));
                }
                // What was derived from the first pattern is kept there.
                a = own.with_rows(a.rows().clone(), Fill::Zero);
            }
        }
        let mut at = Matrix::new(OP, a)?;
        for level in &self.levels {
            at = out.extend(OP, at, level.kept.clone())?;
        }
        out.close(at);
        Ok(out)
    }

    /// The matrix of the first level.
    pub(super) fn first(&self) -> Option<&CsrTensor<2>> {
        self.levels.first().map(|level| &level.a).or(match &self.coarsest {
            Coarsest::Nothing => None,
            Coarsest::Inverse(a, _) | Coarsest::Smoothed(a, _) => Some(a),
        })
    }

    /// Adds a level, and gives the matrix of the next one.
    fn extend(&mut self, op: &'static str, at: Matrix, kept: Arc<Kept>) -> Result<Matrix> {
        let radius = spectral_radius(&at);
        let factor = self.omega / radius;
        let smoothing = match &kept.filter {
            None => relaxation(&at, factor),
            Some(filter) => {
                let (host, nodes) = (&at.host, filter.nodes.as_deref());
                let values = filtered_values(host.ptr(), host.idx(), host.values(), &filter.kept, nodes);
                let values = value_rows(values, &at.a.device());
                let strong = CsrTensor::from_parts(filter.pattern.clone(), values, vec![], Fill::Zero);
                let strong = Matrix::coarse(op, strong, &at.diagonal.sizes)?;
                relaxation(&strong, self.omega / spectral_radius(&strong))
            }
        };
        let prolong = smoothing.try_matmul(&kept.tentative)?;
        let (pattern, places) = kept.transposed(&prolong);
        let transposed = read_rows(prolong.rows().clone(), places);
        let restrict = CsrTensor::from_parts(pattern.clone(), transposed, vec![], Fill::Zero);
        let coarse = restrict.try_matmul(&at.a.try_matmul(&prolong)?)?;
        let sizes = coarse_sizes(&at, &restrict)?;
        let relax = Relax::new(self.smoother, &at, radius, kept.filter.is_none().then_some((factor, &smoothing)));
        self.levels.push(Level { a: at.a, relax, prolong, restrict, kept });
        Matrix::coarse(op, coarse, &sizes)
    }

    /// Adds the coarsest level.
    fn close(&mut self, at: Matrix) {
        self.coarsest = match at.rows() {
            0 => Coarsest::Nothing,
            rows if rows <= self.max_coarse => {
                let inverse = inverse(&at);
                Coarsest::Inverse(at.a, inverse)
            }
            _ => {
                let relax = Relax::new(self.smoother, &at, spectral_radius(&at), None);
                Coarsest::Smoothed(at.a, relax)
            }
        };
    }
}
