//! Eigenvalues of matrices that are not symmetric.

use super::arnoldi::{self, Complex};
use super::eigs_gradient::{Adjoint, on_tape};
use super::inner;
use super::report::{SpectrumHints, SpectrumReport, Which};
use super::task::{Task, asked};
use crate::operator::LinearOperator;
use burn::config::Config;
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::same_elements;
use sparse_ops::{Result, SparseError};

const OP: &str = "eigs";

/// Complex eigenvalues with their vectors, by real and imaginary parts.
#[derive(Debug)]
pub struct ComplexPairs {
    /// The real parts `[k]`, of the best one first.
    pub real: Tensor<1>,
    /// The imaginary parts `[k]`: 0 of a real value. Of a conjugate pair the positive one comes first.
    pub imag: Tensor<1>,
    /// The real parts of the vectors `[n, k]`, a column for each value, of length 1.
    pub vectors_real: Tensor<2>,
    /// Their imaginary parts `[n, k]`.
    pub vectors_imag: Tensor<2>,
    /// How it went.
    pub report: SpectrumReport,
}

/// Some eigenvalues and right eigenvectors of a real matrix, `A x = l x`, with gradients.
///
/// By a Krylov space that is restarted with the part of it that is wanted (Stewart 2001). Conjugate pairs are kept
/// whole, so there may be one pair more than asked for. A pair has converged when `|A x - l x| <= max(relative |l|,
/// absolute, 10 eps (|A| + |l|))`. The vectors have length 1, and the phase that makes the product with a fixed random
/// vector real and positive.
///
/// `A x = l B x` is `Operator::new(factorize(&b, Factorization::Lu)) * Operator::from(a)`, with gradients to both, and
/// its inverse near `sigma` is that of `A - sigma B` times `B`. A shift is real: a complex one needs complex products.
///
/// Backward, by the implicit function: with the left vector `y`, `y^H x = 1`, it is `d l = y^H dA x`, and `d x = -(A -
/// l)^# dA x` without its part along `x`. One solve by `Gmres` with `A^T` for values and vectors together, all columns
/// at once. Gradients hold where a value is distinct; one that is there twice has none, and the solve does not
/// converge.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::EigsConfig;
///
/// // A rotation by a right angle, times 2, and a third value.
/// let rows = [[0.0, -2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
/// let device = Device::flex().autodiff();
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats(rows, &device)).require_grad();
/// let pairs = EigsConfig::new(1).solve(&a);
/// // A conjugate pair is not cut.
/// let imag = pairs.imag.clone().into_data().to_vec::<f32>().unwrap();
/// assert!((imag[0] - 2.0).abs() < 1e-5 && (imag[1] + 2.0).abs() < 1e-5);
/// assert_eq!(a.grad(&pairs.imag.powi_scalar(2).sum().backward()).unwrap().nnz(), 3);
/// ```
#[derive(Config, Debug)]
pub struct EigsConfig {
    /// How many pairs.
    pub count: usize,
    /// Which ones.
    #[config(default = "Which::Magnitude")]
    pub which: Which,
    /// The largest residual by the size of the value.
    #[config(default = 1e-6)]
    pub relative: f64,
    /// A residual that is small enough whatever the value.
    #[config(default = 0.0)]
    pub absolute: f64,
    /// The most iterations: products with a block. The default is ten times the rows, from 100 to 10,000.
    pub max_iterations: Option<usize>,
    /// How many vectors are kept. The default is `max(2 k + 10, 24)`.
    pub basis: Option<usize>,
    /// How many columns a product has.
    #[config(default = 1)]
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

/// The `count` eigenvalues of the largest absolute value, real parts ..; see [`EigsConfig`].
///
/// # Errors
///
/// Those of [`EigsConfig::try_solve`].
#[or_panic]
pub fn try_eigs(a: &dyn LinearOperator, count: usize, which: Which) -> Result<ComplexPairs> {
    EigsConfig::new(count).with_which(which).try_solve(a)
}

impl EigsConfig {
    /// The pairs of `a` `[n, n]`. In f32, or in f64 if `a` has that.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if `a` is not square; `invalid` for a count of 0 or more than `n`, for a batch, if numbers are
    /// not finite, for a tolerance that is no number from 0 on, if not all pairs converge (the message is the report),
    /// and if something is tracked and `a` has no transposed product; `would_densify` if `n` is hardly larger than the
    /// basis, and its square is more than [`dense_limit`](sparse_ops::dense_limit); `unsupported_dtype`; those of the
    /// products.
    ///
    /// # Panics
    ///
    /// In the backward pass, if a solve does not reach the tolerance (unless `accept_unsolved_gradient`).
    #[or_panic]
    pub fn try_solve(&self, a: &dyn LinearOperator) -> Result<ComplexPairs> {
        self.try_solve_with(a, SpectrumHints::default())
    }

