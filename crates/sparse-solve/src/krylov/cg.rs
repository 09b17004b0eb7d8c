//! Conjugate gradients, for symmetric positive definite matrices.

use super::pass::Pass;
use super::system::{Point, System};
use super::vectors::{Vectors, dot, indicator, norm, ratio};
use super::watch::Watch;
use sparse_ops::Result;

const ASKED: &str = "the matrix and the preconditioner must be symmetric positive definite (use Minres, or a method \
                     for any matrix), got d^T A d <= 0";

/// Hestenes and Stiefel 1952, with a preconditioner.
pub fn sweep(system: &System<'_>, point: Point, watch: &mut Watch<'_>) -> Result<Vectors> {
    let Point { mut x, mut residual, .. } = point;
    let scaling = system.scaling();
    let mut direction = match scaling {
        Some(scaling) => scaling.of(residual.clone()),
        None => system.precondition(&residual)?,
    };
    let (mut size, mut rz) = (norm(&residual), dot(&residual, &direction));
    let mut open = system.open(&size);
    // Counts iterations in which the matrix is not positive definite. The largest number of `b` is 1 here. Squares of
    // far smaller ones may underflow, which is no sign of it.
    let mut indefinite = rz.zeros_like();
    loop {
        let image = system.apply(&direction)?;
        let curvature = dot(&direction, &image);
        let told = open.clone() * indicator(size.greater_elem(1e-15), &open);
        indefinite = indefinite + indicator(curvature.clone().lower_equal_elem(0.0), &open) * told;
        let length = ratio(rz.clone(), curvature) * open.clone();
        let mut pass = Pass::default();
        let [own, image] = [residual, image].map(|vector| pass.vector(vector));
        let own = pass.add(own, length.clone().neg(), image);
        let mut next;
        match scaling {
            Some(scaling) => {
                let near = scaling.times(&mut pass, own);
                let squares;
                ([residual], squares) = pass.run([own], [[own, own], [own, near]]);
                size = squares[0].clone().sqrt();
                [_, next] = squares;
            }
            None => {
                ([residual], [next]) = pass.run([own], [[own, own]]);
                size = next.clone().sqrt();
            }
        }
        // The point waits for the next direction, so that a direction is read once for both.
        let mut pass = Pass::default();
        let [old, way] = [x, direction].map(|vector| pass.vector(vector));
        let old = pass.add(old, length, way);
        if watch.ends_unless(&size, &indefinite, ASKED) {
            let ([x], []) = pass.run([old], []);
            return Ok(x);
        }
        open = system.open(&size);
        let near = match scaling {
            Some(scaling) => {
                let own = pass.vector(residual.clone());
                scaling.times(&mut pass, own)
            }
            None => {
                let z = system.precondition(&residual)?;
                if system.is_preconditioned() {
                    next = dot(&residual, &z);
                }
                pass.vector(z)
            }
        };
        let way = pass.add(near, ratio(next.clone(), rz), way);
        ([x, direction], []) = pass.run([old, way], []);
        rz = next;
    }
}
