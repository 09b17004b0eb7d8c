//! Bi-conjugate gradients and a smooth form of them, for any square matrix with a transposed product.

use super::pass::Pass;
use super::system::{Point, System};
use super::vectors::{Numbers, Vectors, dot, norm, ratio, shadow};
use super::watch::Watch;
use sparse_ops::Result;

/// Fletcher 1976. Another attempt has another shadow. With `smooth` the points of quasi-minimal residuals.
pub fn sweep(
    system: &System<'_>,
    point: Point,
    (attempt, smooth): (usize, bool),
    watch: &mut Watch<'_>,
) -> Result<Vectors> {
    let Point { mut x, mut residual, .. } = point;
    let mut smoothed = smooth.then(|| Smoothed { x: x.clone(), residual: residual.clone(), tau: norm(&residual) });
    let mut other = shadow(attempt, &residual);
    let (mut direction, mut other_way) = (system.precondition(&residual)?, system.precondition_transposed(&other)?);
    let (mut open, mut rho) = (system.open(&norm(&residual)), dot(&direction, &other));
    loop {
        let image = system.apply(&direction)?;
        let alpha = ratio(rho.clone(), dot(&other_way, &image)) * open.clone();
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
        let mut size = square.sqrt();
        if let Some(own) = smoothed {
            let next;
            (next, size) = own.step(&x, &residual, size, open);
            smoothed = Some(next);
        }
        if watch.ends_or_sticks(&size, &alpha.abs(), |moved| moved == 0.0) {
            return Ok(smoothed.map_or(x, |own| own.x));
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

/// A mean of all points, each with the inverse square of the length of its residual as weight: its residual is the
/// quasi-minimal one.
///
/// Source: Zhou and Walker, *Residual smoothing techniques for iterative methods*, SISC 1994.
struct Smoothed {
    x: Vectors,
    residual: Vectors,
    /// One over the root of the sum of the weights.
    tau: Numbers,
}

impl Smoothed {
    /// With one more point, where a column is open; and the length of the residual.
    fn step(self, x: &Vectors, residual: &Vectors, size: Numbers, open: Numbers) -> (Self, Numbers) {
        let theta = ratio(size, self.tau.clone());
        let share = (theta.clone().powi_scalar(2) + 1.0).recip();
        // A point of no weight leaves it, also where the square of `theta` is infinite.
        let none = share.clone().equal_elem(0.0);
        let tau = (self.tau.clone() * theta * share.clone().sqrt()).mask_where(none, self.tau);
        let share = share * open;
        let rest = share.clone().neg() + 1.0;
        let mut pass = Pass::default();
        let [old, own, new, left] =
            [self.x, self.residual, x.clone(), residual.clone()].map(|vector| pass.vector(vector));
        let old = pass.add(None, rest.clone(), old);
        let old = pass.add(old, share.clone(), new);
        let own = pass.add(None, rest, own);
        let own = pass.add(own, share, left);
        let ([x, residual], [square]) = pass.run([old, own], [[own, own]]);
        (Self { x, residual, tau }, square.sqrt())
    }
}
