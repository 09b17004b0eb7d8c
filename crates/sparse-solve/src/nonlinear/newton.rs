//! Newton's method.

use super::equation::{Equation, check_shape, tape_of};
use super::implicit::{adjoint, constant, on_tape};
use super::jacobian::Jacobian;
use super::report::{NonlinearReport, Root, column, sizes};
use crate::krylov::vectors::{Vectors, eps, random};
use crate::krylov::watch::{Progress, Stopped};
use crate::method::Method;
use crate::report::{Hints, check_tolerance};
use crate::solver::{SolverConfig, clock};
use burn::config::Config;
use burn::module::Module;
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::Exact;
use sparse_ops::{Result, SparseError};
use std::time::Duration;

const OP: &str = "NewtonConfig::solve";
/// Of the decrease that the linear model promises, the share that is asked for (Armijo 1966; Kelley 1995, section 8.1).
const ARMIJO: f64 = 1e-4;

/// Newton's method for `F(u) = 0`, with gradients.
///
/// Each iteration solves `J d = -F(u)` with the Jacobian `J` of [`Jacobian`], and goes to `u + t d` with the first `t`
/// of 1, 1/2, 1/4, .. that has `|F(u + t d)| <= (1 - t / 10^4) |F(u)|`, while rounding leaves something of `t d`. A
/// linear solve need not reach its tolerance: the line search judges what it found.
///
/// It ends when `|F(u)| <= max(relative |F(start)|, absolute)`, or when a whole step is as short as `step |u|` and
/// - made `|F|` smaller by a factor of `sqrt(step)`: where the error is squared in an iteration, it is now far below
///   the step, or
/// - rounding of `u` keeps `|F(u)|` large: a change of `u` by a few units in the last place changes `F` by a tenth of
///   it. Constants in `F` beside which `u` hardly counts are not seen so: give `absolute` for these.
///
/// Backward, by the implicit function: with the gradient `g` of `u` it solves `J^T w = -g` at the solution, and gives
/// `w` to one application of `F` that is on the tape. So gradients reach what `theta` is made of, and the memory is
/// that of one application, however many iterations there were. No gradient reaches the start. If `J` is singular at
/// the solution there is no gradient.
///
/// Cost of an iteration: the Jacobian, a linear solve, and an application of `F` and a read for each `t` that was
/// tried.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::CsrTensor;
/// use sparse_tensor::solve::{Jacobian, NewtonConfig};
///
/// let device = Device::flex().autodiff();
/// // u^3 = theta, for each element.
/// let theta = Tensor::<1>::from_floats([8.0, 27.0], &device).require_grad();
/// let eye = CsrTensor::<2>::eye(2, &Device::flex());
/// let f = |theta: &Tensor<1>, u: Tensor<1>| u.powi_scalar(3) - theta.clone();
/// let u = NewtonConfig::new().solve(&theta, f, Tensor::ones([2], &device), Jacobian::colored(eye.pattern()));
/// let grad = theta.grad(&u.clone().sum().backward()).unwrap();
/// for (u, want) in u.into_data().iter::<f32>().zip([2.0, 3.0]) {
///     assert!((u - want).abs() < 1e-4);
/// }
/// // 1 / (3 u^2).
/// for (grad, want) in grad.into_data().iter::<f32>().zip([1.0 / 12.0, 1.0 / 27.0]) {
///     assert!((grad - want).abs() < 1e-4);
/// }
/// ```
#[derive(Config, Debug)]
pub struct NewtonConfig {
    /// How linear systems are solved.
    #[config(default = "SolverConfig::new(Method::Gmres { restart: 30 })")]
    pub solver: SolverConfig,
    /// The largest residual by the size of that at the start.
    #[config(default = 1e-6)]
    pub relative: f64,
    /// A residual that is small enough whatever it was at the start.
    #[config(default = 0.0)]
    pub absolute: f64,
    /// A whole step by the size of `u` that may be the last one; 0 for none.
    #[config(default = 1e-6)]
    pub step: f64,
    /// The most linear systems.
    #[config(default = 50)]
    pub max_iterations: usize,
    /// How often a step may be halved; 0 takes whole steps that make the residual smaller.
    #[config(default = 20)]
    pub max_halvings: usize,
    /// Gives the last point if the tolerance is not reached, instead of an error.
    #[config(default = false)]
    pub accept_unsolved: bool,
    /// How the system of the backward pass is solved, by its relative tolerance alone. The default is `solver`, with a
    /// relative tolerance of at most 1e-5: the gradient has no later step.
    pub gradient: Option<SolverConfig>,
}

