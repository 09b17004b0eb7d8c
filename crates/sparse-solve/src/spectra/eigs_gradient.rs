//! Gradients of eigenvalues of matrices that are not symmetric, by the implicit function.

use super::adjoint::{Second, finite};
use super::block::{Block, random_block, scaled};
use crate::method::Method;
use crate::operator::{LinearOperator, Operator, device_of};
use burn::tensor::{Device, Tensor};
use sparse_ops::Result;
use sparse_ops::extend::{Erased, associate, expect, record, sum_dim};

/// What is known after a computation of `A x = l x`, without the tape.
#[derive(Debug, Clone)]
pub struct Adjoint {
    pub second: Second,
    pub values: Vec<[f64; 2]>,
    pub real: Block,
    pub imag: Block,
}

impl Adjoint {
    fn part(&self, part: usize) -> Vec<f64> {
        self.values.iter().map(|own| own[part]).collect()
    }
}

/// Real and imaginary parts of the values `[1, k]`, then of the vectors `[n, k]`, on the tape of the product `A X`.
///
/// # Errors
///
/// Those of the products; `invalid` if there is something to differentiate and no transposed product.
pub fn on_tape(
    a: &dyn LinearOperator,
    inverse: Option<&dyn LinearOperator>,
    adjoint: Adjoint,
) -> Result<[Tensor<2>; 4]> {
    let n = adjoint.real.dims()[0];
    let row = |part: usize| scaled(&adjoint.real.clone().narrow(0, 0, 1).ones_like(), &adjoint.part(part));
    let plain = [row(0), row(1), adjoint.real.clone(), adjoint.imag.clone()];
    let Some(device) = device_of([a.device()]).filter(Device::is_autodiff) else { return Ok(plain) };
    let both = Tensor::cat(vec![adjoint.real.clone(), adjoint.imag.clone()], 1);
    let image = a.try_apply(associate(both, &device))?;
    if !image.is_tracked() {
        return Ok(plain.map(|own| associate(own, &device)));
    }
    let system = Bordered {
        transposed: a.without_tape().try_transposed()?,
        size: adjoint.second.norm.max(f64::MIN_POSITIVE),
        known: adjoint.clone(),
    };
    let inverse =
        inverse.map(|own| own.without_tape().try_transposed()).transpose()?.map(|own| Operator::new(Twice(own)));
    // One output, so that values and vectors share the solve.
    let all = record(Tensor::cat(plain.to_vec(), 0), [Erased::from(&image)], (system, inverse), |saved, grad, _| {
        let (system, inverse) = saved;
        [Some(expect(system.gradient(grad, inverse.clone())).into())]
    });
    let rows = |from: usize, count: usize| all.clone().narrow(0, from, count);
    Ok([rows(0, 1), rows(1, 1), rows(2, n), rows(2 + n, n)])
}

/// `A^H - conj(l_i) + size x_i x_i^H` of column `i`, on real and imaginary parts one below the other. It is regular
/// where `l_i` is distinct. With `x^H (A^H - conj(l)) = 0` its solutions of `M p = size x` are left vectors with `x^H p
/// = 1`, and those of `M p = g` with `x^H g = 0` are orthogonal to `x`.
#[derive(Debug, Clone)]
struct Bordered {
    transposed: Operator,
    size: f64,
    known: Adjoint,
}

fn dots(a: &Block, b: &Block) -> Block {
    sum_dim(a.clone() * b.clone(), 0)
}

/// Of each column `x^H p`.
fn products([xr, xi]: [&Block; 2], [pr, pi]: [&Block; 2]) -> [Block; 2] {
    [dots(xr, pr) + dots(xi, pi), dots(xr, pi) - dots(xi, pr)]
}

/// Of each column `x s`.
fn multiples([xr, xi]: [&Block; 2], [sr, si]: &[Block; 2]) -> [Block; 2] {
    [xr.clone() * sr.clone() - xi.clone() * si.clone(), xr.clone() * si.clone() + xi.clone() * sr.clone()]
}

