//! ILU(0).

use super::matrix::{Matrix, RowsOf};
use crate::{Element, Float, Index, Result};

/// See [`Incomplete::Lu`](crate::Incomplete::Lu).
pub(super) fn lu<T: Float + Element<Acc = T>, I: Index>(a: Matrix<'_, T, I>) -> Result<RowsOf<T, I>> {
    let rows = a.rows();
    let mut factor: Vec<f64> = (0..rows).flat_map(|r| a.row(r).map(|(_, value)| value)).collect();
    // Where this row has its element of each column; `usize::MAX` where it has none.
    let (mut place, mut diagonals) = (vec![usize::MAX; rows], Vec::with_capacity(rows));
    for r in 0..rows {
        let own = a.span(r);
        let cols = a.cols(r);
        cols.iter().zip(own.clone()).for_each(|(col, k)| place[col.to_usize()] = k);
        for (col, k) in cols.iter().zip(own.clone()) {
            let c = col.to_usize();
            if c >= r {
                break;
            }
            let diagonal: usize = diagonals[c];
            let ratio = factor[k] / factor[diagonal];
            factor[k] = ratio;
            for other in diagonal + 1..a.span(c).end {
                let at = place[a.a.idx[other].to_usize()];
                if at != usize::MAX {
                    factor[at] -= ratio * factor[other];
                }
            }
        }
        let pivot = place[r];
        let value = if pivot == usize::MAX { 0.0 } else { Matrix::<T, I>::rounded(factor[pivot]) };
        if value == 0.0 || !value.is_finite() {
            return Err(a.pivot("a pivot must be finite and not zero", r, value));
        }
        a.finite(r, factor[own].iter().copied())?;
        diagonals.push(pivot);
        cols.iter().for_each(|col| place[col.to_usize()] = usize::MAX);
    }
    Ok((a.a.ptr.to_vec(), a.a.idx.to_vec(), factor.into_iter().map(T::nearest).collect()))
}