impl NewtonConfig {
    /// `u` with `F(theta, u) = 0`, of the shape of `start`, f32 or f64. `f` gets `theta`, a module or a tuple of
    /// tensors that has all tensors that it uses; where there are none, it is an empty `Vec`. It is called with and
    /// without the tape, and must do the same in each call. Where one tensor of `theta` is tracked, all of them are on
    /// the device with the tape.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the result of `f` has not the shape of `start`, or the Jacobian does not fit;
    /// `unsupported_dtype`, `dtype_mismatch`, `device_mismatch`; those of the Jacobian and of the linear solver;
    /// `invalid` for a tolerance that is no number from 0 on, for numbers that are not finite, with the iteration, or
    /// if the tolerance is not reached: the message is the [`NonlinearReport`].
    ///
    /// # Panics
    ///
    /// In the backward pass, if the linear solve does not reach the tolerance (unless its configuration has
    /// `accept_unsolved_gradient`).
    #[or_panic]
    pub fn try_solve<M, F, const D: usize>(
        &self,
        theta: &M,
        f: F,
        start: Tensor<D>,
        jacobian: Jacobian<M, D>,
    ) -> Result<Tensor<D>>
    where
        M: Module + Send + Sync + 'static,
        F: Fn(&M, Tensor<D>) -> Tensor<D> + Send + Sync + 'static,
    {
        self.try_solve_with(theta, f, start, jacobian, None).map(|root| root.u)
    }

    /// The same with a callback after each iteration, and with a report. The callback gets the residual itself.
    ///
    /// # Errors
    ///
    /// Those of [`try_solve`](Self::try_solve).
    pub fn try_solve_with<M, F, const D: usize>(
        &self,
        theta: &M,
        f: F,
        start: Tensor<D>,
        jacobian: Jacobian<M, D>,
        progress: Option<Progress<'_>>,
    ) -> Result<Root<D>>
    where
        M: Module + Send + Sync + 'static,
        F: Fn(&M, Tensor<D>) -> Tensor<D> + Send + Sync + 'static,
    {
        let clock = clock();
        for (name, number) in [("relative", self.relative), ("absolute", self.absolute), ("step", self.step)] {
            check_tolerance(OP, name, number)?;
        }
        self.gradient.iter().try_for_each(|gradient| gradient.check(OP))?;
        let tape = tape_of(theta, &start);
        let start = if start.is_autodiff() { start.inner() } else { start };
        if start.dims().contains(&0) {
            return Ok(Root { u: constant(start, tape.as_ref()), report: NonlinearReport::new() });
        }
        let equation = Equation::new(OP, theta, f, &start)?;
        let (u, value, mut report) = self.iterate(&equation, start, &jacobian, progress)?;
        if report.stopped != Stopped::Converged && !self.accept_unsolved {
            report.time = clock.map_or(Duration::ZERO, |clock| clock.elapsed());
            return Err(report.unsolved(OP, self.relative));
        }
        let out = match equation.eval_on_tape(theta, u.clone()) {
            None => constant(u, tape.as_ref()),
            Some(on) => {
                let linear = jacobian.at(OP, &equation, &u, &value)?;
                let solver = self.gradient.clone().unwrap_or_else(|| {
                    let relative = self.solver.relative.min(1e-5);
                    self.solver.clone().with_relative(relative)
                });
                let second = adjoint(&solver, &linear.a, linear.preconditioner.as_ref(), &u.device())?;
                on_tape(u, on, second, -1.0)
            }
        };
        report.time = clock.map_or(Duration::ZERO, |clock| clock.elapsed());
        Ok(Root { u: out, report })
    }

