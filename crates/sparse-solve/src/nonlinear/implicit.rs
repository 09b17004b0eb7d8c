//! Solutions on the tape, by the implicit function.

use super::report::column;
use crate::gradient::Second;
use crate::operator::{LinearOperator, Operator};
use crate::solver::SolverConfig;
use burn::tensor::{Device, Tensor};
use sparse_ops::Result;
use sparse_ops::extend::{Erased, Exact, associate, is_gpu, record};

/// The solve in the backward pass, with the transposed matrix of `a`. Its tolerance is the relative one of `config`,
/// and a small one where that asks for an absolute one, which says nothing about a gradient.
pub fn adjoint(
    config: &SolverConfig,
    a: &Operator,
    preconditioner: Option<&Operator>,
    device: &Device,
) -> Result<Second> {
    let [n, _] = a.dims();
    let least = if config.absolute > 0.0 { 1e-6 } else { 0.0 };
    Ok(Second {
        method: config.method,
        a: a.try_transposed()?,
        preconditioner: preconditioner.map(LinearOperator::try_transposed).transpose()?,
        relative: vec![config.relative.max(least)],
        most: config.max_iterations.unwrap_or(n.saturating_mul(10)),
        every: config.check_every.unwrap_or(if is_gpu(device) { 10 } else { 1 }),
        accept_unsolved: config.accept_unsolved_gradient.unwrap_or(config.accept_unsolved),
    })
}

/// `u` on the tape. `value` is the function at `u`, whose tape leads to what it is made of. With the matrix `A` of the
/// adjoint solve, `A^-T` times the gradient and `sign` is what goes back through `value`.
pub fn on_tape<const D: usize>(u: Tensor<D>, value: Tensor<D>, second: Second, sign: f64) -> Tensor<D> {
    let (dims, value) = (u.dims(), column(value));
    let parents = [Erased::from(&value)];
    let out = record(column(u), parents, (second, sign), |(second, sign), grad, _| {
        [Some(second.solve(grad).mul_scalar(*sign).into())]
    });
    out.reshape(Exact(dims))
}

/// `u` as a constant of a tape.
pub fn constant<const D: usize>(u: Tensor<D>, device: Option<&Device>) -> Tensor<D> {
    device.map_or(u.clone(), |device| associate(u, device))
}
