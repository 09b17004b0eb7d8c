//! Bounds of the eigenvalues of a symmetric matrix.

use crate::krylov::vectors::{Vectors, apply, dot, random, read, unit, unit_of_any};
use crate::operator::LinearOperator;
use burn::tensor::Tensor;
use sparse_core::multigrid::extremes_of_tridiagonal;
use sparse_ops::Result;

/// The least and the largest eigenvalue that `steps` steps of Lanczos (1950) see: bounds from inside. `like`
/// `[1, n, 1]` has the device and the dtype. One read. `None` if numbers are not finite.
pub fn extremes(a: &dyn LinearOperator, like: &Vectors, steps: usize) -> Result<Option<[f64; 2]>> {
    let [_, n, _] = like.dims();
    let (mut last, mut v) = (like.zeros_like(), unit(random(1, n, like)).0);
    let (mut alphas, mut betas) = (vec![], vec![]);
    for step in 0..steps.min(n) {
        let mut w = apply(a, &v)?;
        if step > 0 {
            let beta: &Vectors = &betas[step - 1];
            w = w - last * beta.clone();
        }
        let alpha = dot(&w, &v);
        w = w - v.clone() * alpha.clone();
        alphas.push(alpha);
        last = v;
        let beta;
        (v, beta) = unit_of_any(&w);
        betas.push(beta);
    }
    let [alphas, betas] = [alphas, betas].map(|list| Tensor::cat(list, 2));
    let [alphas, betas] = read([&alphas, &betas]);
    if alphas.iter().chain(&betas).any(|number| !number.is_finite()) {
        return Ok(None);
    }
    // What follows a direction without length is of another start, and rounding.
    let size = alphas.iter().chain(&betas).fold(0.0f64, |most, number| most.max(number.abs()));
    let least = size * 1e-6;
    let count = betas.iter().position(|beta| *beta <= least).map_or(alphas.len(), |at| at + 1);
    Ok(Some(extremes_of_tridiagonal(&alphas[..count], &betas[..count - 1])))
}
