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
        let (mut cols, mut squares) = (vec![], 0.0);
        for (c, value) in a.row(r) {
            (line[c], held[c]) = (value, true);
            squares += value * value;
            cols.push(c);
            if c < r {
                left.push(Reverse(c));
            }
        }
        let least = drop * squares.sqrt();
        while let Some(Reverse(c)) = left.pop() {
            let diagonal: usize = diagonals[c];
            line[c] /= factor[diagonal].1;
            let ratio = line[c];
            if ratio.abs() < least || ratio == 0.0 {
                line[c] = 0.0;
                continue;
            }
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
        let pivot = line[r];
        if pivot == 0.0 || !pivot.is_finite() {
            return Err(a.pivot("a pivot must be finite and not zero", r, pivot));
        }
        lower.clear();
        upper.clear();
        for c in cols {
            let value = core::mem::take(&mut line[c]);
            held[c] = false;
            if c != r && value != 0.0 && value.abs() >= least {
                if c < r { lower.push((c, value)) } else { upper.push((c, value)) }
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

/// The largest elements of one side, by column. Of equal ones the first columns.
fn keep_largest(side: &mut Vec<(usize, f64)>, most: usize) {
    if side.len() > most {
        side.sort_unstable_by(|x, y| y.1.abs().total_cmp(&x.1.abs()).then(x.0.cmp(&y.0)));
        side.truncate(most);
    }
    side.sort_unstable_by_key(|(col, _)| *col);
}
