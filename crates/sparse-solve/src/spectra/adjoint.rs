//! Gradients of symmetric eigenvalue problems, by the implicit function.

use super::block::{Block, gram, lengths_of_any, scaled, times};
use super::shifted::{Inside, Shifted};
use super::small::{Small, read};
use crate::krylov::vectors::eps;
use crate::krylov::{self, Problem};
use crate::method::Method;
use crate::operator::{LinearOperator, Operator, device_of};
use burn::tensor::{Device, Tensor};
use sparse_ops::extend::{Erased, Exact, associate, expect, is_gpu, record};
use sparse_ops::{Result, SparseError};

/// The solves of a backward pass.
#[derive(Debug, Clone)]
pub struct Second {
    pub op: &'static str,
    pub relative: f64,
    pub most: usize,
    pub accept_unsolved: bool,
    /// The norm of the matrix, from below.
    pub norm: f64,
}

/// What is known after a computation of `A v = l B v`, without the tape.
#[derive(Debug, Clone)]
pub struct Adjoint {
    pub second: Second,
    pub a: Operator,
    pub b: Option<Operator>,
    pub preconditioner: Option<Operator>,
    /// `(A - sigma B)^-1`, and `sigma`.
    pub inverse: Option<(Operator, f64)>,
    /// How many of the pairs have gradients: the first ones.
    pub count: usize,
    pub values: Vec<f64>,
    /// The residual of each pair.
    pub errors: Vec<f64>,
    pub vectors: Block,
    /// `B V`.
    pub mass: Block,
    /// What is left out, and `B` times it.
    pub deflated: Option<[Block; 2]>,
}

/// The first values and vectors on the tape of the products `A V` and `B V`.
///
/// # Errors
///
/// Those of the products.
pub fn on_tape(
    a: &dyn LinearOperator,
    b: Option<&dyn LinearOperator>,
    adjoint: Adjoint,
) -> Result<(Tensor<1>, Tensor<2>)> {
    let count = adjoint.count;
    let plain = |own: &Block| own.clone().narrow(1, 0, count);
    let vectors = plain(&adjoint.vectors);
    let values: Tensor<2> = scaled(&vectors.clone().narrow(0, 0, 1).ones_like(), &adjoint.values[..count]);
    let device = device_of([a.device(), b.and_then(LinearOperator::device)]).filter(Device::is_autodiff);
    let Some(device) = device else { return Ok((values.reshape(Exact([count])), vectors)) };
    let on = associate(vectors.clone(), &device);
    let image = a.try_apply(on.clone())?;
    let mass = b.map(|b| b.try_apply(on)).transpose()?;
    let tracked = image.is_tracked() || mass.as_ref().is_some_and(Tensor::is_tracked);
    if !tracked {
        return Ok((associate(values, &device).reshape(Exact([count])), associate(vectors, &device)));
    }
    let saved = (vectors.clone(), adjoint.values[..count].to_vec());
    let (values, vectors) = match mass {
        None => {
            let parents = || [Erased::from(&image)];
            (
                record(values, parents(), saved, |(v, _), grad: Tensor<2>, _| [Some((v.clone() * grad).into())]),
                record(vectors, parents(), adjoint, |adjoint, grad, _| {
                    let [of_a, _] = adjoint.gradient(grad, [true, false]);
                    [of_a.map(Into::into)]
                }),
            )
        }
        Some(mass) => {
            let parents = || [Erased::from(&image), Erased::from(&mass)];
            (
                record(values, parents(), saved, |(v, values), grad: Tensor<2>, needs| {
                    let own = v.clone() * grad;
                    let down: Vec<f64> = values.iter().map(|value| -value).collect();
                    [Some(own.clone().into()), needs[1].then(|| scaled(&own, &down).into())]
                }),
                record(vectors, parents(), adjoint, |adjoint, grad, needs| {
                    adjoint.gradient(grad, needs).map(|own| own.map(Into::into))
                }),
            )
        }
    };
    Ok((values.reshape(Exact([count])), vectors))
}

impl Adjoint {
    /// Of the gradient `G` of the vectors those of `A V` and `B V`, with `V` fixed.
    ///
    /// With `w` the solution of `(A - l_i B) w = P^T g_i` that is orthogonal to all known vectors, `p_i = sum_j v_j
    /// (v_j^T g_i) / (l_i - l_j) - w` over the known vectors with other values is that of `A v_i`, and that of `B v_i`
    /// is `-l_i p_i - sum_j v_j (v_j^T g_i) / 2` over those with the same value.
    fn gradient(&self, grad: Block, needs: [bool; 2]) -> [Option<Block>; 2] {
        let count = self.count;
        let (grad, spoiled) = finite(grad);
        let [inner] = read([&gram(&self.vectors, &grad)]);
        let all = self.values.len();
        let errors = self.errors();
        let same = |i: usize, j: usize| (self.values[i] - self.values[j]).abs() <= errors[i] + errors[j];
        let share = |j: usize, i: usize| match same(i, j) {
            true => 0.0,
            false => inner[(j, i)] / (self.values[i] - self.values[j]),
        };
        let mut p = times(&self.vectors, &Small::from_fn(all, count, share));
        if let Some(w) = expect(self.rest(&grad)) {
            p = p - w;
        }
        let p = scaled(&p, &spoiled);
        let of_mass = needs[1].then(|| {
            let half = Small::from_fn(all, count, |j, i| if same(i, j) { -0.5 * inner[(j, i)] } else { 0.0 });
            let down: Vec<f64> = self.values[..count].iter().map(|value| -value).collect();
            let mut own = scaled(&p, &down) + times(&self.vectors, &half);
            if let Some([y, _]) = &self.deflated {
                own = own - y.clone().matmul(gram(y, &grad));
            }
            scaled(&own, &spoiled)
        });
        [Some(p), of_mass]
    }

