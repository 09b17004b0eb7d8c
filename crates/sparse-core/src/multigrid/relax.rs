//! Diagonals and relaxation.

use super::{blocks, nearest, wide};
use crate::Float;
use crate::dynamic::{ElementVec, Elements};
use crate::element::Ids;
use crate::memory::unwritten;
use crate::par::{each, lens, split_mut};

/// What relaxation needs to know of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagonal {
    /// The diagonal.
    pub numbers: Vec<f64>,
    /// The size of each row: the sum of its absolute values, and of a coarse matrix no less than was told. Rounding
    /// errors of the diagonal are up to some units of the last place of it.
    pub sizes: Vec<f64>,
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
/// Of a coarse matrix `P^T A P` each of `sizes` is at least the sum of the absolute values that were added into the
/// diagonal, `sum_kl |p_ki a_kl p_li|`. `sum_k p_ki^2 size_k` is, with the sizes of the rows of a symmetric `A`. A
/// diagonal that is not above the rounding of its own size, as where constants are mapped to 0, counts as that size,
/// so that its row is hardly relaxed. How large other rows are makes no difference.
///
/// # Errors
///
/// The first row whose diagonal, with its inverse, is not positive and finite, or that has numbers that are not finite.
///
/// # Panics
///
/// If there are other sizes than one for each row.
pub fn diagonal(ptr: Ids<'_>, idx: Ids<'_>, values: Elements<'_>, sizes: Option<&[f64]>) -> Result<Diagonal, Wrong> {
    match values {
        Elements::F32(values) => diagonal_of(ptr, idx, values, (sizes, f64::from(f32::EPSILON))),
        Elements::F64(values) => diagonal_of(ptr, idx, values, (sizes, f64::EPSILON)),
        other => panic!("multigrid takes values of f32 or f64, got {other:?}"),
    }
}

fn diagonal_of<T: Float>(
    ptr: Ids<'_>,
    idx: Ids<'_>,
    values: &[T],
    (told, eps): (Option<&[f64]>, f64),
) -> Result<Diagonal, Wrong> {
    let rows = ptr.rows();
    assert!(told.is_none_or(|told| told.len() == rows), "diagonal: each row must have a size");
    let blocks = blocks(rows);
    let [mut numbers, mut sizes]: [Vec<f64>; 2] = [unwritten(rows), unwritten(rows)];
    let mut found = vec![Ok((0.0f64, false)); blocks.len()];
    let [own, all] = [&mut numbers, &mut sizes].map(|list| split_mut(list, &lens(&blocks, |rows| rows.len())));
    let jobs = own.into_iter().zip(all).zip(&mut found).collect();
    each(jobs, &|block, ((numbers, sizes), found): ((&mut [f64], &mut [f64]), &mut Result<_, _>)| {
        let (mut bound, mut zeros) = (0.0f64, false);
        for ((row, number), size) in blocks[block].clone().zip(numbers).zip(sizes) {
            let (mut own, mut sum) = (0.0, 0.0);
            for at in ptr.span(row) {
                let value = wide(values[at]);
                sum += value.abs();
                if idx.at(at) == row {
                    own = value;
                } else {
                    zeros |= value == 0.0;
                }
            }
            *size = sum;
            if let Some(told) = told {
                *size = sum.max(told[row]);
                if own <= eps * *size {
                    own = *size;
                }
            }
            // One over the number is taken in the type of the values.
            let inverse = wide(nearest::<T>(1.0 / own));
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
    Ok(Diagonal { numbers, sizes, bound, has_zeros })
}

/// The values of `I - factor D^-1 A`, on the pattern of `A`, which has a diagonal. `O(nnz)`, parallel.
pub fn relaxed(ptr: Ids<'_>, idx: Ids<'_>, values: Elements<'_>, diagonal: &[f64], factor: f64) -> ElementVec {
    match values {
        Elements::F32(values) => ElementVec::F32(relaxed_of(ptr, idx, values, diagonal, factor)),
        Elements::F64(values) => ElementVec::F64(relaxed_of(ptr, idx, values, diagonal, factor)),
        other => panic!("multigrid takes values of f32 or f64, got {other:?}"),
    }
}

fn relaxed_of<T: Float>(ptr: Ids<'_>, idx: Ids<'_>, values: &[T], diagonal: &[f64], factor: f64) -> Vec<T> {
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
                out[at - first] = nearest(own - factor * wide(values[at]));
            }
        }
    });
    out
}