impl Bordered {
    /// Of the gradient of values and vectors that of `A X` with `X` fixed.
    fn gradient(&self, grad: Block, inverse: Option<Operator>) -> Result<Block> {
        let (grad, spoiled) = finite(grad);
        let n = self.known.real.dims()[0];
        let rows = |from: usize, count: usize| grad.clone().narrow(0, from, count);
        let (x, mut g) = ([&self.known.real, &self.known.imag], [rows(2, n), rows(2 + n, n)]);
        // The phase is that of the product with a fixed vector.
        let probe = random_block(usize::from(u16::MAX), [n, 1], x[0]);
        let [_, along] = products([&g[0], &g[1]], x);
        let size = sum_dim(probe.clone() * x[0].clone(), 0);
        let size = size.clone().mask_fill(size.equal_scalar(0.0), 1.0);
        g[1] = g[1].clone() + probe * (along / size);
        let inner = products(x, [&g[0], &g[1]]);
        let along = multiples(x, &inner);
        let of_values = multiples(x, &[rows(0, 1), rows(1, 1)]);
        let right = [0, 1].map(|at| of_values[at].clone() * self.size - g[at].clone() + along[at].clone());
        let right = Tensor::cat(right.to_vec(), 0);
        let method = Method::Gmres { restart: 60 };
        let p = self.known.second.solve(method, Operator::new(self.clone()), inverse, right)?;
        let p = scaled(&p, &spoiled);
        Ok(Tensor::cat(vec![p.clone().narrow(0, 0, n), p.narrow(0, n, n)], 1))
    }
}

impl LinearOperator for Bordered {
    fn dims(&self) -> [usize; 2] {
        [2 * self.known.real.dims()[0]; 2]
    }

    fn device(&self) -> Option<Device> {
        Some(self.known.real.device())
    }

    fn try_apply(&self, p: Tensor<2>) -> Result<Tensor<2>> {
        let n = self.known.real.dims()[0];
        // A probe of the solver has fewer columns.
        let width = p.dims()[1].min(self.known.values.len());
        let [re, im] = [0, 1].map(|part| self.known.part(part)[..width].to_vec());
        let x = [&self.known.real, &self.known.imag].map(|own| own.clone().narrow(1, 0, width));
        let x = [&x[0], &x[1]];
        let [pr, pi] = [0, n].map(|from| p.clone().narrow(0, from, n));
        let border = multiples(x, &products(x, [&pr, &pi]));
        let images = self.transposed.try_apply(Tensor::cat(vec![pr.clone(), pi.clone()], 1))?;
        let [ar, ai] = [0, width].map(|from| images.clone().narrow(1, from, width));
        let top = ar - scaled(&pr, &re) - scaled(&pi, &im) + border[0].clone() * self.size;
        let bottom = ai - scaled(&pi, &re) + scaled(&pr, &im) + border[1].clone() * self.size;
        Ok(Tensor::cat(vec![top, bottom], 0))
    }

    fn try_transposed(&self) -> Result<Operator> {
        Err(sparse_ops::SparseError::invalid(self.known.second.op, "the bordered matrix has no transposed product"))
    }

    fn without_tape(&self) -> Operator {
        Operator::new(self.clone())
    }
}

/// An operator on real and imaginary parts one below the other.
#[derive(Debug, Clone)]
struct Twice(Operator);

impl LinearOperator for Twice {
    fn dims(&self) -> [usize; 2] {
        self.0.dims().map(|own| 2 * own)
    }

    fn device(&self) -> Option<Device> {
        self.0.device()
    }

    fn try_apply(&self, x: Tensor<2>) -> Result<Tensor<2>> {
        let n = self.0.dims()[1];
        let parts = [0, n].map(|from| self.0.try_apply(x.clone().narrow(0, from, n)));
        let [top, bottom] = parts;
        Ok(Tensor::cat(vec![top?, bottom?], 0))
    }

    fn try_transposed(&self) -> Result<Operator> {
        Ok(Operator::new(Self(self.0.try_transposed()?)))
    }

    fn without_tape(&self) -> Operator {
        Operator::new(self.clone())
    }
}