    /// How far values may be apart that are equal, as residuals and rounding allow. With a mass `v^T B v = 1`, so that
    /// units are those of the vectors.
    fn errors(&self) -> Vec<f64> {
        let sizes = if self.b.is_some() { lengths_of_any(&self.vectors) } else { vec![1.0; self.values.len()] };
        let rounding = 10.0 * eps(self.vectors.dtype()) * self.second.norm;
        sizes.iter().zip(&self.errors).map(|(size, error)| (rounding * size * size).max(error * size)).collect()
    }

    /// `w` of [`gradient`](Self::gradient), all columns at once. `None` where there is nothing to solve.
    fn rest(&self, grad: &Block) -> Result<Option<Block>> {
        let [known, mass] = match &self.deflated {
            Some([y, image]) => {
                let join = |a: &Block, b: &Block| Tensor::cat(vec![a.clone(), b.clone()], 1);
                [join(&self.vectors, y), join(&self.mass, image)]
            }
            None => [self.vectors.clone(), self.mass.clone()],
        };
        if known.dims()[0] <= known.dims()[1] {
            return Ok(None);
        }
        let shifted = Shifted {
            a: self.a.clone(),
            b: self.b.clone(),
            inverse: self.inverse.clone(),
            shifts: self.values[..self.count].to_vec(),
            known,
            mass,
        };
        let mut right = shifted.down(grad.clone());
        // What is left of a gradient in the span of the known vectors is rounding.
        let [sizes, before] = [&right, grad].map(lengths_of_any);
        let tiny = 100.0 * eps(grad.dtype());
        let kept: Vec<f64> =
            sizes.iter().zip(&before).map(|(size, before)| if *size > tiny * before { 1.0 } else { 0.0 }).collect();
        if kept.iter().all(|kept| *kept == 0.0) {
            return Ok(None);
        }
        right = scaled(&right, &kept);
        if let Some((inverse, _)) = &self.inverse {
            right = shifted.of_mass(inverse.try_apply(right)?)?;
            right = shifted.down(right);
        }
        let preconditioner = match (&self.preconditioner, &self.inverse) {
            (Some(own), None) => Some(Operator::new(Inside(own.clone(), shifted.clone()))),
            _ => None,
        };
        let out = self.second.solve(Method::Minres, Operator::new(shifted.clone()), preconditioner, right)?;
        let out = shifted.up(out);
        // A solution so large comes of a value that differs by no more than its error.
        let lengths_of_out = lengths_of_any(&out);
        let errors = self.errors();
        let doubtful = |at: usize| kept[at] > 0.0 && lengths_of_out[at] * errors[at] > sizes[at];
        match (0..kept.len()).find(|&at| doubtful(at)).filter(|_| !self.second.accept_unsolved) {
            None => Ok(Some(out)),
            Some(at) => {
                let message = format!(
                    "the value of pair {at} must be distinct from those that were not asked for, got {:e} again: ask \
                     for all of them, or use accept_unsolved_gradient",
                    self.values[at]
                );
                Err(SparseError::invalid(self.second.op, message))
            }
        }
    }
}

/// The gradient with 0 for numbers that are not finite, and a factor for each column: NaN where there are such.
pub fn finite(grad: Block) -> (Block, Vec<f64>) {
    let zeros = grad.clone() - grad.clone();
    let [own] = read([&zeros.clone().abs().sum_dim(0)]);
    let spoiled: Vec<f64> = (0..own.ncols()).map(|at| if own[(0, at)] == 0.0 { 1.0 } else { f64::NAN }).collect();
    match spoiled.iter().any(|own| own.is_nan()) {
        true => (grad.mask_fill(zeros.is_nan(), 0.0), spoiled),
        false => (grad, spoiled),
    }
}

impl Second {
    /// Of the projected system. A residual that is rounding counts as solved.
    ///
    /// # Errors
    ///
    /// `invalid` if the tolerance is not reached, unless that is accepted.
    pub fn solve(&self, method: Method, a: Operator, preconditioner: Option<Operator>, right: Block) -> Result<Block> {
        let [n, width] = right.dims();
        let every = if is_gpu(&right.device()) { 10 } else { 1 };
        let problem = Problem {
            a: &a,
            preconditioner: preconditioner.as_ref(),
            b: right.clone().reshape(Exact([1, n, width])),
            start: None,
            relative: vec![self.relative; width],
            absolute: 0.0,
            most: self.most,
            every,
        };
        let outcome = krylov::run(&method, problem, None)?;
        let x: Block = outcome.x.reshape(Exact([n, width]));
        if self.accept_unsolved {
            return Ok(x);
        }
        if let Some(trouble) = outcome.trouble {
            return Err(trouble);
        }
        let [of_x, of_b] = [&x, &right].map(lengths_of_any);
        let rounding = |at: usize| 100.0 * eps(x.dtype()) * self.norm * of_x[at] / of_b[at].max(f64::MIN_POSITIVE);
        match (0..width).find(|&at| outcome.residuals[at] > self.relative.max(rounding(at))) {
            None => Ok(x),
            Some(at) => {
                let message = format!(
                    "the solve for the gradient must reach the tolerance, got a relative residual of {:.1e} of pair \
                     {at} after {} iterations: its value may not be distinct, or use a larger tolerance, more \
                     iterations or accept_unsolved_gradient",
                    outcome.residuals[at], outcome.iterations
                );
                Err(SparseError::invalid(self.op, message))
            }
        }
    }
}
