//! Fixed points, by Picard's and by Anderson's iteration.

use super::anderson::Mixing;
use super::equation::{Equation, Tangent, check_shape, tape_of};
use super::implicit::{adjoint, constant, on_tape};
use super::report::{NonlinearReport, Root, column, sizes};
use crate::krylov::watch::{Progress, Stopped};
use crate::method::Method;
use crate::operator::Operator;
use crate::report::check_tolerance;
use crate::solver::{SolverConfig, clock};
use burn::config::Config;
use burn::module::Module;
use burn::tensor::Tensor;
use sparse_macros::or_panic;
use sparse_ops::extend::Exact;
use sparse_ops::{Result, SparseError};
use std::time::Duration;

const OP: &str = "FixedPointConfig::solve";

/// Fixed points `u = G(u)`, with gradients: Picard's iteration, and Anderson's, which mixes the last points.
///
/// With the residual `r = G(u) - u`, Picard goes to `u + damping r`. Anderson takes the mixture of the last
/// `window + 1` points whose residual would be smallest if `G` were linear, by a small least-squares problem in f64 on
/// the host, and goes on from there (Walker and Ni 2011). Of a linear `G` that is GMRES. It ends when
/// `|r| <= max(relative |G(u)|, absolute)`, and gives `G(u)`.
///
/// Backward, by the implicit function: with the gradient `g` of `u` it solves `(I - J^T) w = g` with the Jacobian `J`
/// of `G` at the solution, and gives `w` to one application of `G` that is on the tape. A product with `J^T` is an
/// application of `G` on a tape of its own and its backward pass, so it is exact, and nothing is stored. Gradients
/// reach what `theta` is made of; the memory is that of one application, as of a deep equilibrium model (Bai, Kolter
/// and Koltun 2019). No gradient reaches the start. If `I - J` is singular there is no gradient.
///
/// Cost of an iteration: an application of `G`, a few passes over the vectors of the window, and two reads.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::solve::FixedPointConfig;
///
/// let device = Device::flex().autodiff();
/// // u = cos(theta u).
/// let theta = Tensor::<1>::from_floats([1.0], &device).require_grad();
/// let g = |theta: &Tensor<1>, u: Tensor<1>| (u * theta.clone()).cos();
/// let u = FixedPointConfig::new().solve(&theta, g, Tensor::zeros([1], &device));
/// let grad = theta.grad(&u.clone().backward()).unwrap().into_scalar::<f32>();
/// let u = u.into_scalar::<f32>();
/// assert!((u - 0.739085).abs() < 1e-5);
/// assert!((grad + u * u.sin() / (1.0 + u.sin())).abs() < 1e-4);
/// ```
#[derive(Config, Debug)]
pub struct FixedPointConfig {
    /// How many of the last steps Anderson's iteration mixes; 0 is Picard's.
    #[config(default = 5)]
    pub window: usize,
    /// The share of the residual that is gone.
    #[config(default = 1.0)]
    pub damping: f64,
    /// The largest residual by the size of `G(u)`.
    #[config(default = 1e-5)]
    pub relative: f64,
    /// A residual that is small enough whatever the size of `G(u)`.
    #[config(default = 0.0)]
    pub absolute: f64,
    /// The most applications.
    #[config(default = 200)]
    pub max_iterations: usize,
    /// Gives the last point if the tolerance is not reached, instead of an error.
    #[config(default = false)]
    pub accept_unsolved: bool,
    /// How the system of the backward pass is solved, by its relative tolerance alone.
    #[config(default = "SolverConfig::new(Method::Gmres { restart: 30 })")]
    pub gradient: SolverConfig,
}

impl FixedPointConfig {
    /// Picard's iteration, `u = G(u)` again and again.
    pub fn picard() -> Self {
        Self::new().with_window(0)
    }

    /// Anderson's iteration with this window.
    pub fn anderson(window: usize) -> Self {
        Self::new().with_window(window)
    }

    /// `u` with `u = G(theta, u)`, of the shape of `start`, f32 or f64. `g` gets `theta`, a module or a tuple of
    /// tensors that has all tensors that it uses; where there are none, it is an empty `Vec`. It is called with and
    /// without the tape, and must do the same in each call. Where one tensor of `theta` is tracked, all of them are on
    /// the device with the tape.
    ///
    /// # Errors
    ///
    /// `shape_mismatch` if the result of `g` has not the shape of `start`; `unsupported_dtype`, `dtype_mismatch`,
    /// `device_mismatch`; `invalid` for a tolerance that is no number from 0 on, a damping that is not above 0, for
    /// numbers that are not finite, with the iteration, or if the tolerance is not reached: the message is the
    /// [`NonlinearReport`].
    ///
    /// # Panics
    ///
    /// In the backward pass, if the linear solve does not reach the tolerance (unless `gradient` has
    /// `accept_unsolved_gradient`).
    #[or_panic]
    pub fn try_solve<M, G, const D: usize>(&self, theta: &M, g: G, start: Tensor<D>) -> Result<Tensor<D>>
    where
        M: Module + Send + Sync + 'static,
        G: Fn(&M, Tensor<D>) -> Tensor<D> + Send + Sync + 'static,
    {
        self.try_solve_with(theta, g, start, None).map(|root| root.u)
    }

