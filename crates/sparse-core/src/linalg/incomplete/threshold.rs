//! ILUT.

use super::matrix::{Matrix, RowsOf};
use crate::{Element, Float, Index, Result};
use core::cmp::Reverse;
use std::collections::BinaryHeap;

/// See [`Incomplete::Threshold`](crate::Incomplete::Threshold).
pub(super) fn threshold<T: Float + Element<Acc = T>, I: Index>(
    a: Matrix<'_, T, I>,
    fill: usize,
    drop: f64,
) -> Result<RowsOf<T, I>> {
    let rows = a.rows();
    let (mut starts, mut diagonals, mut factor) = (vec![0], Vec::with_capacity(rows), Vec::<(usize, f64)>::new());
    // This row: its numbers by column, which columns it has, and those before the diagonal that are still to be done.
    let (mut line, mut held, mut left) = (vec![0.0; rows], vec![false; rows], BinaryHeap::new());
    let (mut lower, mut upper) = (vec![], vec![]);
    for r in 0..rows {
        a.finite(r, a.row(r).map(|(_, value)| value))?;
        let least = drop * norm(|| a.row(r).map(|(_, value)| value.abs()));
        let mut cols = vec![];
        for (c, value) in a.row(r) {
            (line[c], held[c]) = (value, true);
            cols.push(c);
            if c < r {
                left.push(Reverse(c));
            }
        }
        while let Some(Reverse(c)) = left.pop() {
            let diagonal: usize = diagonals[c];
            // Before it is divided, so that a matrix of another scale keeps the same elements.
            if line[c].abs() < least || line[c] == 0.0 {
                line[c] = 0.0;
                continue;
            }
            line[c] /= factor[diagonal].1;
            let ratio = line[c];
            for &(col, value) in &factor[diagonal + 1..starts[c + 1]] {
                if !held[col] {
                    held[col] = true;
                    cols.push(col);
                    if col < r {
                        left.push(Reverse(col));
                    }
                }
                line[col] -= ratio * value;
            }
        }
        let (pivot, rounded) = (line[r], Matrix::<T, I>::rounded(line[r]));
        if rounded == 0.0 || !rounded.is_finite() {
            return Err(a.pivot("a pivot must be finite and not zero", r, rounded));
        }
        a.finite(r, cols.iter().map(|c| line[*c]))?;
        lower.clear();
        upper.clear();
        for c in cols {
            let value = core::mem::take(&mut line[c]);
            held[c] = false;
            if c < r && value != 0.0 {
                lower.push((c, value));
            } else if c > r && value != 0.0 && value.abs() >= least {
                upper.push((c, value));
            }
        }
        [&mut lower, &mut upper].into_iter().for_each(|side| keep_largest(side, fill));
        factor.extend(&lower);
        diagonals.push(factor.len());
        factor.push((r, pivot));
        factor.extend(&upper);
        starts.push(factor.len());
    }
    a.counts(factor.len())?;
    let idx = factor.iter().map(|(c, _)| I::from_usize(*c)).collect();
    let values = factor.iter().map(|(_, value)| T::nearest(*value)).collect();
    Ok((starts.into_iter().map(I::from_usize).collect(), idx, values))
}

/// The Euclidean norm, also where squares are 0 or infinite.
fn norm<L: Iterator<Item = f64>>(sizes: impl Fn() -> L) -> f64 {
    let of = |scale: f64| sizes().map(|size| (size / scale) * (size / scale)).sum::<f64>().sqrt();
    let most = sizes().fold(0.0, f64::max);
    if most == 0.0 || (1e-100..=1e100).contains(&most) { of(1.0) } else { (of(most) * most).min(f64::MAX) }
}

/// The largest elements of one side, by column. Of equal ones the first columns.
fn keep_largest(side: &mut Vec<(usize, f64)>, most: usize) {
    if side.len() > most {
        side.sort_unstable_by(|x, y| y.1.abs().total_cmp(&x.1.abs()).then(x.0.cmp(&y.0)));
        side.truncate(most);
    }
    side.sort_unstable_by_key(|(col, _)| *col);
}
