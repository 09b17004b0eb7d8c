//! Diagonals and relaxation.

use super::{Real, blocks};
use crate::dynamic::{ElementVec, Elements};
use crate::element::Ids;
use crate::memory::unwritten;
use crate::par::{each, lens, split_mut};

/// What relaxation needs to know of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagonal {
    /// The diagonal.
    pub numbers: Vec<f64>,
    /// Its largest number.
    pub largest: f64,
    /// The largest sum of absolute values of a row, by its diagonal: no eigenvalue of `D^-1 A` is larger (Gershgorin).
    pub bound: f64,
    /// Whether an element off the diagonal is stored that is 0.
    pub has_zeros: bool,
}

/// A row that has no relaxation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wrong {
    /// Its diagonal, or the inverse of it, is not positive and finite.
    Diagonal(usize, f64),
    /// It has numbers that are not finite.
    Numbers(usize),
}

/// The diagonal of a matrix, and the sizes of its rows. `O(nnz)`, parallel.
///
/// Of a coarse matrix `scale` is the largest diagonal of the first one: a number that is not above the rounding of
/// that, as where constants are mapped to 0, counts as `scale`, so that its row is hardly relaxed. Else it is 0.
///
/// # Errors
///
/// The first row whose diagonal, with its inverse, is not positive and finite, or that has numbers that are not finite.
pub fn diagonal(ptr: Ids<'_>, idx: Ids<'_>, values: Elements<'_>, scale: f64) -> Result<Diagonal, Wrong> {
    match values {
        Elements::F32(values) => diagonal_of(ptr, idx, values, (scale, f64::from(f32::EPSILON))),
        Elements::F64(values) => diagonal_of(ptr, idx, values, (scale, f64::EPSILON)),
        other => panic!("multigrid takes values of f32 or f64, got {other:?}"),
    }
}

fn diagonal_of<T: Real>(ptr: Ids<'_>, idx: Ids<'_>, values: &[T], (scale, eps): (f64, f64)) -> Result<Diagonal, Wrong> {
    let rows = ptr.rows();
    let blocks = blocks(rows);
    let mut numbers: Vec<f64> = unwritten(rows);
    let mut found = vec![Ok((0.0f64, false)); blocks.len()];
    let jobs = split_mut(&mut numbers, &lens(&blocks, |rows| rows.len())).into_iter().zip(&mut found).collect();
    each(jobs, &|block, (numbers, found): (&mut [f64], &mut Result<_, _>)| {
        let (mut bound, mut zeros) = (0.0f64, false);
        for (row, number) in blocks[block].clone().zip(numbers) {
            let (mut own, mut sum) = (0.0, 0.0);
            for at in ptr.span(row) {
                let value = values[at].wide();
                sum += value.abs();
                if idx.at(at) == row {
                    own = value;
                } else {
                    zeros |= value == 0.0;
                }
            }
            if scale > 0.0 && own <= eps * scale {
                own = scale;
            }
            // One over the number is taken in the type of the values.
            let inverse = T::nearest(1.0 / own).wide();
            if !(own > 0.0 && own.is_finite() && inverse > 0.0 && inverse.is_finite()) {
                *found = Err(Wrong::Diagonal(row, own));
                return;
            }
            if !sum.is_finite() {
                *found = Err(Wrong::Numbers(row));
                return;
            }
            *number = own;
            bound = bound.max(sum / own);
        }
        *found = Ok((bound, zeros));
    });
    let (mut bound, mut has_zeros) = (0.0f64, false);
    for found in found {
        let (own, zeros) = found?;
        (bound, has_zeros) = (bound.max(own), has_zeros | zeros);
    }
    let largest = numbers.iter().copied().fold(0.0, f64::max);
    Ok(Diagonal { numbers, largest, bound, has_zeros })
}

/// The values of `I - factor D^-1 A`, on the pattern of `A`, which has a diagonal. `O(nnz)`, parallel.
pub fn relaxed(ptr: Ids<'_>, idx: Ids<'_>, values: Elements<'_>, diagonal: &[f64], factor: f64) -> ElementVec {
    match values {
        Elements::F32(values) => ElementVec::F32(relaxed_of(ptr, idx, values, diagonal, factor)),
        Elements::F64(values) => ElementVec::F64(relaxed_of(ptr, idx, values, diagonal, factor)),
        other => panic!("multigrid takes values of f32 or f64, got {other:?}"),
    }
}

fn relaxed_of<T: Real>(ptr: Ids<'_>, idx: Ids<'_>, values: &[T], diagonal: &[f64], factor: f64) -> Vec<T> {
    let blocks = blocks(ptr.rows());
    let mut out: Vec<T> = unwritten(values.len());
    let pieces = split_mut(&mut out, &lens(&blocks, |rows| ptr.spans(rows).len()));
    each(pieces, &|block, out| {
        let rows = blocks[block].clone();
        let first = ptr.at(rows.start);
        for row in rows {
            let factor = factor / diagonal[row];
            for at in ptr.span(row) {
                let own = if idx.at(at) == row { 1.0 } else { 0.0 };
                out[at - first] = T::nearest(own - factor * values[at].wide());
            }
        }
    });
    out
}
