//! Solutions of linear systems, with gradients.

use crate::gradient::{self, Second, on_tape};
use crate::krylov::watch::{OP, Stopped};
use crate::krylov::{self, Problem};
use crate::method::Method;
use crate::operator::{Batch, LinearOperator, device_of};
use crate::report::{Hints, Report, Solution, check_tolerance, place_of_worst};
use burn::config::Config;
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, is_gpu, same_device, same_elements};
use sparse_ops::{Result, SparseError};
use std::time::{Duration, Instant};

/// Solves `A x = b`, or for [`Method::Lsqr`], [`Method::Lsmr`] and [`Method::Cgls`] `min |b - A x|`.
///
/// The iteration ends when for each column of each system the residual `r = b - A x` has `|r| <= max(relative |b|,
/// absolute)`; of a least-squares method when `|A^T r| <= max(relative |A^T b|, relative |A| |r|, absolute)`, with an
/// estimate of `|A|` from below, or `|r| <= relative |b|`. It is the true residual: where the one that a method keeps
/// drifted away, the iteration goes on. A column that is solved stays while others go on. `A` and `b` may have any
/// scale: the solver divides by it.
///
/// Rounding keeps `|r|` above about `eps |A| |x|`, so the least relative tolerance that can be reached is
/// `eps |A| |x| / |b|`, with `eps` 6e-8 in f32 and 1e-16 in f64. It is large where `A` is nearly singular. A method of
/// least squares takes no step where `|A^T r|` is at most `4 eps` of `|A^T b|` or of `|A| |r|`, or `|r|` of `|b|`:
/// there rounding leads it. A smaller tolerance, relative or absolute, may not be reached.
///
/// Backward, by the implicit function: `d b = A^-T d x`, which is a second solve, and for what `A` is made of the
/// gradient of `-(d b)^T A x` at the solution: of a sparse matrix at its stored elements (SDDMM). So memory does not
/// grow with the iterations: `O(nnz + n F)`. `Cg` and `Minres` take `A` as symmetric there too; each stored element
/// gets its own gradient. So if something is tracked they compare `x^T A y` and `y^T A x` of two random vectors in each
/// system. It is an error if they differ by more than rounding, or elements by about ten times `relative`, at most a
/// hundredth. A difference in a few rows of many may not be seen. Of least squares `d b = (A^T)^+ d x`, and `A` has a
/// second term, with one more solve by `Lsmr` (Golub and Pereyra 1973); both hold where `A` has full rank. Of a
/// singular square matrix there is no gradient: the second solve has in general no solution. A gradient that is not
/// finite gives NaN.
///
/// Cost of an iteration: the products of [`Method`], a few passes over its vectors, and a read of the device every
/// `check_every` iterations. Besides, a solve has a product and two reads at its start, and a product and a read at its
/// end, for the true residual, and wherever a method begins anew. A start takes a product and a read more. If something
/// is tracked there is one more product, and of `Cg` and `Minres` there are two more and a read.
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
    /// The largest residual by the size of `b`.
    #[config(default = 1e-5)]
    pub relative: f64,
    /// A residual that is small enough whatever the size of `b`.
    #[config(default = 0.0)]
    pub absolute: f64,
    /// The most iterations, in the backward pass too. The default is ten times the larger number of rows and columns of
    /// one system. With a start, the solve in the backward pass may take the default number if that is larger, since
    /// it begins from zero.
    pub max_iterations: Option<usize>,
    /// How many iterations pass between two reads of the device. The default is 1 on a CPU and 10 on a GPU.
    pub check_every: Option<usize>,
    /// Gives the last point if the tolerance is not reached, instead of an error. A column that got worse keeps the
    /// point before where the residual of the method may not rise: all but `Cg`, `BiCg`, `BiCgStab`, `Cgs`,
    /// `Tfqmr` and `Idr`.
    #[config(default = false)]
    pub accept_unsolved: bool,
    /// The same of the solves in the backward pass, instead of a panic. The default is `accept_unsolved`.
    pub accept_unsolved_gradient: Option<bool>,
}

