//! Solutions on the tape, by the implicit function.

use crate::krylov::vectors::{Vectors, apply, choose, eps, random, read, spoiled};
use crate::krylov::watch::{OP, Stopped};
use crate::krylov::{self, Problem};
use crate::method::Method;
use crate::operator::{LinearOperator, Operator, device_of};
use crate::report::{of_system, place_of_worst};
use crate::symmetric::check_symmetric;
use burn::tensor::{Device, Shape, Tensor};
use sparse_ops::extend::{Erased, associate, expect, record};
use sparse_ops::{Result, SparseError};

/// A solve in the backward pass.
#[derive(Debug, Clone)]
pub struct Second {
    pub method: Method,
    pub a: Operator,
    pub preconditioner: Option<Operator>,
    /// For each column.
    pub relative: Vec<f64>,
    pub most: usize,
    pub every: usize,
    pub accept_unsolved: bool,
}

impl Second {
    fn of(&self, a: Operator) -> Self {
        Self { a, ..self.clone() }
    }

    /// The solution for this right-hand side.
    ///
    /// # Errors
    ///
    /// Those of the solver; `invalid` if the tolerance is not reached, unless that is accepted.
    fn try_solve(&self, b: Vectors) -> Result<Vectors> {
        let [systems, _, width] = b.dims();
        let problem = Problem {
            a: &self.a,
            preconditioner: self.preconditioner.as_ref(),
            b,
            start: None,
            relative: self.relative.clone(),
            absolute: 0.0,
            most: self.most,
            every: self.every,
        };
        let outcome = krylov::run(&self.method, problem, None)?;
        if self.accept_unsolved {
            return Ok(outcome.x);
        }
        match (outcome.trouble, outcome.stopped) {
            (Some(trouble), _) => Err(trouble),
            (None, Stopped::Converged) => Ok(outcome.x),
            (None, _) => {
                let worst = outcome.residuals.iter().copied().fold(0.0, f64::max);
                let place = place_of_worst(&outcome.residuals, [systems, width]);
                let message = format!(
                    "the solve for the gradient must reach the tolerance, got a relative residual of {worst:.1e}\
                     {place} after {} iterations: use a larger tolerance, or accept_unsolved_gradient",
                    outcome.iterations
                );
                Err(SparseError::invalid(OP, message))
            }
        }
    }

    /// Itself, if the matrix is symmetric: the solution shows nothing of another one, but the gradient would be wrong.
    /// Products of random columns show a share of `1 / sqrt(n)` of what elements differ by.
    ///
    /// # Errors
    ///
    /// `invalid` if products show that it is not, by more than ten times the tolerance.
    fn symmetric(self, x: &Vectors) -> Result<Self> {
        let [systems, n, _] = x.dims();
        let all = Shape::from([systems, n, 1]);
        let [first, other] = [1, 2].map(|seed| random(seed, n, x).expand(all.clone()));
        let images = [&apply(&self.a, &first)?, &apply(&self.a, &other)?];
        let epsilon = eps(x.dtype());
        let relative = self.relative.iter().copied().fold(0.0, f64::max);
        let share = (10.0 * relative).min(0.01) / (n as f64).sqrt();
        let what = format!("for a gradient the matrix of {:?}", self.method);
        check_symmetric(OP, &what, [&first, &other], images, share.max(100.0 * epsilon), |system| {
            let system = of_system((systems > 1).then_some(system));
            format!("random vectors{system}: use BiCgStab, Gmres or another method for any matrix")
        })?;
        Ok(self)
    }

    /// The same of a gradient. A column with numbers that are not finite gives NaN, as other operations do.
    pub fn solve(&self, grad: Vectors) -> Vectors {
        let spoiled = spoiled(&grad);
        if read([&spoiled])[0].iter().all(|zero| *zero == 0.0) {
            return expect(self.try_solve(grad));
        }
        let spoiled = spoiled.is_nan();
        let b = choose(spoiled.clone(), grad.zeros_like(), grad);
        let x = expect(self.try_solve(b));
        choose(spoiled, x.full_like(f64::NAN), x)
    }
}

