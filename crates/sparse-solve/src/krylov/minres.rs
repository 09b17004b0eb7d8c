//! Minimal residuals, for symmetric matrices.

use super::pass::Pass;
use super::system::{Point, System};
use super::vectors::{Vectors, dot, hypot, indicator, norm, ratio};
use super::watch::Watch;
use sparse_ops::Result;

const ASKED: &str = "the preconditioner must be symmetric positive definite, got r^T M r < 0";

/// Paige and Saunders 1975; the preconditioner must be positive definite.
pub fn sweep(system: &System<'_>, point: Point, watch: &mut Watch<'_>) -> Result<Vectors> {
    let Point { mut x, residual, .. } = point;
    let (size, mut after) = (norm(&residual), system.precondition(&residual)?);
    let squared = dot(&residual, &after);
    // Counts products with the preconditioner that are negative, by more than rounding.
    let rounding = |own: &Vectors, after: &Vectors| norm(own) * norm(after) * -1e-3;
    let mut negative = indicator(squared.clone().lower(rounding(&residual, &after)), &squared) * system.open(&size);
    let first = squared.clamp_min(0.0).sqrt();
    // The residual is measured in the norm of the preconditioner: by its share of the first one.
    let per_unit = ratio(size.clone(), first.clone());
    let (zero, mut beta, mut left) = (first.zeros_like(), first.clone(), first);
    let (mut old_beta, mut delta_bar, mut epsilon) = (zero.clone(), zero.clone(), zero.clone());
    let (mut cos, mut sin) = (zero.ones_like().neg(), zero);
    let (mut before, mut own) = (residual.zeros_like(), residual);
    let (mut w, mut w_before) = (x.zeros_like(), x.zeros_like());
    let mut open = system.open(&size);
    loop {
        let v = after * ratio(beta.ones_like(), beta.clone());
        let mut pass = Pass::default();
        let [image, old, own_unit] = [system.apply(&v)?, before, v.clone()].map(|vector| pass.vector(vector));
        let image = pass.add(image, ratio(beta.clone(), old_beta).neg(), old);
        let ([image], [alpha]) = pass.run([image], [[own_unit, image]]);
        let mut pass = Pass::default();
        let [image, last] = [image, own.clone()].map(|vector| pass.vector(vector));
        let image = pass.add(image, ratio(alpha.clone(), beta.clone()).neg(), last);
        let ([image], []) = pass.run([image], []);
        before = std::mem::replace(&mut own, image);
        after = system.precondition(&own)?;
        old_beta = beta;
        let squared = dot(&own, &after);
        if system.is_preconditioned() {
            negative = negative + indicator(squared.clone().lower(rounding(&own, &after)), &squared) * open.clone();
        }
        beta = squared.clamp_min(0.0).sqrt();
        let delta = cos.clone() * delta_bar.clone() + sin.clone() * alpha.clone();
        let gamma_bar = sin.clone() * delta_bar - cos.clone() * alpha;
        let old_epsilon = std::mem::replace(&mut epsilon, sin * beta.clone());
        delta_bar = cos.neg() * beta.clone();
        let gamma = hypot(&gamma_bar, &beta);
        cos = ratio(gamma_bar, gamma.clone());
        sin = ratio(beta.clone(), gamma.clone());
        let step = cos.clone() * left.clone() * open.clone();
        left = left * sin.clone();
        let mut pass = Pass::default();
        let [v, old, last, point] = [v, w_before, w.clone(), x].map(|vector| pass.vector(vector));
        let next = pass.add(v, old_epsilon.neg(), old);
        let next = pass.add(next, delta.neg(), last);
        let next = pass.add(None, ratio(gamma.ones_like(), gamma), next);
        let point = pass.add(point, step, next);
        w_before = w;
        ([w, x], []) = pass.run([next, point], []);
        let size = left.clone().abs() * per_unit.clone();
        if watch.ends_unless(&size, &negative, ASKED) {
            return Ok(x);
        }
        open = system.open(&size);
    }
}
