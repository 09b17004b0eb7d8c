//! Induced dimension reduction, for any square matrix.

use super::system::{Point, System};
use super::vectors::{Numbers, Vectors, dot, norm, random, ratio};
use super::watch::Watch;
use sparse_ops::Result;

/// IDR(s) with bi-orthogonal residuals (van Gijzen and Sonneveld 2011), preconditioned on the right.
pub fn sweep(
    system: &System<'_>,
    point: Point,
    (shadows, attempt): (usize, usize),
    watch: &mut Watch<'_>,
) -> Result<Vectors> {
    let Point { mut x, mut residual, .. } = point;
    let n = residual.dims()[1];
    let count = shadows.min(n);
    let shadows: Vec<Vectors> = (0..count).map(|own| random(attempt * count + own, n, &residual)).collect();
    let size = norm(&residual);
    let (zeros, none) = (residual.zeros_like(), size.zeros_like());
    let (mut images, mut steps) = (vec![zeros.clone(); count], vec![zeros; count]);
    // products[i][j] = shadow_i . image_j, lower triangular.
    let identity = |i: usize, j: usize| if i == j { none.ones_like() } else { none.clone() };
    let mut products: Vec<Vec<Numbers>> = (0..count).map(|i| (0..count).map(|j| identity(i, j)).collect()).collect();
    let (mut omega, mut open) = (none.ones_like(), system.open(&size));
    // Steps of length 0, one after the other. A column that has no other for a whole round is stuck.
    let mut rests = none.clone();
    let rested = |rests: Numbers, length: &Numbers| (rests + 1.0).mask_fill(length.clone().not_equal_elem(0.0), 0.0);
    let stuck = |rests: f64| rests > count as f64;
    loop {
        let mut along: Vec<Numbers> = shadows.iter().map(|shadow| dot(shadow, &residual)).collect();
        for k in 0..count {
            // Forward substitution in the rows from k on.
            let mut factors: Vec<Numbers> = Vec::with_capacity(count - k);
            for i in k..count {
                let known =
                    (k..i).fold(along[i].clone(), |sum, j| sum - products[i][j].clone() * factors[j - k].clone());
                factors.push(ratio(known, products[i][i].clone()));
            }
            let mut rest = residual.clone();
            for (image, factor) in images[k..].iter().zip(&factors) {
                rest = rest - image.clone() * factor.clone();
            }
            let mut step = system.precondition(&rest)? * omega.clone();
            for (own, factor) in steps[k..].iter().zip(&factors) {
                step = step + own.clone() * factor.clone();
            }
            let mut image = system.apply(&step)?;
            for i in 0..k {
                let factor = ratio(dot(&shadows[i], &image), products[i][i].clone());
                image = image - images[i].clone() * factor.clone();
                step = step - steps[i].clone() * factor;
            }
            for i in k..count {
                products[i][k] = dot(&shadows[i], &image);
            }
            let length = ratio(along[k].clone(), products[k][k].clone()) * open.clone();
            residual = residual - image.clone() * length.clone();
            x = x + step.clone() * length.clone();
            (images[k], steps[k]) = (image, step);
            let size = norm(&residual);
            rests = rested(rests, &length);
            if watch.ends_or_sticks(&size, &rests, stuck) {
                return Ok(x);
            }
            open = system.open(&size);
            for i in k + 1..count {
                along[i] = along[i].clone() - products[i][k].clone() * length.clone();
            }
        }
        let near = system.precondition(&residual)?;
        let image = system.apply(&near)?;
        let (own, product) = (dot(&image, &image), dot(&image, &residual));
        // Not too small if image and residual are nearly orthogonal.
        let cosine = ratio(product.clone(), own.clone().sqrt() * norm(&residual)).abs();
        let small = cosine.clone().lower_elem(0.7);
        let longer = ratio(cosine.full_like(0.7), cosine);
        omega = ratio(product, own) * longer.ones_like().mask_where(small, longer);
        let length = omega.clone() * open;
        x = x + near * length.clone();
        residual = residual - image * length.clone();
        let size = norm(&residual);
        rests = rested(rests, &length);
        if watch.ends_or_sticks(&size, &rests, stuck) {
            return Ok(x);
        }
        open = system.open(&size);
    }
}