impl SolverConfig {
    /// `x` with `A x = b`: `a` `[M, N]`, `b` `[M]` or `[M, F]` (a system for each column) to `[N]` or `[N, F]`; of a
    /// batched matrix `[B, M, N]` `[B, M]` or `[B, M, F]` to `[B, N]` or `[B, N, F]`. f32 and f64. Gradients reach `b`
    /// and what `a` is made of.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if `a` is not square (least squares apart), or `b` does not fit; `unsupported_dtype`,
    /// `dtype_mismatch`, `device_mismatch`; those of the products; `invalid` for a tolerance that is no number from 0
    /// on, if `Cg` sees that `a` is not positive definite (whatever is accepted), for numbers that are not finite, with
    /// the row, if something is tracked and `a` or the preconditioner has no transposed product for the gradient (`Cg`
    /// and `Minres` need none), or `a` is not symmetric with `Cg` or `Minres`, or if the tolerance is not reached: the
    /// message is the [`Report`], with the column and the system of the largest residual.
    ///
    /// # Panics
    ///
    /// In the backward pass, if a solve does not reach the tolerance (unless `accept_unsolved_gradient`).
    #[or_panic]
    pub fn try_solve<const D: usize>(&self, a: &dyn LinearOperator, b: Tensor<D>) -> Result<Tensor<D>> {
        self.try_solve_with(a, b, Hints::default()).map(|solution| solution.x)
    }

    /// The same with a start, a preconditioner or a callback, and with a report.
    ///
    /// # Errors
    ///
    /// Those of [`try_solve`](Self::try_solve); `shape_mismatch`, `dtype_mismatch` or `device_mismatch` if a hint does
    /// not fit; `invalid` for a preconditioner of `Lsqr` or `Lsmr`, which have none (solve with the product `A R`, then
    /// `x = R y`), and for a start or a preconditioner of a matrix with more columns than rows: the shortest solution
    /// depends on neither.
    pub fn try_solve_with<const D: usize>(
        &self,
        a: &dyn LinearOperator,
        b: Tensor<D>,
        hints: Hints<'_, D>,
    ) -> Result<Solution<D>> {
        let clock = clock();
        let Sizes { systems, rows, cols, width } = self.sizes(a, &b)?;
        let mut out_dims = b.dims();
        out_dims[usize::from(matches!(a.batch(), Batch::Systems(_)))] = cols;
        self.check_hints(a, &b, &hints, out_dims)?;
        if [systems, rows, cols, width].contains(&0) {
            let x = gradient::empty(a, b, out_dims)?;
            let (stopped, time) = (Stopped::Converged, clock.map_or(Duration::ZERO, |clock| clock.elapsed()));
            let report = Report { stopped, iterations: 0, residuals: vec![], history: vec![], time };
            return Ok(Solution { x, report });
        }
        let plain = a.without_tape();
        let usual = rows.max(cols).saturating_mul(10);
        let most = self.max_iterations.unwrap_or(usual);
        // The second solve has no start, so a limit for the way from there is not for it.
        let most_of_second = if hints.start.is_some() { most.max(usual) } else { most };
        let every = self.check_every.unwrap_or(if is_gpu(&b.device()) { 10 } else { 1 });
        let preconditioner = hints.preconditioner.map(LinearOperator::without_tape);
        let columns = b.reshape(Exact([systems, rows, width]));
        let problem = Problem {
            a: &plain,
            preconditioner: preconditioner.as_ref(),
            b: columns.clone().inner(),
            start: hints.start.map(|start| start.inner().reshape(Exact([systems, cols, width]))),
            relative: vec![self.relative; systems * width],
            absolute: self.absolute,
            most,
            every,
        };
        let outcome = krylov::run(&self.method, problem, hints.progress)?;
        if let Some(trouble) = outcome.trouble {
            return Err(trouble);
        }
        let report = Report {
            stopped: outcome.stopped,
            iterations: outcome.iterations,
            residuals: outcome.residuals,
            history: outcome.history,
            time: clock.map_or(Duration::ZERO, |clock| clock.elapsed()),
        };
        if report.stopped != Stopped::Converged && !self.accept_unsolved {
            return Err(self.unsolved(&report, [systems, width]));
        }
        let device = device_of([Some(columns.device()), a.device()]).filter(|device| device.is_autodiff());
        let x = match device {
            None => outcome.x,
            Some(device) => {
                let second = Second {
                    method: self.method,
                    a: plain,
                    preconditioner,
                    relative: outcome.relative,
                    most: most_of_second,
                    every,
                    accept_unsolved: self.accept_unsolved_gradient.unwrap_or(self.accept_unsolved),
                };
                on_tape(a, second, columns, outcome.x, &device)?
            }
        };
        Ok(Solution { x: x.reshape(Exact(out_dims)), report })
    }

