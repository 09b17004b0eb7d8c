//! Conjugate gradients, for symmetric positive definite matrices.

use super::system::{Point, System};
use super::vectors::{Vectors, dot, indicator, norm, ratio};
use super::watch::Watch;
use sparse_ops::Result;

const ASKED: &str = "the matrix and the preconditioner must be symmetric positive definite (use Minres, or a method \
                     for any matrix), got d^T A d <= 0";

/// Hestenes and Stiefel 1952, with a preconditioner.
pub fn sweep(system: &System<'_>, point: Point, watch: &mut Watch<'_>) -> Result<Vectors> {
    let Point { mut x, mut residual, .. } = point;
    let z = system.precondition(&residual)?;
    let (mut size, mut rz) = (norm(&residual), dot(&residual, &z));
    let mut open = system.open(&size);
    let mut direction = z;
    // Counts iterations in which the matrix is not positive definite. The largest number of `b` is 1 here. Squares of
    // far smaller ones may underflow, which is no sign of it.
    let mut indefinite = rz.zeros_like();
    loop {
        let image = system.apply(&direction)?;
        let curvature = dot(&direction, &image);
        let told = open.clone() * indicator(size.greater_elem(1e-15), &open);
        indefinite = indefinite + indicator(curvature.clone().lower_equal_elem(0.0), &open) * told;
        let length = ratio(rz.clone(), curvature) * open.clone();
        x = x + direction.clone() * length.clone();
        residual = residual - image * length;
        size = norm(&residual);
        if watch.ends_unless(&size, &indefinite, ASKED) {
            return Ok(x);
        }
        open = system.open(&size);
        let z = system.precondition(&residual)?;
        let next = dot(&residual, &z);
        direction = z + direction * ratio(next.clone(), rz);
        rz = next;
    }
}