    /// The same with a start, a callback, and an inverse `(A - sigma I)^-1` for [`Which::Near`]; without one these
    /// products are solves by `Gmres`.
    ///
    /// # Errors
    ///
    /// Those of [`try_solve`](Self::try_solve); `shape_mismatch`, `dtype_mismatch` or `device_mismatch` if a hint does
    /// not fit; `invalid` for a mass, a preconditioner, or vectors to leave out, which are for symmetric matrices, and
    /// for an inverse without [`Which::Near`].
    pub fn try_solve_with(&self, a: &dyn LinearOperator, hints: SpectrumHints<'_>) -> Result<ComplexPairs> {
        let [n, cols] = a.dims();
        if n != cols {
            return Err(SparseError::shape_mismatch(OP, "the matrix must be square", [n, cols], [cols; 2]));
        }
        let asked = asked!(OP, self, n);
        asked.check()?;
        self.check_hints(n, &hints)?;
        let task = Task::new(asked, a, hints.start.as_ref(), false, hints.progress)?;
        let plain = &task.plain;
        task.asked.check_count(n, "rows")?;
        let start = hints.start.map(|start| start.inner());
        if let Some(start) = &start {
            same_elements(OP, &plain.like, start)?;
        }
        let width = self.block.max(1);
        let size = self
            .basis
            .unwrap_or(self.count.saturating_mul(2).saturating_add(10).max(24))
            .max(self.count.saturating_add(2).saturating_add(width.saturating_mul(3)));
        let solves = |sigma| Ok(inner::general(OP, &plain.a, sigma, &plain.like));
        let (which, inverse) = plain.near(OP, self.which, hints.inverse, solves)?;
        let problem = arnoldi::Problem { task: &task, which, inverse: inverse.as_ref() };
        let found = match n <= size {
            true => problem.dense()?,
            false => problem.run(start, (size, width))?,
        };
        let residuals = problem.residuals(&found.pairs)?;
        let report = task.report(found.stopped, found.iterations, &residuals)?;
        let Complex { values, real, imag } = found.pairs;
        let adjoint = Adjoint {
            second: task.second(),
            values: values.iter().map(|value| value.map(|part| part * plain.size)).collect(),
            real,
            imag,
        };
        let [real, imag, vectors_real, vectors_imag] = on_tape(a, hints.inverse, adjoint)?;
        let k = real.dims()[1];
        let flat = |own: Tensor<2>| own.reshape(sparse_ops::extend::Exact([k]));
        Ok(ComplexPairs { real: flat(real), imag: flat(imag), vectors_real, vectors_imag, report })
    }

    fn check_hints(&self, n: usize, hints: &SpectrumHints<'_>) -> Result<()> {
        if hints.mass.is_some() || hints.preconditioner.is_some() || hints.deflate.is_some() {
            let message = "leave out the mass, the preconditioner and the vectors to leave out: they are for symmetric \
                           matrices";
            return Err(SparseError::invalid(OP, message));
        }
        if let Some(inverse) = hints.inverse.filter(|own| own.dims() != [n; 2]) {
            let rule = "the inverse {right} must be square, with a row for each one of {left}";
            return Err(SparseError::shape_mismatch(OP, rule, [n; 2], inverse.dims()));
        }
        if hints.inverse.is_some() && !matches!(self.which, Which::Near(_)) {
            return Err(SparseError::invalid(OP, "leave out the inverse: it is for values near a number"));
        }
        if let Some(start) = hints.start.as_ref().filter(|own| own.dims()[0] != n) {
            let rule = "a start {right} must have a row for each one of {left}";
            return Err(SparseError::shape_mismatch(OP, rule, [n; 2], start.dims()));
        }
        Ok(())
    }
}
