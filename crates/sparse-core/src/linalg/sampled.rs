//! Sparse matrix times transposed sparse matrix, at the elements of a mask.

use super::compressed::Compressed;
use super::places::{Columns, Right, position, prefetch_next};
use crate::element::Ids;
use crate::par::for_pieces;
use crate::sums::{BLOCK, Total, blocks};
use crate::{Element, Index};
use core::ops::Range;

/// Sampled sparse x sparse^T: `out[e] = sum over j of X[i, j] * Y[k, j]` for each element `e = (i, k)` of `mask`.
///
/// This computes the gradients of [`spgemm`](super::spgemm()). For the gradient of A, X is the gradient of C and Y is
/// B. For the gradient of B, everything is transposed. Row `i` of X is written into a dense row, where the rows of Y
/// look up their factors. O(nnz of X + products) time, and memory for one dense row per thread.
///
/// # Panics
///
/// When lengths disagree, pointers descend or an index is out of range.
pub fn spgemm_sampled<T: Element, I: Index>(
    mask: (&[I], &[I]),
    x: Compressed<'_, I>,
    x_values: &[T],
    y: Compressed<'_, I>,
    y_values: &[T],
    cols: usize,
    out: &mut [T],
) {
    let columns = Columns::of(x.idx, cols);
    let (own, other) = (columns.places(x.idx), columns.places(y.idx));
    let (x, y) = (Right::of(x, &own, &columns), Right::of(y, &other, &columns));
    sample((I::list(mask.0), I::list(mask.1)), x, x_values, y, y_values, out);
}

fn sample<T: Element>(
    (ptr, idx): (Ids<'_>, Ids<'_>),
    x: Right<'_>,
    x_values: &[T],
    y: Right<'_>,
    y_values: &[T],
    out: &mut [T],
) {
    assert_eq!(out.len(), idx.len(), "spgemm: out must have an element for each of the mask");
    for_pieces(&ptr.cuts(8), out, &|rows| ptr.spans(rows).len(), &|rows, out| {
        let first = ptr.at(rows.start);
        let mut dense_row: Vec<T::Acc> = vec![T::ACC_ZERO; x.width];
        for r in rows {
            let own = x.ptr.span(r);
            for e in own.clone() {
                dense_row[x.places[e].to_usize()] = x_values[position(x.perm, e)].widen();
            }
            for e in ptr.span(r) {
                prefetch_next(y.ptr, idx, e, y.places);
                prefetch_next(y.ptr, idx, e, y_values);
                let row = y.ptr.span(idx.at(e));
                let short = row.len() <= BLOCK;
                let sum =
                    if short { dot(&dense_row, y, y_values, row) } else { long_dot(&dense_row, y, y_values, row) };
                out[e - first] = T::narrow(sum);
            }
            x.places[own].iter().for_each(|place| dense_row[place.to_usize()] = T::ACC_ZERO);
        }
    });
}

/// Dense row times a sparse one.
#[inline(always)]
fn dot<T: Element>(dense_row: &[T::Acc], y: Right<'_>, y_values: &[T], row: Range<usize>) -> T::Acc {
    let mut sum = T::ACC_ZERO;
    if y.perm.is_none() {
        for (place, v) in y.places[row.clone()].iter().zip(&y_values[row]) {
            sum = T::add(sum, T::mul(dense_row[place.to_usize()], v.widen()));
        }
    } else {
        for e in row {
            let v = y_values[position(y.perm, e)].widen();
            sum = T::add(sum, T::mul(dense_row[y.places[e].to_usize()], v));
        }
    }
    sum
}

/// [`dot`] in blocks.
#[cold]
#[inline(never)]
fn long_dot<T: Element>(dense_row: &[T::Acc], y: Right<'_>, y_values: &[T], row: Range<usize>) -> T::Acc {
    Total::<T>::of(blocks(row, true), |row| dot(dense_row, y, y_values, row))
}

/// For types that are known at run time.
pub(super) mod dynamic {
    use super::super::compressed::dynamic::DynCompressed;
    use crate::ProductPlan;
    use crate::dynamic::slices::{AnyElement, AnyIndex, ElementVec, Elements, Ids, with_elements, with_ids};
    use crate::memory::unwritten;

    /// See [`spgemm_sampled`](crate::spgemm_sampled()): one value for each element of `mask`. With a plan of these
    /// patterns, see [`ProductPlan::sampled`].
    pub fn spgemm_sampled(
        mask: (Ids<'_>, Ids<'_>),
        x: DynCompressed<'_>,
        x_values: Elements<'_>,
        y: DynCompressed<'_>,
        y_values: Elements<'_>,
        cols: usize,
        plan: Option<&ProductPlan>,
    ) -> ElementVec {
        with_ids!(mask.0, I => with_elements!(x_values, T => {
            let mut out = unwritten::<T>(mask.1.len());
            let (own, left, right) = ((I::ids(mask.0), I::ids(mask.1)), T::elements(x_values), T::elements(y_values));
            match plan {
                None => super::spgemm_sampled::<T, I>(own, x.of(), left, y.of(), right, cols, &mut out),
                Some(plan) => plan.sampled::<T, I>(own, x.of(), left, y.of(), right, &mut out),
            }
            T::element_vec(out)
        }))
    }
}
