//! Bi-conjugate gradients, for any square matrix with a transposed product.

use super::pass::Pass;
use super::system::{Point, System};
use super::vectors::{Vectors, dot, norm, ratio, shadow};
use super::watch::Watch;
use sparse_ops::Result;

/// Fletcher 1976. Another attempt has another shadow.
pub fn sweep(system: &System<'_>, point: Point, attempt: usize, watch: &mut Watch<'_>) -> Result<Vectors> {
    let Point { mut x, mut residual, .. } = point;
    let mut other = shadow(attempt, &residual);
    let (mut direction, mut other_way) = (system.precondition(&residual)?, system.precondition_transposed(&other)?);
    let (mut open, mut rho) = (system.open(&norm(&residual)), dot(&direction, &other));
    loop {
        let image = system.apply(&direction)?;
        let alpha = ratio(rho.clone(), dot(&other_way, &image)) * open;
        let back = alpha.clone().neg();
        let mut pass = Pass::default();
        let [old, own, far, way, image, other_image] =
            [x, residual, other, direction.clone(), image, system.apply_transposed(&other_way)?]
                .map(|vector| pass.vector(vector));
        let old = pass.add(old, alpha.clone(), way);
        let own = pass.add(own, back.clone(), image);
        let far = pass.add(far, back, other_image);
        let square;
        ([x, residual, other], [square]) = pass.run([old, own, far], [[own, own]]);
        let size = square.sqrt();
        if watch.ends_or_sticks(&size, &alpha.abs(), |moved| moved == 0.0) {
            return Ok(x);
        }
        open = system.open(&size);
        let near = system.precondition(&residual)?;
        let next = dot(&near, &other);
        let beta = ratio(next.clone(), rho);
        let mut pass = Pass::default();
        let [near, way, far, far_way] =
            [near, direction, system.precondition_transposed(&other)?, other_way].map(|vector| pass.vector(vector));
        let way = pass.add(near, beta.clone(), way);
        let far_way = pass.add(far, beta, far_way);
        ([direction, other_way], []) = pass.run([way, far_way], []);
        rho = next;
    }
}
