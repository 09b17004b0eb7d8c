//! Eigenvalues of symmetric matrices.

use super::adjoint::{Adjoint, on_tape};
use super::block::{scaled, signs};
use super::pencil::{Found, Pencil};
use super::report::{SpectrumHints, SpectrumReport, Which};
use super::task::{Task, asked};
use super::{dense, inner, lanczos, lobpcg};
use crate::krylov::watch::Stopped;
use crate::operator::LinearOperator;
use burn::config::Config;
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};
use sparse_macros::or_panic;
use sparse_ops::{Result, SparseError};

const OP: &str = "eigsh";

/// How eigenvalues of a symmetric matrix are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EigshMethod {
    /// Thick-restart Lanczos (Wu and Simon 2000), with blocks and full orthogonalisation.
    Lanczos,
    /// Locally optimal block preconditioned conjugate gradients (Knyazev 2001): of the smallest or the largest values,
    /// with a preconditioner.
    Lobpcg,
}

/// Eigenvalues with their vectors.
#[derive(Debug)]
pub struct Eigenpairs {
    /// `[k]`, the best one first.
    pub values: Tensor<1>,
    /// `[n, k]`, a column for each value, with `v^T B v = 1`.
    pub vectors: Tensor<2>,
    /// How it went.
    pub report: SpectrumReport,
}

/// Some eigenvalues and eigenvectors of a symmetric matrix, `A v = l B v`, with gradients.
///
/// A pair has converged when `|A v - l B v| <= max(relative |l B v|, absolute, 10 eps (|A| |v| + |l B v|))`, with the
/// true residual and an estimate of `|A|` from below; `eps` is 1e-7 in f32 and 2e-16 in f64. The last one is what
/// rounding allows. The start is made of `seed`, and the sign of a vector is that of its product with a fixed random
/// one, so results repeat.
///
/// Backward, by the implicit function: `d l = v^T (dA - l dB) v`, and `d v = -(A - l B)^+ (dA - l dB) v - v (v^T dB v)
/// / 2`. The gradient of a vector takes one solve by `Minres` for all columns at once, with the known vectors projected
/// out, and reaches what `A` and `B` are made of: a sparse matrix at its stored elements. Nothing dense is made, and
/// memory is `O(nnz + n k)` whatever the iterations. Values that are not distinct have no derivative each, but smooth
/// functions of all of them have one, and so has the projector `V V^T`: terms between equal values are left out, so the
/// gradient is right for a loss that depends on `V V^T` only, if all vectors of the value are there. A value that is
/// wanted and equals one that is not wanted has no gradient: the solve does not converge.
///
/// Cost of an iteration: a product with a block of vectors, Gram matrices of a few blocks, and a read of the device.
/// Matrices that are hardly larger than the basis are solved as dense ones. (`scipy.sparse.linalg.eigsh`, `lobpcg`.)
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::solve::{Boundary, EigshConfig, laplacian};
///
/// let device = Device::flex().autodiff();
/// let a = laplacian(&[100], Boundary::Dirichlet, &device).unwrap().require_grad();
/// let pairs = EigshConfig::new(2).solve(&a);
/// let want = [1.0, 2.0].map(|k: f32| 2.0 - 2.0 * (k * std::f32::consts::PI / 101.0).cos());
/// for (got, want) in pairs.values.clone().into_data().iter::<f32>().zip(want) {
///     assert!((got - want).abs() < 1e-5);
/// }
/// assert_eq!(a.grad(&pairs.values.sum().backward()).unwrap().nnz(), 298);
/// ```
#[derive(Config, Debug)]
pub struct EigshConfig {
    /// How many pairs.
    pub count: usize,
    /// Which ones.
    #[config(default = "Which::Smallest")]
    pub which: Which,
    /// The method.
    #[config(default = "EigshMethod::Lanczos")]
    pub method: EigshMethod,
    /// The largest residual by the size of the value.
    #[config(default = 1e-6)]
    pub relative: f64,
    /// A residual that is small enough whatever the value.
    #[config(default = 0.0)]
    pub absolute: f64,
    /// The most iterations. The default is ten times the rows, from 100 to 10,000.
    pub max_iterations: Option<usize>,
    /// How many vectors are kept: of `Lanczos` the default is `max(2 k + 8, 24)`, of `Lobpcg` `k`, the block.
    pub basis: Option<usize>,
    /// How many columns a product has in `Lanczos`. A value that is there more often may take more iterations.
    #[config(default = 2)]
    pub block: usize,
    /// Other numbers give another start.
    #[config(default = 0)]
    pub seed: usize,
    /// Gives the last pairs if not all have converged, instead of an error.
    #[config(default = false)]
    pub accept_unsolved: bool,
    /// The tolerance of the solves in the backward pass: by default 1e-5 in f32 and 1e-11 in f64.
    pub relative_gradient: Option<f64>,
    /// Takes the last point of these solves, instead of a panic. The default is `accept_unsolved`.
    pub accept_unsolved_gradient: Option<bool>,
}

/// The `count` smallest, largest .. eigenvalues of a symmetric matrix; see [`EigshConfig`].
///
/// # Errors
///
/// Those of [`EigshConfig::try_solve`].
#[or_panic]
pub fn try_eigsh(a: &dyn LinearOperator, count: usize, which: Which) -> Result<Eigenpairs> {
    EigshConfig::new(count).with_which(which).try_solve(a)
}

