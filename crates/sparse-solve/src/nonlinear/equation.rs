//! A user's function and its derivatives.

use super::report::column;
use crate::krylov::vectors::{Numbers, eps, unit_of_any};
use crate::operator::{LinearOperator, Operator, check_sizes, device_of};
use crate::tape::pull;
use burn::module::Module;
use burn::tensor::{DType, Device, Tensor};
use sparse_ops::extend::{Exact, associate, same_elements};
use sparse_ops::{Result, SparseError};
use std::fmt;
use std::sync::Arc;

type Function<M, const D: usize, const E: usize> = Arc<dyn Fn(&M, Tensor<D>) -> Tensor<E> + Send + Sync>;

/// `F(u)` from `[..]` to `[..]`, with the tensors of a module.
pub struct Equation<M, const D: usize, const E: usize = D> {
    op: &'static str,
    f: Function<M, D, E>,
    /// Without the tape.
    plain: M,
    /// On a tape of its own, where nothing of it is tracked.
    taped: M,
}

impl<M: Clone, const D: usize, const E: usize> Clone for Equation<M, D, E> {
    fn clone(&self) -> Self {
        Self { op: self.op, f: self.f.clone(), plain: self.plain.clone(), taped: self.taped.clone() }
    }
}

impl<M, const D: usize, const E: usize> fmt::Debug for Equation<M, D, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Equation").field("op", &self.op).finish_non_exhaustive()
    }
}

impl<M: Module + Send + Sync + 'static, const D: usize, const E: usize> Equation<M, D, E> {
    pub fn new(
        op: &'static str,
        theta: &M,
        f: impl Fn(&M, Tensor<D>) -> Tensor<E> + Send + Sync + 'static,
        u: &Tensor<D>,
    ) -> Result<Self> {
        if !matches!(u.dtype(), DType::F32 | DType::F64) {
            let dtype = format!("{:?}", u.dtype()).to_lowercase();
            return Err(SparseError::unsupported_dtype(op, "a non-linear equation", dtype));
        }
        let plain = theta.valid();
        let taped = plain.clone().train().no_grad();
        Ok(Self { op, f: Arc::new(f), plain, taped })
    }

    /// The module without the tape.
    pub fn theta(&self) -> &M {
        &self.plain
    }

    /// `F(u)` without the tape, of a `u` that is not on it.
    pub fn eval(&self, u: Tensor<D>) -> Result<Tensor<E>> {
        let out = (self.f)(&self.plain, u.clone());
        let out = if out.is_autodiff() { out.inner() } else { out };
        same_elements(self.op, &u, &out)?;
        Ok(out)
    }

    /// `F(u)` on the tape of the module, at a constant `u`. `None` if nothing of it is tracked.
    pub fn eval_on_tape(&self, theta: &M, u: Tensor<D>) -> Option<Tensor<E>> {
        let known = device_of(theta.devices().into_iter().map(Some)).filter(Device::is_autodiff);
        // A device with the tape is the same as one without it, so the list of a module may have the other one alone.
        let device = match known {
            Some(device) => device,
            None => Some((self.f)(theta, u.clone())).filter(Tensor::is_autodiff)?.device(),
        };
        Some((self.f)(theta, associate(u, &device))).filter(Tensor::is_tracked)
    }

    /// `J^T w` at `u`, exactly: one application on a tape of its own, and its backward pass from `w`.
    pub fn vjp(&self, u: Tensor<D>, w: Tensor<E>) -> Tensor<D> {
        let u = Tensor::from_inner(u).require_grad();
        let out = (self.f)(&self.taped, u.clone());
        if !out.is_tracked() {
            return u.inner().zeros_like();
        }
        let grads = pull(&out, w);
        u.grad(&grads).unwrap_or_else(|| u.inner().zeros_like())
    }
}

/// The device of the result: one with the tape, if the module or the start has it.
pub fn tape_of<M: Module, const D: usize>(theta: &M, start: &Tensor<D>) -> Option<Device> {
    let devices = theta.devices().into_iter().chain([start.device()]);
    device_of(devices.map(Some)).filter(Device::is_autodiff)
}

/// The result must have the shape of the unknown.
pub fn check_shape<const D: usize>(op: &'static str, u: &Tensor<D>, out: &Tensor<D>) -> Result<()> {
    match u.dims() == out.dims() {
        true => Ok(()),
        false => {
            let rule = "the function must give the shape {left} of the unknown, got {right}";
            Err(SparseError::shape_mismatch(op, rule, u.dims(), out.dims()))
        }
    }
}

/// The Jacobian at a point, by products alone.
#[derive(Debug, Clone)]
pub struct Tangent<M, const D: usize> {
    equation: Equation<M, D>,
    u: Tensor<D>,
    /// `F(u)`.
    value: Tensor<D>,
    /// Of differences.
    step: Numbers,
    /// Exact products with the transposed Jacobian; else differences.
    transposed: bool,
    /// Of a fixed point: the identity minus the Jacobian.
    fixed_point: bool,
}

impl<M: Module + Send + Sync + 'static, const D: usize> Tangent<M, D> {
    /// At `u`, where `value` is `F(u)`. The step of differences, along directions of length 1, is that of Brown and
    /// Saad 1990 and Pernice and Walker 1998: `sqrt(eps (1 + |u|))`.
    pub fn new(equation: Equation<M, D>, u: Tensor<D>, value: Tensor<D>, fixed_point: bool) -> Self {
        let epsilon = eps(u.dtype());
        let (_, size) = unit_of_any(&column(u.clone()));
        let step = size.add_scalar(1.0).mul_scalar(epsilon).sqrt();
        Self { equation, u, value, step, transposed: false, fixed_point }
    }

    /// A directional derivative by a forward difference.
    fn difference(&self, x: Tensor<D>) -> Result<Tensor<D>> {
        let (direction, length) = unit_of_any(&column(x));
        let moved = self.u.clone() + (direction * self.step.clone()).reshape(Exact(self.u.dims()));
        let change = column(self.equation.eval(moved)? - self.value.clone());
        Ok((change / self.step.clone() * length).reshape(Exact(self.u.dims())))
    }
}

impl<M: Module + Send + Sync + 'static, const D: usize> LinearOperator for Tangent<M, D> {
    fn dims(&self) -> [usize; 2] {
        [self.u.dims().iter().product(); 2]
    }

    fn device(&self) -> Option<Device> {
        Some(self.u.device())
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        check_sizes(self.equation.op, self.dims(), &x)?;
        let [n, width] = x.dims();
        let product = |at: usize| {
            let own = x.clone().narrow(1, at, 1).reshape(Exact(self.u.dims()));
            let image = match self.transposed {
                true => self.equation.vjp(self.u.clone(), own.clone()),
                false => self.difference(own.clone())?,
            };
            let image = if self.fixed_point { own - image } else { image };
            Ok(image.reshape(Exact([n, 1])))
        };
        Ok(Tensor::cat((0..width).map(product).collect::<Result<_>>()?, 1))
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(Operator::new(Self { transposed: !self.transposed, ..self.clone() }))
    }

    fn without_tape(&self) -> Operator {
        Operator::new(self.clone())
    }
}
