//! Stabilised bi-conjugate gradients, for any square matrix.

use super::pass::Pass;
use super::system::{Point, System};
use super::vectors::{Vectors, dot, norm, ratio, shadow};
use super::watch::Watch;
use sparse_ops::Result;

/// Van der Vorst 1992, preconditioned on the right.
///
/// The first attempt has the residual as its shadow. Where that breaks down (as it does if `r^T A r = 0`), another one
/// has a random vector.
pub fn sweep(system: &System<'_>, point: Point, attempt: usize, watch: &mut Watch<'_>) -> Result<Vectors> {
    let Point { mut x, mut residual, .. } = point;
    let shadow = shadow(attempt, &residual);
    let (size, mut rho) = (norm(&residual), dot(&shadow, &residual));
    let mut direction = residual.clone();
    let mut open = system.open(&size);
    loop {
        let near = system.precondition(&direction)?;
        let image = system.apply(&near)?;
        let alpha = ratio(rho.clone(), dot(&shadow, &image)) * open.clone();
        let mut pass = Pass::default();
        let [own, way] = [residual, image.clone()].map(|vector| pass.vector(vector));
        let half = pass.add(own, alpha.clone().neg(), way);
        let ([half], []) = pass.run([half], []);
        let near_half = system.precondition(&half)?;
        let half_image = system.apply(&near_half)?;
        let mut pass = Pass::default();
        let [own, way] = [half.clone(), half_image.clone()].map(|vector| pass.vector(vector));
        let ([], [along, square]) = pass.run([], [[way, own], [way, way]]);
        let omega = ratio(along, square) * open;
        let mut pass = Pass::default();
        let [old, near, near_half, half, way, other] =
            [x, near, near_half, half, half_image, shadow.clone()].map(|vector| pass.vector(vector));
        let old = pass.add(old, alpha.clone(), near);
        let old = pass.add(old, omega.clone(), near_half);
        let own = pass.add(half, omega.clone().neg(), way);
        let squares;
        ([x, residual], squares) = pass.run([old, own], [[own, own], [other, own]]);
        let [square, next] = squares;
        let size = square.sqrt();
        // A column whose two lengths are 0 does the same for ever.
        let moved = alpha.clone().abs() + omega.clone().abs();
        if watch.ends_or_sticks(&size, &moved, |moved| moved == 0.0) {
            return Ok(x);
        }
        open = system.open(&size);
        let beta = ratio(next.clone(), rho) * ratio(alpha, omega.clone());
        let mut pass = Pass::default();
        let [own, way, image] = [residual.clone(), direction, image].map(|vector| pass.vector(vector));
        let way = pass.add(way, omega.neg(), image);
        let way = pass.add(own, beta, way);
        ([direction], []) = pass.run([way], []);
        rho = next;
    }
}