impl EigshConfig {
    /// The pairs of `a` `[n, n]`. In f32, or in f64 if `a` has that.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if `a` is not square; `invalid` for a count of 0 or more than `n`, for a batch, if random
    /// products show that `a` is not symmetric, if numbers are not finite, for a tolerance that is no number from 0 on,
    /// if `Lobpcg` is to find values by magnitude or near a number, and if not all pairs converge: the message is the
    /// report; `would_densify` if `n` is hardly larger than the basis, and its square is more than
    /// [`dense_limit`](sparse_ops::dense_limit); `unsupported_dtype`; those of the products.
    ///
    /// # Panics
    ///
    /// In the backward pass, if a solve does not reach the tolerance (unless `accept_unsolved_gradient`).
    #[or_panic]
    pub fn try_solve(&self, a: &dyn LinearOperator) -> Result<Eigenpairs> {
        self.try_solve_with(a, SpectrumHints::default())
    }

    /// The same with a mass matrix, a preconditioner, an inverse, a start, and vectors to leave out.
    ///
    /// If vectors are left out, the pairs are those of `A` on the rest, and no gradient reaches these vectors; with
    /// gradients to `mass` they must be eigenvectors.
    ///
    /// [`SpectrumHints`] says which hint is used where.
    ///
    /// # Errors
    ///
    /// Those of [`try_solve`](Self::try_solve); `shape_mismatch`, `dtype_mismatch` or `device_mismatch` if a hint does
    /// not fit; `invalid` if products show that the mass is not symmetric and positive definite, with the iteration,
    /// for `Lanczos` with a mass but without [`Which::Near`], and for an inverse without that.
    pub fn try_solve_with(&self, a: &dyn LinearOperator, hints: SpectrumHints<'_>) -> Result<Eigenpairs> {
        let asked = asked!(OP, self, a.dims()[0]);
        asked.check()?;
        let mut hints = hints;
        let progress = hints.progress.take();
        let task = Task::new(asked, a, hints.start.as_ref().or(hints.deflate.as_ref()), true, progress)?;
        let pencil = Pencil::new(&task, &hints)?;
        self.check_which(&hints)?;
        let found = self.find(&pencil, &hints)?;
        let (vectors, values) = (scaled(&found.vectors, &signs(&found.vectors)), found.values);
        let (image, mass) = (task.apply(&vectors)?, pencil.mass(&vectors)?);
        let (_, residuals) = pencil.residuals(&values, &vectors, &image, mass.as_ref());
        let report = task.report(found.stopped, found.iterations, &residuals)?;
        let adjoint = Adjoint {
            second: task.second(),
            a: a.without_tape(),
            b: pencil.b.clone(),
            preconditioner: hints.preconditioner.map(LinearOperator::without_tape),
            inverse: match (hints.inverse, self.which) {
                // With others than eigenvectors left out it is not the inverse of the rest.
                (Some(inverse), Which::Near(sigma)) if pencil.deflated.is_none() => {
                    Some((inverse.without_tape(), sigma))
                }
                _ => None,
            },
            count: self.count,
            values: values.iter().map(|value| value * task.plain.size).collect(),
            errors: report.residuals.clone(),
            mass: mass.unwrap_or_else(|| vectors.clone()),
            vectors,
            deflated: pencil.deflated.clone(),
        };
        let (values, vectors) = on_tape(a, hints.mass, adjoint)?;
        Ok(Eigenpairs { values, vectors, report })
    }

    fn check_which(&self, hints: &SpectrumHints<'_>) -> Result<()> {
        let trouble = match (self.which, self.method) {
            (Which::Smallest | Which::Largest | Which::Magnitude, _) if hints.inverse.is_some() => {
                "leave out the inverse: it is for values near a number"
            }
            (Which::Imaginary, _) => "a symmetric matrix has no imaginary parts, use another one of Which",
            (Which::Magnitude | Which::Near(_), EigshMethod::Lobpcg) => {
                "Lobpcg finds the smallest or the largest values, use Lanczos for others"
            }
            (Which::Near(_), EigshMethod::Lanczos) => return Ok(()),
            (_, EigshMethod::Lanczos) if hints.mass.is_some() => {
                "Lanczos with a mass must be near a number, or use Lobpcg"
            }
            _ => return Ok(()),
        };
        Err(SparseError::invalid(OP, trouble))
    }

    fn find(&self, pencil: &Pencil<'_, '_>, hints: &SpectrumHints<'_>) -> Result<Found> {
        let size = pencil.task.plain.size;
        let room = pencil.n() - pencil.left_out();
        let solves = |sigma| inner::symmetric(pencil, sigma, hints.preconditioner);
        let (which, inverse) = pencil.task.plain.near(OP, self.which, hints.inverse, solves)?;
        let basis = lanczos::basis_size(self.basis, self.count, self.block);
        if room <= basis.max(self.count.saturating_mul(5)) {
            let (values, vectors) = dense::symmetric(pencil, which)?;
            return Ok(Found { values, vectors, stopped: Stopped::Converged, iterations: 0 });
        }
        let start = hints.start.as_ref().map(|start| start.clone().inner());
        if self.method == EigshMethod::Lobpcg {
            // Of the divided matrix.
            let preconditioner = hints.preconditioner.map(|own| own.without_tape() * size);
            return lobpcg::run(pencil, which == Which::Largest, preconditioner.as_ref(), start);
        }
        lanczos::run(pencil, which, inverse.as_ref(), start, (basis, self.block.max(1)))
    }
}
