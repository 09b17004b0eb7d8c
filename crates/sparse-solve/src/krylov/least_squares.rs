//! Least squares, for matrices of any shape. The residual of a method is that of the normal equations, `A^T (b - A x)`.

use super::system::{Point, System};
use super::vectors::{Numbers, Vectors, dot, hypot, norm, ratio};
use super::watch::Watch;
use sparse_ops::Result;

/// Conjugate gradients on the normal equations (Hestenes and Stiefel 1952). The preconditioner is one of `A^T A`.
pub fn cgls(system: &System<'_>, Point { mut x, mut residual }: Point, watch: &mut Watch<'_>) -> Result<Vectors> {
    let normal = system.apply_transposed(&residual)?;
    let mut open = system.open(&norm(&normal));
    let z = system.precondition(&normal)?;
    let (mut gamma, mut direction) = (dot(&normal, &z), z);
    loop {
        let image = system.apply(&direction)?;
        let length = ratio(gamma.clone(), dot(&image, &image)) * open.clone();
        x = x + direction.clone() * length.clone();
        residual = residual - image * length;
        let normal = system.apply_transposed(&residual)?;
        let size = norm(&normal);
        if watch.ends(&size)? {
            return Ok(x);
        }
        open = system.open(&size);
        let z = system.precondition(&normal)?;
        let next = dot(&normal, &z);
        direction = z + direction * ratio(next.clone(), gamma);
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

/// A vector of length 1 and its length before; 0 stays 0.
fn unit(x: Vectors) -> (Vectors, Numbers) {
    let size = norm(&x);
    (x * ratio(size.ones_like(), size.clone()), size)
}

impl Bidiagonal {
    fn new(system: &System<'_>, residual: Vectors) -> Result<Self> {
        let (u, beta) = unit(residual);
        let (v, alpha) = unit(system.apply_transposed(&u)?);
        Ok(Self { u, v, alpha, beta })
    }

    fn step(&mut self, system: &System<'_>) -> Result<()> {
        (self.u, self.beta) = unit(system.apply(&self.v)? - self.u.clone() * self.alpha.clone());
        (self.v, self.alpha) = unit(system.apply_transposed(&self.u)? - self.v.clone() * self.beta.clone());
        Ok(())
    }
}

/// Paige and Saunders 1982.
pub fn lsqr(system: &System<'_>, Point { mut x, residual }: Point, watch: &mut Watch<'_>) -> Result<Vectors> {
    let mut lines = Bidiagonal::new(system, residual)?;
    let (mut w, mut phi_bar, mut rho_bar) = (lines.v.clone(), lines.beta.clone(), lines.alpha.clone());
    let mut open = system.open(&(phi_bar.clone() * rho_bar.clone()));
    loop {
        lines.step(system)?;
        let rho = hypot(&rho_bar, &lines.beta);
        let (cos, sin) = (ratio(rho_bar, rho.clone()), ratio(lines.beta.clone(), rho.clone()));
        let theta = sin.clone() * lines.alpha.clone();
        rho_bar = cos.clone().neg() * lines.alpha.clone();
        let phi = cos.clone() * phi_bar.clone();
        phi_bar = sin * phi_bar;
        x = x + w.clone() * (ratio(phi, rho.clone()) * open);
        w = lines.v.clone() - w * ratio(theta, rho);
        let size = phi_bar.clone() * lines.alpha.clone() * cos.abs();
        if watch.ends(&size)? {
            return Ok(x);
        }
        open = system.open(&size);
    }
}

/// Fong and Saunders 2011.
pub fn lsmr(system: &System<'_>, Point { mut x, residual }: Point, watch: &mut Watch<'_>) -> Result<Vectors> {
    let mut lines = Bidiagonal::new(system, residual)?;
    let (mut h, mut h_bar) = (lines.v.clone(), lines.v.zeros_like());
    let mut zeta_bar = lines.alpha.clone() * lines.beta.clone();
    let mut open = system.open(&zeta_bar);
    let (mut alpha_bar, one) = (lines.alpha.clone(), zeta_bar.ones_like());
    let (mut rho, mut rho_bar, mut cos_bar, mut sin_bar) = (one.clone(), one.clone(), one, zeta_bar.zeros_like());
    loop {
        lines.step(system)?;
        let old_rho = std::mem::replace(&mut rho, hypot(&alpha_bar, &lines.beta));
        let (cos, sin) = (ratio(alpha_bar, rho.clone()), ratio(lines.beta.clone(), rho.clone()));
        let theta = sin * lines.alpha.clone();
        alpha_bar = cos * lines.alpha.clone();
        let theta_bar = sin_bar * rho.clone();
        let own = cos_bar * rho.clone();
        let old_rho_bar = std::mem::replace(&mut rho_bar, hypot(&own, &theta));
        cos_bar = ratio(own, rho_bar.clone());
        sin_bar = ratio(theta.clone(), rho_bar.clone());
        let zeta = cos_bar.clone() * zeta_bar.clone();
        zeta_bar = sin_bar.clone().neg() * zeta_bar;
        h_bar = h.clone() - h_bar * ratio(theta_bar * rho.clone(), old_rho * old_rho_bar);
        x = x + h_bar.clone() * (ratio(zeta, rho.clone() * rho_bar.clone()) * open);
        h = lines.v.clone() - h * ratio(theta, rho.clone());
        let size = zeta_bar.clone().abs();
        if watch.ends(&size)? {
            return Ok(x);
        }
        open = system.open(&size);
    }
}
