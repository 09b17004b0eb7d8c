//! Bounds of the eigenvalues of a symmetric matrix.

use crate::krylov::vectors::{Vectors, apply, dot, largest, norm, random, ratio, read, unit};
use crate::operator::LinearOperator;
use burn::tensor::Tensor;
use sparse_ops::Result;

/// The least and the largest eigenvalue that `steps` steps of Lanczos (1950) see: bounds from inside. `like`
/// `[1, n, 1]` has the device and the dtype. One read. `None` if numbers are not finite.
pub fn extremes(a: &dyn LinearOperator, like: &Vectors, steps: usize) -> Result<Option<[f64; 2]>> {
    let [_, n, _] = like.dims();
    let (mut last, mut v) = (like.zeros_like(), unit(random(1, n, like)).0);
    let (mut alphas, mut betas) = (vec![], vec![]);
    for step in 0..steps.min(n) {
        let mut w = apply(a, &v)?;
        if step > 0 {
            let beta: &Vectors = &betas[step - 1];
            w = w - last * beta.clone();
        }
        let alpha = dot(&w, &v);
        w = w - v.clone() * alpha.clone();
        alphas.push(alpha);
        // Divided by its size, since a square may not fit where the number does.
        let most = largest(&w);
        let share = w * ratio(most.ones_like(), most.clone());
        betas.push(norm(&share) * most);
        last = v;
        v = unit(share).0;
    }
    let [alphas, betas] = [alphas, betas].map(|list| Tensor::cat(list, 2));
    let [alphas, betas] = read([&alphas, &betas]);
    if alphas.iter().chain(&betas).any(|number| !number.is_finite()) {
        return Ok(None);
    }
    // What follows a direction without length is of another start, and rounding.
    let size = alphas.iter().chain(&betas).fold(0.0f64, |most, number| most.max(number.abs()));
    let least = size * 1e-6;
    let count = betas.iter().position(|beta| *beta <= least).map_or(alphas.len(), |at| at + 1);
    // A power of 2, so that no digit is lost: squares of very small or large numbers would be 0 or infinite.
    let power = if size == 0.0 { 1.0 } else { size.log2().floor().max(-1000.0).exp2() };
    let share = |list: &[f64]| list.iter().map(|number| number / power).collect::<Vec<_>>();
    Ok(Some(of_tridiagonal(&share(&alphas[..count]), &share(&betas[..count - 1])).map(|bound| bound * power)))
}

/// The least and the largest eigenvalue of a symmetric tridiagonal matrix, by bisection with Sturm's count.
fn of_tridiagonal(diagonal: &[f64], beside: &[f64]) -> [f64; 2] {
    let below = |x: f64| {
        let (mut count, mut pivot) = (0, 1.0f64);
        for (k, own) in diagonal.iter().enumerate() {
            let square = if k == 0 { 0.0 } else { beside[k - 1] * beside[k - 1] };
            pivot = own - x - square / if pivot == 0.0 { f64::MIN_POSITIVE } else { pivot };
            count += usize::from(pivot < 0.0);
        }
        count
    };
    // Gershgorin's circles.
    let radius = |k: usize| k.checked_sub(1).map_or(0.0, |k| beside[k].abs()) + beside.get(k).map_or(0.0, |b| b.abs());
    let all = || diagonal.iter().enumerate();
    let low = all().map(|(k, own)| own - radius(k)).fold(f64::INFINITY, f64::min);
    let high = all().map(|(k, own)| own + radius(k)).fold(f64::NEG_INFINITY, f64::max);
    // The point from which on at least so many eigenvalues lie below.
    [1, diagonal.len()].map(|count| {
        let [mut from, mut to] = [low, high];
        for _ in 0..80 {
            let middle = from + (to - from) / 2.0;
            if below(middle) >= count { to = middle } else { from = middle }
        }
        to
    })
}

#[cfg(test)]
mod tests {
    use super::of_tridiagonal;

    /// Of second differences `2 - 2 cos(k pi / (n + 1))`.
    #[test]
    fn eigenvalues_that_are_known() {
        for n in [1usize, 2, 7, 20] {
            let got = of_tridiagonal(&vec![2.0; n], &vec![-1.0; n - 1]);
            let want = |k: usize| 2.0 - 2.0 * (k as f64 * std::f64::consts::PI / (n + 1) as f64).cos();
            for (got, want) in got.into_iter().zip([want(1), want(n)]) {
                assert!((got - want).abs() < 1e-12, "{got} {want}");
            }
        }
        let [least, most] = of_tridiagonal(&[3.0, -1.0], &[0.0]);
        assert!((least + 1.0).abs() < 1e-12 && (most - 3.0).abs() < 1e-12, "{least} {most}");
    }
}
