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
    largest(&on, &off)
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

/// The largest eigenvalue of a symmetric tridiagonal matrix, by bisection with Sturm's count.
fn largest(on: &[f64], off: &[f64]) -> f64 {
    let around = |k: usize| off.get(k).map_or(0.0, |x| x.abs()) + if k > 0 { off[k - 1].abs() } else { 0.0 };
    let mut low = on.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut high = (0..on.len()).map(|k| on[k] + around(k)).fold(low, f64::max);
    if on.is_empty() {
        return 0.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let mut pivot = 1.0;
        // All pivots of `middle - T` are positive only above the largest eigenvalue.
        let above = (0..on.len()).all(|k| {
            let square = if k > 0 { off[k - 1] * off[k - 1] } else { 0.0 };
            pivot = middle - on[k] - square / pivot;
            pivot > 0.0
        });
        if above { high = middle } else { low = middle }
    }
    high
}
