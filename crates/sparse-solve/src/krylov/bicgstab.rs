//! Stabilised bi-conjugate gradients, for any square matrix.

use super::system::{Point, System};
use super::vectors::{Vectors, dot, norm, random, ratio};
use super::watch::Watch;
use sparse_ops::Result;

/// Van der Vorst 1992, preconditioned on the right.
///
/// The first attempt has the residual as its shadow. Where that breaks down (as it does if `r^T A r = 0`), another one
/// has a random vector.
pub fn sweep(system: &System<'_>, point: Point, attempt: usize, watch: &mut Watch<'_>) -> Result<Vectors> {
    let Point { mut x, mut residual, .. } = point;
    let n = residual.dims()[1];
    let shadow = if attempt == 0 { residual.clone() } else { random(attempt, n, &residual) };
    let (size, mut rho) = (norm(&residual), dot(&shadow, &residual));
    let mut direction = residual.clone();
    let mut open = system.open(&size);
    loop {
        let near = system.precondition(&direction)?;
        let image = system.apply(&near)?;
        let alpha = ratio(rho.clone(), dot(&shadow, &image)) * open.clone();
        let half = residual - image.clone() * alpha.clone();
        let near_half = system.precondition(&half)?;
        let half_image = system.apply(&near_half)?;
        let omega = ratio(dot(&half_image, &half), dot(&half_image, &half_image)) * open;
        x = x + near * alpha.clone() + near_half * omega.clone();
        residual = half - half_image * omega.clone();
        let size = norm(&residual);
        // A column whose two lengths are 0 does the same for ever.
        let moved = alpha.clone().abs() + omega.clone().abs();
        if watch.ends_or_sticks(&size, &moved, |moved| moved == 0.0) {
            return Ok(x);
        }
        open = system.open(&size);
        let next = dot(&shadow, &residual);
        let beta = ratio(next.clone(), rho) * ratio(alpha, omega.clone());
        direction = residual.clone() + (direction - image * omega) * beta;
        rho = next;
    }
}