    /// The last point, `F` there, and how it went.
    fn iterate<M: Module + Send + Sync + 'static, const D: usize>(
        &self,
        equation: &Equation<M, D>,
        start: Tensor<D>,
        jacobian: &Jacobian<M, D>,
        mut progress: Option<Progress<'_>>,
    ) -> Result<(Tensor<D>, Tensor<D>, NonlinearReport)> {
        let mut report = NonlinearReport::new();
        let (dims, [n]) = (start.dims(), [start.dims().iter().product()]);
        let mut u = start;
        let mut value = equation.eval(u.clone())?;
        check_shape(OP, &u, &value)?;
        report.evaluations += 1;
        let [mut size] = sizes([&column(value.clone())]);
        if !size.is_finite() {
            return Err(SparseError::invalid(OP, "the function must be finite at the start, got other numbers"));
        }
        let goal = (self.relative * size).max(self.absolute);
        report.history.push(size);
        report.stopped = loop {
            if size <= goal {
                break Stopped::Converged;
            }
            if report.iterations >= self.max_iterations {
                break Stopped::Iterations;
            }
            let place = |trouble: SparseError| told(report.iterations, trouble);
            let linear = jacobian.at(OP, equation, &u, &value).map_err(place)?;
            let hints =
                Hints { preconditioner: linear.preconditioner.as_ref().map(|own| own as _), ..Hints::default() };
            let right = (-value.clone()).reshape(Exact([n]));
            let solver = self.solver.clone().with_accept_unsolved(true);
            let solution = solver.try_solve_with(&linear.a, right, hints).map_err(place)?;
            report.linear_iterations += solution.report.iterations;
            report.iterations += 1;
            let direction: Tensor<D> = solution.x.reshape(Exact(dims));
            let [length, unknown] = sizes([&column(direction.clone()), &column(u.clone())]);
            let (mut share, mut found) = (1.0, None);
            for _ in 0..=self.max_halvings {
                let next = u.clone() + direction.clone().mul_scalar(share);
                report.evaluations += 1;
                let at_next = equation.eval(next.clone())?;
                let [own, way] = sizes([&column(at_next.clone()), &column(next.clone() - u.clone())]);
                // Not of what is no number.
                if own < size && own <= (1.0 - ARMIJO * share) * size {
                    found = Some((next, at_next, own));
                    break;
                }
                // Rounding leaves nothing of the step, nor of a shorter one.
                if way == 0.0 {
                    break;
                }
                share *= 0.5;
            }
            let short = solution.report.stopped == Stopped::Converged && length <= self.step * unknown;
            let Some(found) = found else {
                report.history.push(size);
                report.evaluations += usize::from(short);
                let solved = short && is_rounding(equation, &u, &value, size)?;
                break if solved { Stopped::Converged } else { Stopped::Stagnated };
            };
            let before = size;
            (u, value, size) = found;
            report.history.push(size);
            if progress.as_mut().is_some_and(|progress| !progress(report.iterations, size)) {
                break if size <= goal { Stopped::Converged } else { Stopped::Cancelled };
            }
            if short && share == 1.0 && size > goal {
                if size <= self.step.sqrt() * before {
                    break Stopped::Converged;
                }
                report.evaluations += 1;
                if is_rounding(equation, &u, &value, size)? {
                    break Stopped::Converged;
                }
            }
        };
        Ok((u, value, report))
    }
}

/// Whether a change of `u` by rounding changes `F` by a tenth of its size or more. The length of a step does not say
/// so: beside a large unknown that of a small one does not count.
fn is_rounding<M: Module + Send + Sync + 'static, const D: usize>(
    equation: &Equation<M, D>,
    u: &Tensor<D>,
    value: &Tensor<D>,
    size: f64,
) -> Result<bool> {
    let dims = u.dims();
    let epsilon = eps(u.dtype());
    let own: Vectors = u.clone().reshape(Exact([1, dims.iter().product(), 1]));
    let change = random(0, own.dims()[1], &own).mul_scalar(4.0 * epsilon) * own;
    let near = equation.eval(u.clone() + change.reshape(Exact(dims)))?;
    let [moved] = sizes([&column(near - value.clone())]);
    Ok(moved.is_finite() && size <= 10.0 * moved)
}

/// An error of one iteration. The kinds that say what does not fit stay as they are.
fn told(iteration: usize, trouble: SparseError) -> SparseError {
    match trouble.kind() {
        "invalid" => SparseError::invalid(OP, format!("in iteration {}: {trouble}", iteration + 1)),
        _ => trouble,
    }
}
