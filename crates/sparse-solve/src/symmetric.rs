//! Whether products say that a matrix is symmetric.

use crate::krylov::vectors::{Vectors, dot, largest, norm, random, read};
use burn::tensor::{Shape, Tensor};
use sparse_ops::{Result, SparseError};

/// Two random columns for each system, `[systems, n, 2]`.
pub fn probe([systems, n]: [usize; 2], like: &Vectors) -> Vectors {
    let both = Tensor::cat([1, 2].map(|seed| random(seed, n, like)).to_vec(), 2);
    both.expand(Shape::from([systems, n, 2]))
}

/// Compares `x^T A y` and `y^T A x` of the two columns of `probe`, of which `image` is the product. One read.
///
/// # Errors
///
/// `invalid` if they differ by more than `share` of `|x| |A y|` in a system. `told` ends the message about it.
pub fn check_symmetric(
    op: &'static str,
    what: &str,
    [probe, image]: [&Vectors; 2],
    share: f64,
    told: impl Fn(usize) -> String,
) -> Result<()> {
    // Squares of very small or large numbers would be 0 or infinite.
    let most = largest(image).max_dim(2);
    let most = most.clone().mask_fill(most.equal_scalar(0.0), 1.0);
    let image = image.clone() / most.clone();
    let other = Tensor::cat(vec![probe.clone().narrow(2, 1, 1), probe.clone().narrow(2, 0, 1)], 2);
    let products = dot(&other, &image);
    let most = most.expand(Shape::from(products.dims()));
    let [products, sizes, images, most] = read([&products, &norm(probe), &norm(&image), &most]);
    for system in 0..products.len() / 2 {
        let [x, y] = [2 * system, 2 * system + 1];
        let unit = (sizes[x] * images[y]).max(sizes[y] * images[x]);
        let off = (products[x] - products[y]).abs();
        if off.is_nan() || off > share * unit {
            let [back, ahead] = [x, y].map(|at| products[at] * most[at]);
            return Err(not_symmetric(op, what, [ahead, back], &told(system)));
        }
    }
    Ok(())
}

/// Of `x^T A y` and `y^T A x`.
pub fn not_symmetric(op: &'static str, what: &str, [ahead, back]: [f64; 2], told: &str) -> SparseError {
    let message = format!("{what} must be symmetric, got x^T A y = {ahead:e} and y^T A x = {back:e} of {told}");
    SparseError::invalid(op, message)
}
