//! Least squares, for matrices of any shape. The residual of a method is that of the normal equations, `A^T (b - A x)`.

use super::pass::Pass;
use super::system::{Point, System};
use super::vectors::{Numbers, Vectors, dot, hypot, norm, ratio, unit};
use super::watch::Watch;
use sparse_ops::Result;

/// Conjugate gradients on the normal equations (Hestenes and Stiefel 1952). The preconditioner is one of `A^T A`.
pub fn cgls(system: &System<'_>, point: Point, watch: &mut Watch<'_>) -> Result<Vectors> {
    let Point { mut x, mut residual, normal } = point;
    let mut open = system.open_at(&norm(&normal), &norm(&residual));
    let z = system.precondition(&normal)?;
    let (mut gamma, mut direction) = (dot(&normal, &z), z);
    loop {
        let image = system.apply(&direction)?;
        let length = ratio(gamma.clone(), dot(&image, &image)) * open.clone();
        let mut pass = Pass::default();
        let [old, way] = [x, direction.clone()].map(|vector| pass.vector(vector));
        let old = pass.add(old, length.clone(), way);
        // 0 where the preconditioner maps what is left to nothing.
        let moved = length.clone();
        ([x], []) = pass.run([old], []);
        let mut pass = Pass::default();
        let [own, image] = [residual, image].map(|vector| pass.vector(vector));
        let own = pass.add(own, length.neg(), image);
        let square;
        ([residual], [square]) = pass.run([own], [[own, own]]);
        let normal = system.apply_transposed(&residual)?;
        let (size, left) = (norm(&normal), square.sqrt());
        if watch.ends_at(&size, &left, &moved) {
            return Ok(x);
        }
        open = system.open_at(&size, &left);
        let z = system.precondition(&normal)?;
        let next = dot(&normal, &z);
        let mut pass = Pass::default();
        let [near, way] = [z, direction].map(|vector| pass.vector(vector));
        let way = pass.add(near, ratio(next.clone(), gamma), way);
        ([direction], []) = pass.run([way], []);
        gamma = next;
    }
}

/// Golub and Kahan's bidiagonalisation: `A v = beta u + ..`, `A^T u = alpha v + ..`.
struct Bidiagonal {
    u: Vectors,
    v: Vectors,
    alpha: Numbers,
    beta: Numbers,
}

impl Bidiagonal {
    /// With `A^T residual`.
    fn new(residual: Vectors, normal: Vectors) -> Self {
        let (u, beta) = unit(residual);
        let (v, alpha) = unit(normal * ratio(beta.ones_like(), beta.clone()));
        Self { u, v, alpha, beta }
    }

    fn step(&mut self, system: &System<'_>) -> Result<()> {
        (self.u, self.beta) = unit(system.apply(&self.v)? - self.u.clone() * self.alpha.clone());
        (self.v, self.alpha) = unit(system.apply_transposed(&self.u)? - self.v.clone() * self.beta.clone());
        Ok(())
    }
}

/// Paige and Saunders 1982.
pub fn lsqr(system: &System<'_>, point: Point, watch: &mut Watch<'_>) -> Result<Vectors> {
    let (mut x, mut lines) = (point.x, Bidiagonal::new(point.residual, point.normal));
    let (mut w, mut phi_bar, mut rho_bar) = (lines.v.clone(), lines.beta.clone(), lines.alpha.clone());
    let mut open = system.open_at(&(phi_bar.clone() * rho_bar.clone()), &phi_bar);
    loop {
        lines.step(system)?;
        let rho = hypot(&rho_bar, &lines.beta);
        let (cos, sin) = (ratio(rho_bar, rho.clone()), ratio(lines.beta.clone(), rho.clone()));
        let theta = sin.clone() * lines.alpha.clone();
        rho_bar = cos.clone().neg() * lines.alpha.clone();
        let phi = cos.clone() * phi_bar.clone();
        phi_bar = sin * phi_bar;
        let moved = ratio(phi, rho.clone()) * open.clone();
        x = x + w.clone() * moved.clone();
        w = lines.v.clone() - w * ratio(theta, rho);
        let size = phi_bar.clone() * lines.alpha.clone() * cos.abs();
        if watch.ends_at(&size, &phi_bar, &moved) {
            return Ok(x);
        }
        // A column that skipped a step has left this recurrence, and stays until the next sweep.
        open = open * system.open_at(&size, &phi_bar);
    }
}

