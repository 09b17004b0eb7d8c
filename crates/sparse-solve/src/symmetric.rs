//! Whether products say that a matrix is symmetric.

use crate::krylov::vectors::{Vectors, dot, evened, norm, read};
use sparse_ops::{Result, SparseError};

/// Compares `x^T A y` and `y^T A x` of two columns of each system, whose images are given. One read.
///
/// # Errors
///
/// `invalid` if they differ by more than `share` of `|x| |A y|` in a system. `told` ends the message about it.
pub fn check_symmetric(
    op: &'static str,
    what: &str,
    [x, y]: [&Vectors; 2],
    images: [&Vectors; 2],
    share: f64,
    told: impl Fn(usize) -> String,
) -> Result<()> {
    // Squares of very small or large numbers would be 0 or infinite.
    let [(of_x, most_x), (of_y, most_y)] = images.map(evened);
    let [back, ahead] = [dot(y, &of_x), dot(x, &of_y)];
    let [back, ahead, most_x, most_y, size_x, size_y, norm_x, norm_y] =
        read([&back, &ahead, &most_x, &most_y, &norm(x), &norm(y), &norm(&of_x), &norm(&of_y)]);
    for system in 0..back.len() {
        let most = most_x[system].max(most_y[system]);
        let [of_x, of_y] = [most_x[system], most_y[system]].map(|own| own / most);
        let [back, ahead] = [back[system] * of_x, ahead[system] * of_y];
        let unit = (size_y[system] * norm_x[system] * of_x).max(size_x[system] * norm_y[system] * of_y);
        let off = (back - ahead).abs();
        if off.is_nan() || off > share * unit {
            return Err(not_symmetric(op, what, [ahead * most, back * most], &told(system)));
        }
    }
    Ok(())
}

/// Of `x^T A y` and `y^T A x`.
pub fn not_symmetric(op: &'static str, what: &str, [ahead, back]: [f64; 2], told: &str) -> SparseError {
    let message = format!("{what} must be symmetric, got x^T A y = {ahead:e} and y^T A x = {back:e} of {told}");
    SparseError::invalid(op, message)
}
