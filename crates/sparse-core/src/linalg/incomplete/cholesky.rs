//! IC(0).

use super::matrix::{Matrix, RowsOf};
use crate::{Element, Float, Index, Result};

/// See [`Incomplete::Cholesky`](crate::Incomplete::Cholesky).
pub(super) fn cholesky<T: Float + Element<Acc = T>, I: Index>(a: Matrix<'_, T, I>, shift: f64) -> Result<RowsOf<T, I>> {
    let rows = a.rows();
    let (mut ptr, mut idx, mut out) = (vec![I::from_usize(0)], vec![], vec![]);
    // The rows of L so far, and this row among zeros.
    let (mut factor, mut starts, mut line) = (Vec::<f64>::new(), vec![0usize], vec![0.0; rows]);
    let mut pivots = Vec::with_capacity(rows);
    for r in 0..rows {
        let start = idx.len();
        let (mut pivot, mut of_row) = (0.0, 0.0);
        for (c, value) in a.row(r).take_while(|(c, _)| *c <= r) {
            if c == r {
                of_row = value * (1.0 + shift);
                break;
            }
            let above: &[I] = &idx[starts[c]..starts[c + 1] - 1];
            let sum: f64 = above.iter().zip(&factor[starts[c]..]).map(|(j, own)| own * line[j.to_usize()]).sum();
            let own = (value - sum) / pivots[c];
            line[c] = own;
            pivot -= own * own;
            idx.push(I::from_usize(c));
            factor.push(own);
        }
        pivot += of_row;
        if !(pivot > 0.0 && pivot.is_finite()) {
            return Err(a.pivot("a pivot must be positive (a shift may help)", r, pivot));
        }
        idx[start..].iter().for_each(|col| line[col.to_usize()] = 0.0);
        let pivot = pivot.sqrt();
        if Matrix::<T, I>::rounded(pivot) == 0.0 {
            return Err(a.pivot("a pivot must have a root that is not zero", r, 0.0));
        }
        a.finite(r, factor[start..].iter().copied().chain([pivot]))?;
        idx.push(I::from_usize(r));
        factor.push(pivot);
        pivots.push(pivot);
        starts.push(idx.len());
        ptr.push(I::from_usize(idx.len()));
    }
    out.extend(factor.into_iter().map(T::nearest));
    Ok((ptr, idx, out))
}