/// `x` on the tape, through its residual: `x + A^-1 (b - A x)` is `x`, and its derivative by the residual is `A^-1`.
/// The tape of the products leads from the residual to what `A` is made of. `second` solves with the plain `A`.
///
/// # Errors
///
/// Those of the products; `invalid` if there is something to differentiate and no transposed product, or a matrix that
/// is taken as symmetric and is not.
pub fn on_tape(a: &dyn LinearOperator, second: Second, b: Vectors, x: Vectors, device: &Device) -> Result<Vectors> {
    let image = apply(a, &associate(x.clone(), device))?;
    let of_matrix = image.is_tracked();
    let residual = if b.is_autodiff() { b } else { associate(b, device) } - image;
    if !residual.is_tracked() {
        return Ok(associate(x, device));
    }
    let method = second.method;
    if method.is_least_squares() {
        return least_squares(a, second, of_matrix, residual, x, device);
    }
    let second = match method.is_symmetric() {
        true => second.symmetric(&x)?,
        false => Second {
            a: second.a.try_transposed()?,
            preconditioner: second.preconditioner.as_ref().map(LinearOperator::try_transposed).transpose()?,
            ..second
        },
    };
    let parents = [Erased::from(&residual)];
    Ok(record(x, parents, second, |second, grad, _| [Some(second.solve(grad).into())]))
}

/// Zeros, the solution of a system without rows, unknowns or columns: on the tape as others are.
///
/// # Errors
///
/// Those of the products.
pub fn empty<const D: usize>(a: &dyn LinearOperator, b: Tensor<D>, dims: [usize; D]) -> Result<Tensor<D>> {
    let x = Tensor::zeros(dims, (&b.device().inner(), b.dtype()));
    let device = device_of([Some(b.device()), a.device()]).filter(|device| device.is_autodiff());
    let Some(device) = device else { return Ok(x) };
    let columns = Tensor::<2>::zeros([a.dims()[1], 0], (&device, b.dtype()));
    let (image, b) = (a.try_apply(columns)?, if b.is_autodiff() { b } else { associate(b, &device) });
    let parents = [Erased::from(&b), Erased::from(&image)];
    let saved = (b.zeros_like().inner(), image.zeros_like().inner());
    Ok(record(x, parents, saved, |(b, image), _, _| [Some(b.clone().into()), Some(image.clone().into())]))
}

/// With the pseudo-inverse `P` of `A` of full rank and the gradient `g` of `x` (Golub and Pereyra 1973): `l = P^T g` is
/// the gradient of `b`, and that of `A` is `-l x^T + r (P l)^T` of a tall matrix, and `-l x^T + y (g - A^T l)^T` with
/// `y = P^T x` of a wide one. The first term is that of the residual `b - A x`, and the second one that of `A^T r` or
/// `A^T y`.
fn least_squares(
    a: &dyn LinearOperator,
    second: Second,
    of_matrix: bool,
    residual: Vectors,
    x: Vectors,
    device: &Device,
) -> Result<Vectors> {
    let [rows, cols] = a.dims();
    // Below that it takes no step.
    let least = 4.0 * eps(x.dtype());
    let relative = second.relative.iter().map(|relative| relative.max(least)).collect();
    let direct = Second { method: Method::Lsmr, preconditioner: None, relative, ..second };
    let transposed = direct.of(direct.a.try_transposed()?);
    if !of_matrix {
        let parents = [Erased::from(&residual)];
        return Ok(record(x, parents, transposed, |second, grad, _| [Some(second.solve(grad).into())]));
    }
    let tall = rows >= cols;
    let column = if tall { residual.clone().inner() } else { transposed.try_solve(x.clone())? };
    let normal = apply(&a.try_transposed()?, &associate(column, device))?;
    let parents = [Erased::from(&residual), Erased::from(&normal)];
    Ok(record(x, parents, (transposed, tall.then_some(direct)), |(transposed, direct), grad, needs| {
        let own = transposed.solve(grad.clone());
        let other = needs[1].then(|| match direct {
            Some(direct) => direct.solve(own.clone()),
            None => grad - expect(apply(&transposed.a, &own)),
        });
        [Some(own.into()), other.map(Into::into)]
    }))
}
