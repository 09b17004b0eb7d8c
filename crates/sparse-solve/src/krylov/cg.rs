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
    let (mut open, mut rz) = (system.open(&norm(&residual)), dot(&residual, &z));
    let mut direction = z;
    // Counts iterations in which the matrix is not positive definite.
    let mut indefinite = rz.zeros_like();
    loop {
        let image = system.apply(&direction)?;
        let curvature = dot(&direction, &image);
        indefinite = indefinite + indicator(curvature.clone().lower_equal_elem(0.0), &open) * open.clone();
        let length = ratio(rz.clone(), curvature) * open.clone();
        x = x + direction.clone() * length.clone();
        residual = residual - image * length;
        let size = norm(&residual);
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
