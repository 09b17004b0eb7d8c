//! The next point of a fixed-point iteration.

use crate::krylov::vectors::{Vectors, eps, evened};
use sparse_ops::extend::{Exact, read_data};
use std::collections::VecDeque;

/// Anderson's mixing (Anderson 1965; Walker and Ni 2011, type II) of the last points; without a window, Picard's
/// iteration. Points and residuals are `[1, n, 1]`.
pub struct Mixing {
    window: usize,
    damping: f64,
    last: Option<(Vectors, Vectors)>,
    /// Differences of points and of residuals, the oldest first.
    differences: VecDeque<(Vectors, Vectors)>,
}

impl Mixing {
    pub fn new(window: usize, damping: f64) -> Self {
        Self { window, damping, last: None, differences: VecDeque::new() }
    }

    /// The point after `u`, whose residual is `G(u) - u`: the one that would be reached from the mixture of the last
    /// points whose residual, if they were linear, is the smallest.
    pub fn next(&mut self, u: &Vectors, residual: &Vectors) -> Vectors {
        let plain = u.clone() + residual.clone().mul_scalar(self.damping);
        if self.window == 0 {
            return plain;
        }
        if let Some((old, old_residual)) = self.last.replace((u.clone(), residual.clone())) {
            self.differences.push_back((u.clone() - old, residual.clone() - old_residual));
            if self.differences.len() > self.window {
                self.differences.pop_front();
            }
        }
        if self.differences.is_empty() {
            return plain;
        }
        let factors = self.factors(residual);
        self.differences.iter().zip(factors).filter(|(_, factor)| *factor != 0.0).fold(
            plain,
            |sum, ((step, change), factor)| {
                sum - (step.clone() + change.clone().mul_scalar(self.damping)).mul_scalar(factor)
            },
        )
    }

    /// The factors of the differences of residuals whose sum is nearest to `residual`.
    fn factors(&self, residual: &Vectors) -> Vec<f64> {
        let m = self.differences.len();
        let all = self.differences.iter().map(|(_, change)| change.clone()).chain([residual.clone()]).collect();
        let all = burn::tensor::Tensor::cat(all, 0);
        let [count, n, _] = all.dims();
        let (rows, most) = evened(&all);
        let rows = rows.reshape(Exact([count, n]));
        let products = read_data(rows.clone().matmul(rows.swap_dims(0, 1))).convert::<f64>();
        let products: Vec<f64> = products.iter().collect();
        let most: Vec<f64> = read_data(most).convert::<f64>().iter().collect();
        let epsilon = eps(residual.dtype());
        let matrix = |i: usize, j: usize| products[i * count + j];
        let right: Vec<f64> = (0..m).map(|i| matrix(i, m)).collect();
        let solved = least_squares(m, matrix, &right, 10.0 * m as f64 * epsilon);
        solved.into_iter().zip(&most).map(|(factor, own)| factor * most[m] / own).collect()
    }
}

/// Solves the normal equations `G x = right` of order `m` by Cholesky's factors of `S G S + ridge`, where `S` makes the
/// diagonal 1. A direction without length gets 0.
fn least_squares(m: usize, matrix: impl Fn(usize, usize) -> f64, right: &[f64], ridge: f64) -> Vec<f64> {
    let scale: Vec<f64> =
        (0..m).map(|i| matrix(i, i)).map(|own| if own > 0.0 { own.sqrt().recip() } else { 0.0 }).collect();
    let mut factor = vec![0.0; m * m];
    let mut x = vec![0.0; m];
    for i in 0..m {
        for j in 0..=i {
            let own = if i == j { 1.0 + ridge } else { matrix(i, j) * scale[i] * scale[j] };
            let rest = (0..j).fold(own, |rest, k| rest - factor[i * m + k] * factor[j * m + k]);
            // Rounding of the products may be more than the ridge.
            factor[i * m + j] = if i == j { rest.max(ridge).sqrt() } else { rest / factor[j * m + j] };
        }
        let rest = (0..i).fold(right[i] * scale[i], |rest, k| rest - factor[i * m + k] * x[k]);
        x[i] = rest / factor[i * m + i];
    }
    for i in (0..m).rev() {
        let rest = (i + 1..m).fold(x[i], |rest, k| rest - factor[k * m + i] * x[k]);
        x[i] = rest / factor[i * m + i];
    }
    x.iter().zip(scale).map(|(x, scale)| x * scale).collect()
}

#[cfg(test)]
mod tests {
    use super::least_squares;

    #[test]
    fn solves_normal_equations_of_any_scale() {
        // Of [[1, 0], [1, 2]] with x = (3, -1): the second direction is scaled by 1e-8.
        let columns = [[1.0, 1.0], [0.0, 2e-8]];
        let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
        let right = [3.0, 3.0 - 2.0];
        let got = least_squares(2, |i, j| dot(columns[i], columns[j]), &columns.map(|own| dot(own, right)), 0.0);
        assert!((got[0] - 3.0).abs() < 1e-12 && (got[1] * 1e-8 + 1.0).abs() < 1e-12, "{got:?}");
        // The same direction twice, and none.
        let columns = [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]];
        let got = least_squares(3, |i, j| dot(columns[i], columns[j]), &columns.map(|own| dot(own, [2.0, 2.0])), 1e-12);
        assert!((got[0] + got[1] - 2.0).abs() < 1e-6 && got[2] == 0.0, "{got:?}");
    }
}
