//! Conjugate gradients squared and a smooth form of them, for any square matrix.

use super::pass::Pass;
use super::system::{Point, System};
use super::vectors::{Vectors, dot, norm, ratio, shadow};
use super::watch::Watch;
use sparse_ops::Result;

/// Sonneveld 1989, preconditioned on the right. Another attempt has another shadow.
pub fn cgs(system: &System<'_>, point: Point, attempt: usize, watch: &mut Watch<'_>) -> Result<Vectors> {
    let Point { mut x, mut residual, .. } = point;
    let shadow = shadow(attempt, &residual);
    let (mut open, mut rho) = (system.open(&norm(&residual)), dot(&shadow, &residual));
    let (mut u, mut direction) = (residual.clone(), residual.clone());
    loop {
        let image = system.apply(&system.precondition(&direction)?)?;
        let alpha = ratio(rho.clone(), dot(&shadow, &image)) * open;
        let mut pass = Pass::default();
        let [own, image] = [u, image].map(|vector| pass.vector(vector));
        let q = pass.add(own, alpha.clone().neg(), image);
        let both = pass.add(own, alpha.ones_like(), q);
        let ([q, both], []) = pass.run([q, both], []);
        let near = system.precondition(&both)?;
        let mut pass = Pass::default();
        let [old, own, image, near, other] =
            [x, residual, system.apply(&near)?, near, shadow.clone()].map(|vector| pass.vector(vector));
        let old = pass.add(old, alpha.clone(), near);
        let own = pass.add(own, alpha.clone().neg(), image);
        let sums;
        ([x, residual], sums) = pass.run([old, own], [[own, own], [other, own]]);
        let [square, next] = sums;
        let size = square.sqrt();
        if watch.ends_or_sticks(&size, &alpha.abs(), |moved| moved == 0.0) {
            return Ok(x);
        }
        open = system.open(&size);
        let beta = ratio(next.clone(), rho);
        let mut pass = Pass::default();
        let [own, q, way] = [residual.clone(), q, direction].map(|vector| pass.vector(vector));
        let new = pass.add(own, beta.clone(), q);
        let way = pass.add(q, beta.clone(), way);
        let way = pass.add(new, beta, way);
        ([u, direction], []) = pass.run([new, way], []);
        rho = next;
    }
}

/// Quasi-minimal residuals without the transpose (Freund 1993), preconditioned on the right. An iteration is two of its
/// half steps. The residual that it looks at is a bound from above.
pub fn tfqmr(system: &System<'_>, point: Point, attempt: usize, watch: &mut Watch<'_>) -> Result<Vectors> {
    let Point { mut x, residual, .. } = point;
    let shadow = shadow(attempt, &residual);
    let (mut tau, mut rho) = (norm(&residual), dot(&shadow, &residual));
    let mut open = system.open(&tau);
    // The direction itself is used only through the preconditioner, which is linear.
    let (mut u, mut w, mut direction) = (residual.clone(), residual.clone(), residual.zeros_like());
    let mut near = system.precondition(&u)?;
    let mut u_image = system.apply(&near)?;
    let mut v = u_image.clone();
    let (mut theta, mut eta, mut halves) = (tau.zeros_like(), tau.zeros_like(), 0.0);
    loop {
        let alpha = ratio(rho.clone(), dot(&shadow, &v)) * open.clone();
        let mut moved = alpha.zeros_like();
        for second in [false, true] {
            if second {
                let mut pass = Pass::default();
                let [own, way] = [u, v.clone()].map(|vector| pass.vector(vector));
                let next = pass.add(own, alpha.clone().neg(), way);
                ([u], []) = pass.run([next], []);
                near = system.precondition(&u)?;
                u_image = system.apply(&near)?;
            }
            let share = ratio(theta.clone().powi_scalar(2) * eta.clone(), alpha.clone());
            let mut pass = Pass::default();
            let [left, way, own, old] = [w, u_image.clone(), near.clone(), direction].map(|vector| pass.vector(vector));
            let left = pass.add(left, alpha.clone().neg(), way);
            let way = pass.add(own, share, old);
            let square;
            ([w, direction], [square]) = pass.run([left, way], [[left, left]]);
            theta = ratio(square.sqrt(), tau.clone());
            let cos = (theta.clone().powi_scalar(2) + 1.0).sqrt().recip();
            tau = tau * theta.clone() * cos.clone();
            eta = cos.powi_scalar(2) * alpha.clone();
            moved = moved + eta.clone().abs();
            let mut pass = Pass::default();
            let [old, way] = [x, direction.clone()].map(|vector| pass.vector(vector));
            let old = pass.add(old, eta.clone(), way);
            ([x], []) = pass.run([old], []);
            halves += 1.0;
        }
        let size = tau.clone() * f64::sqrt(halves + 1.0);
        if watch.ends_or_sticks(&size, &moved, |moved| moved == 0.0) {
            return Ok(x);
        }
        open = system.open(&size);
        let next = dot(&shadow, &w);
        let beta = ratio(next.clone(), rho);
        rho = next;
        let mut pass = Pass::default();
        let [left, own] = [w.clone(), u].map(|vector| pass.vector(vector));
        let own = pass.add(left, beta.clone(), own);
        ([u], []) = pass.run([own], []);
        near = system.precondition(&u)?;
        let new = system.apply(&near)?;
        let mut pass = Pass::default();
        let [own, old, way] = [new.clone(), u_image, v].map(|vector| pass.vector(vector));
        let way = pass.add(old, beta.clone(), way);
        let way = pass.add(own, beta, way);
        ([v], []) = pass.run([way], []);
        u_image = new;
    }
}