    /// The same with a callback after each iteration, and with a report. The callback gets `|r| / |G(u)|`.
    ///
    /// # Errors
    ///
    /// Those of [`try_solve`](Self::try_solve).
    pub fn try_solve_with<M, G, const D: usize>(
        &self,
        theta: &M,
        g: G,
        start: Tensor<D>,
        progress: Option<Progress<'_>>,
    ) -> Result<Root<D>>
    where
        M: Module + Send + Sync + 'static,
        G: Fn(&M, Tensor<D>) -> Tensor<D> + Send + Sync + 'static,
    {
        let clock = clock();
        check_tolerance(OP, "relative", self.relative)?;
        check_tolerance(OP, "absolute", self.absolute)?;
        self.gradient.check(OP)?;
        if !(self.damping > 0.0 && self.damping.is_finite()) {
            return Err(SparseError::invalid(OP, format!("the damping must be above 0, got {}", self.damping)));
        }
        let tape = tape_of(theta, &start);
        let start = if start.is_autodiff() { start.inner() } else { start };
        if start.dims().contains(&0) {
            return Ok(Root { u: constant(start, tape.as_ref()), report: NonlinearReport::new() });
        }
        let equation = Equation::new(OP, theta, g, &start)?;
        let (u, mut report) = self.iterate(&equation, start, progress)?;
        report.time = clock.map_or(Duration::ZERO, |clock| clock.elapsed());
        if report.stopped != Stopped::Converged && !self.accept_unsolved {
            return Err(report.unsolved(OP, self.relative));
        }
        let u = match equation.eval_on_tape(theta, u.clone()) {
            None => constant(u, tape.as_ref()),
            Some(on) => {
                // A method with transposed products asks for the tangent itself, too: by differences from this value.
                let (value, device) = (on.clone().inner(), u.device());
                let tangent = Tangent::new(equation, u.clone(), value, true);
                on_tape(u, on, adjoint(&self.gradient, &Operator::new(tangent), None, &device)?, 1.0)
            }
        };
        Ok(Root { u, report })
    }

    fn iterate<M: Module + Send + Sync + 'static, const D: usize>(
        &self,
        equation: &Equation<M, D>,
        start: Tensor<D>,
        mut progress: Option<Progress<'_>>,
    ) -> Result<(Tensor<D>, NonlinearReport)> {
        let (mut report, dims) = (NonlinearReport::new(), start.dims());
        let mut mixing = Mixing::new(self.window, self.damping);
        let mut u = start;
        // The points of the two iterations before.
        let mut before: [Option<Tensor<D>>; 2] = [None, None];
        loop {
            let image = equation.eval(u.clone())?;
            check_shape(OP, &u, &image)?;
            report.evaluations += 1;
            let residual = column(image.clone() - u.clone());
            let [size, length] = sizes([&residual, &column(image.clone())]);
            if !(size.is_finite() && length.is_finite()) {
                let message = format!(
                    "the function must stay finite, got other numbers in iteration {}: use a smaller damping, another \
                     start, or Newton's method",
                    report.iterations + 1
                );
                return Err(SparseError::invalid(OP, message));
            }
            report.history.push(size);
            let solved = size <= (self.relative * length).max(self.absolute);
            let share = if length == 0.0 { size } else { size / length };
            let cancelled =
                report.iterations > 0 && progress.as_mut().is_some_and(|progress| !progress(report.iterations, share));
            report.stopped = match () {
                () if solved => Stopped::Converged,
                () if cancelled => Stopped::Cancelled,
                () if report.iterations >= self.max_iterations => Stopped::Iterations,
                () if is_even(&report.history) && repeats(&u, &before) => Stopped::Stagnated,
                () => {
                    report.iterations += 1;
                    before = [Some(u.clone()), before[0].take()];
                    u = mixing.next(&column(u), &residual).reshape(Exact(dims));
                    continue;
                }
            };
            // One application further, which is nearer. What did not converge is given as it is.
            return Ok((if solved { image } else { u }, report));
        }
    }
}

/// Whether a point is one of those before, bit for bit: it goes in a circle, or rounding holds it.
fn repeats<const D: usize>(u: &Tensor<D>, before: &[Option<Tensor<D>>]) -> bool {
    before.iter().flatten().any(|own| sizes([&column(u.clone() - own.clone())]) == [0.0])
}

/// The same residual, bit for bit, in four iterations: then it is worth a look at the points.
fn is_even(history: &[f64]) -> bool {
    history.len() >= 4 && history[history.len() - 4..].windows(2).all(|pair| pair[0] == pair[1])
}
