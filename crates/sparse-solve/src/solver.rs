//! Solutions of linear systems, with gradients.

use crate::krylov::watch::{OP, Progress, Stopped};
use crate::krylov::{self, Outcome, Problem, apply, apply_transposed};
use crate::method::Method;
use crate::operator::{LinearOperator, Operator};
use burn::config::Config;
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::{Erased, Exact, associate, expect, is_gpu, record};
use sparse_ops::{Result, SparseError};
use std::fmt;
use std::time::{Duration, Instant};

/// Solves `A x = b`, or for [`Method::Lsqr`], [`Method::Lsmr`] and [`Method::Cgls`] `min |b - A x|`.
///
/// The iteration ends when for each column of each system `|b - A x| <= max(relative |b|, absolute)`; of a
/// least-squares method when `|A^T (b - A x)| <= max(relative |A^T b|, absolute)`. It is the true residual: where the
/// one that a method keeps drifted away, the iteration goes on. A column that is solved stays while others go on.
///
/// Backward, by the implicit function: `d b = A^-T d x`, which is a second solve, and for what `A` is made of the
/// gradient of `-(d b)^T A x` at the solution: of a sparse matrix at its stored elements (SDDMM). So memory does not
/// grow with the iterations: `O(nnz + n F)`. `Cg` and `Minres` take `A` as symmetric there too; each stored element
/// gets its own gradient. Gradients of least squares hold where `A` has full rank.
///
/// Cost of an iteration: the products of [`Method`], a few passes over its vectors, and a read of the device every
/// `check_every` iterations.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::{Method, SolverConfig};
///
/// let device = Device::flex().autodiff();
/// let a = CsrTensor::<2>::from_dense(Tensor::from_floats([[4.0, 1.0], [1.0, 3.0]], &device)).require_grad();
/// let b = Tensor::<1>::from_floats([1.0, 2.0], &device);
/// let x = SolverConfig::new(Method::Cg).solve(&a, b);
/// for (x, want) in x.clone().into_data().iter::<f32>().zip([1.0 / 11.0, 7.0 / 11.0]) {
///     assert!((x - want).abs() < 1e-5);
/// }
/// assert_eq!(a.grad(&x.sum().backward()).unwrap().nnz(), 4);
/// ```
#[derive(Config, Debug)]
pub struct SolverConfig {
    /// The method.
    pub method: Method,
    /// The largest residual by the size of `b`. f32 reaches about 1e-6.
    #[config(default = 1e-5)]
    pub relative: f64,
    /// A residual that is small enough whatever the size of `b`.
    #[config(default = 0.0)]
    pub absolute: f64,
    /// The most iterations. The default is ten times the number of rows of one system.
    pub max_iterations: Option<usize>,
    /// How many iterations pass between two reads of the device. The default is 1 on a CPU and 10 on a GPU.
    pub check_every: Option<usize>,
    /// Gives the last point if the tolerance is not reached, instead of an error.
    #[config(default = false)]
    pub accept_unsolved: bool,
}

/// What a solve may be given besides the system.
#[derive(Default)]
pub struct Hints<'a, const D: usize> {
    /// Where it begins, of the shape of the solution; else at 0. No gradient reaches it.
    pub start: Option<Tensor<D>>,
    /// About the inverse of `A`; see [`jacobi`](crate::jacobi()). No gradient reaches it.
    pub preconditioner: Option<&'a dyn LinearOperator>,
    /// Called after each look at the residual.
    pub progress: Option<Progress<'a>>,
}

impl<const D: usize> fmt::Debug for Hints<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hints").field("preconditioner", &self.preconditioner).finish_non_exhaustive()
    }
}

/// A solution and how it was reached.
#[derive(Debug)]
pub struct Solution<const D: usize> {
    /// The solution.
    pub x: Tensor<D>,
    /// How it was reached.
    pub report: Report,
}

/// How a solve went.
#[derive(Debug, Clone)]
pub struct Report {
    /// Why it ended.
    pub stopped: Stopped,
    /// Iterations, each with the products of the [`Method`].
    pub iterations: usize,
    /// The true residual of each column of each system, by the size of its right-hand side.
    pub residuals: Vec<f64>,
    /// The iterations at which the device was read, with the largest residual by the size of its right-hand side.
    pub history: Vec<(usize, f64)>,
    /// How long it took.
    pub time: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let worst = self.residuals.iter().copied().fold(0.0, f64::max);
        let why = match self.stopped {
            Stopped::Converged => "solved",
            Stopped::Iterations => "stopped by the limit",
            Stopped::Stagnated => "got no nearer",
            Stopped::Cancelled => "cancelled",
        };
        let (iterations, seconds) = (self.iterations, self.time.as_secs_f64());
        write!(f, "{why} after {iterations} iterations in {seconds:.2} s with a relative residual of {worst:.1e}")
    }
}

