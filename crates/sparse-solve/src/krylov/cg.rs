//! Conjugate gradients, for symmetric positive definite matrices.

use super::system::{Point, System};
use super::vectors::{Vectors, dot, norm, ratio};
use super::watch::{OP, Watch, numbers};
use sparse_ops::{Result, SparseError};

/// Hestenes and Stiefel 1952, with a preconditioner.
pub fn sweep(system: &System<'_>, Point { mut x, mut residual }: Point, watch: &mut Watch<'_>) -> Result<Vectors> {
    let z = system.precondition(&residual)?;
    let (mut open, mut rz) = (system.open(&norm(&residual)), dot(&residual, &z));
    let mut direction = z;
    // Counts iterations in which the matrix is not positive definite.
    let mut indefinite = rz.zeros_like();
    loop {
        let image = system.apply(&direction)?;
        let curvature = dot(&direction, &image);
        let negative = curvature.clone().lower_equal_elem(0.0).float().cast(open.dtype());
        indefinite = indefinite + negative * open.clone();
        let length = ratio(rz.clone(), curvature) * open.clone();
        x = x + direction.clone() * length.clone();
        residual = residual - image * length;
        let size = norm(&residual);
        let ends = watch.ends(&size)?;
        if watch.looks() && numbers(&indefinite).iter().any(|&count| count > 0.0) {
            let message = format!(
                "the matrix and the preconditioner must be symmetric positive definite, got d^T A d <= 0 up to \
                 iteration {}: use Minres, or a method for any matrix",
                watch.iterations
            );
            return Err(SparseError::invalid(OP, message));
        }
        if ends {
            return Ok(x);
        }
        open = system.open(&size);
        let z = system.precondition(&residual)?;
        let next = dot(&residual, &z);
        direction = z + direction * ratio(next.clone(), rz);
        rz = next;
    }
}