/// `|b - A x|` of Lsmr (Fong and Saunders 2011, section 5.1), whose names these are.
struct Length {
    beta: Numbers,
    beta_dot: Numbers,
    rho_dot: Numbers,
    theta: Numbers,
    tau: Numbers,
    zeta: Numbers,
}

impl Length {
    fn new(beta: &Numbers) -> Self {
        let zero = beta.zeros_like();
        let [beta_dot, theta, tau, zeta] = std::array::from_fn(|_| zero.clone());
        Self { beta: beta.clone(), beta_dot, rho_dot: zero.ones_like(), theta, tau, zeta }
    }

    fn step(&mut self, [cos, sin]: [Numbers; 2], theta_bar: &Numbers, rho_bar: &Numbers, zeta: &Numbers) -> Numbers {
        let beta_hat = cos * self.beta.clone();
        self.beta = sin.neg() * self.beta.clone();
        let rho = hypot(&self.rho_dot, theta_bar);
        let (cos, sin) = (ratio(self.rho_dot.clone(), rho.clone()), ratio(theta_bar.clone(), rho.clone()));
        let old_theta = std::mem::replace(&mut self.theta, sin.clone() * rho_bar.clone());
        self.rho_dot = cos.clone() * rho_bar.clone();
        self.beta_dot = cos * beta_hat - sin * self.beta_dot.clone();
        let old_zeta = std::mem::replace(&mut self.zeta, zeta.clone());
        self.tau = ratio(old_zeta - old_theta * self.tau.clone(), rho);
        let tau_dot = ratio(zeta.clone() - self.theta.clone() * self.tau.clone(), self.rho_dot.clone());
        hypot(&(self.beta_dot.clone() - tau_dot), &self.beta)
    }
}

/// Fong and Saunders 2011.
pub fn lsmr(system: &System<'_>, point: Point, watch: &mut Watch<'_>) -> Result<Vectors> {
    let (mut x, mut lines) = (point.x, Bidiagonal::new(point.residual, point.normal));
    let (mut h, mut h_bar) = (lines.v.clone(), lines.v.zeros_like());
    let mut zeta_bar = lines.alpha.clone() * lines.beta.clone();
    let mut open = system.open_at(&zeta_bar, &lines.beta);
    let mut length = Length::new(&lines.beta);
    let (mut alpha_bar, one) = (lines.alpha.clone(), zeta_bar.ones_like());
    let (mut rho, mut rho_bar, mut cos_bar, mut sin_bar) = (one.clone(), one.clone(), one, zeta_bar.zeros_like());
    loop {
        lines.step(system)?;
        let old_rho = std::mem::replace(&mut rho, hypot(&alpha_bar, &lines.beta));
        let (cos, sin) = (ratio(alpha_bar, rho.clone()), ratio(lines.beta.clone(), rho.clone()));
        let theta = sin.clone() * lines.alpha.clone();
        alpha_bar = cos.clone() * lines.alpha.clone();
        let theta_bar = sin_bar * rho.clone();
        let own = cos_bar * rho.clone();
        let old_rho_bar = std::mem::replace(&mut rho_bar, hypot(&own, &theta));
        cos_bar = ratio(own, rho_bar.clone());
        sin_bar = ratio(theta.clone(), rho_bar.clone());
        let zeta = cos_bar.clone() * zeta_bar.clone();
        zeta_bar = sin_bar.clone().neg() * zeta_bar;
        let left = length.step([cos, sin], &theta_bar, &rho_bar, &zeta);
        h_bar = h.clone() - h_bar * ratio(theta_bar * rho.clone(), old_rho * old_rho_bar);
        let moved = ratio(zeta, rho.clone() * rho_bar.clone()) * open.clone();
        x = x + h_bar.clone() * moved.clone();
        h = lines.v.clone() - h * ratio(theta, rho.clone());
        let size = zeta_bar.clone().abs();
        if watch.ends_at(&size, &left, &moved) {
            return Ok(x);
        }
        open = open * system.open_at(&size, &left);
    }
}