impl SolverConfig {
    /// `x` with `A x = b`: `a` `[M, N]`, `b` `[M]` or `[M, F]` (a system for each column) to `[N]` or `[N, F]`; of a
    /// batched matrix `[B, M, N]` `[B, M]` or `[B, M, F]` to `[B, N]` or `[B, N, F]`. f32 and f64. Gradients reach `b`
    /// and what `a` is made of.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if `a` is not square (least squares apart), or `b` does not fit; `unsupported_dtype`; those of
    /// the products; `invalid` for a tolerance that is no number from 0 on, if `Cg` sees that `a` is not positive
    /// definite, if a number is not finite, or if the tolerance is not reached: the message is the [`Report`].
    ///
    /// # Panics
    ///
    /// In the backward pass, if the second solve does not reach the tolerance (unless `accept_unsolved`).
    #[or_panic]
    pub fn try_solve<const D: usize>(&self, a: &impl LinearOperator, b: Tensor<D>) -> Result<Tensor<D>> {
        self.try_solve_with(a, b, Hints::default()).map(|solution| solution.x)
    }

    /// The same with a start, a preconditioner or a callback, and with a report.
    ///
    /// # Errors
    ///
    /// Those of [`try_solve`](Self::try_solve); `shape_mismatch` if a hint does not fit; `invalid` for a
    /// preconditioner of `Lsqr` or `Lsmr`, which have none (solve with the product `A R`, then `x = R y`).
    pub fn try_solve_with<const D: usize>(
        &self,
        a: &dyn LinearOperator,
        b: Tensor<D>,
        hints: Hints<'_, D>,
    ) -> Result<Solution<D>> {
        let start = Instant::now();
        let Sizes { systems, rows, cols, width } = self.sizes(a, &b)?;
        let mut out_dims = b.dims();
        out_dims[usize::from(a.batch().is_some())] = cols;
        if let Some(at) = &hints.start
            && at.dims() != out_dims
        {
            let rule = "the start {right} must have the shape of the solution {left}";
            return Err(SparseError::shape_mismatch(OP, rule, out_dims, at.dims()));
        }
        if let Some(preconditioner) = hints.preconditioner {
            if matches!(self.method, Method::Lsqr | Method::Lsmr) {
                let message = "use Cgls with a preconditioner, or solve with the product A R, got one of Lsqr or Lsmr";
                return Err(SparseError::invalid(OP, message));
            }
            if preconditioner.dims() != [systems * cols; 2] {
                let rule = "the preconditioner {right} must be square, with a row for each unknown of {left}";
                return Err(SparseError::shape_mismatch(OP, rule, a.dims(), preconditioner.dims()));
            }
        }
        if systems * rows * cols * width == 0 {
            let x = Tensor::zeros(out_dims, (&b.device(), b.dtype()));
            let (stopped, time) = (Stopped::Converged, start.elapsed());
            let report = Report { stopped, iterations: 0, residuals: vec![], history: vec![], time };
            return Ok(Solution { x, report });
        }
        let plain = a.valid();
        let most = self.max_iterations.unwrap_or(10 * rows.max(cols));
        let every = self.check_every.unwrap_or(if is_gpu(&b.device()) { 10 } else { 1 });
        let own = Inner { config: self.clone(), most, every };
        let preconditioner = hints.preconditioner.map(LinearOperator::valid);
        let columns = b.reshape(Exact([systems, rows, width]));
        let problem = Problem {
            a: &plain,
            preconditioner: preconditioner.as_ref(),
            b: columns.clone().inner(),
            start: hints.start.map(|start| start.inner().reshape(Exact([systems, cols, width]))),
            relative: self.relative,
            absolute: self.absolute,
            most,
            every,
        };
        let Outcome { x, stopped, iterations, history, residuals } =
            krylov::run(&self.method, problem, hints.progress)?;
        let report = Report { stopped, iterations, residuals, history, time: start.elapsed() };
        if stopped != Stopped::Converged && !self.accept_unsolved {
            let message = format!(
                "use a larger tolerance than {:e}, more iterations, a preconditioner or another method: {report}",
                self.relative
            );
            return Err(SparseError::invalid(OP, message));
        }
        let x = own.on_tape(a, plain, preconditioner, columns, x)?;
        Ok(Solution { x: x.reshape(Exact(out_dims)), report })
    }

