//! Inverses of the blocks on the diagonal.

use super::matrix::{Matrix, RowsOf};
use crate::par;
use crate::{Element, Float, Index, Result};

/// See [`Incomplete::Blocks`](crate::Incomplete::Blocks).
pub(super) fn blocks<T: Float + Element<Acc = T>, I: Index>(a: Matrix<'_, T, I>, size: usize) -> Result<RowsOf<T, I>> {
    assert!(size > 0, "{}: a block must have rows", a.op);
    let rows = a.rows();
    let size = size.min(rows.max(1));
    let own = |r: usize| (r / size * size)..(r / size * size + size).min(rows);
    a.counts(rows.saturating_mul(size))?;
    let (mut ptr, mut idx) = (vec![I::from_usize(0)], Vec::with_capacity(rows * size));
    for r in 0..rows {
        idx.extend(own(r).map(I::from_usize));
        ptr.push(I::from_usize(idx.len()));
    }
    let mut out = vec![T::ZERO; idx.len()];
    let pieces = par::even(rows.div_ceil(size), size.saturating_pow(3));
    let inverses = par::map(pieces.len(), &|k| {
        let blocks = pieces[k].clone().map(|block| inverse(&a, block * size, own(block * size).len()));
        blocks.collect::<core::result::Result<Vec<_>, _>>()
    });
    let mut slots = out.iter_mut();
    for inverses in inverses {
        let inverses = inverses.map_err(|Trouble { rule, row, number }| {
            a.pivot(&format!("the block of the rows from {} on must {rule}", row / size * size), row, number)
        })?;
        // In this order no slot is taken without a number for it.
        inverses.into_iter().flatten().zip(slots.by_ref()).for_each(|(x, slot)| *slot = T::nearest(x));
    }
    Ok((ptr, idx, out))
}

/// A number that is no use, and its row.
struct Trouble {
    rule: &'static str,
    row: usize,
    number: f64,
}

/// The inverse of the block `[n, n]` whose first row is `start`, by Gauss and Jordan with the largest pivot of each
/// column.
fn inverse<T: Float + Element<Acc = T>, I: Index>(
    a: &Matrix<'_, T, I>,
    start: usize,
    n: usize,
) -> core::result::Result<Vec<f64>, Trouble> {
    let (mut own, mut out) = (vec![0.0; n * n], vec![0.0; n * n]);
    for r in 0..n {
        out[r * n + r] = 1.0;
        for (c, value) in a.row(start + r) {
            if (start..start + n).contains(&c) {
                own[r * n + c - start] = value;
            }
        }
    }
    for k in 0..n {
        let size = |r: &usize| own[r * n + k].abs();
        let best = (k..n).max_by(|x, y| size(x).total_cmp(&size(y)).then(y.cmp(x))).unwrap_or(k);
        let pivot = own[best * n + k];
        if pivot == 0.0 || !pivot.recip().is_finite() || !pivot.is_finite() {
            return Err(Trouble { rule: "be regular", row: start + k, number: pivot });
        }
        for list in [&mut own, &mut out] {
            for c in 0..n {
                list.swap(k * n + c, best * n + c);
                list[k * n + c] /= pivot;
            }
        }
        for r in (0..n).filter(|r| *r != k) {
            let factor = own[r * n + k];
            for list in [&mut own, &mut out] {
                for c in 0..n {
                    list[r * n + c] -= factor * list[k * n + c];
                }
            }
        }
    }
    let rounded = |x: &f64| Matrix::<T, I>::rounded(*x);
    match out.iter().map(rounded).position(|x| !x.is_finite()) {
        None => Ok(out),
        Some(k) => Err(Trouble { rule: "have a finite inverse", row: start + k / n, number: rounded(&out[k]) }),
    }
}
