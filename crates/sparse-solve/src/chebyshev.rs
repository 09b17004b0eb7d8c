//! Chebyshev's iteration.

use burn::tensor::Tensor;
use sparse_ops::Result;

/// What `steps` steps, 1 at least, add to a point with this `residual` `b - A x` (Saad, *Iterative methods for sparse
/// linear systems*, 2003, algorithm 12.1). `weigh` takes a residual to `D^-1` of it; the eigenvalues of `D^-1 A` that
/// are damped lie between the bounds. Cost: `steps - 1` products.
pub fn chebyshev(
    product: impl Fn(Tensor<2>) -> Result<Tensor<2>>,
    weigh: impl Fn(Tensor<2>) -> Tensor<2>,
    [low, high]: [f64; 2],
    steps: usize,
    mut residual: Tensor<2>,
) -> Result<Tensor<2>> {
    let (middle, half) = ((high + low) / 2.0, (high - low) / 2.0);
    let mut rho = half / middle;
    let mut step = weigh(residual.clone()).div_scalar(middle);
    let mut sum = step.clone();
    for _ in 1..steps {
        residual = residual - product(step.clone())?;
        let next = 1.0 / (2.0 * middle / half - rho);
        step = step.mul_scalar(next * rho) + weigh(residual.clone()).mul_scalar(2.0 * next / half);
        sum = sum + step.clone();
        rho = next;
    }
    Ok(sum)
}
