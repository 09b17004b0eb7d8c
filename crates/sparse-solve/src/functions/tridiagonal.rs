//! Eigenvalues and eigenvectors of symmetric tridiagonal matrices.

/// Eigenvalues, and an eigenvector of length 1 for each. `beside` has one number fewer than `diagonal`. `None` if an
/// eigenvalue is not found in 50 rotations. (Implicit QL: Bowdler, Martin, Reinsch and Wilkinson 1968.) A number beside
/// the diagonal that is small next to it is not dropped at once: a function may be large where it leads.
pub fn eigen(diagonal: &[f64], beside: &[f64]) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
    let n = diagonal.len();
    let (mut d, mut e) = (diagonal.to_vec(), beside.to_vec());
    e.push(0.0);
    let mut vectors: Vec<Vec<f64>> = (0..n).map(|k| (0..n).map(|i| f64::from(u8::from(i == k))).collect()).collect();
    for low in 0..n {
        let mut found = false;
        for round in 0..50 {
            let share = f64::EPSILON.powi(if round < 25 { 3 } else { 1 });
            let is_small = |k: usize| e[k].abs() <= share * (d[k].abs() + d[k + 1].abs());
            let high = (low..n - 1).find(|&k| is_small(k)).unwrap_or(n - 1);
            if high == low {
                found = true;
                break;
            }
            let half = (d[low + 1] - d[low]) / (2.0 * e[low]);
            let mut g = d[high] - d[low] + e[low] / (half + half.hypot(1.0).copysign(half));
            let (mut sin, mut cos, mut p) = (1.0, 1.0, 0.0);
            let mut whole = true;
            for k in (low..high).rev() {
                let (f, b) = (sin * e[k], cos * e[k]);
                let r = f.hypot(g);
                e[k + 1] = r;
                if r == 0.0 {
                    d[k + 1] -= p;
                    e[high] = 0.0;
                    whole = false;
                    break;
                }
                (sin, cos) = (f / r, g / r);
                g = d[k + 1] - p;
                let r = (d[k] - g) * sin + 2.0 * cos * b;
                p = sin * r;
                d[k + 1] = g + p;
                g = cos * r - b;
                let (left, right) = vectors.split_at_mut(k + 1);
                for (x, y) in left[k].iter_mut().zip(&mut right[0]) {
                    (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
                }
            }
            if whole {
                d[low] -= p;
                e[low] = g;
                e[high] = 0.0;
            }
        }
        if !found {
            return None;
        }
    }
    Some((d, vectors))
}

#[cfg(test)]
mod tests {
    use super::eigen;

    #[test]
    fn pairs_of_random_matrices() {
        for n in [1usize, 2, 3, 8, 40] {
            let number = |k: usize| (k as f64 * 12.9898).sin() * 3.0;
            let d: Vec<f64> = (0..n).map(number).collect();
            // Some of them zero: then it falls apart.
            let e: Vec<f64> = (0..n - 1).map(|k| if k % 5 == 3 { 0.0 } else { number(k + 100) }).collect();
            let (values, vectors) = eigen(&d, &e).unwrap();
            for (a, x) in vectors.iter().enumerate() {
                for row in 0..n {
                    let above = if row > 0 { e[row - 1] * x[row - 1] } else { 0.0 };
                    let below = if row + 1 < n { e[row] * x[row + 1] } else { 0.0 };
                    let residual: f64 = d[row] * x[row] + above + below - values[a] * x[row];
                    assert!(residual.abs() < 1e-12, "{n} {a} {row}: {residual:e}");
                }
                for (b, y) in vectors.iter().enumerate() {
                    let dot: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
                    assert!((dot - f64::from(u8::from(a == b))).abs() < 1e-12, "{n} {a} {b}: {dot}");
                }
            }
        }
        assert_eq!(eigen(&[1.0, f64::NAN], &[1.0]), None);
    }
}
