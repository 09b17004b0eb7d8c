//! How large the eigenvalues of a relaxation are.

use super::{blocks, wide, with_reals};
use crate::Float;
use crate::dynamic::Elements;
use crate::element::Ids;
use crate::par::{each, lens, split_mut};
use crate::random::mix;
use core::ops::Range;

/// About the largest eigenvalue of `D^-1 A`, from below: that of the Lanczos process after `steps` products, from a
/// vector that is the same in each run. `A` is symmetric, and `diagonal` is positive.
///
/// Lanczos in the inner product of `D`, in which `D^-1 A` is symmetric; no vector is kept but two. `O(steps nnz)`,
/// parallel. Source: Lanczos, *An iteration method for the solution of the eigenvalue problem*, 1950.
pub fn spectral_radius(ptr: Ids<'_>, idx: Ids<'_>, values: Elements<'_>, diagonal: &[f64], steps: usize) -> f64 {
    with_reals!(values, values => radius(ptr, idx, values, diagonal, steps))
}

fn radius<T: Float>(ptr: Ids<'_>, idx: Ids<'_>, values: &[T], diagonal: &[f64], steps: usize) -> f64 {
    let rows = diagonal.len();
    let blocks = blocks(rows);
    // Vectors without their lengths: `now` times `scale` has length 1.
    let mut now: Vec<f64> = (0..rows as u64).map(|at| (mix(at, 0) >> 11) as f64 / (1u64 << 52) as f64 - 1.0).collect();
    let mut before = vec![0.0; rows];
    let mut scale = 1.0 / sums(&blocks, &mut now, &|row, x| diagonal[row] * *x * *x).sqrt();
    let (mut on, mut off): (Vec<f64>, Vec<f64>) = (vec![], vec![]);
    let (mut length, mut scale_before) = (0.0, 0.0);
    for _ in 0..steps.min(rows) {
        let back = length * scale_before;
        let product = sums(&blocks, &mut before, &|row, x| {
            let sum: f64 = ptr.span(row).map(|at| wide(values[at]) * now[idx.at(at)]).sum();
            *x = scale * sum / diagonal[row] - back * *x;
            diagonal[row] * *x * now[row] * scale
        });
        on.push(product);
        let part = product * scale;
        length = sums(&blocks, &mut before, &|row, x| {
            *x -= part * now[row];
            diagonal[row] * *x * *x
        })
        .sqrt();
        core::mem::swap(&mut now, &mut before);
        // The vectors span all that the matrix reaches from the first one.
        if length.is_nan() || length <= 1e-12 * product.abs() {
            break;
        }
        off.push(length);
        (scale_before, scale) = (scale, 1.0 / length);
    }
    off.truncate(on.len().saturating_sub(1));
    extremes_of_tridiagonal(&on, &off)[1]
}

/// The sum of `term(row, x[row])`, block by block.
fn sums(blocks: &[Range<usize>], x: &mut [f64], term: &(dyn Fn(usize, &mut f64) -> f64 + Sync)) -> f64 {
    let mut parts = vec![0.0; blocks.len()];
    let jobs = split_mut(x, &lens(blocks, |rows| rows.len())).into_iter().zip(&mut parts).collect();
    each(jobs, &|block, (x, part): (&mut [f64], &mut f64)| {
        *part = blocks[block].clone().zip(x).map(|(row, x)| term(row, x)).sum();
    });
    parts.iter().sum()
}

/// The least and the largest eigenvalue of a symmetric tridiagonal matrix of any scale, by bisection with Sturm's
/// count: `diagonal`, and one number fewer `beside` it. Zeros if there are none. `O(n)`.
///
/// # Panics
///
/// When `beside` is too short.
pub fn extremes_of_tridiagonal(diagonal: &[f64], beside: &[f64]) -> [f64; 2] {
    let size = diagonal.iter().chain(beside).fold(0.0f64, |most, number| most.max(number.abs()));
    if size == 0.0 {
        return [0.0; 2];
    }
    // A power of 2, so that no digit is lost: squares of very small or large numbers would be 0 or infinite.
    let power = size.log2().floor().max(-1000.0).exp2();
    let [diagonal, beside] = [diagonal, beside].map(|list| list.iter().map(|own| own / power).collect::<Vec<_>>());
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
        to * power
    })
}

#[cfg(test)]
mod tests {
    use super::extremes_of_tridiagonal;

    /// Of second differences `2 - 2 cos(k pi / (n + 1))`.
    #[test]
    fn eigenvalues_that_are_known() {
        for (n, scale) in [(1usize, 1.0), (2, 1e-300), (7, 1.0), (20, 1e200)] {
            let got = extremes_of_tridiagonal(&vec![2.0 * scale; n], &vec![-scale; n - 1]);
            let want = |k: usize| 2.0 - 2.0 * (k as f64 * core::f64::consts::PI / (n + 1) as f64).cos();
            for (got, want) in got.into_iter().zip([want(1), want(n)]) {
                assert!((got / scale - want).abs() < 1e-12, "{got} {want}");
            }
        }
        let [least, most] = extremes_of_tridiagonal(&[3.0, -1.0], &[0.0]);
        assert!((least + 1.0).abs() < 1e-12 && (most - 3.0).abs() < 1e-12, "{least} {most}");
        assert_eq!(extremes_of_tridiagonal(&[], &[]), [0.0; 2]);
    }
}