    fn sizes<const D: usize>(&self, a: &dyn LinearOperator, b: &Tensor<D>) -> Result<Sizes> {
        let ([rows, cols], batch, dims) = (a.dims(), a.batch(), b.dims());
        let systems = batch.unwrap_or(1);
        if rows != cols && !self.method.is_least_squares() {
            let rule = "the matrix must be square, or use a method of least squares";
            return Err(SparseError::shape_mismatch(OP, rule, [rows, cols], [cols, cols]));
        }
        let [rows, cols] = [rows, cols].map(|size| size.checked_div(systems).unwrap_or(0));
        let head: Vec<usize> = batch.into_iter().chain([rows]).collect();
        if D < head.len() || D > head.len() + 1 || dims[..head.len()] != head[..] {
            let rule = "the right-hand side {left} must have the rows of {right}, and columns or none";
            return Err(SparseError::shape_mismatch(OP, rule, dims, head));
        }
        for (name, number) in [("relative", self.relative), ("absolute", self.absolute)] {
            if !(number >= 0.0 && number.is_finite()) {
                let message = format!("the {name} tolerance must be a number from 0 on, got {number}");
                return Err(SparseError::invalid(OP, message));
            }
        }
        if let Method::Gmres { restart: 0 } | Method::Fgmres { restart: 0 } | Method::Idr { shadows: 0 } = self.method {
            return Err(SparseError::invalid(OP, "the number of directions or shadows must be at least 1, got 0"));
        }
        if b.dtype().size() < 4 || !b.dtype().is_float() {
            let dtype = format!("{:?}", b.dtype());
            return Err(SparseError::unsupported_dtype(OP, "a linear system", dtype));
        }
        Ok(Sizes { systems, rows, cols, width: dims[head.len()..].iter().product() })
    }
}

struct Sizes {
    systems: usize,
    rows: usize,
    cols: usize,
    width: usize,
}

/// What the second solve needs.
#[derive(Debug, Clone)]
struct Inner {
    config: SolverConfig,
    most: usize,
    every: usize,
}

/// The second solve: its inverse maps the gradient of the solution to that of the residual.
#[derive(Debug)]
struct Adjoint {
    inner: Inner,
    method: Method,
    a: Operator,
    preconditioner: Option<Operator>,
}

impl Adjoint {
    fn solve(&self, grad: Tensor<3>) -> Tensor<3> {
        let Self { inner: Inner { config, most, every }, method, a, preconditioner } = self;
        let problem = Problem {
            a,
            preconditioner: preconditioner.as_ref(),
            b: grad,
            start: None,
            relative: config.relative,
            absolute: 0.0,
            most: *most,
            every: *every,
        };
        let outcome = expect(krylov::run(method, problem, None));
        let (solved, iterations) = (outcome.stopped == Stopped::Converged, outcome.iterations);
        assert!(
            solved || config.accept_unsolved,
            "{OP}: the backward pass must reach the tolerance, got a relative residual of {:.1e} after {iterations} \
             iterations",
            outcome.residuals.iter().copied().fold(0.0, f64::max)
        );
        outcome.x
    }
}

impl Inner {
    /// The solution on the tape, through its residual: `x + A^-1 (b - A x)` is `x`, and its derivative by the residual
    /// is `A^-1`. The tape of the products leads from the residual to what `A` is made of.
    fn on_tape(
        self,
        a: &dyn LinearOperator,
        plain: Operator,
        preconditioner: Option<Operator>,
        b: Tensor<3>,
        x: Tensor<3>,
    ) -> Result<Tensor<3>> {
        let device = b.device();
        if !device.is_autodiff() {
            return Ok(x);
        }
        let method = self.config.method;
        let residual = |x: &Tensor<3>, b: Tensor<3>| Ok(b - apply(a, &associate(x.clone(), &device))?);
        let put = |x: Tensor<3>, residual: &Tensor<3>, adjoint: Adjoint| {
            record(x, [Erased::from(residual)], adjoint, |adjoint, grad, _| [Some(adjoint.solve(grad).into())])
        };
        if !method.is_least_squares() {
            let (a, preconditioner) = match method.is_symmetric() {
                true => (plain, preconditioner),
                false => (plain.transposed(), preconditioner.map(Operator::transposed)),
            };
            let residual = residual(&x, b)?;
            return Ok(put(x, &residual, Adjoint { inner: self, method, a, preconditioner }));
        }
        let [rows, cols] = a.dims();
        let transposed = plain.clone().transposed();
        let (inner, method) = (self.clone(), Method::Cg);
        if rows >= cols {
            // The residual of the normal equations.
            let normal = apply_transposed(a, &residual(&x, b)?)?;
            return Ok(put(x, &normal, Adjoint { inner, method, a: transposed * plain, preconditioner }));
        }
        // The shortest solution is A^T y, with A A^T y = b.
        let problem = Problem {
            a: &transposed,
            preconditioner: None,
            b: x,
            start: None,
            relative: self.config.relative,
            absolute: 0.0,
            most: self.most,
            every: self.every,
        };
        let y = krylov::run(&Method::Lsmr, problem, None)?.x;
        let x = apply_transposed(a, &associate(y.clone(), &device))?;
        let adjoint = Adjoint { inner, method, a: plain * transposed, preconditioner: None };
        apply_transposed(a, &put(y, &(b - apply(a, &x)?), adjoint))
    }
}