    fn unsolved(&self, report: &Report, sizes: [usize; 2]) -> SparseError {
        let advice = match report.stopped {
            Stopped::Cancelled => "the progress callback must not end the solve, or use accept_unsolved".to_string(),
            _ => format!(
                "use a larger tolerance than {:e}, more iterations, a preconditioner or another method",
                self.relative
            ),
        };
        SparseError::invalid(OP, format!("{advice}: {report}{}", place_of_worst(&report.residuals, sizes)))
    }

    /// What holds for any matrix.
    pub(crate) fn check(&self, op: &'static str) -> Result<()> {
        check_tolerance(op, "relative", self.relative)?;
        check_tolerance(op, "absolute", self.absolute)?;
        match self.method {
            Method::Gmres { restart: 0 } | Method::Fgmres { restart: 0 } | Method::Idr { shadows: 0 } => {
                Err(SparseError::invalid(op, "the number of directions or shadows must be at least 1, got 0"))
            }
            _ => Ok(()),
        }
    }

    fn check_hints<const D: usize>(
        &self,
        a: &dyn LinearOperator,
        b: &Tensor<D>,
        hints: &Hints<'_, D>,
        out_dims: [usize; D],
    ) -> Result<()> {
        let [rows, cols] = a.dims();
        if self.method.is_least_squares() && cols > rows && (hints.start.is_some() || hints.preconditioner.is_some()) {
            let message = "leave out the start and the preconditioner: of a matrix with more columns than rows the \
                           solution is the shortest one";
            return Err(SparseError::invalid(OP, message));
        }
        if let Some(start) = &hints.start {
            if start.dims() != out_dims {
                let rule = "the start {right} must have the shape of the solution {left}";
                return Err(SparseError::shape_mismatch(OP, rule, out_dims, start.dims()));
            }
            same_elements(OP, b, start)?;
        }
        let Some(preconditioner) = hints.preconditioner else { return Ok(()) };
        if matches!(self.method, Method::Lsqr | Method::Lsmr) {
            let message = "use Cgls with a preconditioner, or solve with the product A R, got one of Lsqr or Lsmr";
            return Err(SparseError::invalid(OP, message));
        }
        if preconditioner.dims() != [cols; 2] {
            let rule = "the preconditioner {right} must be square, with a row for each unknown of {left}";
            return Err(SparseError::shape_mismatch(OP, rule, a.dims(), preconditioner.dims()));
        }
        preconditioner.device().map_or(Ok(()), |device| same_device(OP, &b.device(), &device))
    }

    fn sizes<const D: usize>(&self, a: &dyn LinearOperator, b: &Tensor<D>) -> Result<Sizes> {
        let (all, dims) = (a.dims(), b.dims());
        if all[0] != all[1] && !self.method.is_least_squares() {
            let rule = "the matrix must be square, or use a method of least squares";
            return Err(SparseError::shape_mismatch(OP, rule, all, [all[1]; 2]));
        }
        let (systems, [rows, cols], head) = match a.batch() {
            Batch::Systems([systems, rows, cols]) => (systems, [rows, cols], vec![systems, rows]),
            Batch::One | Batch::Any => (1, all, vec![all[0]]),
        };
        if D < head.len() || D > head.len() + 1 || dims[..head.len()] != head[..] {
            let rule = "the right-hand side {left} must have the rows of {right}, and columns or none";
            return Err(SparseError::shape_mismatch(OP, rule, dims, head));
        }
        self.check(OP)?;
        if b.dtype().size() < 4 || !b.dtype().is_float() {
            let dtype = format!("{:?}", b.dtype()).to_lowercase();
            return Err(SparseError::unsupported_dtype(OP, "a linear system", dtype));
        }
        if let Some(device) = a.device() {
            same_device(OP, &device, &b.device())?;
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

/// In a browser, asking for the time panics.
pub(crate) fn clock() -> Option<Instant> {
    (!cfg!(all(target_family = "wasm", target_os = "unknown"))).then(Instant::now)
}
