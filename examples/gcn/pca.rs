//! Principal components by power iteration.

/// The first two principal components of `points` `[rows, dims]`, as `(x, y)` for each row. Two or fewer columns are
/// returned unchanged.
pub(crate) fn to_plane(points: &[f64], dims: usize) -> Vec<(f64, f64)> {
    if dims <= 2 {
        return points.chunks(dims.max(1)).map(|row| (row[0], row.get(1).copied().unwrap_or(0.0))).collect();
    }
    let rows = points.len() / dims;
    let mut mean = vec![0.0; dims];
    for row in points.chunks(dims) {
        mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += value / rows as f64);
    }
    let mut covariance = vec![0.0; dims * dims];
    for row in points.chunks(dims) {
        for i in 0..dims {
            for j in 0..dims {
                covariance[i * dims + j] += (row[i] - mean[i]) * (row[j] - mean[j]);
            }
        }
    }
    let first = leading(&covariance, dims);
    deflate(&mut covariance, &first);
    let second = leading(&covariance, dims);
    let along = |row: &[f64], axis: &[f64]| -> f64 {
        row.iter().zip(&mean).zip(axis).map(|((value, mean), axis)| (value - mean) * axis).sum()
    };
    points.chunks(dims).map(|row| (along(row, &first), along(row, &second))).collect()
}

/// The eigenvector of the largest eigenvalue; zeros for a zero matrix.
fn leading(matrix: &[f64], dims: usize) -> Vec<f64> {
    // A start without symmetry: no eigenvector worth finding is orthogonal to it.
    let mut vector: Vec<f64> = (1..=dims).map(|k| (k as f64 * 0.618_034).fract() + 0.1).collect();
    for _ in 0..300 {
        let mut next: Vec<f64> = matrix.chunks(dims).map(|row| dot(row, &vector)).collect();
        let norm = dot(&next, &next).sqrt();
        if norm.is_nan() || norm <= f64::MIN_POSITIVE {
            return vec![0.0; dims];
        }
        next.iter_mut().for_each(|value| *value /= norm);
        vector = next;
    }
    vector
}

/// Takes the part along `axis` away.
fn deflate(matrix: &mut [f64], axis: &[f64]) {
    let dims = axis.len();
    let image: Vec<f64> = matrix.chunks(dims).map(|row| dot(row, axis)).collect();
    let value = dot(&image, axis);
    for i in 0..dims {
        for j in 0..dims {
            matrix[i * dims + j] -= value * axis[i] * axis[j];
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
